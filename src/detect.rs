//! What a file is, guessed from its first bytes, so that a refusal can name the stranger and say what to do.
//!
//! It is a guess and nothing more: no verdict follows from it. A file that begins like a model is accepted or refused by
//! the reader of that format; bytes that no rule here knows are [`Guess::Unknown`]. A safetensors file begins with a
//! number, and that can be any other format's magic; so its own look, a length below 4 GiB and a `{` behind it, is asked
//! for before all others.
//!
//! The magic numbers are those of the formats' own specifications, named at each rule.

use core::fmt;

use crate::json::lex::BYTE_ORDER_MARK;

/// How many bytes of a file's beginning [`detect`] looks at, at the most: a tar header's block.
pub const PREFIX_LEN: usize = 512;

macro_rules! guesses {
    ($($(#[$doc:meta])* $name:ident $code:literal $what:literal $advice:literal;)*) => {
        /// What a file seems to be.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Guess { $(#[doc = concat!("It seems to be ", $what, ".")] $(#[$doc])* $name,)* }

        impl Guess {
            /// Every guess there is.
            pub const ALL: &'static [Guess] = &[$(Guess::$name,)*];

            /// The stable code: it appears in JSON, SARIF and `docs/rules.md`, and never changes.
            pub const fn code(self) -> &'static str {
                match self { $(Guess::$name => $code,)* }
            }

            /// What the file seems to be, in plain words of printable ASCII.
            pub const fn what(self) -> &'static str {
                match self { $(Guess::$name => $what,)* }
            }

            /// What to do with it.
            pub const fn advice(self) -> &'static str {
                match self { $(Guess::$name => $advice,)* }
            }
        }
    };
}

guesses! {
    // What this crate reads.
    Safetensors "FT-SAFETENSORS" "a safetensors file" "open it as safetensors";
    Index "FT-INDEX" "a sharded index in JSON" "open it as an index, next to its shards";
    Gguf "FT-GGUF" "a GGUF file" "open it as GGUF";
    GgufBig "FT-GGUF-BIG" "a big-endian GGUF file" "open it as GGUF; only version 3 has this byte order";

    // GGUF's relatives.
    GgufOld "FT-GGUF-V1" "a GGUF file of version 1, with 32-bit counts" "convert the original model again with a current converter";
    GgufReversed "FT-GGUF-REVERSED" "a GGUF file whose magic was byte-swapped (FUGG)" "write it again: the magic is GGUF in either byte order";
    Ggml "FT-GGML" "a ggml file from before GGUF (ggml, ggmf, ggjt or ggla)" "convert the original model again with a current converter";

    // Not the file that was wanted.
    Empty "FT-EMPTY" "an empty file" "download it again";
    Zeros "FT-ZEROS" "nothing but zeros so far: a download that never finished, or a sparse file" "download it again";
    LfsPointer "FT-LFS-POINTER" "a git-LFS pointer; the file itself was not fetched" "run: git lfs pull";
    Html "FT-HTML" "an HTML page, probably an error or a login page" "download it again, and look at what the server answers";
    Xml "FT-XML" "an XML text, perhaps a storage server's error message" "download it again, and look at what the server answers";
    Json "FT-JSON" "a JSON text" "look for the model file beside it; a header alone, taken out of its file, has no data";
    Bom "FT-BOM" "a text that begins with a UTF-8 byte order mark" "save it without the mark";
    Utf16 "FT-UTF16" "UTF-16 or UTF-32 text, perhaps a file that a shell redirected" "make it again without passing it through a text stream";
    Text "FT-TEXT" "a plain text" "look for the model file beside it";

    // Other formats of models and arrays.
    Pickle "FT-PICKLE" "a Python pickle, which can run any code when it is loaded" "do not load it; convert it in a sandbox, or take the safetensors version";
    TorchLegacy "FT-TORCH-LEGACY" "a PyTorch file of the old kind: a pickle, which can run any code when it is loaded" "do not load it; convert it in a sandbox, or take the safetensors version";
    TorchZip "FT-TORCH-ZIP" "a PyTorch archive: a pickle in a ZIP, which can run any code when it is loaded" "do not load it; convert it in a sandbox, or take the safetensors version";
    Npy "FT-NPY" "a NumPy array" "load it with numpy.load(allow_pickle=False) and save it as safetensors";
    Npz "FT-NPZ" "an archive of NumPy arrays" "load it with numpy.load(allow_pickle=False) and save it as safetensors";
    Hdf5 "FT-HDF5" "an HDF5 file (Keras weights)" "convert it with h5py; do not load Lambda layers of strangers";
    Onnx "FT-ONNX" "an ONNX model" "convert its initializers to safetensors";
    Tflite "FT-TFLITE" "a TensorFlow Lite model" "convert it from its source model";

    // Wrappings and the rest.
    Zip "FT-ZIP" "a ZIP archive" "unpack it first, in an empty folder";
    Gzip "FT-GZIP" "gzip-compressed data" "unpack it first (gzip -d)";
    Zstd "FT-ZSTD" "Zstandard-compressed data" "unpack it first (zstd -d)";
    Xz "FT-XZ" "xz-compressed data" "unpack it first (xz -d)";
    Bzip2 "FT-BZIP2" "bzip2-compressed data" "unpack it first (bzip2 -d)";
    SevenZip "FT-7Z" "a 7-Zip archive" "unpack it first, in an empty folder";
    Tar "FT-TAR" "a tar archive" "unpack it first, in an empty folder";
    Pdf "FT-PDF" "a PDF document" "this is no model; look at where it came from";
    Elf "FT-ELF" "an ELF program or library" "this is no model; do not run it";
    Pe "FT-PE" "a Windows program or library" "this is no model; do not run it";
    Unknown "FT-UNKNOWN" "nothing that is known here" "look at where it came from";
}

