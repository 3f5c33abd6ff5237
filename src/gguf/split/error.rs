//! Why shards are no model together.

use core::fmt;

macro_rules! kinds {
    ($($name:ident $code:literal $what:literal;)*) => {
        /// Every way in which shards can be no model together.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum SplitErrorKind { $(#[doc = $what] $name,)* }

        impl SplitErrorKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable code, which never changes.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What is wrong, in a few words of printable ASCII.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }
        }
    };
}

kinds! {
    KeyMissing "GG-SPLIT-KEY-MISSING" "split.no, split.count or split.tensors.count is missing";
    KeyType "GG-SPLIT-KEY-TYPE" "split.no and split.count must be a u16, split.tensors.count an i32";
    Number "GG-SPLIT-NUMBER" "split.no is not below split.count, or not the number in the file's name";
    First "GG-SPLIT-FIRST" "the first shard must have split.no 0";
    Count "GG-SPLIT-COUNT" "split.count is not that of the first shard, or not the one in the file's name";
    Tensors "GG-SPLIT-TENSORS" "split.tensors.count is not that of the first shard, or not the sum of all tensors";
    Name "GG-SPLIT-NAME" "the file's name is not of the form model-00001-of-00002.gguf";
    Prefix "GG-SPLIT-PREFIX" "the file's name begins otherwise than the names of the other shards";
    Architecture "GG-SPLIT-ARCHITECTURE" "general.architecture is not that of the first shard";
    Repeated "GG-SPLIT-REPEATED" "two shards have the same number";
    Missing "GG-SPLIT-MISSING" "a shard is missing";
    NameDup "GG-SPLIT-NAME-DUP" "two shards have a tensor of the same name";
    Storage "GG-SPLIT-STORAGE" "the caller's storage is too small for these shards";
}

/// Why shards are no model together: what is wrong, in which shard, and where in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SplitError {
    kind: SplitErrorKind,
    shard: u32,
    at: u64,
    want: Option<u64>,
}

impl SplitError {
    #[cold]
    pub(super) const fn new(kind: SplitErrorKind) -> Self {
        Self { kind, shard: 0, at: 0, want: None }
    }

    pub(super) const fn put_at(self, at: u64) -> Self {
        Self { at, ..self }
    }

    pub(super) const fn in_shard(self, shard: u32) -> Self {
        Self { shard, ..self }
    }

    pub(super) const fn wanting(self, want: u64) -> Self {
        Self { want: Some(want), ..self }
    }

    /// What is wrong.
    pub const fn kind(&self) -> SplitErrorKind {
        self.kind
    }

    /// The stable code of the kind.
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Which shard it is, from 1 on as in file names; `None` where it is not known or no shard's own fault.
    pub const fn shard(&self) -> Option<u32> {
        if self.shard == 0 { None } else { Some(self.shard) }
    }

    /// Absolute offset in the shard's file of the field that lied; 0 where it is none of the file's fields.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// The number that would have been right, or how many slots are needed at least, where there is one.
    pub const fn want(&self) -> Option<u64> {
        self.want
    }
}

impl fmt::Display for SplitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code())?;
        if self.shard != 0 {
            write!(f, " in shard {}", self.shard)?;
        }
        if self.at != 0 {
            write!(f, " at byte {}", self.at)?;
        }
        write!(f, ": {}", self.kind.what())?;
        if let Some(want) = self.want {
            write!(f, " (expected: {want})")?;
        }
        Ok(())
    }
}

impl core::error::Error for SplitError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_messages_short() {
        for (index, kind) in SplitErrorKind::ALL.iter().enumerate() {
            assert!(!SplitErrorKind::ALL[..index].iter().any(|other| other.code() == kind.code()));
            assert!(kind.code().starts_with("GG-SPLIT-"));
            let error = SplitError::new(*kind).in_shard(u32::MAX).put_at(u64::MAX).wanting(u64::MAX);
            let shown = std::format!("{error}");
            assert!(shown.len() <= 200 && shown.bytes().all(|b| (b' '..=b'~').contains(&b)), "{shown}");
        }
    }

    #[test]
    fn what_is_known_of_the_place_is_told() {
        let plain = SplitError::new(SplitErrorKind::Missing);
        assert_eq!((plain.code(), plain.shard()), ("GG-SPLIT-MISSING", None));
        assert_eq!(std::format!("{plain}"), "GG-SPLIT-MISSING: a shard is missing");
        let whole = SplitError::new(SplitErrorKind::First).in_shard(2).put_at(40).wanting(0);
        let want = "GG-SPLIT-FIRST in shard 2 at byte 40: the first shard must have split.no 0 (expected: 0)";
        assert_eq!((whole.code(), std::format!("{whole}").as_str()), ("GG-SPLIT-FIRST", want));
    }
}
