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
    use crate::smoke::Rng;
    use std::collections::BTreeSet;
    use tensorgate::{ErrorKind, Limits};

    /// Kinds of these two formats that no file reaches through a safetensors header.
    const ELSEWHERE: [ErrorKind; 1] = [ErrorKind::JsonValue];

    #[test]
    fn every_lie_is_told_and_every_kind_predicted() {
        let mut rng = Rng::new(15);
        let mut kinds = BTreeSet::new();
        for (name, tell) in LIES {
            let mut told = 0;
            for _ in 0..4000 {
                let noise = rng.bytes(600);
                let mut u = Unstructured::new(&noise);
                let Ok(built) = Built::arbitrary(&mut u) else { continue };
                let choice = rng.bytes(40);
                let Ok(Some((file, kind, at))) = tell(&built, &mut Unstructured::new(&choice)) else { continue };
                kinds.insert(kind);
                told += 1;
                hold(&Lie { name, file, limits: Limits::DEFAULT, kind, at });
                if told == 60 {
                    break;
                }
            }
            assert!(told >= 20, "{name} was told {told} times only");
        }
        for _ in 0..4000 {
            if let Ok(lie) = Lie::arbitrary(&mut Unstructured::new(&rng.bytes(600))) {
                kinds.insert(lie.kind);
                hold(&lie);
            }
        }
        let ours = |kind: &&ErrorKind| kind.code().starts_with("ST-") || kind.code().starts_with("JS-");
        let missed: Vec<_> = ErrorKind::ALL
            .iter()
            .filter(ours)
            .filter(|kind| !kinds.contains(kind) && !ELSEWHERE.contains(kind))
            .collect();
        assert!(missed.is_empty(), "no lie predicts {missed:?}");
    }

    #[test]
    fn smoke() {
        crate::smoke::noise(check, 16, 4000);
    }
}
