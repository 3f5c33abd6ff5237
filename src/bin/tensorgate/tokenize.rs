//! `tensorgate tokenize`: text to tokens and back.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use serde_json::json;
use tensorgate::Limits;
use tensorgate::file::Head;
use tensorgate::gguf::Header;
use tensorgate::tokenizer::{Encoder, Tokenizer};

use crate::args::Tokenize;
use crate::limited::at_most;
use crate::refused::{named, refused};
use crate::terminal::Terminal;
use crate::vocabulary::{self, First};
use crate::{Exit, complain, output, text};

pub(crate) fn run(args: &Tokenize) -> io::Result<Exit> {
    let tokenizer = tokenizer(args)?;
    let input = input(args)?;
    if args.decode { decode(args, &tokenizer, &input) } else { encode(args, &tokenizer, &input) }
}

fn tokenizer(args: &Tokenize) -> io::Result<Tokenizer> {
    if let (Some(vocab), Some(merges)) = (&args.vocab, &args.merges) {
        return vocabulary::pair(vocab, merges);
    }
    let Some(path) = &args.tokenizer else { return Err(io::Error::other("no vocabulary is given")) };
    if path.is_dir() {
        return vocabulary::in_folder(path, First::Whole)?.needed();
    }
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| named(path, &error))?;
    file.take(4).read_to_end(&mut start).map_err(|error| named(path, &error))?;
    if start == b"GGUF" { from_gguf(path) } else { vocabulary::from_named(path) }
}

/// The header of a GGUF file is read as far as it goes; the tensors are not.
fn from_gguf(path: &Path) -> io::Result<Tokenizer> {
    let limits = Limits::DEFAULT.with_metadata_len(256 << 20);
    let mut head = Head::open(path).map_err(|error| named(path, &error))?;
    let needs = |bytes: &[u8], len| Header::open(bytes, len, &limits).err().and_then(|error| error.needs());
    head.load(needs).map_err(|error| named(path, &error))?;
    let len = head.file_len().unwrap_or(u64::MAX);
    let header = Header::open(head.bytes(), len, &limits).map_err(|error| refused(path, &error))?;
    vocabulary::in_gguf(path, &header)?.needed()
}

/// The text to encode, or the ids to decode.
fn input(args: &Tokenize) -> io::Result<Vec<u8>> {
    match (args.text.as_slice(), &args.file) {
        ([text], _) => Ok(text.as_bytes().to_vec()),
        ([_, ..], _) if args.decode => Ok(args.text.join(" ").into_bytes()),
        ([_, ..], _) => Err(io::Error::other("there is more than one text: put it in quotes where it has spaces")),
        ([], Some(path)) if path.as_os_str() != "-" => {
            let file = File::open(path).map_err(|error| named(path, &error))?;
            limited(file, args.max_input, &text::path(path))
        }
        _ => limited(io::stdin().lock(), args.max_input, "standard input"),
    }
}

/// All that comes, of which there may be so many MiB: an input without an end would take all memory.
fn limited(input: impl Read, mib: u32, name: &str) -> io::Result<Vec<u8>> {
    let most = u64::from(mib) << 20;
    let bytes = at_most(input, most).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
    bytes.ok_or_else(|| {
        io::Error::other(format!(
            "{name}: it is longer than {mib} MiB, the limit; --max-input, in MiB, allows more"
        ))
    })
}

fn encode(args: &Tokenize, tokenizer: &Tokenizer, bytes: &[u8]) -> io::Result<Exit> {
    let (mut encoder, mut ids) = (Encoder::new(tokenizer), Vec::new());
    let outcome = if args.special {
        encoder.encode_with_special(bytes, &mut ids)
    } else {
        encoder.encode_into(bytes, &mut ids)
    };
    if outcome.is_err() {
        complain("there is not enough memory for so many tokens");
        return Ok(Exit::Trouble);
    }
    let mut out = output::stdout();
    if args.json {
        let mut document = json!({"bytes": bytes.len(), "count": ids.len()});
        if let Some(object) = document.as_object_mut().filter(|_| !args.count) {
            let text =
                |id: &u32| String::from_utf8_lossy(tokenizer.token_bytes(*id).unwrap_or_default()).into_owned();
            object.insert("ids".to_owned(), json!(ids));
            object.insert("tokens".to_owned(), ids.iter().map(text).collect());
        }
        output::json(&mut out, &document)?;
    } else if args.count {
        write!(out, "{}", ids.len())?;
    } else {
        for (index, id) in ids.iter().enumerate() {
            write!(out, "{}{id}", if index == 0 { "" } else { " " })?;
        }
    }
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(Exit::Accepted)
}

/// Ids in a text, in brackets or not.
fn ids(input: &[u8]) -> Result<Vec<u32>, String> {
    let input = str::from_utf8(input).map_err(|_| "the ids are not text".to_owned())?;
    let inner = input.trim().trim_start_matches('[').trim_end_matches(']');
    let words = inner.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.parse().map_err(|_| {
                format!(
                    "no id: {} (ids are whole numbers, with spaces or commas between them)",
                    text::short(word, 40)
                )
            })
        })
        .collect()
}

fn decode(args: &Tokenize, tokenizer: &Tokenizer, input: &[u8]) -> io::Result<Exit> {
    let decoded = ids(input).and_then(|ids| tokenizer.decode(&ids).map_err(|error| error.to_string()));
    let bytes = match decoded {
        Ok(bytes) => bytes,
        Err(why) => {
            complain(&why);
            return Ok(Exit::Trouble);
        }
    };
    if args.json {
        let mut out = output::stdout();
        let document = json!({"bytes": bytes.len(), "text": String::from_utf8_lossy(&bytes)});
        output::json(&mut out, &document)?;
        out.write_all(b"\n")?;
        out.flush()?;
    } else {
        // Into a pipe the bytes as they are. What an id stands for, the vocabulary says, which nobody trusts with a terminal.
        Terminal::new().write_bytes(&bytes)?;
    }
    Ok(Exit::Accepted)
}
