//! Raising a limit never turns acceptance into refusal, and each limit counts exactly.

use arbitrary::{Arbitrary, Unstructured};
use tensorgate::safetensors::Header;
use tensorgate::{Error, ErrorKind, Limits, SafeTensors};

use super::{promises, st_raw};

/// How many bytes of an input choose the limits.
const CHOICE: usize = 24;

/// Limits at which something may happen: small ones, or none.
fn choose(u: &mut Unstructured<'_>) -> arbitrary::Result<Limits> {
    let mut most = |wide: u64| -> arbitrary::Result<u64> {
        let small = u64::from(u8::arbitrary(u)?);
        Ok(if small == 0 { u64::MAX } else { small * wide })
    };
    Ok(Limits::DEFAULT
        .with_header_len(most(16)?)
        .with_tensors(most(1)?)
        .with_rank(most(1)?)
        .with_name_len(most(1)?)
        .with_metadata_keys(most(1)?)
        .with_leading_space(most(1)?.is_multiple_of(2)))
}

/// The larger of each limit of the two.
fn join(a: Limits, b: Limits) -> Limits {
    Limits::DEFAULT
        .with_header_len(a.header_len().max(b.header_len()))
        .with_tensors(a.tensors().max(b.tensors()))
        .with_rank(a.rank().max(b.rank()))
        .with_name_len(a.name_len().max(b.name_len()))
        .with_metadata_keys(a.metadata_keys().max(b.metadata_keys()))
        .with_leading_space(a.leading_space() || b.leading_space())
}

/// Judges one text under two sets of limits and under their join.
pub fn check(data: &[u8]) {
    let Some((choice, text)) = data.split_at_checked(CHOICE) else { return };
    let Some(file) = st_raw::frame(text) else { return };
    let mut u = Unstructured::new(choice);
    let (Ok(a), Ok(b)) = (choose(&mut u), choose(&mut u)) else { return };
    let (first, second) = (promises::safetensors(&file, &a), promises::safetensors(&file, &b));
    let both = promises::safetensors(&file, &join(a, b));
    if first.is_ok() || second.is_ok() {
        assert_eq!(both, Ok(()), "accepted under {a:?} or {b:?}");
    }
    if let Ok(opened) = SafeTensors::open(&file) {
        exact(&file, &opened);
    }
}

/// A file that has `n` of something passes at `n` and is refused, for that, at `n - 1`.
fn exact(file: &[u8], opened: &SafeTensors<'_>) {
    let most = |counts: &mut dyn Iterator<Item = usize>| counts.max().unwrap_or(0) as u64;
    let keys = opened.metadata().map_or(0, |metadata| metadata.iter().count()) as u64;
    let ranks = most(&mut opened.tensors().map(|tensor| tensor.shape().rank()));
    let names = most(&mut opened.tensors().map(|tensor| tensor.name().raw().len()));
    let all = Limits::DEFAULT;
    let at = [
        (
            ErrorKind::StHeaderLimit,
            promises::header_len(file),
            Limits::with_header_len as fn(Limits, u64) -> Limits,
        ),
        (ErrorKind::StTensorLimit, opened.len() as u64, Limits::with_tensors),
        (ErrorKind::StRankLimit, ranks, Limits::with_rank),
        (ErrorKind::StNameLimit, names, Limits::with_name_len),
        (ErrorKind::StMetadataLimit, keys, Limits::with_metadata_keys),
    ];
    for (kind, count, with) in at {
        let judge = |most| Header::open(file, file.len() as u64, &with(all, most)).map(drop);
        assert_eq!(judge(count), Ok(()), "{kind:?} at {count}");
        assert_eq!(judge(count.saturating_add(1)), Ok(()), "{kind:?} at {count} + 1");
        if let Some(less) = count.checked_sub(1) {
            assert_eq!(judge(less).as_ref().map_err(Error::kind), Err(kind), "{kind:?} at {count} - 1");
        }
    }
}

/// No limits, then as for `st_raw`.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    let mut input = vec![0; CHOICE];
    input.extend(st_raw::seed(file)?);
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_is_over_both() {
        let a = Limits::DEFAULT.with_tensors(3).with_rank(9);
        let b = Limits::DEFAULT.with_tensors(5).with_rank(2).with_leading_space(true);
        assert_eq!(join(a, b), Limits::DEFAULT.with_tensors(5).with_rank(9).with_leading_space(true));
    }

    #[test]
    fn smoke() {
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| seed(file)).collect();
        crate::smoke::mutants(check, 7, 8, &seeds);
        let mut rng = crate::smoke::Rng::new(8);
        for input in &seeds {
            let mut input = input.clone();
            input[..CHOICE].copy_from_slice(&rng.bytes(CHOICE));
            check(&input);
        }
    }
}
