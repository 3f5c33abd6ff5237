//! Every step of a save made to fail, and the process killed before every step: afterwards the old model is whole or the new
//! one is. `cargo test --test atomic_faults -- --ignored --nocapture print_table` prints the table of `docs/durability.md`.

#![cfg(all(feature = "std", unix))]

mod child;
mod model;
mod real;
mod table;

use std::io;
use std::path::Path;
use std::sync::Mutex;

use model::{SAVES, Save, Seen, left_behind};
use tensorgate::file::Step;

/// What the operating system says where a disk is full, is broken, or something is forbidden.
const ERRNOS: [(i32, &str); 3] = [(28, "ENOSPC"), (5, "EIO"), (1, "EPERM")];

/// The steps of a save that nothing disturbs.
fn steps(save: &Save) -> Vec<Step> {
    let folder = save.prepare();
    let steps = Mutex::new(Vec::new());
    let watch = |step: Step, _: &Path| {
        steps.lock().unwrap().push(step);
        Ok(())
    };
    save.run(folder.path(), &watch).unwrap();
    assert_eq!(save.seen(folder.path()), [Seen::New; 2]);
    assert_eq!(left_behind(folder.path(), save), Vec::<String>::new());
    steps.into_inner().unwrap()
}

/// What is found after the `at`th step failed with `errno`.
fn after_a_fault(save: &Save, at: usize, errno: i32) -> table::Found {
    let folder = save.prepare();
    let count = Mutex::new(0);
    let watch = |_: Step, _: &Path| {
        let mut count = count.lock().unwrap();
        *count += 1;
        if *count == at + 1 { Err(io::Error::from_raw_os_error(errno)) } else { Ok(()) }
    };
    let outcome = save.run(folder.path(), &watch);
    // A save that failed can be tried again, and then leaves nothing but the new model.
    let found = table::Found::of(save, folder.path(), Some(&outcome));
    save.run(folder.path(), &()).unwrap();
    assert_eq!(save.seen(folder.path()), [Seen::New; 2], "tried again");
    found
}

/// What is left after a save was killed, or could not tidy up, and another one succeeded: temporary files, which nobody takes
/// for a model, and shards of Hugging Face's names, which nobody can tell from a download that is not finished. All else
/// is too much.
fn too_much(folder: &Path, save: &Save) -> Vec<String> {
    let allowed = |name: &str| name.ends_with(".tensorgate-tmp") || name.starts_with("model-0");
    left_behind(folder, save).into_iter().filter(|name| !allowed(name)).collect()
}

/// What is found after the process was killed in front of the `at`th step.
fn after_a_kill(save: &Save, at: usize) -> table::Found {
    let folder = save.prepare();
    child::die_before(save, folder.path(), at);
    let found = table::Found::of(save, folder.path(), None);
    save.run(folder.path(), &()).unwrap();
    assert_eq!(save.seen(folder.path()), [Seen::New; 2], "tried again");
    assert_eq!(too_much(folder.path(), save), [""; 0]);
    found
}

#[test]
fn every_step_fails() {
    for save in SAVES {
        let steps = steps(save);
        for (at, step) in steps.iter().enumerate() {
            let outcomes = ERRNOS.map(|(errno, _)| after_a_fault(save, at, errno));
            for (found, (_, name)) in outcomes.iter().zip(ERRNOS) {
                let label = format!("{}: step {at}, {step:?}: {name}: {found:?}", save.name);
                assert!(found.seen.iter().all(|seen| matches!(seen, Seen::Old | Seen::New)), "{label}");
                assert_eq!(found.left, [""; 0], "{label}");
                // The call says what is so.
                match found.call.as_ref().unwrap() {
                    table::Call::Failed => assert_eq!(found.seen, [Seen::Old; 2], "{label}"),
                    table::Call::Committed => assert_ne!(found.seen, [Seen::Old; 2], "{label}"),
                    table::Call::Succeeded => assert_eq!(found.seen, [Seen::New; 2], "{label}"),
                }
                assert_eq!(*found, outcomes[0], "{label}");
            }
        }
    }
}

#[test]
fn the_process_is_killed_before_every_step() {
    for save in SAVES {
        let steps = steps(save);
        for (at, step) in steps.iter().enumerate() {
            let found = after_a_kill(save, at);
            let label = format!("{}: before step {at}, {step:?}: {found:?}", save.name);
            assert!(found.seen.iter().all(|seen| matches!(seen, Seen::Old | Seen::New)), "{label}");
        }
    }
}

/// A failure, and then the removal of what it leaves fails too: the old model is there all the same.
#[test]
fn tidying_up_fails_too() {
    for save in SAVES {
        let steps = steps(save);
        for (at, step) in steps.iter().enumerate().filter(|(_, step)| step.is_before_commit()) {
            let folder = save.prepare();
            let count = Mutex::new(0);
            let watch = |_: Step, _: &Path| {
                let mut count = count.lock().unwrap();
                *count += 1;
                if *count > at { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
            };
            save.run(folder.path(), &watch).unwrap_err();
            assert_eq!(save.seen(folder.path()), [Seen::Old; 2], "{}: {step:?}", save.name);
            save.run(folder.path(), &()).unwrap();
            assert_eq!(save.seen(folder.path()), [Seen::New; 2]);
            assert_eq!(too_much(folder.path(), save), [""; 0], "{}: {step:?}", save.name);
        }
    }
}

#[test]
fn the_document_has_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/durability.md");
    let document = std::fs::read_to_string(path).unwrap();
    let table = table::all();
    assert!(
        document.contains(&table),
        "docs/durability.md must have this table (see the head of this test):\n{table}"
    );
}

#[test]
#[ignore = "prints the table of docs/durability.md"]
fn print_table() {
    println!("{}", table::all());
}
