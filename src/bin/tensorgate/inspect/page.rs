//! A file's content as one page that needs nothing else: `inspect --html`.
//!
//! The page is a template with a style and a script of our own, and the document that `--json` prints. Nothing of the file
//! is ever part of the markup: the document stands in a block of data in which no `<` can be, the script shows it as text
//! only, and a Content-Security-Policy admits that one script and that one style by their hashes and nothing else.

use std::io::{self, Write};
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};
use tensorgate::file::Atomic;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Writes the page of a document, all or nothing.
pub(super) fn save(path: &Path, document: &[u8]) -> io::Result<()> {
    let mut file = Atomic::create(path).map_err(io::Error::other)?;
    page(&mut file, document)?;
    file.commit().map_err(io::Error::other)
}

/// The template's parts, each name between `@` replaced once, and never what stands in for one.
fn page(out: &mut impl Write, document: &[u8]) -> io::Result<()> {
    for (place, part) in TEMPLATE.split('@').enumerate() {
        match part {
            "style-hash" => out.write_all(source(STYLE).as_bytes())?,
            "script-hash" => out.write_all(source(SCRIPT).as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => out.write_all(SCRIPT.as_bytes())?,
            "data" => inert(out, document)?,
            // Outside of names; a test sees that every second part is a known one.
            text => {
                debug_assert!(place % 2 == 0, "unknown part of the page: {text}");
                out.write_all(text.as_bytes())?;
            }
        }
    }
    Ok(())
}

/// How a Content-Security-Policy names a text by its hash.
fn source(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// A JSON document with no `<` in it: in JSON that can only stand in strings, where it can be written as its code.
fn inert(out: &mut impl Write, document: &[u8]) -> io::Result<()> {
    for piece in document.split_inclusive(|byte| *byte == b'<') {
        match piece.split_last() {
            Some((b'<', before)) => {
                out.write_all(before)?;
                out.write_all(b"\\u003c")?;
            }
            _ => out.write_all(piece)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_block() {
        let mut out = Vec::new();
        inert(&mut out, br#"{"a":"</script><!--<script>","b":1}<"#).unwrap();
        assert_eq!(out, br#"{"a":"\u003c/script>\u003c!--\u003cscript>","b":1}\u003c"#);
    }

    #[test]
    fn every_part_is_there_once() {
        let names: Vec<&str> = TEMPLATE.split('@').skip(1).step_by(2).collect();
        assert_eq!(names, ["style-hash", "script-hash", "style", "data", "script"]);
        let mut out = Vec::new();
        page(&mut out, br#"{"name":"@script@"}"#).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("\"use strict\"").count(), 1);
        assert!(text.contains(r#"{"name":"@script@"}"#));
    }

    #[test]
    fn neither_script_nor_style_ends_itself_or_reads_markup() {
        for text in [SCRIPT, STYLE] {
            assert!(!text.contains("</"), "it would end its element");
        }
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "Function(",
            "setAttribute(\"on",
            "http",
        ] {
            assert!(!SCRIPT.contains(word), "{word}");
        }
    }
}
