//! The names of a split model's files.

use core::fmt;

/// The name of one shard: `<prefix>-<number>-of-<count>.gguf`, both numbers with five digits, the number from 1 on.
///
/// [`Display`](fmt::Display) is the file name as it was given.
///
/// ```
/// use tensorgate::gguf::ShardName;
/// let name = ShardName::parse("model-Q4_K-00002-of-00003.gguf").unwrap();
/// assert_eq!((name.prefix(), name.number(), name.count()), ("model-Q4_K", 2, 3));
/// assert_eq!(name.sibling(3).unwrap().to_string(), "model-Q4_K-00003-of-00003.gguf");
/// assert!(ShardName::parse("model-2-of-3.gguf").is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShardName<'n> {
    prefix: &'n str,
    number: u32,
    count: u32,
}

impl<'n> ShardName<'n> {
    /// Takes a file name apart; `None` for another name, for a path, and for a number outside the count.
    pub fn parse(name: &'n str) -> Option<Self> {
        let (rest, count) = digits(name.strip_suffix(".gguf")?)?;
        let (rest, number) = digits(rest.strip_suffix("-of-")?)?;
        let prefix = rest.strip_suffix('-').filter(|prefix| !prefix.is_empty())?;
        let plain = !prefix.contains(['/', '\\']);
        (plain && number > 0 && number <= count).then_some(Self { prefix, number, count })
    }

    /// What stands before the numbers.
    pub const fn prefix(&self) -> &'n str {
        self.prefix
    }

    /// Which shard it is, from 1 on.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// How many shards there are.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The name of another shard of the same model; `None` for a number outside the count.
    pub const fn sibling(self, number: u32) -> Option<Self> {
        if number > 0 && number <= self.count { Some(Self { number, ..self }) } else { None }
    }
}

impl fmt::Display for ShardName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:05}-of-{:05}.gguf", self.prefix, self.number, self.count)
    }
}

/// The five digits at the end, and what stands before them. A count is a `u16` in the file, so that there are no more.
fn digits(text: &str) -> Option<(&str, u32)> {
    let (rest, digits) = text.split_at_checked(text.len().checked_sub(5)?)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((rest, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn names_are_taken_apart_and_come_back() {
        for (text, want) in [
            ("m-00001-of-00001.gguf", ("m", 1, 1)),
            ("a-00001-of-00002-00002-of-00003.gguf", ("a-00001-of-00002", 2, 3)),
            ("model.Q8_0-65535-of-65535.gguf", ("model.Q8_0", 65535, 65535)),
            ("\u{fc}ber uns-00010-of-00099.gguf", ("\u{fc}ber uns", 10, 99)),
            ("--00001-of-00009.gguf", ("-", 1, 9)),
        ] {
            let name = ShardName::parse(text).unwrap();
            assert_eq!((name.prefix(), name.number(), name.count()), want);
            assert_eq!(name.to_string(), text);
            assert_eq!(name.sibling(name.count()).unwrap().number(), name.count());
            assert_eq!((name.sibling(0), name.sibling(name.count() + 1)), (None, None));
        }
    }

    #[test]
    fn other_names_are_none() {
        for text in [
            "",
            ".gguf",
            "m.gguf",
            "-00001-of-00001.gguf",
            "00001-of-00001.gguf",
            "m-00000-of-00001.gguf",
            "m-00002-of-00001.gguf",
            "m-0001-of-0002.gguf",
            "m-000001-of-000002.gguf",
            "m-+0001-of-00002.gguf",
            "m-00001-of-00002.GGUF",
            "m-00001-of-00002.gguf ",
            "m-00001-of-00002.gguf.part",
            "m-00001-OF-00002.gguf",
            "m_00001-of-00002.gguf",
            "m-\u{661}\u{661}\u{661}\u{661}\u{661}-of-00002.gguf",
            "m-1\u{661}\u{661}-of-00002.gguf",
            "../m-00001-of-00002.gguf",
            "/etc/m-00001-of-00002.gguf",
            "a\\m-00001-of-00002.gguf",
        ] {
            assert_eq!(ShardName::parse(text), None, "{text}");
        }
    }
}
