//! Text of the file's: kept where it stands, compared and shown decoded.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::json::text::Decode;
use crate::steps;

/// A name, key or value from a file, borrowed as it stands there and compared as what it says.
///
/// In a safetensors header the text is JSON and may hold escapes; `"\u0061"` and `"a"` are the same name, and are equal
/// here. Text of a GGUF file has no escapes.
///
/// [`Display`](fmt::Display) is safe for terminals and logs: printable ASCII as it is, everything else escaped
/// (`\n`, `\u{1b}`, `\u{202e}`). For the exact text use [`chars`](Name::chars), [`as_str`](Name::as_str) or, with
/// `alloc`, [`to_cow`](Name::to_cow).
#[derive(Clone, Copy)]
pub struct Name<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Name<'a> {
    /// Text that says what it shows.
    #[inline]
    pub(crate) const fn plain(raw: &'a str) -> Self {
        Self { raw, escaped: false }
    }

    /// The inside of a JSON string that was checked by the lexer, and whether it holds a backslash.
    #[inline]
    pub(crate) const fn json(raw: &'a str, escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// The text exactly as it stands in the file, escapes and all.
    pub const fn raw(&self) -> &'a str {
        self.raw
    }

    /// Whether the text as it stands differs from what it says.
    pub const fn is_escaped(&self) -> bool {
        self.escaped
    }

    /// What the text says, where that can be borrowed: `None` when it holds escapes.
    #[inline]
    pub const fn as_str(&self) -> Option<&'a str> {
        if self.escaped { None } else { Some(self.raw) }
    }

    /// What the text says, character by character.
    pub fn chars(&self) -> impl Iterator<Item = char> + Clone + 'a {
        Decode::new(self.raw, self.escaped)
    }

    /// What the text says; a copy only where it holds escapes.
    #[cfg(feature = "alloc")]
    pub fn to_cow(&self) -> alloc::borrow::Cow<'a, str> {
        match self.as_str() {
            Some(text) => alloc::borrow::Cow::Borrowed(text),
            None => alloc::borrow::Cow::Owned(self.chars().collect()),
        }
    }

    /// Gives what the text says to `hasher`, as UTF-8.
    pub(crate) fn feed(&self, hasher: &mut impl Hasher) {
        if let Some(text) = self.as_str() {
            hasher.write(text.as_bytes());
        } else {
            let mut buffer = [0; 4];
            self.chars().for_each(|decoded| hasher.write(decoded.encode_utf8(&mut buffer).as_bytes()));
        }
    }

    /// A hash of what the text says: equal for equal names, however spelt.
    #[inline]
    pub(crate) fn hash64(&self) -> u64 {
        if self.escaped {
            let mut hash = crate::unique::Fold::new();
            let mut buffer = [0; 4];
            for decoded in self.chars() {
                for byte in decoded.encode_utf8(&mut buffer).bytes() {
                    hash.byte(byte);
                }
            }
            hash.finish()
        } else {
            crate::unique::hash(self.raw.as_bytes())
        }
    }
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(text: &'a str) -> Self {
        Self::plain(text)
    }
}

#[cfg(feature = "alloc")]
impl<'a> From<&'a alloc::string::String> for Name<'a> {
    fn from(text: &'a alloc::string::String) -> Self {
        Self::plain(text)
    }
}

impl PartialEq for Name<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self.as_str(), other.as_str()) {
            (Some(a), Some(b)) => {
                steps::take_bytes(a.len().min(b.len()));
                a == b
            }
            _ => self.chars().eq(other.chars()),
        }
    }
}

impl Eq for Name<'_> {}

impl Ord for Name<'_> {
    /// By Unicode scalar values, which is the order of the UTF-8 bytes.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.as_str(), other.as_str()) {
            (Some(a), Some(b)) => {
                steps::take_bytes(a.len().min(b.len()));
                a.cmp(b)
            }
            _ => self.chars().cmp(other.chars()),
        }
    }
}

impl PartialOrd for Name<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Name<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash64());
    }
}

impl PartialEq<str> for Name<'_> {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        *self == Name::plain(other)
    }
}

impl PartialEq<&str> for Name<'_> {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        *self == Name::plain(other)
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for decoded in self.chars() {
            match decoded {
                ' '..='[' | ']'..='~' => fmt::Write::write_char(f, decoded)?,
                other => write!(f, "{}", other.escape_default())?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_hash_is_of_what_the_text_says() {
        let hash = |name: Name<'_>| {
            let mut hasher = std::hash::DefaultHasher::new();
            name.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(Name::json(r"\u0061b", true)), hash(Name::plain("ab")));
        assert_ne!(hash(Name::plain("ab")), hash(Name::plain("ac")));
        assert!(Name::plain("ab") == *"ab" && Name::plain("ab") != *"ac" && Name::plain("ab") != "a");
    }

    #[test]
    fn spelling_does_not_matter() {
        let plain = Name::json("a/b", false);
        for spelt in [r"\u0061/b", r"a\/b", r"\u0061\u002F\u0062"] {
            let name = Name::json(spelt, true);
            assert_eq!(plain, name);
            assert_eq!(plain.cmp(&name), Ordering::Equal);
            assert_eq!(plain.hash64(), name.hash64());
            assert!(name == "a/b");
            assert_eq!(name.as_str(), None);
        }
        assert_eq!(Name::json("\u{1f600}", false), Name::json(r"\ud83d\ude00", true));
        assert!(Name::json("a", false) < Name::json(r"\u0062", true));
    }

    #[test]
    fn nothing_reaches_a_terminal() {
        let hostile = Name::json("a\u{7f}\u{9b}31m\u{202e}\\u001b[2J é\\\"", true);
        let shown = hostile.to_string();
        assert_eq!(shown, "a\\u{7f}\\u{9b}31m\\u{202e}\\u{1b}[2J \\u{e9}\"");
        assert!(shown.bytes().all(|b| (b' '..=b'~').contains(&b)));
        assert_eq!(Name::plain("a\\b").to_string(), "a\\\\b");
    }
}
