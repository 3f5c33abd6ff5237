//! A session that was saved, as a file that one does not trust: it is restored and run, or refused.

use std::sync::OnceLock;

use tensorgate::gpt2::{Gpt2, RunError, RunOptions, Runner};

const CONFIG: &[u8] = include_bytes!("../../../tests/data/tiny-gpt2/tinyA-plain/config.json");
const WEIGHTS: &[u8] = include_bytes!("../../../tests/data/tiny-gpt2/tinyA-plain/model.safetensors");

/// A tiny model, loaded once. It is part of the program: where that is run, the repository need not be.
fn model() -> &'static Gpt2 {
    static MODEL: OnceLock<Gpt2> = OnceLock::new();
    MODEL.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("tensorgate-fuzz-gpt2-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for a model");
        std::fs::write(folder.join("config.json"), CONFIG).expect("room for a model");
        std::fs::write(folder.join("model.safetensors"), WEIGHTS).expect("room for a model");
        let model = Gpt2::open(&folder).expect("a model of the repository");
        // What is mapped stays where it is until it is let go.
        let _ = std::fs::remove_dir_all(&folder);
        model
    })
}

fn runner() -> Runner {
    let options = RunOptions { threads: 1, batch: 4, ..RunOptions::default() };
    Runner::new(model(), &options).expect("a small model")
}

/// The oracle.
///
/// # Panics
///
/// Where a promise is broken.
pub fn check(data: &[u8]) {
    let mut runner = runner();
    let Ok(mut session) = runner.restore(data) else { return };
    assert!(session.run_len() <= session.tokens().len() && session.run_len() <= session.capacity());
    assert!(session.tokens().iter().all(|id| *id < 512));
    let again = session.save().expect("there is memory");
    let other = runner.restore(&again).expect("we restore what we saved");
    assert_eq!(other.tokens(), session.tokens());
    match runner.logits(&mut session) {
        Ok(logits) => assert_eq!(logits.len(), 512),
        Err(RunError::NotFinite(_) | RunError::ContextFull { .. } | RunError::Empty) => {}
        Err(other) => panic!("{other}"),
    }
}

/// Small safetensors files, which sessions are; for the first index a session that was run.
#[must_use]
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    if file == crate::corpus::INDEXES[0].as_bytes() {
        let [_, run] = sessions();
        return Some(run);
    }
    (file.get(8) == Some(&b'{') && file.len() < 20_000).then(|| file.to_vec())
}

/// A session that was not run yet, and one that was.
fn sessions() -> [Vec<u8>; 2] {
    let mut runner = runner();
    let mut session = runner.session().expect("there is memory");
    session.push(&[1, 2, 3]).expect("in the vocabulary");
    let empty = session.save().expect("there is memory");
    runner.logits(&mut session).expect("a sound model");
    [empty, session.save().expect("there is memory")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke;

    #[test]
    fn sessions_and_changes_of_them() {
        smoke::mutants(check, 41, 300, &sessions());
        smoke::noise(check, 42, 50);
    }
}
