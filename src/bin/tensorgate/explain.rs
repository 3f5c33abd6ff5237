//! `tensorgate explain`: a page of the rules book.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::args::Explain;
use crate::book::{self, Entry, cells};
use crate::output::{self, FAINT, STRONG};
use crate::{Exit, complain};

/// Prints the page, or the list of all codes.
pub(crate) fn run(args: &Explain) -> io::Result<Exit> {
    let mut out = output::stdout();
    let Some(asked) = &args.code else {
        list(&mut out)?;
        out.flush()?;
        return Ok(Exit::Accepted);
    };
    let code = asked.trim().to_ascii_uppercase();
    let Some((code, entry)) = book::entries().get_key_value(code.as_str()) else {
        let meant = book::nearest(asked).map(|code| format!("; did you mean {code}?")).unwrap_or_default();
        complain(&format!("there is no rule {asked}{meant} (tensorgate explain --list has all)"));
        return Ok(Exit::Trouble);
    };
    match entry {
        Entry::Section(body) => section(&mut out, code, body)?,
        Entry::Row { chapter, heads, row } => {
            writeln!(out, "{STRONG}{code}{STRONG:#}  {}\n", emphasis(entry.what()))?;
            for (head, cell) in cells(heads).zip(cells(row)).skip(1).filter(|(_, cell)| *cell != entry.what()) {
                writeln!(out, "{STRONG}{}.{STRONG:#} {}\n", capital(head), emphasis(cell))?;
            }
            writeln!(out, "{FAINT}From: {chapter}{FAINT:#}")?;
        }
    }
    out.flush()?;
    Ok(Exit::Accepted)
}

fn list(out: &mut impl Write) -> io::Result<()> {
    let columns = book::entries().keys().map(|code| code.len()).max().unwrap_or_default();
    for (code, entry) in book::entries() {
        writeln!(out, "{STRONG}{code:columns$}{STRONG:#}  {}", entry.what())?;
    }
    Ok(())
}

/// A section for the eye: without the marks of the book's text.
fn section(out: &mut impl Write, code: &str, body: &str) -> io::Result<()> {
    let mut file = "";
    let (mut picture, mut blank) = (false, true);
    write!(out, "{STRONG}{code}{STRONG:#}  ")?;
    for line in body.lines() {
        if let Some(mark) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
            if let Some(path) = mark.strip_prefix("file ") {
                file = path;
            } else if mark == "readers" {
                writeln!(out, "{STRONG}Other readers.{STRONG:#}")?;
            }
            continue;
        }
        if line.starts_with("```") {
            if !picture {
                writeln!(out, "{STRONG}The smallest file.{STRONG:#} {file}")?;
            }
            picture = !picture;
            continue;
        }
        // No two empty lines: the marks between them are not shown.
        if line.is_empty() && blank && !picture {
            continue;
        }
        blank = line.is_empty();
        if picture {
            writeln!(out, "    {line}")?;
        } else {
            writeln!(out, "{}", emphasis(line))?;
        }
    }
    Ok(())
}

/// A heading as it begins a line.
fn capital(head: &str) -> String {
    let mut rest = head.chars();
    rest.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(rest).collect()
}

/// A line with its bold words bold, and its other marks gone.
fn emphasis(line: &str) -> String {
    if let Some(what) = line.strip_prefix('*').and_then(|rest| rest.strip_suffix('*'))
        && !what.starts_with('*')
    {
        return what.to_owned();
    }
    let mut out = String::new();
    for (place, part) in line.split("**").enumerate() {
        let plain = part.replace('`', "");
        if place % 2 == 1 {
            write!(out, "{STRONG}{plain}{STRONG:#}").unwrap_or_default();
        } else {
            out.push_str(&plain);
        }
    }
    out
}
