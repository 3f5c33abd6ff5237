//! Valid files with one known fault: the error has the kind and the offset that the fault has.

use arbitrary::{Arbitrary, Unstructured};
use tensorgate::safetensors::Header;

use super::promises;
use crate::r#gen::lies::Lie;

/// Builds a file with a fault from `data` and compares the error with what was predicted.
pub fn check(data: &[u8]) {
    if let Ok(lie) = Lie::arbitrary(&mut Unstructured::new(data)) {
        hold(&lie);
    }
}

/// The lie is seen for what it is, however the file is opened.
fn hold(lie: &Lie) {
    let shown = || format!("{}: {}", lie.name, lie.file.escape_ascii());
    let error = promises::safetensors(&lie.file, &lie.limits).expect_err(&shown());
    assert_eq!((error.kind(), error.at()), (lie.kind, lie.at), "{}", shown());
    let header = Header::open(&lie.file, lie.file.len() as u64, &lie.limits).expect_err(&shown());
    assert_eq!(header, error, "{}", shown());
}

/// Any bytes build a lie: the cases' bytes are as good as others.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    (file.len() > 40).then(|| file.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r#gen::lies::LIES;
    use crate::r#gen::render::Built;
    use crate::smoke::{Lies, Rng, all_predicted};
    use tensorgate::ErrorKind;

    /// Kinds of these two formats that no file reaches through a safetensors header.
    const ELSEWHERE: [ErrorKind; 1] = [ErrorKind::JsonValue];

    #[test]
    fn every_lie_is_told_and_every_kind_predicted() {
        let mut rng = Rng::new(15);
        let lies = Lies {
            all: LIES,
            noise: (600, 40),
            tell: |tell, noise, choice| {
                tell(&Built::arbitrary(&mut Unstructured::new(noise))?, &mut Unstructured::new(choice))
            },
            hold,
        };
        let mut kinds = lies.tell_each(&mut rng);
        for _ in 0..4000 {
            if let Ok(lie) = Lie::arbitrary(&mut Unstructured::new(&rng.bytes(600))) {
                kinds.insert(lie.kind);
                hold(&lie);
            }
        }
        all_predicted(&kinds, &["ST-", "JS-"], &ELSEWHERE);
    }

    #[test]
    fn smoke() {
        crate::smoke::noise(check, 16, 4000);
    }
}
