//! What other readers do with a file.

use std::io::{self, Write};

use serde_json::{Value, json};
use tensorgate::audit::dialects::{Answer, Outcome, Traits};

use crate::output::{BAD, FAINT, GOOD, ODD};

/// A line a reader.
pub(crate) fn human(out: &mut impl Write, traits: &Traits) -> io::Result<()> {
    let of = if traits.is_fault() { "this fault" } else { "this file" };
    writeln!(out, "    {FAINT}what other readers do with {of}:{FAINT:#}")?;
    for answer in traits.answers() {
        let style = match answer.outcome() {
            Outcome::Accepts => GOOD,
            Outcome::Differs | Outcome::Crashes | Outcome::Hangs => BAD,
            Outcome::Refuses => ODD,
            _ => FAINT,
        };
        let why = why(&answer);
        writeln!(out, "      {style}{:<8}{style:#}  {}{FAINT}{why}{FAINT:#}", answer.outcome(), answer.reader())?;
    }
    Ok(())
}

/// The trait that decides, and what the reader does with it. A fault is named above.
fn why(answer: &Answer) -> String {
    let because = answer.because().map(|one| format!("  [{one}]"));
    let note = answer.note().map(|note| format!("  {note}"));
    because.into_iter().chain(note).collect()
}

/// The same for programs.
pub(crate) fn json(traits: &Traits) -> Value {
    let answers: Vec<Value> = traits
        .answers()
        .map(|answer| {
            json!({
                "reader": answer.reader().name(),
                "version": answer.reader().version(),
                "outcome": answer.outcome().as_str(),
                "because": answer.because().map(|one| one.to_string()),
                "note": answer.note(),
            })
        })
        .collect();
    let names: Vec<String> = traits.iter().map(|one| one.to_string()).collect();
    json!({"of": if traits.is_fault() { "fault" } else { "file" }, "traits": names, "answers": answers})
}