impl Guess {
    /// Whether this crate has a reader for it.
    pub const fn is_readable(self) -> bool {
        matches!(self, Self::Safetensors | Self::Index | Self::Gguf | Self::GgufBig)
    }
}

impl fmt::Display for Guess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.code(), self.what(), self.advice())
    }
}

/// Guesses what a file is from its beginning; the longer the prefix, up to [`PREFIX_LEN`], the better the guess.
///
/// ```
/// use tensorgate::detect::{Guess, detect};
/// let guess = detect(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a...");
/// assert_eq!(guess, Guess::LfsPointer);
/// assert_eq!(guess.code(), "FT-LFS-POINTER");
/// assert_eq!(guess.advice(), "run: git lfs pull");
/// // A length that reads as gzip's magic is still a length.
/// assert_eq!(detect(b"\x1f\x8b\x08\0\0\0\0\0{\"a\":{}}"), Guess::Safetensors);
/// ```
pub fn detect(prefix: &[u8]) -> Guess {
    let prefix = prefix.get(..PREFIX_LEN).unwrap_or(prefix);
    if prefix.is_empty() {
        return Guess::Empty;
    }
    safetensors(prefix)
        .or_else(|| gguf(prefix))
        .or_else(|| magic(prefix))
        .or_else(|| zip(prefix))
        .or_else(|| weak(prefix))
        .or_else(|| zeros(prefix))
        .or_else(|| text(prefix))
        .unwrap_or(Guess::Unknown)
}

/// Eight bytes of length, then JSON's `{` and what may follow it (README of `safetensors`, *Format*). White space before
/// the brace is none of the format, but readers take it.
fn safetensors(prefix: &[u8]) -> Option<Guess> {
    let (length, rest) = prefix.split_first_chunk::<8>()?;
    let plausible = matches!(u64::from_le_bytes(*length), 2..=0xFFFF_FFFF);
    (plausible && begins_object(rest)).then_some(Guess::Safetensors)
}

/// Whether a JSON object begins here, as far as there are bytes: `{`, then a key or `}`.
fn begins_object(text: &[u8]) -> bool {
    let Some((b'{', rest)) = text.trim_ascii_start().split_first() else { return false };
    matches!(rest.trim_ascii_start().first(), None | Some(b'"' | b'}'))
}

/// `GGUF` and a version (ggml's `gguf.md`, *File Structure*): big-endian files have the version in that order. The magics
/// before it are ggml's `ggml`, `ggmf`, `ggjt` and `ggla`, 32-bit numbers that a little-endian file holds reversed.
fn gguf(prefix: &[u8]) -> Option<Guess> {
    let (magic, rest) = prefix.split_first_chunk::<4>()?;
    match magic {
        b"GGUF" => Some(match rest {
            [1, 0, 0, 0, ..] | [0, 0, 0, 1, ..] => Guess::GgufOld,
            [0, 0, 0, 0, ..] => Guess::Gguf,
            [0, 0, ..] => Guess::GgufBig,
            _ => Guess::Gguf,
        }),
        b"FUGG" => Some(Guess::GgufReversed),
        b"lmgg" | b"fmgg" | b"tjgg" | b"algg" | b"ggml" | b"ggmf" | b"ggjt" | b"ggla" => Some(Guess::Ggml),
        _ => None,
    }
}

