//! `tensorgate metadata`: what a file says besides its tensors.

mod show;
mod values;

use std::io;
use std::path::{Path, PathBuf};

use tensorgate::file::Saver;
use tensorgate::file::metadata::{Edit, EditError};
use tensorgate::gguf::WriteValue;
use tensorgate::model::{Format, Model};

use crate::args::{Effort, Kind, Metadata, Place, SetPairs};
use crate::work::Work;
use crate::{Exit, complain, complain_of, open, output, text};
use values::Parsed;

/// Shows or changes metadata.
pub(crate) fn run(args: &Metadata) -> io::Result<Exit> {
    let place = match args {
        Metadata::List { place, .. }
        | Metadata::Get { place, .. }
        | Metadata::Remove { place, .. }
        | Metadata::Set(SetPairs { place, .. }) => place,
    };
    let target = match Target::open(place) {
        Ok(target) => target,
        Err(exit) => return Ok(exit),
    };
    match args {
        Metadata::List { all, json, .. } => show::list(&target.model, *all, *json),
        Metadata::Get { key, json, .. } => show::get(&target, key, *json),
        Metadata::Set(args) => set(&target, args),
        Metadata::Remove { keys, quiet, .. } => remove(&target, keys, *quiet),
    }
}

/// The file, opened.
struct Target {
    model: Model,
    path: PathBuf,
    saver: Saver<'static>,
}

impl Target {
    fn open(place: &Place) -> Result<Self, Exit> {
        let model = open::model(&place.file, &place.reading)?;
        if let Some(index) = model.index_path() {
            let first = model.files().first().map(|file| text::path(file.path())).unwrap_or_default();
            complain(&format!("{}: an index: name one of its shards, such as {first}", text::path(index)));
            return Err(Exit::Trouble);
        }
        let path = model.files().first().map_or_else(|| place.file.clone(), |file| file.path().to_path_buf());
        Ok(Self { model, path, saver: Saver::new().with_limits(place.reading.options().limits) })
    }

    fn is_gguf(&self) -> bool {
        self.model.format() == Format::Gguf
    }

    /// Says that there is no such key, and which was probably meant.
    fn missing(&self, key: &str) {
        let near =
            show::near(&self.model, key).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
        complain(&format!("{}: there is no key \"{key}\"{near}", text::path(&self.path)));
    }
}

/// Says what is wrong with the command line.
fn wrong(message: &str) -> Exit {
    complain(message);
    Exit::Trouble
}

/// Keys that say which part of a model a file is; the files themselves would have to change with them.
const OF_A_SPLIT: [&str; 3] = ["split.no", "split.count", "split.tensors.count"];

fn guarded(key: &str) -> Option<String> {
    OF_A_SPLIT
        .contains(&key)
        .then(|| format!("\"{key}\" says which part of a split model this is: convert changes that"))
}

fn set(target: &Target, args: &SetPairs) -> io::Result<Exit> {
    let pairs = match split(&args.pairs) {
        Ok(pairs) => pairs,
        Err(message) => return Ok(wrong(&message)),
    };
    if target.is_gguf() {
        let mut edits = Vec::new();
        for (key, value) in &pairs {
            match gguf_value(target, key, value, args.kind) {
                Ok(value) => edits.push((*key, value)),
                Err(message) => return Ok(wrong(&message)),
            }
        }
        let edits: Vec<Edit<'_, WriteValue<'_>>> =
            edits.iter().map(|(key, value)| Edit::Set(key, value.as_write())).collect();
        return edit(target, args.quiet, |saver, path| saver.edit_gguf(path, &edits));
    }
    if let Some(kind) = args.kind.filter(|kind| *kind != Kind::String) {
        return Ok(wrong(&format!("values in safetensors files are strings: --type {} is for GGUF", kind.name())));
    }
    let edits: Vec<Edit<'_, &str>> = pairs.iter().map(|(key, value)| Edit::Set(key, *value)).collect();
    edit(target, args.quiet, |saver, path| saver.edit_safetensors(path, &edits))
}

/// `KEY VALUE`, or `KEY=VALUE` any number of times.
fn split(words: &[String]) -> Result<Vec<(&str, &str)>, String> {
    if let [key, value] = words
        && !key.contains('=')
    {
        return Ok(vec![(key, value)]);
    }
    words
        .iter()
        .map(|word| {
            word.split_once('=').ok_or_else(|| format!("\"{word}\" is no KEY=VALUE; or give one KEY and its VALUE"))
        })
        .collect()
}

/// A value of the type that was asked for, that the key has, or that the format says of it.
fn gguf_value<'v>(target: &Target, key: &str, value: &'v str, asked: Option<Kind>) -> Result<Parsed<'v>, String> {
    values::check_key(key)?;
    if let Some(message) = guarded(key) {
        return Err(message);
    }
    let header = target.model.files().first().and_then(tensorgate::model::ModelFile::gguf);
    let known = header.and_then(|header| header.get(key)).map(|value| value.kind());
    let kind = match (asked, known) {
        (Some(kind), _) => kind,
        (None, Some(known)) => Kind::of(known)
            .ok_or_else(|| format!("\"{key}\" is an array; with --type, one value takes its place"))?,
        (None, None) => values::usual(key),
    };
    let parsed = Parsed::new(kind, value)
        .ok_or_else(|| format!("\"{}\" is no {} for \"{key}\"{}", cut(value), kind.name(), values::hint(kind)))?;
    if key == "general.alignment" && !matches!(parsed, Parsed::U32(number) if number.is_power_of_two()) {
        return Err("\"general.alignment\" is a u32 that is a power of two".to_owned());
    }
    Ok(parsed)
}

fn cut(value: &str) -> String {
    value.chars().take(40).collect()
}

fn remove(target: &Target, keys: &[String], quiet: bool) -> io::Result<Exit> {
    let mut found = true;
    for key in keys {
        if target.is_gguf()
            && let Some(message) = guarded(key)
        {
            return Ok(wrong(&message));
        }
        if target.model.metadata().get(key).is_none() {
            target.missing(key);
            found = false;
        }
    }
    if !found {
        return Ok(Exit::Rejected);
    }
    let mut keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    keys.sort_unstable();
    keys.dedup();
    if target.is_gguf() {
        let edits: Vec<Edit<'_, WriteValue<'_>>> = keys.iter().map(|key| Edit::Remove(key)).collect();
        return edit(target, quiet, |saver, path| saver.edit_gguf(path, &edits));
    }
    let edits: Vec<Edit<'_, &str>> = keys.iter().map(|key| Edit::Remove(key)).collect();
    edit(target, quiet, |saver, path| saver.edit_safetensors(path, &edits))
}

/// Makes the changes, and says what became of the file.
fn edit(
    target: &Target,
    quiet: bool,
    change: impl FnOnce(Saver<'_>, &Path) -> Result<bool, EditError>,
) -> io::Result<Exit> {
    let work = Work::new(Effort::default(), quiet, &[&target.path])?;
    let stop = work.stop();
    let before = target.path.metadata()?.len();
    let outcome = change(target.saver.with_watch(&*stop), &target.path);
    match outcome {
        Ok(changed) => {
            if !quiet {
                let lens = (before, target.path.metadata()?.len());
                output::told(show::done(&text::path(&target.path), changed, lens))?;
            }
            Ok(Exit::Accepted)
        }
        Err(error) => {
            if let Some(exit) = work.exit() {
                complain("interrupted; nothing was changed");
                return Ok(exit);
            }
            complain_of(&target.path, &error);
            Ok(if matches!(error, EditError::Invalid(_)) { Exit::Rejected } else { Exit::Trouble })
        }
    }
}
