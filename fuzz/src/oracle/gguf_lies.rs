//! Valid GGUF files with one known fault: the error has the kind and the offset that the fault has.

use arbitrary::{Arbitrary, Unstructured};

use super::promises_gguf;
use crate::r#gen::gguf_lies::GgufLie;
use crate::r#gen::lies::Lie;

/// Builds a file with a fault from `data` and compares the error with what was predicted.
pub fn check(data: &[u8]) {
    if let Ok(GgufLie(lie)) = GgufLie::arbitrary(&mut Unstructured::new(data)) {
        hold(&lie);
    }
}

/// The lie is seen for what it is, however the file is opened.
fn hold(lie: &Lie) {
    let shown = || format!("{}: {}", lie.name, lie.file.escape_ascii());
    let error = promises_gguf::gguf(&lie.file, &lie.limits).expect_err(&shown());
    assert_eq!((error.kind(), error.at()), (lie.kind, lie.at), "{}", shown());
}

/// Any bytes build a lie: the cases' bytes are as good as others.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    (file.len() > 100).then(|| file.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r#gen::gguf::Model;
    use crate::r#gen::gguf_lies::LIES;
    use crate::smoke::{Lies, Rng, all_predicted};
    use tensorgate::ErrorKind;

    /// Kinds that are told of an accepted file, when it is asked.
    const ELSEWHERE: [ErrorKind; 1] = [ErrorKind::GgArrayUtf8];

    #[test]
    fn every_lie_is_told_and_every_kind_predicted() {
        let mut rng = Rng::new(26);
        let lies = Lies {
            all: LIES,
            noise: (600, 40),
            tell: |tell, noise, choice| {
                tell(&Model::arbitrary(&mut Unstructured::new(noise))?.build(), &mut Unstructured::new(choice))
            },
            hold,
        };
        let mut kinds = lies.tell_each(&mut rng);
        for _ in 0..6000 {
            if let Ok(GgufLie(lie)) = GgufLie::arbitrary(&mut Unstructured::new(&rng.bytes(600))) {
                kinds.insert(lie.kind);
                hold(&lie);
            }
        }
        all_predicted(&kinds, &["GG-"], &ELSEWHERE);
    }

    #[test]
    fn smoke() {
        crate::smoke::noise(check, 27, 4000);
    }
}
