//! No proper prefix of a file is a file, and a header that comes in pieces is judged as one that comes whole.

use tensorgate::safetensors::Header;
use tensorgate::{Error, ErrorKind, Limits, SafeTensors};

use super::{promises, st_raw};
use crate::heap;

/// Bytes of an input that say how long the pieces are.
const PIECES: usize = 16;

/// Files up to this length are cut at every byte; longer ones near the ends of the header and of the file, and every
/// 61st byte.
const EVERY_BYTE: usize = 600;

/// The first bytes choose the pieces; the rest is as for `st_raw`, and is also judged as a file as it stands.
pub fn check(data: &[u8]) {
    let Some((pieces, rest)) = data.split_at_checked(PIECES) else { return };
    for file in [Some(rest.to_vec()), st_raw::frame(rest)].into_iter().flatten() {
        let whole = SafeTensors::open(&file).map(drop);
        in_pieces(&file, pieces, &whole);
        if whole.is_ok() {
            cuts(&file).for_each(|cut| cut_short(&file, cut));
        }
    }
}

/// Where to cut a file.
fn cuts(file: &[u8]) -> impl Iterator<Item = usize> {
    let header_end = usize::try_from(promises::header_len(file)).map_or(0, |len| len.saturating_add(8));
    let len = file.len();
    (0..len).filter(move |cut| {
        len <= EVERY_BYTE || cut.abs_diff(header_end) < 16 || len - cut < 16 || cut % 61 == 0 || *cut < 16
    })
}

/// A prefix is refused whole; as the beginning of the whole file it is not refused, and needs more while it lacks some
/// of the header.
fn cut_short(file: &[u8], cut: usize) {
    let header_end = 8 + promises::header_len(file);
    let refused = SafeTensors::open(&file[..cut]).map(drop).expect_err("a cut file is refused");
    promises::error(&refused, cut as u64);
    assert!(!refused.kind().is_callers(), "{refused}");
    let outcome = Header::open(&file[..cut], file.len() as u64, &Limits::DEFAULT).map(drop);
    let want = if cut < 8 { Some(8) } else { Some(header_end).filter(|end| *end > cut as u64) };
    assert_eq!(outcome.err().and_then(|error| error.needs()), want, "cut at {cut}");
}

/// Gives a header piece by piece, never more than was asked for, until there is a verdict.
fn in_pieces(file: &[u8], pieces: &[u8], whole: &Result<(), Error>) {
    let file_len = file.len() as u64;
    let mut slots = promises::slots_for(file);
    let mut have = 0;
    let mut before = 0;
    for piece in pieces.iter().chain(std::iter::repeat(&255)) {
        let outcome =
            heap::none(|| Header::open_in(&file[..have], file_len, &mut slots, &Limits::DEFAULT).map(drop));
        let Err(needs) = outcome.as_ref().map_err(Error::needs) else {
            return assert_eq!(outcome, *whole, "with the first {have} bytes");
        };
        let Some(needs) = needs else { return assert_eq!(outcome, *whole, "with the first {have} bytes") };
        promises::error(outcome.as_ref().unwrap_err(), file_len);
        assert_eq!(outcome.as_ref().unwrap_err().kind(), ErrorKind::NeedMore);
        assert!(needs > have as u64 && needs <= file_len && needs >= before, "{needs} of {file_len}, have {have}");
        before = needs;
        let asked = usize::try_from(needs).unwrap();
        // 255 is all that was asked for.
        have = if *piece == 255 { asked } else { asked.min(have + 1 + usize::from(*piece)) };
    }
}

/// Pieces of a byte each, then as for `st_raw`.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    let mut input = vec![0; PIECES];
    input.extend(st_raw::seed(file)?);
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke() {
        let seeds: Vec<_> = crate::corpus::files()
            .iter()
            .filter(|file| file.len() < 3000)
            .flat_map(|file| [seed(file), Some([&[7; PIECES], file.as_slice()].concat())])
            .flatten()
            .collect();
        crate::smoke::mutants(check, 11, 4, &seeds);
        crate::smoke::noise(check, 12, 200);
    }
}
