//! Making text safe to print: everything that comes from a file or a path is printable ASCII when it leaves here.

use std::fmt::Write as _;
use std::path::Path;

/// One character, escaped where it is not printable ASCII. So is a second `#`: runners of continuous integration take
/// `##[` and `##vso[` for commands, wherever in a line they stand.
fn push(out: &mut String, c: char) {
    match c {
        '#' if out.ends_with('#') => out.extend(c.escape_unicode()),
        ' '..='[' | ']'..='~' => out.push(c),
        _ => out.extend(c.escape_default()),
    }
}

/// The text with everything but printable ASCII escaped.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push(&mut out, c));
    out
}

/// The text with its lines joined, and everything else but printable ASCII escaped.
pub(crate) fn lines(text: &str) -> String {
    ascii(&text.lines().collect::<Vec<_>>().join(" "))
}

/// Characters of a name that are shown in a message.
const NAME: usize = 60;

/// A name in quotes, cut where it is long. What is not printable is escaped when it is printed.
pub(crate) fn quoted(name: tensorgate::Name<'_>) -> String {
    let shown: String = name.chars().take(NAME).collect();
    let rest = if name.chars().nth(NAME).is_some() { "..." } else { "" };
    format!("\"{shown}{rest}\"")
}

/// A path; bytes that are no UTF-8 are shown as `\xff`.
pub(crate) fn path(path: &Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            // There a backslash separates.
            if cfg!(windows) && c == '\\' { out.push(c) } else { push(&mut out, c) }
        }
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").unwrap_or_default();
        }
    }
    out
}

/// Lines of a message, and bytes of each of them.
const MESSAGE: (usize, usize) = (60, 2_000);

/// A message of several lines that are escaped already: what is not printable ASCII all the same is escaped, and a backslash
/// stays one. What is quoted in it may be as long as a file, and is cut.
pub(crate) fn message(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().take(MESSAGE.0) {
        let mut shown = String::new();
        for c in line.chars() {
            if shown.len() > MESSAGE.1 {
                write!(shown, "... ({} bytes)", line.len()).unwrap_or_default();
                break;
            }
            if c == '\\' { shown.push(c) } else { push(&mut shown, c) }
        }
        lines.push(shown);
    }
    if text.lines().nth(MESSAGE.0).is_some() {
        lines.push("...".to_owned());
    }
    lines.join("\n")
}

/// The text escaped, and cut after `columns` columns.
pub(crate) fn short(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let before = out.len();
        push(&mut out, c);
        if out.len() > columns {
            out.truncate(before);
            write!(out, "... ({} bytes)", text.len()).unwrap_or_default();
            break;
        }
    }
    out
}

/// Bytes of a name that could have been meant.
const LONGEST: usize = 200;

/// The name that was probably meant, if one is like it.
pub(crate) fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // A name that is longer than any is none that was meant, and would be compared for long.
    if wrong.len() > LONGEST {
        return None;
    }
    let likeness = |name: &'n str| (strsim::jaro_winkler(wrong, name), name);
    let best = names.map(likeness).max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(likeness, _)| *likeness > 0.85).map(|(_, name)| name)
}

/// Bytes for people: `12 bytes`, `1.5 KiB (1536 bytes)`.
pub(crate) fn size(bytes: u64) -> String {
    match rounded(bytes) {
        Some(rounded) => format!("{rounded} ({bytes} bytes)"),
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}

/// Bytes for people, in one unit: `12 bytes`, `1.5 KiB`.
pub(crate) fn rough(bytes: u64) -> String {
    rounded(bytes).unwrap_or_else(|| count(bytes, "byte"))
}

/// Bytes in the largest unit of which there is at least one, to a tenth, rounded down; none below a KiB.
fn rounded(bytes: u64) -> Option<String> {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = bytes.checked_ilog2()? / 10;
    let unit = units.get(usize::try_from(power.checked_sub(1)?).ok()?)?;
    let shift = power.saturating_mul(10);
    let whole = bytes >> shift;
    let rest = bytes.wrapping_sub(whole << shift);
    let tenth = u128::from(rest).saturating_mul(10) >> shift;
    Some(format!("{whole}.{tenth} {unit}"))
}

/// `1 tensor`, `2 tensors`.
pub(crate) fn count(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {one}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(1), "1 byte");
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size(1024), "1.0 KiB (1024 bytes)");
        assert_eq!(size(1_048_575), "1023.9 KiB (1048575 bytes)");
        assert_eq!(size(3 << 29), "1.5 GiB (1610612736 bytes)");
        assert_eq!(size(u64::MAX), "15.9 EiB (18446744073709551615 bytes)");
    }

    #[test]
    fn nothing_but_ascii() {
        assert_eq!(ascii("a\u{1b}[2J\u{e9}\n"), "a\\u{1b}[2J\\u{e9}\\n");
        assert_eq!(path(Path::new("a b/\u{202e}")), "a b/\\u{202e}");
    }

    #[test]
    fn messages_are_cut() {
        assert_eq!(message("a\u{1b}\\n\n\u{e9}"), "a\\u{1b}\\n\n\\u{e9}");
        let long = message(&"\u{e9}".repeat(100_000));
        assert!(long.len() < 2_100 && long.ends_with("... (200000 bytes)"), "{}", long.len());
        let many = message(&"a\n".repeat(100_000));
        assert_eq!((many.lines().count(), many.lines().last()), (61, Some("...")));
    }

    #[test]
    fn what_is_far_too_long_is_nothing_that_was_meant() {
        assert_eq!(nearest("heade", ["header"].into_iter()), Some("header"));
        assert_eq!(nearest(&"header".repeat(40), ["header"].into_iter()), None);
    }

    #[cfg(unix)]
    #[test]
    fn paths_need_not_be_utf8() {
        use std::os::unix::ffi::OsStrExt;
        let odd = std::ffi::OsStr::from_bytes(b"a\xff\xc3\xa9\\");
        assert_eq!(path(Path::new(odd)), "a\\xff\\u{e9}\\\\");
    }
}
