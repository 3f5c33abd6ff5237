//! `merges.txt`: a merge a line, the first of the lowest rank; a first line that begins with `#version` is none.

use super::super::error::{Source, TokenizerError, TokenizerErrorKind as Kind};
use super::MergeReader;
use crate::num;

/// A line, its number from 1, and where it begins.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    number: u64,
    at: u64,
}

/// The lines of a text; what stands behind the last line feed is one where it is not empty.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut at = 0_u64;
    text.split_inclusive('\n').zip(1_u64..).map(move |(line, number)| {
        let start = at;
        at = at.saturating_add(num::widen(line.len()));
        Line { text: line.strip_suffix('\n').unwrap_or(line), number, at: start }
    })
}

fn is_version(line: &Line<'_>) -> bool {
    line.text.starts_with("#version")
}

fn refuse(kind: Kind, line: Line<'_>, inside: usize) -> TokenizerError {
    TokenizerError::new(kind, Source::Merges, line.at.saturating_add(num::widen(inside))).on_line(line.number)
}

/// Reads all merges.
pub(super) fn read(bytes: &[u8], reader: &mut MergeReader<'_>) -> Result<(), TokenizerError> {
    let text = core::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let before = crate::store::count(bytes.get(..at).unwrap_or_default(), b'\n');
        TokenizerError::new(Kind::MergeUtf8, Source::Merges, num::widen(at))
            .on_line(num::widen(before).saturating_add(1))
    })?;
    for line in lines(text) {
        if line.text.ends_with('\r') {
            return Err(refuse(Kind::MergeCrLf, line, line.text.len().saturating_sub(1)));
        }
        if is_version(&line) {
            if line.number > 1 {
                return Err(refuse(Kind::MergeVersion, line, 0));
            }
            continue;
        }
        reader.take_text(line.text.as_bytes()).map_err(|kind| refuse(kind, line, 0))?;
    }
    Ok(())
}

/// The error for the merge of this rank, which stood there before; the text was read.
#[cold]
pub(super) fn twice(bytes: &[u8], rank: usize) -> TokenizerError {
    let text = core::str::from_utf8(bytes).unwrap_or_default();
    let line = lines(text).filter(|line| !is_version(line)).nth(rank);
    line.map_or(TokenizerError::new(Kind::MergeTwice, Source::Merges, 0), |line| refuse(Kind::MergeTwice, line, 0))
}
