//! Why a vocabulary is refused.

use core::fmt;

use crate::error::{Error, ErrorKind};
use crate::gguf::ValueError;

/// Which of a tokenizer's texts an offset counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// `vocab.json`.
    Vocab,
    /// `merges.txt`.
    Merges,
    /// `tokenizer.json`.
    TokenizerJson,
    /// A GGUF file.
    Gguf,
}

impl Source {
    /// What the file is usually called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vocab => "vocab.json",
            Self::Merges => "merges.txt",
            Self::TokenizerJson => "tokenizer.json",
            Self::Gguf => "the GGUF file",
        }
    }
}

/// Why a vocabulary was refused, and where.
///
/// ```
/// use tensorgate::tokenizer::{Source, Tokenizer, TokenizerErrorKind};
/// let error = Tokenizer::from_files(br#"{"a": -1}"#, b"").unwrap_err();
/// assert_eq!(error.kind(), TokenizerErrorKind::Json(tensorgate::ErrorKind::JsonInteger));
/// assert_eq!((error.source_file(), error.at(), error.line()), (Source::Vocab, 6, None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenizerError {
    kind: TokenizerErrorKind,
    source: Source,
    at: u64,
    line: u64,
}

impl TokenizerError {
    #[cold]
    pub(super) const fn new(kind: TokenizerErrorKind, source: Source, at: u64) -> Self {
        Self { kind, source, at, line: 0 }
    }

    #[cold]
    pub(super) const fn on_line(mut self, line: u64) -> Self {
        self.line = line;
        self
    }

    #[cold]
    pub(super) const fn json(error: Error, source: Source) -> Self {
        Self::new(TokenizerErrorKind::Json(error.kind()), source, error.at())
    }

    /// What kind of fault it is.
    pub const fn kind(&self) -> TokenizerErrorKind {
        self.kind
    }

    /// Which text it is in.
    pub const fn source_file(&self) -> Source {
        self.source
    }

    /// Offset in bytes from the start of that text, of the string, number or line that is wrong; its length where
    /// something is missing.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// The line, counted from 1, in `merges.txt`.
    pub const fn line(&self) -> Option<u64> {
        if self.line == 0 { None } else { Some(self.line) }
    }
}

impl fmt::Display for TokenizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}, ", self.kind.code(), self.source.name())?;
        match self.line() {
            Some(line) => write!(f, "line {line} (byte {})", self.at)?,
            None => write!(f, "byte {}", self.at)?,
        }
        write!(f, ": {}", self.kind.what())?;
        match self.kind {
            TokenizerErrorKind::ByteMissing(byte) => write!(f, ": 0x{byte:02X}"),
            TokenizerErrorKind::IdMissing(id) => write!(f, ": {id}"),
            TokenizerErrorKind::TooLong(limit) | TokenizerErrorKind::TooManyTokens(limit) => {
                write!(f, " (limit {limit})")
            }
            TokenizerErrorKind::Field(name) | TokenizerErrorKind::FieldMissing(name) => write!(f, ": {name}"),
            TokenizerErrorKind::Unsupported(what) => write!(f, ": {what}"),
            TokenizerErrorKind::Gguf(error) => write!(f, ": {error}"),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for TokenizerError {}

macro_rules! kinds {
    ($($name:ident $(($type:ty))? $code:literal $what:literal;)*) => {
        /// Every way in which a vocabulary can be refused, besides [`Json`](Self::Json) for what is no JSON.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum TokenizerErrorKind {
            /// Not the JSON, or the plain integer, that is expected.
            Json(ErrorKind),
            $(#[doc = concat!("`", $code, "`: ", $what, ".")] $name $(($type))?,)*
        }

        impl TokenizerErrorKind {
            /// The stable code.
            pub const fn code(self) -> &'static str {
                match self {
                    Self::Json(kind) => kind.code(),
                    $(Self::$name { .. } => $code,)*
                }
            }

            /// What is wrong, in a few words.
            pub const fn what(self) -> &'static str {
                match self {
                    Self::Json(kind) => kind.what(),
                    $(Self::$name { .. } => $what,)*
                }
            }
        }
    };
}

kinds! {
    TooLong(u64) "TK-LIMIT-LENGTH" "the text is longer than the limit";
    Bom "TK-BOM" "the text begins with a byte order mark (BOM), where none is expected";
    TooManyTokens(u64) "TK-LIMIT-TOKENS" "more tokens, or a larger id, than the limit";
    Memory "TK-MEMORY" "there is not enough memory for the vocabulary";
    Collisions "TK-COLLISIONS" "the tokens or merges are made so that no hash tells them apart in reasonable time";
    IdMissing(u32) "TK-ID-MISSING" "the ids do not go from 0 up without a gap; this one is missing";
    IdTwice "TK-ID-TWICE" "two tokens have the same id";
    TokenTwice "TK-TOKEN-TWICE" "the same token stands twice";
    TokenEmpty "TK-TOKEN-EMPTY" "a token is empty";
    TokenSymbol "TK-TOKEN-SYMBOL" "a token has a character that stands for no byte";
    ByteMissing(u8) "TK-BYTE-MISSING" "there is no token for a single byte, so that not every text could be encoded";
    MergeUtf8 "TK-MERGE-UTF8" "the merges are not valid UTF-8";
    MergeCrLf "TK-MERGE-CRLF" "a line ends with CR LF, where LF alone is expected";
    MergeVersion "TK-MERGE-VERSION" "a #version line that is not the first line";
    MergeForm "TK-MERGE-FORM" "a merge is not two symbols with a blank between them";
    MergeSymbol "TK-MERGE-SYMBOL" "a merge joins something that is no token";
    MergeProduct "TK-MERGE-PRODUCT" "what a merge makes is no token";
    MergeTwice "TK-MERGE-TWICE" "the same merge stands twice";
    NoMerges "TK-NO-MERGES" "there are tokens of several bytes, and no merges to make them";
    SpecialLong "TK-SPECIAL-LONG" "an added token is longer than 256 bytes";
    SpecialId "TK-SPECIAL-ID" "an added token has another id in the vocabulary";
    TypeCount "TK-TYPE-COUNT" "there are not as many token types as tokens";
    TypeUnknown "TK-TYPE-UNKNOWN" "a token's type is none of 1 to 6";
    Field(&'static str) "TK-FIELD" "a field is not of the type that it must have";
    FieldMissing(&'static str) "TK-FIELD-MISSING" "a field is missing";
    FieldTwice "TK-FIELD-TWICE" "a field stands twice";
    Gguf(ValueError) "TK-GGUF" "a key is missing, or its value is of another type";
    Unsupported(&'static str) "TK-UNSUPPORTED" "this tokenizer needs something that is not supported";
}
