//! What is odd about text from a file.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::findings::Tally;
use super::rules::Rule;
use crate::json::text::Decode;
use crate::num;
use crate::safetensors::{Header, TensorInfo};
use crate::unique::Fold;
use crate::{Error, ErrorKind, Name};

/// Control characters, and characters that show nothing or turn the direction of writing.
pub(super) const fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether the name, taken as a path on any platform, leads out of the folder it is put in.
pub(super) fn leaves_its_folder(name: Name<'_>) -> bool {
    let mut dots = Some(0_u32);
    let mut before = None;
    for (place, c) in name.chars().enumerate() {
        let separator = matches!(c, '/' | '\\');
        let root = separator && place == 0;
        let drive = place == 1 && c == ':' && before.is_some_and(|letter: char| letter.is_ascii_alphabetic());
        if root || drive || (separator && dots == Some(2)) {
            return true;
        }
        dots = match c {
            _ if separator => Some(0),
            '.' => dots.map(|dots| dots.saturating_add(1)),
            _ => None,
        };
        before = Some(c);
    }
    dots == Some(2)
}

/// Whether the name says `__metadata__` to a careless reader.
fn looks_reserved(name: Name<'_>) -> bool {
    let plain = name.chars().filter(|c| !c.is_whitespace() && !is_hidden(*c)).flat_map(char::to_lowercase);
    plain.eq("__metadata__".chars())
}

/// Counts what is odd about one tensor's name. Returns whether case folding changes it.
pub(super) fn look<'a>(tally: &mut Tally<'a>, info: &TensorInfo<'a>) -> bool {
    let name = info.name();
    let mut add = |rule| tally.add(rule, info.entry_at(), Some(name));
    let plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-') || (*byte == b'_' || *byte == b'.');
    if !name.raw().is_empty() && name.raw().as_bytes().iter().all(plain) {
        // What nearly every name is; only dots and underscores can still mean something.
        if name == ".." {
            add(Rule::NamePath);
        }
        return false;
    }
    let (mut empty, mut hidden, mut foreign, mut upper) = (true, false, false, false);
    for c in name.chars() {
        empty = false;
        hidden |= is_hidden(c);
        foreign |= !c.is_ascii() && !is_hidden(c);
        upper |= !c.is_ascii() || c.is_ascii_uppercase();
    }
    for (rule, yes) in [
        (Rule::NameEmpty, empty),
        (Rule::NameControl, hidden),
        (Rule::NameForeign, foreign),
        (Rule::NamePath, leaves_its_folder(name)),
        (Rule::NameReserved, looks_reserved(name)),
    ] {
        if yes {
            add(rule);
        }
    }
    upper
}

/// The name with the difference of case taken out.
fn folded(name: Name<'_>) -> impl Iterator<Item = char> {
    Decode::new(name.raw(), name.is_escaped()).flat_map(char::to_lowercase)
}

fn folded_hash(name: Name<'_>) -> u64 {
    let mut hash = Fold::new();
    let mut buffer = [0; 4];
    for c in folded(name) {
        c.encode_utf8(&mut buffer).bytes().for_each(|byte| hash.byte(byte));
    }
    hash.finish()
}

/// Counts names that differ from another only by case. Takes 16 bytes a tensor, and n log n steps whatever the names.
///
/// # Errors
///
/// [`ErrorKind::StorageTooSmall`] when memory ran out.
pub(super) fn same_but_for_case<'a>(tally: &mut Tally<'a>, header: &Header<'a>) -> Result<(), Error> {
    let mut keys: Vec<(u64, u32)> = Vec::new();
    let memory = |_| Error::new(ErrorKind::StorageTooSmall, header.data().start());
    keys.try_reserve_exact(header.len()).map_err(memory)?;
    keys.extend(header.tensors().zip(0..u32::MAX).map(|(info, index)| (folded_hash(info.name()), index)));
    let info = |key: &(u64, u32)| header.get(num::widen32(key.1));
    let by_name = |a: &(u64, u32), b: &(u64, u32)| match (info(a), info(b)) {
        (Some(a), Some(b)) => folded(a.name()).cmp(folded(b.name())),
        _ => Ordering::Equal,
    };
    keys.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| by_name(a, b)).then(a.1.cmp(&b.1)));
    let same = |a: &(u64, u32), b: &(u64, u32)| a.0 == b.0 && by_name(a, b) == Ordering::Equal;
    for alike in keys.chunk_by(same).filter(|alike| alike.len() > 1) {
        for found in alike.iter().filter_map(info) {
            tally.add(Rule::NameCase, found.entry_at(), Some(found.name()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_are_told_from_names_with_dots() {
        for bad in ["..", "../x", "a/../b", "a\\..\\b", "/etc/x", "\\x", "C:x", "c:\\x", "a/.."] {
            assert!(leaves_its_folder(Name::plain(bad)), "{bad}");
        }
        for good in ["", ".", "a..b", "a/b", "a.b/..c", "...", "a/.../b", "ab:c", "1:x", "..a", "a/b.."] {
            assert!(!leaves_its_folder(Name::plain(good)), "{good}");
        }
    }

    #[test]
    fn loose_spellings_of_the_reserved_name() {
        for bad in ["__METADATA__", " __metadata__", "__metadata__\0", "__meta\u{200b}data__"] {
            assert!(looks_reserved(Name::plain(bad)), "{bad}");
        }
        assert!(!looks_reserved(Name::plain("__metadata")));
    }
}
