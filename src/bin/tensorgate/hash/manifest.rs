//! The manifest: what is in it, and how it is written.
//!
//! ```text
//! tensorgate-manifest 1
//! model  sha256:<64 digits>  <number of tensors>
//! sha256:<64 digits>  <type>  <shape>  <name>
//! files  <number of files>
//! file  sha256:<64 digits>  <bytes>  <name>
//! ```
//!
//! Tensors ascend by the bytes of their names, and so do files. The model's digest is that of the lines of the tensors, each
//! with its line feed. Fields are parted by two spaces. A name is printable ASCII, in which a backslash is `\\` and any other
//! character `\u{...}` with its number in hexadecimal; so is a space at its beginning or end. The empty name is `\e`.
//! There is one way to write a manifest, and no other is read.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::text;

/// A SHA-256.
pub(super) type Sum = [u8; 32];

/// The first line.
pub(super) const MAGIC: &str = "tensorgate-manifest 1";

/// A tensor's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TensorLine {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) shape: Vec<u64>,
    pub(super) sum: Sum,
}

/// A file's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileLine {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) sum: Sum,
}

/// All of it; both lists ascend by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(super) tensors: Vec<TensorLine>,
    pub(super) files: Vec<FileLine>,
}

impl Manifest {
    pub(super) fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// The digest of the tensors' lines.
    pub(super) fn model(&self) -> Sum {
        let mut hasher = Sha256::new();
        for tensor in &self.tensors {
            hasher.update(tensor.to_string());
            hasher.update(b"\n");
        }
        hasher.finalize().into()
    }

    /// Writes it as text.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{MAGIC}")?;
        writeln!(out, "model  {}  {}", digest(&self.model()), self.tensors.len())?;
        for tensor in &self.tensors {
            writeln!(out, "{tensor}")?;
        }
        writeln!(out, "files  {}", self.files.len())?;
        for file in &self.files {
            writeln!(out, "{file}")?;
        }
        Ok(())
    }

    /// The same for programs.
    pub(super) fn json(&self, path: &Path) -> Value {
        let tensors: Vec<Value> = self.tensors.iter().map(TensorLine::json).collect();
        let files: Vec<Value> = self.files.iter().map(FileLine::json).collect();
        json!({"path": text::path(path), "model": digest(&self.model()), "tensors": tensors, "files": files})
    }
}

impl TensorLine {
    pub(super) fn json(&self) -> Value {
        json!({"name": self.name, "dtype": self.kind, "shape": self.shape, "digest": digest(&self.sum)})
    }
}

impl FileLine {
    pub(super) fn json(&self) -> Value {
        json!({"name": self.name, "size": self.bytes, "digest": digest(&self.sum)})
    }
}

impl std::fmt::Display for TensorLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, kind, shape, sum } = self;
        write!(f, "{}  {kind}  {}  {}", digest(sum), dims(shape), escaped(name))
    }
}

impl std::fmt::Display for FileLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, bytes, sum } = self;
        write!(f, "file  {}  {bytes}  {}", digest(sum), escaped(name))
    }
}

/// `sha256:` and the digits.
pub(super) fn digest(sum: &Sum) -> String {
    sum.iter().fold("sha256:".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

/// `[2,3]`.
pub(super) fn dims(shape: &[u64]) -> String {
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("[{}]", dims.join(","))
}

/// A name as it stands in a manifest.
pub(super) fn escaped(name: &str) -> String {
    if name.is_empty() {
        return "\\e".to_owned();
    }
    let mut out = String::with_capacity(name.len());
    let last = name.char_indices().next_back().map_or(0, |(at, _)| at);
    for (at, c) in name.char_indices() {
        match c {
            '\\' => out.push_str("\\\\"),
            ' ' if at > 0 && at < last => out.push(' '),
            '!'..='~' => out.push(c),
            _ => write!(out, "\\u{{{:x}}}", u32::from(c)).unwrap_or_default(),
        }
    }
    out
}

/// The name that is written so; none where it would be written otherwise.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let mut name = String::new();
    let mut rest = text.strip_prefix("\\e").filter(|rest| rest.is_empty()).unwrap_or(text);
    while let Some((plain, after)) = rest.split_once('\\') {
        name.push_str(plain);
        rest = if let Some(after) = after.strip_prefix('\\') {
            name.push('\\');
            after
        } else {
            let (number, after) = after.strip_prefix("u{")?.split_once('}')?;
            name.push(char::from_u32(u32::from_str_radix(number, 16).ok()?)?);
            after
        };
    }
    name.push_str(rest);
    (escaped(&name) == text).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_spelling() {
        for (name, text) in [
            ("", "\\e"),
            ("a.b", "a.b"),
            ("\\e", "\\\\e"),
            (" a  b ", "\\u{20}a  b\\u{20}"),
            (" ", "\\u{20}"),
            ("\n\u{1b}[2J", "\\u{a}\\u{1b}[2J"),
            ("\u{e9}\u{202e}", "\\u{e9}\\u{202e}"),
            ("\u{10ffff}", "\\u{10ffff}"),
        ] {
            assert_eq!(escaped(name), text);
            assert_eq!(unescaped(text).as_deref(), Some(name));
        }
        for text in [
            "",
            " a",
            "a ",
            "\\",
            "\\n",
            "\\x41",
            "\\u{41}",
            "\\u{A}",
            "\\u{0a}",
            "\\u{d800}",
            "\\u{110000}",
            "\\u{}",
            "\\u{a",
            "\\ea",
            "\\u{+a}",
            "\u{e9}",
            "\t",
            "a\\",
        ] {
            assert_eq!(unescaped(text), None, "{text}");
        }
    }
}
