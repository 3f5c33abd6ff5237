//! Input of which there is a limit.

use std::io::{self, Read};

/// All that comes, or `None` where that is more than `most` bytes: one byte more is enough to know it.
pub(crate) fn at_most(input: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(u64::try_from(bytes.len()).is_ok_and(|len| len <= most).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_is_nothing() {
        for (most, found) in [(0, None), (2, None), (3, Some(b"abc".to_vec())), (u64::MAX, Some(b"abc".to_vec()))] {
            assert_eq!(at_most(&b"abc"[..], most).unwrap(), found);
        }
    }
}
