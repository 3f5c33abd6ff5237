use super::*;
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;

/// Beginnings of files, as the tools that own the formats write them.
const FILES: &[(&[u8], Guess)] = &[
    (b"", Guess::Empty),
    (b"\0", Guess::Zeros),
    (&[0; 600], Guess::Zeros),
    (b"\x02\0\0\0\0\0\0\0{}", Guess::Safetensors),
    (b"\x90\x01\0\0\0\0\0\0{\"a\":{\"dtype\"", Guess::Safetensors),
    (b"\x90\x01\0\0\0\0\0\0 \n{\n \"a\":", Guess::Safetensors),
    (b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0", Guess::Gguf),
    (b"GGUF\x02\0\0\0\x01\0\0\0\0\0\0\0", Guess::Gguf),
    (b"GGUF\x01\0\0\0\x01\0\0\0", Guess::GgufOld),
    (b"GGUF\0\0\0\x03\0\0\0\0\0\0\0\x01", Guess::GgufBig),
    (b"GGUF\0\0\0\x02\0\0\0\0", Guess::GgufBig),
    (b"FUGG\x03\0\0\0\0\0\0\0", Guess::GgufReversed),
    (b"FUGG\0\0\0\x03", Guess::GgufReversed),
    (b"lmgg\x20\x7d\0\0", Guess::Ggml),
    (b"fmgg\x01\0\0\0", Guess::Ggml),
    (b"tjgg\x03\0\0\0", Guess::Ggml),
    (b"ggml", Guess::Ggml),
    (b"{\n  \"metadata\": {\n    \"total_size\": 1\n  },\n  \"weight_map\": {\n", Guess::Index),
    (b"{\"weight_map\":{}}", Guess::Index),
    (b"{\"model_type\": \"gpt2\"}", Guess::Json),
    (b" [1, 2]", Guess::Json),
    (b"{", Guess::Json),
    (b"{{ bos_token }}", Guess::Text),
    (b"[section]\nkey=1", Guess::Text),
    (b"\xEF\xBB\xBF{\"weight_map\":{}}", Guess::Bom),
    (b"\xFF\xFE{\0\"\0", Guess::Utf16),
    (b"\xFE\xFF\0{\0\"", Guess::Utf16),
    (b"{\0\"\0a\0\"\0:\0", Guess::Utf16),
    (b"\0{\0\"\0a\0\"", Guess::Utf16),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:", Guess::LfsPointer),
    (b"<!DOCTYPE html>\n<html lang=\"en\">", Guess::Html),
    (b"\n\n  <HTML><head>", Guess::Html),
    (b"\xEF\xBB\xBF<!doctype HTML>", Guess::Html),
    (b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code>", Guess::Xml),
    // Python's pickle module, each protocol.
    (b"(dp0\n.", Guess::Pickle),
    (b"(lp1\nI1\na.", Guess::Pickle),
    (b"ccollections\nOrderedDict\np0\n(", Guess::Pickle),
    (b"cposix\nsystem\n(S'true'\ntR.", Guess::Pickle),
    (b"}q\0X\x01\0\0\0aq\x01K\x01s.", Guess::Pickle),
    (b"\x80\x02}q\0X\x01\0\0\0aq\x01K\x01s.", Guess::Pickle),
    (b"\x80\x03cbuiltins\nset\nq\0", Guess::Pickle),
    (b"\x80\x04\x95\x0a\0\0\0\0\0\0\0}\x94\x8c\x01a\x94K\x01s.", Guess::Pickle),
    (b"\x80\x05K\x05.", Guess::Pickle),
    (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", Guess::TorchLegacy),
    // Python's zipfile.
    (
        b"PK\x03\x04\x14\0\0\0\0\0\0\0\x21\0\x8f\x5d\x0e\x5e\x64\0\0\0\x64\0\0\0\x10\0\0\0archive/data.pklxxx",
        Guess::TorchZip,
    ),
    (b"PK\x03\x04\x14\0\0\0\0\0\0\0\x21\0\x8f\x5d\x0e\x5e\x64\0\0\0\x64\0\0\0\x09\0\0\0arr_0.npyxxxx", Guess::Npz),
    (b"PK\x03\x04\x14\0\0\0\0\0\0\0\x21\0\x8f\x5d\x0e\x5e\x64\0\0\0\x64\0\0\0\x0b\0\0\0config.jsonxx", Guess::Zip),
    (b"PK\x05\x06\0\0\0\0\0\0\0\0", Guess::Zip),
    (b"\x93NUMPY\x01\0v\0{'descr': '<f4'", Guess::Npy),
    (b"\x89HDF\r\n\x1a\n\0\0\0\0", Guess::Hdf5),
    // torch.onnx and skl2onnx; a model without a producer.
    (b"\x08\x07\x12\x07pytorch\x1a\x052.0.0\x3a", Guess::Onnx),
    (b"\x08\x08\x12\x08skl2onnx\x1a\x06", Guess::Onnx),
    (b"\x08\x09\x3a\x9c\x01\x0a\x10", Guess::Onnx),
    (b"\x1c\0\0\0TFL3\x14\0 \0", Guess::Tflite),
    // gzip, xz, bzip2 of Python's standard library; zstd's own.
    (b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xab\xa8\xa0", Guess::Gzip),
    (b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46", Guess::Xz),
    (b"BZh91AY&SY\xd1\x84\xad\x7b", Guess::Bzip2),
    (b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0", Guess::Bzip2),
    (b"\x28\xb5\x2f\xfd\x04\x58\x65\0", Guess::Zstd),
    (b"7z\xbc\xaf\x27\x1c\0\x04", Guess::SevenZip),
    (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", Guess::Pdf),
    (b"\x7fELF\x02\x01\x01\0", Guess::Elf),
    (b"hello, world\n", Guess::Text),
    (b"caf\xc3", Guess::Text),
    (b"\x01\x02\x03\x04\xfe\xfe", Guess::Unknown),
    (b"\x80\x05\x01", Guess::Unknown),
    (b"BZh9 is no archive \x01", Guess::Unknown),
    (b"MZ are two letters", Guess::Text),
    (b"cat\ndog\n", Guess::Text),
];

#[test]
fn beginnings_are_told_apart() {
    for (prefix, want) in FILES {
        assert_eq!(detect(prefix), *want, "{:?}", String::from_utf8_lossy(prefix));
    }
}

/// A block with `mark` at `at`.
fn block(start: &[u8], at: usize, mark: &[u8]) -> Vec<u8> {
    let mut block = std::vec![0; PREFIX_LEN];
    block[..start.len()].copy_from_slice(start);
    block[at..at + mark.len()].copy_from_slice(mark);
    block
}

#[test]
fn signs_further_in() {
    assert_eq!(detect(&block(b"a.txt", 257, b"ustar\x0000")), Guess::Tar);
    assert_eq!(detect(&block(b"a.txt", 257, b"ustar  \0")), Guess::Tar);
    let mut program = block(b"MZ\x90\0", 0x80, b"PE\0\0\x64\x86");
    program[0x3C] = 0x80;
    assert_eq!(detect(&program), Guess::Pe);
    program[0x80] = b'N';
    assert_eq!(detect(&program), Guess::Unknown);
    // A header behind the prefix cannot be seen.
    program[0x3D] = 4;
    assert_eq!(detect(&program), Guess::Pe);
    // What is behind the prefix does not count.
    let mut far = std::vec![b' '; PREFIX_LEN];
    far.extend_from_slice(b"\0\0\0");
    assert_eq!(detect(&far), Guess::Text);
}

#[test]
fn every_guess_is_reached_and_well_described() {
    let mut seen: Vec<Guess> = FILES.iter().map(|(_, guess)| *guess).collect();
    seen.extend([Guess::Tar, Guess::Pe]);
    for (at, guess) in Guess::ALL.iter().enumerate() {
        assert!(seen.contains(guess), "{guess:?} has no example");
        assert!(guess.code().starts_with("FT-"));
        assert!(guess.code().bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-'));
        assert!(!Guess::ALL[..at].iter().any(|other| other.code() == guess.code()), "{}", guess.code());
        let shown = std::format!("{guess}");
        assert!(shown.len() <= 200 && shown.bytes().all(|b| (b' '..=b'~').contains(&b)), "{shown}");
        assert!(!guess.what().is_empty() && !guess.advice().is_empty());
    }
}

#[test]
fn a_length_that_is_another_formats_magic_is_still_a_length() {
    for (magic, _) in FILES {
        // The length word can be any below 2^32; formats' magics are put into its low half.
        let mut file = [0_u8; 12];
        let len = magic.len().min(4);
        file[..len].copy_from_slice(&magic[..len]);
        file[8..].copy_from_slice(b"{\"a\"");
        if file[..4].iter().any(|byte| *byte != 0) && file[..4] != [1, 0, 0, 0] {
            assert_eq!(detect(&file), Guess::Safetensors, "{magic:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_guessed(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let guess = detect(&bytes);
        prop_assert_eq!(guess == Guess::Empty, bytes.is_empty());
        prop_assert!(Guess::ALL.contains(&guess));
    }

    #[test]
    fn any_cut_and_change_of_a_known_file_is_guessed(
        file in 0..FILES.len(), cut in 0..80_usize, at in 0..80_usize, byte in any::<u8>(),
    ) {
        let mut bytes = FILES[file].0.to_vec();
        bytes.truncate(cut);
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        prop_assert_eq!(detect(&bytes) == Guess::Empty, bytes.is_empty());
    }

    #[test]
    fn a_safetensors_file_is_never_a_stranger(length in 2..100_000_000_u64, space in "[ \n]{0,3}", rest in "(}|\"[a-z]{0,9})") {
        let mut file = length.to_le_bytes().to_vec();
        file.extend_from_slice(std::format!("{space}{{{rest}").as_bytes());
        prop_assert_eq!(detect(&file), Guess::Safetensors);
    }
}
