//! Which shard names are plain file names, on every platform alike.

use crate::Name;

/// Bytes of the longest file name (`NAME_MAX` of Linux and the BSDs; Windows and macOS take 255 UTF-16 units).
const MOST_BYTES: usize = 255;

/// Whether `name` is a file name and nothing else: joined to a folder it names a file in that folder, or none.
///
/// Refused: the empty name, `.` and `..`, the separators of any platform (`/`, `\`, `:`), control characters, a dot or
/// a space at the end (Windows drops them), the device names of Windows with or without an extension, more than 255
/// bytes. The device names are those of Microsoft's "Naming Files, Paths, and Namespaces", and the console's two.
pub(super) fn is_plain(name: Name<'_>) -> bool {
    let mut bytes = 0_usize;
    let mut last = None;
    for character in name.chars() {
        bytes = bytes.saturating_add(character.len_utf8());
        if matches!(character, '/' | '\\' | ':') || character.is_control() || bytes > MOST_BYTES {
            return false;
        }
        last = Some(character);
    }
    !matches!(last, None | Some('.' | ' ')) && !is_device(name)
}

/// Whether the name up to its first dot is that of a device.
fn is_device(name: Name<'_>) -> bool {
    // Only as many characters as the longest device name has, and one more to see that it is longer.
    let mut base = ['\0'; 8];
    let mut len = 0_usize;
    for (place, character) in base.iter_mut().zip(name.chars().take_while(|character| *character != '.')) {
        *place = character.to_ascii_uppercase();
        len = len.saturating_add(1);
    }
    // Windows drops spaces before the extension too. A longer name with spaces behind the device's fills the eight.
    let mut base = base.get(..len).unwrap_or_default();
    let longer = name.chars().take_while(|character| *character != '.').skip(len).any(|character| character != ' ');
    while let Some((' ', shorter)) = base.split_last() {
        base = shorter;
    }
    !longer
        && match base {
            ['C', 'O', 'M', digit] | ['L', 'P', 'T', digit] => matches!(digit, '1'..='9' | '¹' | '²' | '³'),
            ['C', 'O', 'N', rest @ ..] => matches!(rest, [] | ['I', 'N', '$'] | ['O', 'U', 'T', '$']),
            ['P', 'R', 'N'] | ['A', 'U', 'X'] | ['N', 'U', 'L'] => true,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn names_that_files_have() {
        for name in [
            "model-00001-of-00006.safetensors",
            "model-0-of-2.safetensors",
            "model-000001-of-000012.safetensors",
            "a",
            ".hidden",
            "...a",
            "a b",
            " a",
            "con1",
            "console.safetensors",
            "COM0",
            "COM10",
            "LPT",
            "nul-1",
            "a.nul",
            "日本.safetensors",
            "CONIN",
            "conout$x",
            "-rf",
            "~",
            "con        x",
            "x y",
        ] {
            assert!(is_plain(Name::plain(name)), "{name}");
        }
        let longest = "é".repeat(127) + "x";
        assert!(is_plain(Name::plain(&longest)) && longest.len() == 255);
        assert!(!is_plain(Name::plain(&(longest + "x"))));
    }

    #[test]
    fn names_that_lead_elsewhere() {
        for name in [
            "",
            ".",
            "..",
            "../a",
            "a/b",
            "/a",
            "a\\b",
            "C:a",
            "a:stream",
            "a\0",
            "\n",
            "a\u{7f}",
            "a\u{85}b",
            "a.",
            "a ",
            "... ",
            "con",
            "Con.safetensors",
            "PRN",
            "aux.tar.gz",
            "nul",
            "NUL.",
            "com1",
            "COM9.x",
            "lpt1.safetensors",
            "COM¹",
            "lpt³.x",
            "nul .txt",
            "nul         .txt",
            "conin$",
            "CONOUT$",
            "conout$   .a",
        ] {
            assert!(!is_plain(Name::plain(name)), "{name:?}");
        }
    }

    #[test]
    fn escapes_are_judged_as_what_they_say() {
        for raw in [r"a\/b", r"a\u002fb", r"\u002e\u002e", r"a\u0000", r"\u0063on", r"a\\b", r"a\u002E"] {
            assert!(!is_plain(Name::json(raw, true)), "{raw}");
        }
        assert!(is_plain(Name::json(r"\u0061", true)));
        // 42 characters of six bytes as they stand are 42 bytes as what they say.
        assert!(is_plain(Name::json(&r"\u0061".repeat(255), true)));
        assert!(!is_plain(Name::json(&format!("{}b", r"\u0061".repeat(255)), true)));
    }
}
