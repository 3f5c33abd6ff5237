//! Every change of a byte, every byte less or more, and every prefix of files that mix all the ways of spelling.

use tensorgate::safetensors::Header;
use tensorgate::{Gguf, Limits, SafeTensors};

use super::{framed, verdict};
use crate::corpus;
use crate::oracle::gguf_naive;

/// Headers in which plain entries stand beside ones that the careful reading takes, with their data's length.
const SEEDS: [(&str, usize); 8] = [
    (
        r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F16","shape":[2,1],"data_offsets":[3,7]}}"#,
        7,
    ),
    (
        r#"{"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"c":{"dtype":"I8","shape":[],"data_offsets":[2,3]}}"#,
        3,
    ),
    (
        r#"{"b":{"dtype":"U8","shape":[12],"data_offsets":[0,12]}, "a\n":{"data_offsets":[12,14],"shape":[2],"dtype":"BOOL"},"c":{"dtype":"F4","shape":[0,9],"data_offsets":[14,14]}}  "#,
        14,
    ),
    (
        r#"{"__metadata__":{"k":"v","\u006b2":"\ud83d\ude00"},"w":{"dtype":"BF16","shape":[1],"data_offsets":[1,3]},"v":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#,
        3,
    ),
    (
        r#"{"_":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"__metadata__":null}"#,
        2,
    ),
    (
        r#"{"é":{"dtype":"F8_E4M3FNUZ","shape":[1,1,1],"data_offsets":[10,11]},"x":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[11,14]},"\"":{"dtype":"U64","shape":[1],"data_offsets":[0,8]},"z":{"dtype":"I16","shape":[1],"data_offsets":[8,10]}}"#,
        14,
    ),
    (
        "{\"a\" : {\"dtype\" :\"U8\",\"shape\":[ 1 , 2 ],\"data_offsets\":[0,2]},\r\n\t\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]},\"c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[3,4]}}",
        4,
    ),
    (
        r#"{"a":{"dtype":"\u00558","shape":[18446744073709551615,0],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[0,18446744073709551615],"data_offsets":[0,0]},"c":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#,
        1,
    ),
];

/// Bytes that mean something in a header.
const ODD: &[u8] = b"\"\\{}[]:,0189-+.eEu_n \t\n\0\x1f\x7f\x80\xc3\xff";

/// What one change makes of a header: each byte replaced by each of `bytes`, gone, and each of `bytes` put before it.
fn changes(header: &[u8], bytes: &[u8], mut each: impl FnMut(&[u8])) {
    let mut changed = header.to_vec();
    for (at, kept) in header.iter().enumerate() {
        for byte in bytes {
            changed[at] = *byte;
            each(&changed);
        }
        changed.remove(at);
        each(&changed);
        changed.insert(at, *kept);
    }
    for at in 0..=header.len() {
        changed.insert(at, b' ');
        for byte in bytes {
            changed[at] = *byte;
            each(&changed);
        }
        changed.remove(at);
    }
}

fn every_byte() -> Vec<u8> {
    (0..=255).collect()
}

/// One change to each header; whatever comes of it, both readers say the same. So they do of a change in the frame.
#[test]
fn one_byte_of_a_header() {
    for (header, data_len) in SEEDS {
        assert!(verdict(&framed(header.as_bytes(), data_len)), "{header}");
        let mut accepted = 0;
        let mut count = 0;
        changes(header.as_bytes(), &every_byte(), |changed| {
            accepted += u32::from(verdict(&framed(changed, data_len)));
            count += 1;
        });
        println!("{accepted} of {count} changes accepted");
        assert!(accepted > 0 && accepted < count / 2);
        let file = framed(header.as_bytes(), data_len);
        for at in 0..8 {
            for byte in every_byte() {
                let mut changed = file.clone();
                changed[at] = byte;
                assert!(!verdict(&changed) || changed == file);
            }
        }
    }
}

/// A second change wherever the first was: only bytes that mean something, or this would take a day.
#[test]
#[ignore = "minutes; fuzz/scope.sh runs it optimised"]
fn whole_two_bytes_of_a_header() {
    for (header, data_len) in SEEDS {
        let (mut accepted, mut count) = (0_u64, 0_u64);
        changes(header.as_bytes(), ODD, |once| {
            for at in 0..once.len() {
                let mut twice = once.to_vec();
                for byte in [b'"', b'\\', b'0', b'-', b',', b']', b'}', b' '] {
                    twice[at] = byte;
                    accepted += u64::from(verdict(&framed(&twice, data_len)));
                    count += 1;
                }
            }
        });
        println!("{accepted} of {count} pairs of changes accepted");
    }
}

/// No prefix of a file is a file; as the beginning of the whole it is one that needs more, or the header's whole verdict.
#[test]
fn every_prefix() {
    for (header, data_len) in SEEDS {
        let file = framed(header.as_bytes(), data_len);
        for cut in 0..file.len() {
            assert!(!verdict(&file[..cut]));
            let beginning = Header::open(&file[..cut], file.len() as u64, &Limits::DEFAULT);
            let want =
                if cut < 8 { Some(8) } else { Some(8 + header.len() as u64).filter(|end| *end > cut as u64) };
            assert_eq!(beginning.err().and_then(|error| error.needs()), want);
            // The header's text cut short, in a frame that says so.
            if let Some(text) = file.get(8..cut.max(8)).filter(|text| text.len() < header.len()) {
                let short = framed(text, data_len);
                assert!(!verdict(&short) || header[text.len()..].trim_ascii().is_empty());
            }
        }
        assert!(SafeTensors::open(&file).is_ok());
    }
}

/// GGUF files of the cases and the corpus: every byte of each, and every prefix, in our reader and in the plain one.
fn gguf_files(longest: usize) {
    let mut files = corpus::files();
    files.retain(|file| file.starts_with(b"GGUF") && file.len() <= longest && Gguf::open(file).is_ok());
    files.sort();
    files.dedup();
    assert!(files.len() > 10, "{}", files.len());
    let mut count = 0_u64;
    for file in &files {
        let mut changed = file.clone();
        for at in 0..file.len() {
            for byte in 0..=255 {
                changed[at] = byte;
                gguf_naive::judge(&changed);
            }
            changed[at] = file[at];
            gguf_naive::judge(&file[..at]);
            count += 257;
        }
    }
    println!("{} files, {count} changes", files.len());
}

#[test]
fn one_byte_of_small_gguf_files() {
    gguf_files(130);
}

#[test]
#[ignore = "a minute; fuzz/scope.sh runs it optimised"]
fn whole_one_byte_of_every_gguf_file() {
    gguf_files(2000);
}
