//! The bytes of a GGUF file: every way of opening them says the same, and what is accepted keeps every promise.

use tensorgate::Limits;

use super::promises_gguf;

/// Judges the bytes as they are, and behind a magic with a version that is read.
pub fn check(data: &[u8]) {
    let judge = |file: &[u8]| promises_gguf::gguf(file, &Limits::DEFAULT).is_ok();
    judge(data);
    if let Some((first, rest)) = data.split_first()
        && !data.starts_with(b"GGUF")
    {
        let version: &[u8] = [b"GGUF\x03\0\0\0", b"GGUF\0\0\0\x03", b"GGUF\x02\0\0\0"][usize::from(*first) % 3];
        judge(&[version, rest].concat());
    }
}

/// The file itself, if it is one of this format.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    file.starts_with(b"GGUF").then(|| file.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke() {
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| seed(file)).collect();
        assert!(seeds.len() > 150);
        crate::smoke::mutants(check, 20, 30, &seeds);
        crate::smoke::noise(check, 21, 300);
    }
}
