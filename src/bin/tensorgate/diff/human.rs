//! What differs, for people.

use std::io::{self, Write};

use super::Found;
use super::pairing::{Pair, Place};
use super::tensors::Comparison;
use crate::output::{BAD, FAINT, GOOD, ODD};
use crate::parts::Tensor;
use crate::text;

/// A line for each difference, and one with the sums.
pub(super) fn print(out: &mut impl Write, found: &Found<'_>) -> io::Result<()> {
    for Place { tensor, .. } in &found.pairing.removed {
        writeln!(out, "{BAD}removed{BAD:#}   {}  {}", name(tensor), kind(tensor))?;
    }
    for Place { tensor, .. } in &found.pairing.added {
        writeln!(out, "{GOOD}added{GOOD:#}     {}  {}", name(tensor), kind(tensor))?;
    }
    let mut others = 0_u64;
    for (pair, comparison) in found.pairing.both.iter().zip(&found.comparisons) {
        if pair.differs(comparison, found.types) {
            others = others.saturating_add(1);
            let change = change(pair, comparison);
            let (a, b) = (name(pair.a.tensor), name(pair.b.tensor));
            let name = if a == b { a } else { format!("{a} = {b}") };
            writeln!(out, "{ODD}changed{ODD:#}   {name}  {change}")?;
        }
    }
    let changes = found.metadata.as_ref();
    for (key, value) in changes.iter().flat_map(|changes| &changes.removed) {
        writeln!(out, "{BAD}removed{BAD:#}   metadata {}: {}", text::short(key, 60), text::ascii(value))?;
    }
    for (key, value) in changes.iter().flat_map(|changes| &changes.added) {
        writeln!(out, "{GOOD}added{GOOD:#}     metadata {}: {}", text::short(key, 60), text::ascii(value))?;
    }
    for (key, before, after) in changes.iter().flat_map(|changes| &changes.changed) {
        let (before, after) = (text::ascii(before), text::ascii(after));
        writeln!(out, "{ODD}changed{ODD:#}   metadata {}: {before} -> {after}", text::short(key, 60))?;
    }
    let count = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
    let both = count(found.pairing.both.len());
    let same = text::count(both.saturating_sub(others), "tensor");
    let (added, removed) = (found.pairing.added.len(), found.pairing.removed.len());
    write!(out, "{same} the same, {others} changed, {added} added, {removed} removed")?;
    if found.pairing.buffers > 0 {
        write!(out, ", {} not compared", text::count(count(found.pairing.buffers), "buffer"))?;
    }
    match changes {
        Some(changes) if changes.is_empty() => writeln!(out, "; metadata the same"),
        Some(_) => writeln!(out, "; metadata differs"),
        None => writeln!(out, "; {FAINT}metadata not compared{FAINT:#}"),
    }
}

fn name(tensor: &Tensor) -> String {
    text::short(&tensor.name, 60)
}

fn kind(tensor: &Tensor) -> String {
    let dims: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
    format!("{}[{}]", tensor.kind.element(), dims.join(", "))
}

/// In which way a pair differs.
fn change(pair: &Pair<'_>, comparison: &Comparison) -> String {
    let (a, b) = (kind(pair.a.tensor), kind(pair.b.tensor));
    let what = if a == b { a } else { format!("{a} -> {b}") };
    let turned = if pair.a.turned || pair.b.turned { ", transposed" } else { "" };
    let what = format!("{what}{turned}");
    match comparison {
        Err(error) => format!("{what}: {error}"),
        Ok(found) if found.differ() == 0 => format!("{what}: the same values"),
        Ok(found) => {
            let (differ, elements) = (found.differ(), found.elements());
            let mut line = format!(
                "{what}: {differ} of {elements} differ, by {} at most, {} in the mean",
                number(found.max()),
                number(found.mean())
            );
            for (count, what) in [(found.not_finite(), "with no distance"), (found.same_nan(), "the same NaN")] {
                if count > 0 {
                    line = format!("{line}, {count} {what}");
                }
            }
            line
        }
    }
}

/// Four significant digits.
fn number(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.3e}") }
}
