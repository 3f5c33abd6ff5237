//! Reading a manifest, strictly: whatever we would not have written is refused, with the line.

use std::fs::File;
use std::path::Path;

use super::manifest::{FileLine, MAGIC, Manifest, Sum, TensorLine, dims, unescaped};
use crate::limited::at_most;
use crate::text;

/// The longest manifest, in bytes: a million tensors with names of 150.
const MOST: u64 = 256 * 1024 * 1024;

/// Reads a manifest; the error is a sentence.
pub(super) fn read(path: &Path) -> Result<Manifest, String> {
    let shown = text::path(path);
    let bytes =
        File::open(path).and_then(|file| at_most(file, MOST)).map_err(|error| format!("{shown}: {error}"))?;
    let bytes = bytes.ok_or_else(|| format!("{shown}: a manifest of more than {MOST} bytes"))?;
    manifest(&bytes).map_err(|(line, what)| format!("{shown}: line {line} of the manifest: {what}"))
}

const NO_MANIFEST: &str = "it does not say that it is a manifest of this version, as hash prints it without --json";

/// A line's number, from 1 on, and what is wrong with it.
type Fault = (usize, &'static str);

/// The manifest in a text; the error is a line's number and what is wrong with it.
pub(crate) fn manifest(bytes: &[u8]) -> Result<Manifest, Fault> {
    // First of all: what is no manifest should not be told where it could be a better one.
    if !bytes.starts_with(MAGIC.as_bytes()) {
        return Err((1, NO_MANIFEST));
    }
    let line_of = |at: usize| bytes.iter().take(at).filter(|byte| **byte == b'\n').count().saturating_add(1);
    if let Some(at) = bytes.iter().position(|byte| !matches!(byte, b' '..=b'~' | b'\n')) {
        return Err((line_of(at), "a character that is not printable ASCII"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| (line_of(error.valid_up_to()), "it is no text"))?;
    let Some(text) = text.strip_suffix('\n') else {
        return Err((line_of(bytes.len()), "the last line does not end"));
    };
    let mut lines = (1_usize..).zip(text.split('\n'));
    if lines.next().is_none_or(|(_, line)| line != MAGIC) {
        return Err((1, NO_MANIFEST));
    }
    let model = lines.next().and_then(|(_, line)| model_line(line));
    let Some((sum, count)) = model else {
        return Err((2, "the model's digest and number of tensors are expected"));
    };
    let mut read = Manifest::default();
    for _ in 0..count {
        let Some((number, line)) = lines.next() else { return Err((2, "it has fewer tensors")) };
        let fault = |what| (number, what);
        let tensor = tensor_line(line).ok_or(fault("a tensor's digest, type, shape and name are expected"))?;
        if read.tensors.last().is_some_and(|last| last.name >= tensor.name) {
            return Err(fault("tensors must ascend by name"));
        }
        read.tensors.push(tensor);
    }
    if sum != read.model() {
        return Err((2, "the model's digest is not that of the tensors' lines"));
    }
    let files = lines.next().map(|(at, line)| (at, line.strip_prefix("files  ").and_then(number)));
    let Some((at, Some(count))) = files else {
        return Err((files.map_or(2, |(at, _)| at), "the number of files is expected"));
    };
    for _ in 0..count {
        let Some((number, line)) = lines.next() else { return Err((at, "it has fewer files")) };
        let fault = |what| (number, what);
        let file = file_line(line).ok_or(fault("a file's digest, length and name are expected"))?;
        if read.files.last().is_some_and(|last| last.name >= file.name) {
            return Err(fault("files must ascend by name"));
        }
        read.files.push(file);
    }
    lines.next().map_or(Ok(read), |(number, _)| Err((number, "nothing more is expected")))
}

fn model_line(line: &str) -> Option<(Sum, u64)> {
    let (sum, count) = line.strip_prefix("model  ")?.split_once("  ")?;
    Some((digest(sum)?, number(count)?))
}

fn tensor_line(line: &str) -> Option<TensorLine> {
    let (sum, rest) = line.split_once("  ")?;
    let (kind, rest) = rest.split_once("  ")?;
    let (shape, name) = rest.split_once("  ")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if kind.is_empty() || kind.len() > 32 || !kind.bytes().all(plain) {
        return None;
    }
    let inside = shape.strip_prefix('[')?.strip_suffix(']')?;
    let numbers = inside.split(',').filter(|_| !inside.is_empty()).map(number);
    let numbers = numbers.collect::<Option<Vec<u64>>>()?;
    if dims(&numbers) != shape {
        return None;
    }
    Some(TensorLine { name: unescaped(name)?, kind: kind.to_owned(), shape: numbers, sum: digest(sum)? })
}

fn file_line(line: &str) -> Option<FileLine> {
    let (sum, rest) = line.strip_prefix("file  ")?.split_once("  ")?;
    let (bytes, name) = rest.split_once("  ")?;
    Some(FileLine { name: unescaped(name)?, bytes: number(bytes)?, sum: digest(sum)? })
}

/// A number as it is written: no sign, no zeros in front.
fn number(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|number| number.to_string() == text)
}

/// `sha256:` and 64 lower-case digits.
fn digest(text: &str) -> Option<Sum> {
    let digits = text.strip_prefix("sha256:")?;
    let mut sum = [0; 32];
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != sum.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in sum.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(sum)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(digit.wrapping_sub(b'a').wrapping_add(10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Manifest {
        let tensor = |name: &str, shape: &[u64]| TensorLine {
            name: name.to_owned(),
            kind: "F8_E4M3".to_owned(),
            shape: shape.to_vec(),
            sum: [0xA5; 32],
        };
        let file = |name: &str| FileLine { name: name.to_owned(), bytes: 7, sum: [9; 32] };
        Manifest {
            tensors: vec![tensor("", &[]), tensor("a  b", &[0, u64::MAX]), tensor("\u{1b}", &[1])],
            files: vec![file("m-1.gguf"), file("m-2.gguf")],
        }
    }

    fn text(manifest: &Manifest) -> Vec<u8> {
        let mut out = Vec::new();
        manifest.write(&mut out).unwrap();
        out
    }

    #[test]
    fn what_is_written_is_read() {
        let mut sorted = sound();
        sorted.tensors.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(manifest(&text(&sorted)), Ok(sorted));
        let none = Manifest::default();
        assert_eq!(manifest(&text(&none)), Ok(none));
        assert_eq!(manifest(&text(&sound())), Err((5, "tensors must ascend by name")));
    }

    #[test]
    fn no_other_bytes_are_read_as_a_manifest() {
        let mut sorted = sound();
        sorted.tensors.sort_by(|a, b| a.name.cmp(&b.name));
        let text = text(&sorted);
        for at in 0..text.len() {
            assert!(manifest(&text[..at]).is_err(), "cut at {at}");
            for byte in [b' ', b'0', b'a', b'\n', b'\\', b'F', 0, 0xFF] {
                let mut other = text.clone();
                other[at] = byte;
                // A file's line is not summed, so that another digit there is another manifest; nothing else is.
                match manifest(&other) {
                    Ok(read) => assert!(other == text || read.tensors == sorted.tensors && read != sorted),
                    Err((line, _)) => assert!(line >= 1),
                }
                other.insert(at, byte);
                assert!(manifest(&other).is_err() || manifest(&other).unwrap() != sorted, "{at} {byte}");
            }
        }
    }
}
