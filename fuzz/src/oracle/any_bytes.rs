//! Any bytes at all: every way of opening them says the same, and what is accepted keeps every promise.

use tensorgate::Limits;

use super::promises;

/// Opens `data` strictly and with every relaxation; relaxing never refuses what strict accepts.
pub fn check(data: &[u8]) {
    let strict = promises::safetensors(data, &Limits::DEFAULT);
    let relaxed = promises::safetensors(data, &Limits::DEFAULT.with_leading_space(true));
    if strict.is_ok() {
        assert_eq!(relaxed, Ok(()));
    }
}

/// The file itself.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    Some(file.to_vec())
}

#[cfg(test)]
mod tests {
    #[test]
    fn smoke() {
        crate::smoke::files(super::check, 1);
    }
}