/// Magic numbers that stand at the very beginning and are long enough to be believed.
const MAGICS: &[(&[u8], Guess)] = &[
    // git-lfs, docs/spec.md; the older name is from its first versions.
    (b"version https://git-lfs.github.com/spec/v1", Guess::LfsPointer),
    (b"version https://hawser.github.com/spec/v1", Guess::LfsPointer),
    // numpy.lib.format.
    (b"\x93NUMPY", Guess::Npy),
    // HDF5 File Format Specification, superblock.
    (b"\x89HDF\r\n\x1a\n", Guess::Hdf5),
    // RFC 1952 with its only method; RFC 8878; The .xz File Format; 7zFormat.txt.
    (b"\x1f\x8b\x08", Guess::Gzip),
    (b"\x28\xb5\x2f\xfd", Guess::Zstd),
    (b"\xfd7zXZ\0", Guess::Xz),
    (b"7z\xbc\xaf\x27\x1c", Guess::SevenZip),
    // ISO 32000-1, 7.5.2; System V ABI, ELF header.
    (b"%PDF-", Guess::Pdf),
    (b"\x7fELF", Guess::Elf),
    // torch.serialization's MAGIC_NUMBER 0x1950a86a20f9469cfc6c as a pickled long, protocol 2.
    (b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", Guess::TorchLegacy),
];

fn magic(prefix: &[u8]) -> Option<Guess> {
    MAGICS.iter().find(|(magic, _)| prefix.starts_with(magic)).map(|(_, guess)| *guess)
}

/// A ZIP's local header, or the end record of an empty one (APPNOTE.TXT, 4.3.7 and 4.3.16), told apart by the first
/// entry's name: PyTorch writes `data.pkl` first, NumPy's are all `.npy`.
fn zip(prefix: &[u8]) -> Option<Guess> {
    if prefix.starts_with(b"PK\x05\x06") || prefix.starts_with(b"PK\x07\x08") {
        return Some(Guess::Zip);
    }
    let header = prefix.strip_prefix(b"PK\x03\x04")?;
    // Behind the magic: 22 bytes, two of name length, two of extra length, then the name.
    let name = header.get(22..24).and_then(|length| {
        let length = length.iter().rev().fold(0_usize, |sum, byte| (sum << 8) | usize::from(*byte));
        let name = header.get(26..)?;
        Some(name.get(..length).unwrap_or(name))
    });
    let name = name.unwrap_or_default();
    Some(if name.ends_with(b"data.pkl") {
        Guess::TorchZip
    } else if name.ends_with(b".npy") {
        Guess::Npz
    } else {
        Guess::Zip
    })
}

/// Signs that are short, or stand further in, each with something besides that must agree.
fn weak(prefix: &[u8]) -> Option<Guess> {
    let at = |start: usize, wanted: &[u8]| prefix.get(start..).is_some_and(|rest| rest.starts_with(wanted));
    // bzip2: level, then pi as the first block's magic, or its root as the end's.
    let bzip2 = at(0, b"BZh")
        && matches!(prefix.get(3), Some(b'1'..=b'9'))
        && (at(4, b"\x31\x41\x59\x26\x53\x59") || at(4, b"\x17\x72\x45\x38\x50\x90"));
    // FlatBuffers' file identifier of TensorFlow Lite's schema.
    let tflite = at(4, b"TFL3");
    // POSIX ustar and GNU tar.
    let tar = at(257, b"ustar\0") || at(257, b"ustar  \0");
    [
        (bzip2, Guess::Bzip2),
        (tflite, Guess::Tflite),
        (tar, Guess::Tar),
        (pe(prefix), Guess::Pe),
        (pickle(prefix), Guess::Pickle),
        (onnx(prefix), Guess::Onnx),
        (utf16(prefix), Guess::Utf16),
    ]
    .iter()
    .find(|(found, _)| *found)
    .map(|(_, guess)| *guess)
}

/// `MZ`, and `PE\0\0` where the word at 0x3C says (PE Format, *MS-DOS Stub*), as far as there are bytes.
fn pe(prefix: &[u8]) -> bool {
    let Some(stub) = prefix.strip_prefix(b"MZ").and_then(|stub| stub.get(0x3A..0x3E)) else { return false };
    let Ok(word) = <[u8; 4]>::try_from(stub) else { return false };
    match usize::try_from(u32::from_le_bytes(word)).ok().and_then(|header| prefix.get(header..)) {
        Some(header) if header.len() >= 4 => header.starts_with(b"PE\0\0"),
        _ => prefix.len() == PREFIX_LEN && matches!(word, [_, _, 0, 0]),
    }
}

/// The opcodes of one printable character that begin what a pickler writes behind `PROTO`.
const PICKLE_OPCODES: &[u8] = b"()}]cIJKMNXUGBC";

/// `PROTO` 2 to 5 and an opcode that picklers write next (Lib/pickletools.py), or protocol 0's and 1's look: a `GLOBAL`
/// of two names, or an empty container that is memoised.
fn pickle(prefix: &[u8]) -> bool {
    match prefix {
        [0x80, 2..=5, opcode, ..] => matches!(opcode, 0x80..=0x97) || PICKLE_OPCODES.contains(opcode),
        [0x80, 2..=5] | [b'(', b'd' | b'l', b'p', b'0'..=b'9', b'\n', ..] | [b'}' | b']', b'q', 0, ..] => true,
        [b'c', rest @ ..] => {
            let mut lines = rest.splitn(3, |byte| *byte == b'\n');
            let is_name = |line: &[u8]| {
                let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
                !line.is_empty() && line.iter().all(plain)
            };
            lines.next().is_some_and(is_name)
                && lines.next().is_some_and(is_name)
                && matches!(lines.next().and_then(<[u8]>::first), Some(b'(' | b'q' | b'p' | b')'))
        }
        _ => false,
    }
}

/// A protobuf of ONNX's `ModelProto` (onnx.proto): `ir_version` first, a small number, then `producer_name`, a short text
/// and another field, or `graph` with a node or a name in it.
fn onnx(prefix: &[u8]) -> bool {
    let [0x08, 1..=32, tag, rest @ ..] = prefix else { return false };
    match (tag, rest) {
        (0x12, [length @ 1..=64, rest @ ..]) => {
            let (name, rest) = rest.split_at_checked(usize::from(*length)).unwrap_or((rest, &[]));
            let printable = !name.is_empty() && name.iter().all(|byte| (b' '..=b'~').contains(byte));
            printable && matches!(rest.first(), None | Some(0x1A | 0x22 | 0x28 | 0x32 | 0x3A | 0x42))
        }
        (0x3A, _) => {
            let end = rest.iter().take(5).position(|byte| *byte < 0x80);
            let graph = end.and_then(|end| rest.get(end.saturating_add(1)..));
            graph.is_some_and(|graph| matches!(graph.first(), Some(0x0A | 0x12)))
        }
        _ => false,
    }
}

/// A byte order mark of UTF-16 (and so of UTF-32 with the little end first), that of UTF-32 with the big end first, or
/// ASCII with a zero on one side of every character.
fn utf16(prefix: &[u8]) -> bool {
    if prefix.starts_with(b"\xFF\xFE") || prefix.starts_with(b"\xFE\xFF") || prefix.starts_with(b"\0\0\xFE\xFF") {
        return true;
    }
    let (pairs, _) = prefix.as_chunks::<2>();
    let is_text = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let little = pairs.iter().all(|[low, high]| *high == 0 && is_text(*low));
    let big = pairs.iter().all(|[high, low]| *high == 0 && is_text(*low));
    pairs.len() >= 4 && (little || big)
}

fn zeros(prefix: &[u8]) -> Option<Guess> {
    prefix.iter().all(|byte| *byte == 0).then_some(Guess::Zeros)
}

/// Text of some kind: HTML, XML, JSON, or plain.
fn text(prefix: &[u8]) -> Option<Guess> {
    let (marked, body) = match prefix.strip_prefix(BYTE_ORDER_MARK) {
        Some(body) => (true, body),
        None => (false, prefix),
    };
    let body = body.trim_ascii_start();
    let begins = |tag: &[u8]| body.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag));
    if [&b"<!doctype html"[..], b"<html", b"<head", b"<body", b"<script", b"<title"].iter().any(|tag| begins(tag)) {
        return Some(Guess::Html);
    }
    if begins(b"<?xml") || begins(b"<error>") {
        return Some(Guess::Xml);
    }
    if !is_text(prefix) {
        return None;
    }
    if marked {
        return Some(Guess::Bom);
    }
    if begins_object(body) {
        let index = body.windows(12).any(|window| window == b"\"weight_map\"");
        return Some(if index { Guess::Index } else { Guess::Json });
    }
    Some(if begins_array(body) { Guess::Json } else { Guess::Text })
}

/// Whether a JSON array begins here, as far as there are bytes.
fn begins_array(text: &[u8]) -> bool {
    let Some((b'[', rest)) = text.split_first() else { return false };
    matches!(
        rest.trim_ascii_start().first(),
        None | Some(b'"' | b'{' | b'[' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
    )
}

/// Whether all of it is UTF-8 text, but for a character that the prefix may cut, without control characters.
fn is_text(prefix: &[u8]) -> bool {
    let valid = match core::str::from_utf8(prefix) {
        Ok(_) => prefix,
        Err(error) if error.error_len().is_none() => prefix.get(..error.valid_up_to()).unwrap_or_default(),
        Err(_) => return false,
    };
    !valid.is_empty()
        && valid.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B | 0x20..=0x7E | 0x80..))
}

#[cfg(test)]
mod tests;
