//! The text of a header, framed correctly, so that the engine spends its time behind the frame.

use tensorgate::safetensors::Header;
use tensorgate::{ErrorKind, Limits};

use super::promises;

/// The most bytes of data that a frame brings.
const MOST_DATA: u64 = 4096;

/// A file from a target's input: two bytes say how much data there is, the rest is the header's text.
pub fn frame(data: &[u8]) -> Option<Vec<u8>> {
    let (word, json) = data.split_first_chunk::<2>()?;
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json);
    let data_len = u64::from(u16::from_le_bytes(*word)) % MOST_DATA;
    file.resize(file.len() + usize::try_from(data_len).ok()?, 0xA5);
    Some(file)
}

/// The input that [`frame`] makes into this file, as far as the data's length allows.
pub fn unframe(file: &[u8]) -> Option<Vec<u8>> {
    let (word, rest) = file.split_first_chunk::<8>()?;
    let (json, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*word)).ok()?)?;
    let mut input = u16::try_from(data.len()).ok()?.to_le_bytes().to_vec();
    input.extend_from_slice(json);
    Some(input)
}

/// Judges the framed text; where only the data's length is wrong, the length that the error wants is right.
pub fn check(data: &[u8]) {
    let Some(file) = frame(data) else { return };
    let Err(error) = promises::safetensors(&file, &Limits::DEFAULT) else { return };
    if matches!(error.kind(), ErrorKind::StDataShort | ErrorKind::StDataTrailing) {
        // Where header and data together pass 2^64 no length is right, and none is wanted.
        let Some(want) = error.want() else { return assert_eq!(error.kind(), ErrorKind::StDataShort) };
        let mut slots = promises::slots_for(&file);
        let header = Header::open_in(&file, want, &mut slots, &Limits::DEFAULT);
        assert!(header.is_ok(), "{error}, and then {:?}", header.err());
    }
}

/// The header of the file and how much data it has.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    unframe(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_framed_file_is_the_file() {
        let file = b"\x02\0\0\0\0\0\0\0{}\xa5\xa5";
        assert_eq!(frame(&unframe(file).unwrap()).unwrap(), file);
    }

    #[test]
    fn smoke() {
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| seed(file)).collect();
        crate::smoke::mutants(check, 2, 12, &seeds);
        crate::smoke::noise(check, 3, 300);
    }
}
