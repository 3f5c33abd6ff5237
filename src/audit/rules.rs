//! The table of rules for files that were accepted.

use core::fmt;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; common and harmless.
    Note,
    /// Some readers, or people, will be misled or have trouble.
    Warning,
    /// The file is sound, but what it belongs to is not; or its header is, but its data is not.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! rules {
    ($($name:ident $code:literal $severity:ident $what:literal $why:literal;)*) => {
        /// A rule of the audit. It has a stable code, a severity, and a reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule { $(#[doc = $what] #[doc = ""] #[doc = $why] $name,)* }

        /// Every rule of the audit, in the order in which findings are reported.
        pub const RULES: &[Rule] = &[$(Rule::$name,)*];

        impl Rule {
            /// The stable code; it appears in JSON and the rules book, and never changes.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// How much it matters.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// What was found, in a few words of printable ASCII.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }

            /// Why one wants to know.
            pub const fn why(self) -> &'static str {
                match self { $(Self::$name => $why,)* }
            }
        }
    };
}

rules! {
    Polyglot "ST-NOTE-POLYGLOT" Warning "the first bytes are also the mark of another format"
        "A program that guesses by the first bytes takes the file for something else; the header's length was chosen or is a coincidence.";
    LeadingSpace "ST-NOTE-LEADING-SPACE" Warning "white space stands before the header's '{'"
        "The format forbids it and was asked to tolerate it; other readers refuse the file.";
    DataAlign "ST-NOTE-DATA-ALIGN" Note "the data section does not begin on a multiple of 8"
        "Tensors cannot be used in place where the processor or library wants alignment; the reference writer pads the header with spaces.";
    TensorAlign "ST-NOTE-TENSOR-ALIGN" Warning "tensors that are not aligned for their dtype in the file"
        "A memory map cannot be used as aligned elements, so readers copy or fail.";
    Order "ST-NOTE-ORDER" Note "entries do not stand in the order of their data"
        "Readers that take the header's order for the data's read the wrong bytes; a loader that streams has to seek.";
    NoTensors "ST-NOTE-NO-TENSORS" Note "the file has no tensors"
        "It is valid, but seldom what was meant.";
    Scalar "ST-NOTE-SCALAR" Note "tensors of no dimensions (scalars)"
        "Some readers do not know an empty shape.";
    EmptyTensor "ST-NOTE-EMPTY-TENSOR" Note "tensors of no elements"
        "Some readers refuse them, and their place in the data is not unique.";
    HalfRows "ST-NOTE-HALF-ROWS" Warning "sub-byte tensors whose rows are not whole bytes"
        "The reference's PyTorch binding refuses an odd last dimension.";
    DtypeNew "ST-NOTE-DTYPE-NEW" Note "tensors of a dtype that older readers do not know"
        "F4, F6, F8_E8M0, C64 and the FNUZ types came with safetensors 0.6 to 0.8.";
    Rank "ST-NOTE-RANK" Warning "tensors of more than 64 dimensions"
        "NumPy has no more than 64.";
    LargeDim "ST-NOTE-LARGE-DIM" Warning "dimensions that do not fit a signed 32-bit integer"
        "Readers that cut them to 32 bits see another shape.";
    NameEmpty "ST-NOTE-NAME-EMPTY" Warning "tensors with an empty name"
        "Programs that build paths or attributes from names go wrong.";
    NameControl "ST-NOTE-NAME-CONTROL" Warning "names with control or invisible characters"
        "They can steer a terminal, cut a C string at a NUL, or hide what a name says.";
    NameForeign "ST-NOTE-NAME-NON-ASCII" Warning "names with characters outside ASCII"
        "A letter of another script can look like a Latin one, so that two names look the same.";
    NamePath "ST-NOTE-NAME-PATH" Warning "names shaped like a path that leaves its folder"
        "A program that writes a file a tensor would write elsewhere.";
    NameCase "ST-NOTE-NAME-CASE" Warning "names that differ from another only by case"
        "They collide where case does not count, as in file names on Windows and macOS.";
    NameReserved "ST-NOTE-NAME-RESERVED" Warning "names that look like __metadata__"
        "Readers that compare loosely take the tensor for the metadata.";
    MetaNull "ST-NOTE-META-NULL" Note "__metadata__ is null"
        "MLX writes it so; strict readers refuse the file.";
    MetaControl "ST-NOTE-META-CONTROL" Warning "metadata with control or invisible characters"
        "Printed as they are, they can steer a terminal or hide text (tab and line breaks are not counted).";
    MetaLong "ST-NOTE-META-LONG" Note "metadata values of more than 64 KiB"
        "Each program that opens the file reads them.";
    Space "ST-NOTE-SPACE" Note "white space between the header's tokens"
        "Writers put none there; the header was written by hand or by another program.";
    Padding "ST-NOTE-PADDING" Note "the header is padded with white space other than spaces"
        "The format says 0x20; some readers refuse the rest.";
    Escape "ST-NOTE-ESCAPE" Warning "printable ASCII characters that are written as escapes"
        "No writer does so; it hides text from searches, and readers that do not decode escapes see other names.";

    GgNested "GG-NOTE-ARRAY-NESTED" Warning "arrays of arrays"
        "The limits were asked to tolerate them; the reference and most readers refuse the file.";
    GgStringUtf8 "GG-NOTE-STRING-UTF8" Warning "string values that are not valid UTF-8"
        "The limits were asked to tolerate them; readers show other text or fail.";
    GgNameLong "GG-NOTE-NAME-LONG" Warning "tensor names of more than 63 bytes"
        "A higher limit let them pass; the reference cannot load the file.";
    GgTypeUnknown "GG-NOTE-TYPE-UNKNOWN" Warning "tensors of a type that the format does not have"
        "The limits were asked to tolerate them; where they end cannot be proved, and only the program that wrote them can read them.";
    GgTrailing "GG-NOTE-TRAILING" Warning "bytes follow the last tensor and its padding"
        "The limits were asked to tolerate them; a second file may be hidden there.";
    GgTemplateCode "GG-NOTE-TEMPLATE-CODE" Warning "chat templates that reach for the program that renders them"
        "A chat template is a program: rendered outside a sandbox, Python's internals, imports and calls of the system run whatever they say.";
    GgTemplates "GG-NOTE-TEMPLATES" Note "chat templates besides the first"
        "Programs choose among them by name; each is a program of its own that somebody should read.";
    GgTokenizerLength "GG-NOTE-TOKENIZER-LENGTH" Warning "scores or token types that are not as many as the tokens"
        "Readers that take one's length for the other's read past the end.";
    GgKeyType "GG-NOTE-KEY-TYPE" Warning "well-known keys whose value is of another type"
        "Readers that do not look at the type stop the program or read past the end.";
    GgKeyValue "GG-NOTE-KEY-VALUE" Warning "well-known keys whose value makes no sense"
        "Readers divide by it, count with it or read so many numbers of it; no model has such a value.";
    GgFloat "GG-NOTE-FLOAT" Warning "floats that are infinite or no number"
        "Whatever is computed with one is no number either.";
    GgTokenId "GG-NOTE-TOKEN-ID" Warning "special tokens outside the vocabulary"
        "Readers that take the number for an index read past the end.";
    GgByteToken "GG-NOTE-BYTE-TOKEN" Warning "tokens in the form of a byte that say none"
        "They look like <0x0A> with other than two hexadecimal digits; readers have used the number as an index.";
    GgArrayUtf8 "GG-NOTE-ARRAY-UTF8" Note "strings in arrays that are not valid UTF-8"
        "Vocabularies may hold pieces of characters; readers that want text replace them or fail.";
    GgStringControl "GG-NOTE-STRING-CONTROL" Warning "string values with control or invisible characters"
        "Printed as they are, they can steer a terminal, end early at a NUL, or hide text (tab, line breaks and chat templates are not counted).";
    GgAlign "GG-NOTE-ALIGN" Warning "general.alignment is not a multiple of 8"
        "The format's document asks for one; some readers refuse the file.";
    GgNoArchitecture "GG-NOTE-NO-ARCHITECTURE" Warning "general.architecture is missing"
        "The format requires it, and all other keys are named after it.";
    GgKeyStyle "GG-NOTE-KEY-STYLE" Note "keys with hyphens or capitals"
        "The format asks for lower_snake_case, but models are named so; a strict reader refuses them.";
    GgKeyOdd "GG-NOTE-KEY-ODD" Warning "keys with other characters than letters, digits, dots, hyphens and underscores"
        "No writer makes them; they are quoted, split or cut where keys are put into text.";
    GgKeyProto "GG-NOTE-KEY-PROTO" Warning "keys that mean something to JavaScript objects"
        "A reader that keeps them in a plain object changes the object's prototype.";
    GgNamePath "GG-NOTE-NAME-PATH" Warning "tensor names shaped like a path that leaves its folder"
        "A program that writes a file a tensor would write elsewhere.";
    GgNameForeign "GG-NOTE-NAME-NON-ASCII" Warning "tensor names with invisible characters or such outside ASCII"
        "A letter of another script can look like a Latin one, so that two names look the same.";
    GgSplit "GG-NOTE-SPLIT" Note "the file is one part of a split model"
        "Alone it is no whole model: check it with its other parts.";
    GgSplitType "GG-NOTE-SPLIT-TYPE" Warning "split keys whose value is of another type"
        "The reference reads them without looking at the type and stops the program.";
    GgSplitNumber "GG-NOTE-SPLIT-NUMBER" Warning "the part's number is not below the count of parts"
        "The parts cannot be put in order.";
    GgNoTensors "GG-NOTE-NO-TENSORS" Note "the file has no tensors"
        "It is valid, and usual for a vocabulary or the first part of a split model.";

    DataBool "DT-BOOL" Error "bytes of BOOL tensors that are neither 0 nor 1"
        "The format does not forbid them, but a bool of another value is undefined in Rust, C and C++; readers see true, false or both.";
    DataNan "DT-NAN" Warning "elements that are not a number (NaN)"
        "Whatever is computed with one is no number either; the reference refuses such GGUF tensors with --check-tensors.";
    DataInfinite "DT-INFINITE" Warning "elements that are infinite"
        "Masks hold such; among weights it is what is left of an overflow, and makes numbers that are none.";
    DataScale "DT-SCALE" Warning "blocks with a scale that is infinite or not a number"
        "All elements of the block are spoilt; the reference refuses such tensors with --check-tensors.";
    DataZero "DT-ZERO" Note "tensors of nothing but zeros"
        "Usual for biases and fresh adapters; as a weight it was never written, or is a hole in a sparse file.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_texts_are_ascii() {
        let errors = crate::ErrorKind::ALL.iter().map(|kind| kind.code());
        let mut codes: std::vec::Vec<_> = RULES.iter().map(|rule| rule.code()).chain(errors).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
        for rule in RULES {
            let text = std::format!("{}{}{}", rule.code(), rule.what(), rule.why());
            assert!(text.bytes().all(|b| (b' '..=b'~').contains(&b)), "{text}");
            assert!(rule.why().ends_with('.'), "{text}");
        }
    }
}
