//! What was found, as a table.

use std::fmt::Write;
use std::path::Path;

use crate::model::{SAVES, Save, Seen, left_behind};
use crate::{ERRNOS, after_a_fault, after_a_kill, steps};
use tensorgate::file::{SaveError, Step};

/// What a disturbed save left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// What the call says; nothing where the process died.
    pub(crate) call: Option<Call>,
    pub(crate) seen: [Seen; 2],
    pub(crate) left: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Failed,
    Committed,
    Succeeded,
}

impl Found {
    pub(crate) fn of(save: &Save, folder: &Path, outcome: Option<&Result<(), SaveError>>) -> Self {
        let call = outcome.map(|outcome| match outcome {
            Ok(()) => Call::Succeeded,
            Err(error) if error.is_committed() => Call::Committed,
            Err(_) => Call::Failed,
        });
        // What a save over shards could not remove is in the way of nobody, and told of.
        let told = call == Some(Call::Succeeded) || call == Some(Call::Committed);
        let left = left_behind(folder, save).into_iter();
        let left = left.filter(|name| !told || name.ends_with(".tensorgate-tmp")).collect();
        Self { call, seen: save.seen(folder), left }
    }

    fn cells(&self) -> [String; 3] {
        let call = match self.call {
            None => "",
            Some(Call::Failed) => "error",
            Some(Call::Committed) => "error, committed",
            Some(Call::Succeeded) => "success",
        };
        let word = |seen| match seen {
            Seen::Old => "old",
            Seen::New => "new",
            Seen::Broken => "BROKEN",
        };
        let [index_first, single_first] = self.seen;
        let disk = if index_first == single_first {
            format!("{} whole", word(index_first))
        } else {
            format!("{} whole (index first), {} whole (single file first)", word(index_first), word(single_first))
        };
        let temporary = self.left.iter().filter(|name| name.ends_with(".tensorgate-tmp")).count();
        let other = self.left.len() - temporary;
        let left = match (temporary, other) {
            (0, 0) => "nothing".to_owned(),
            (_, 0) => "temporary files".to_owned(),
            (0, _) => "files of the other model".to_owned(),
            _ => "temporary files, files of the other model".to_owned(),
        };
        [call.to_owned(), disk, left]
    }
}

/// Steps in a row after which everything is alike: the fault and what was found, and the steps.
type Row = (&'static str, [String; 3], Vec<Step>);

fn rows(save: &Save) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut add = |step: Step, fault, found: &Found| match rows.last_mut() {
        Some((before, cells, steps)) if *before == fault && *cells == found.cells() => {
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
        _ => rows.push((fault, found.cells(), vec![step])),
    };
    let steps = steps(save);
    for (at, step) in steps.iter().enumerate() {
        add(*step, "fails", &after_a_fault(save, at, ERRNOS[0].0));
    }
    for (at, step) in steps.iter().enumerate() {
        add(*step, "killed before", &after_a_kill(save, at));
    }
    rows
}

/// The table: a line for steps in a row that are alike.
pub(crate) fn all() -> String {
    let mut text = String::from(
        "| save | fault | step | the call says | on the disk | left behind |\n|---|---|---|---|---|---|\n",
    );
    for save in SAVES {
        for (fault, [call, disk, left], steps) in rows(save) {
            let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
            let steps = steps.join(", ");
            writeln!(text, "| {} | {fault} | {steps} | {call} | {disk} | {left} |", save.name).unwrap();
        }
    }
    text
}
