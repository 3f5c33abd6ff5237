//! `tensorgate tokenize`: text to tokens and back.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use serde_json::json;
use tensorgate::Limits;
use tensorgate::file::Head;
use tensorgate::gguf::Header;
use tensorgate::tokenizer::{Encoder, Tokenizer};

use crate::args::Tokenize;
use crate::{Exit, complain, output, say, text};

/// What ends the command: the vocabulary is bad, or something could not be read.
enum Stop {
    Rejected(String),
    Trouble(String),
}

impl Stop {
    fn trouble(path: &Path, error: impl Display) -> Self {
        Self::Trouble(format!("{}: {error}", text::path(path)))
    }

    fn rejected(path: &Path, error: impl Display) -> Self {
        Self::Rejected(format!("{}: {error}", text::path(path)))
    }
}

pub(crate) fn run(args: &Tokenize) -> io::Result<Exit> {
    let outcome = tokenizer(args).and_then(|tokenizer| {
        let input = input(args)?;
        Ok((tokenizer, input))
    });
    let (tokenizer, input) = match outcome {
        Ok(both) => both,
        Err(Stop::Rejected(why)) => {
            say(&why);
            return Ok(Exit::Rejected);
        }
        Err(Stop::Trouble(why)) => {
            say(&why);
            return Ok(Exit::Trouble);
        }
    };
    if args.decode { decode(args, &tokenizer, &input) } else { encode(args, &tokenizer, &input) }
}

/// A file's bytes, at most as many as a vocabulary may have and one more, so that the limit is seen.
fn read(path: &Path) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    let most = Limits::DEFAULT.vocab_len().saturating_add(1);
    let file = File::open(path).map_err(|error| Stop::trouble(path, error))?;
    file.take(most).read_to_end(&mut bytes).map_err(|error| Stop::trouble(path, error))?;
    Ok(bytes)
}

fn files(vocab: &Path, merges: &Path) -> Result<Tokenizer, Stop> {
    Tokenizer::from_files(&read(vocab)?, &read(merges)?).map_err(|error| Stop::rejected(vocab, error))
}

fn tokenizer(args: &Tokenize) -> Result<Tokenizer, Stop> {
    if let (Some(vocab), Some(merges)) = (&args.vocab, &args.merges) {
        return files(vocab, merges);
    }
    let Some(path) = &args.tokenizer else { return Err(Stop::Trouble("no vocabulary is given".to_owned())) };
    if path.is_dir() {
        let (whole, vocab) = (path.join("tokenizer.json"), path.join("vocab.json"));
        return match (whole.exists(), vocab.exists()) {
            (true, _) => from_json(&whole),
            (false, true) => files(&vocab, &path.join("merges.txt")),
            (false, false) => {
                Err(Stop::trouble(path, "neither tokenizer.json nor vocab.json is in this directory"))
            }
        };
    }
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| Stop::trouble(path, error))?;
    file.take(4).read_to_end(&mut start).map_err(|error| Stop::trouble(path, error))?;
    if start == b"GGUF" {
        return from_gguf(path);
    }
    // What is no tokenizer.json may be something else that lies in the folder of one.
    from_json(path).map_err(|stop| match stop {
        Stop::Rejected(why) if path.file_name().is_none_or(|name| name != "tokenizer.json") => Stop::Rejected(format!(
            "{why}\n--tokenizer takes a tokenizer.json, a GGUF file or the folder of a vocabulary; a vocab.json goes with --vocab"
        )),
        stop => stop,
    })
}

fn from_json(path: &Path) -> Result<Tokenizer, Stop> {
    Tokenizer::from_json(&read(path)?).map_err(|error| Stop::rejected(path, error))
}

/// The header of a GGUF file is read as far as it goes; the tensors are not.
fn from_gguf(path: &Path) -> Result<Tokenizer, Stop> {
    let limits = Limits::DEFAULT.with_metadata_len(256 << 20);
    let mut head = Head::open(path).map_err(|error| Stop::trouble(path, error))?;
    let needs = |bytes: &[u8], len| Header::open(bytes, len, &limits).err().and_then(|error| error.needs());
    head.load(needs).map_err(|error| Stop::trouble(path, error))?;
    let len = head.file_len().unwrap_or(u64::MAX);
    let header = Header::open(head.bytes(), len, &limits).map_err(|error| Stop::rejected(path, error))?;
    Tokenizer::from_gguf(&header).map_err(|error| Stop::rejected(path, error))
}

/// The text to encode, or the ids to decode.
fn input(args: &Tokenize) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    match (args.text.as_slice(), &args.file) {
        ([text], _) => return Ok(text.as_bytes().to_vec()),
        ([_, ..], _) if args.decode => return Ok(args.text.join(" ").into_bytes()),
        ([_, ..], _) => {
            return Err(Stop::Trouble(
                "there is more than one text: put it in quotes where it has spaces".to_owned(),
            ));
        }
        ([], Some(path)) if path.as_os_str() != "-" => {
            let mut file = File::open(path).map_err(|error| Stop::trouble(path, error))?;
            file.read_to_end(&mut bytes).map_err(|error| Stop::trouble(path, error))?;
        }
        _ => {
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| Stop::Trouble(format!("standard input: {error}")))?;
        }
    }
    Ok(bytes)
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
        // The bytes as they are: whoever decodes wants the text, not a picture of it.
        let mut out = output::raw();
        out.write_all(&bytes)?;
        out.flush()?;
    }
    Ok(Exit::Accepted)
}
