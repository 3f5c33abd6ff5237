//! The corpus: its manifest, and how a file of each format, or an index with its shards, is judged.

pub(crate) mod asks;
mod looks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tensorgate::gguf;
use tensorgate::safetensors::{Header, Slot};
use tensorgate::shards::IndexSlot;
use tensorgate::{Error, ErrorKind, Gguf, Limits, SafeTensors, ShardIndex};

/// A row of `corpus/MANIFEST.tsv`.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) path: String,
    pub(crate) sha256: String,
    pub(crate) origin: String,
    pub(crate) licence: String,
    pub(crate) role: Role,
    /// `None` where the file is to be accepted, or the set to be found without a fault. Of [`Role::Deep`] it is what is
    /// found in the data.
    pub(crate) rejected: Option<(String, u64)>,
    pub(crate) terms: Terms,
    /// The setting that makes the terms, by name, where they are not the defaults.
    pub(crate) setting: Option<(String, u64)>,
}

/// What a file is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// To be judged by itself.
    Alone,
    /// An index, to be held against the shards beside it.
    Set,
    /// A shard beside an index.
    Part,
    /// To be accepted by its header; in its data something is found.
    Deep,
}

/// What a file is judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) limits: Limits,
    /// Whether strings in arrays of a GGUF file are looked into: opening it does not.
    pub(crate) array_text: bool,
}

/// The folder of the corpus.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Every row of the manifest.
pub(crate) fn all_rows() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("MANIFEST.tsv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("path\tsha256\tverdict\tcode\toffset\torigin\tlicence\tlimits"));
    lines.map(row).collect()
}

/// The rows of files that are judged by themselves.
pub(crate) fn rows() -> Vec<Row> {
    all_rows().into_iter().filter(|row| row.role == Role::Alone).collect()
}

/// The rows of indexes that are held against the shards beside them.
pub(crate) fn sets() -> Vec<Row> {
    all_rows().into_iter().filter(|row| row.role == Role::Set).collect()
}

/// The rows of files whose data has something odd in it.
pub(crate) fn deep() -> Vec<Row> {
    all_rows().into_iter().filter(|row| row.role == Role::Deep).collect()
}

fn row(line: &str) -> Row {
    let fields: Vec<&str> = line.split('\t').collect();
    let [path, sha256, verdict, code, offset, origin, licence, terms] = fields[..] else { panic!("{line}") };
    let (role, faulty) = match verdict {
        "accepted" => (Role::Alone, false),
        "rejected" => (Role::Alone, true),
        "agrees" => (Role::Set, false),
        "disagrees" => (Role::Set, true),
        "part" => (Role::Part, false),
        "found" => (Role::Deep, true),
        other => panic!("no such verdict: {other}"),
    };
    assert!(faulty || (code, offset) == ("-", "-"), "{line}");
    Row {
        path: path.to_owned(),
        sha256: sha256.to_owned(),
        origin: origin.to_owned(),
        licence: licence.to_owned(),
        role,
        rejected: faulty.then(|| (code.to_owned(), offset.parse().unwrap())),
        terms: self::terms(terms),
        setting: terms.split_once('=').map(|(name, most)| (name.to_owned(), most.parse().unwrap())),
    }
}

/// The terms that a row names: `-` for the defaults, else one setting.
fn terms(text: &str) -> Terms {
    let (limits, array_text) = (Limits::default(), false);
    if text == "-" {
        return Terms::default();
    }
    let (name, most) = text.split_once('=').unwrap();
    let most = most.parse().unwrap();
    let limits = match name {
        "header_len" => limits.with_header_len(most),
        "tensors" => limits.with_tensors(most),
        "rank" => limits.with_rank(most),
        "name_len" => limits.with_name_len(most),
        "metadata_keys" => limits.with_metadata_keys(most),
        "metadata_len" => limits.with_metadata_len(most),
        "key_len" => limits.with_key_len(most),
        "string_len" => limits.with_string_len(most),
        "array_len" => limits.with_array_len(most),
        "gguf_name_len" => limits.with_gguf_name_len(most),
        "gguf_rank" => limits.with_gguf_rank(most),
        "index_len" => limits.with_index_len(most),
        "shards" => limits.with_shards(most),
        "index_metadata_len" => limits.with_index_metadata_len(most),
        "index_metadata_depth" => limits.with_index_metadata_depth(most),
        "array_text" => return Terms { limits, array_text: most == 1 },
        other => panic!("no such limit: {other}"),
    };
    Terms { limits, array_text }
}

/// Every file under `folder`, in order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A file that was judged in one way.
pub(crate) type Outcome = (&'static str, Result<(), Error>);

/// The endings of the formats' files.
const SAFETENSORS: &str = ".safetensors";
const INDEX: &str = ".index.json";
const GGUF: &str = ".gguf";

/// The file judged in every way that its format has; the format is told by the end of the file's name.
pub(crate) fn judge(path: &str, bytes: &[u8], terms: &Terms) -> Vec<Outcome> {
    match path {
        path if path.ends_with(SAFETENSORS) => safetensors(bytes, &terms.limits),
        path if path.ends_with(INDEX) => index(bytes, &terms.limits),
        path if path.ends_with(GGUF) => gguf(bytes, terms),
        path => panic!("{path}: no format has this ending"),
    }
}

/// Whether some format has this ending.
pub(crate) fn is_known(path: &str) -> bool {
    [SAFETENSORS, INDEX, GGUF].iter().any(|ending| path.ends_with(ending))
}

/// Whether it is the name of a GGUF file.
pub(crate) fn is_gguf(path: &str) -> bool {
    path.ends_with(GGUF)
}

fn safetensors(bytes: &[u8], limits: &Limits) -> Vec<Outcome> {
    let len = u64::try_from(bytes.len()).unwrap();
    let mut slots = vec![Slot::EMPTY; 64 + bytes.len() / 7];
    vec![
        ("lent storage", SafeTensors::open_in(bytes, &mut slots, limits).map(|file| looks::at_safetensors(&file))),
        (
            "exact storage",
            exactly(|slots: &mut [Slot]| {
                SafeTensors::open_in(bytes, slots, limits).map(|file| looks::at_safetensors(&file))
            }),
        ),
        #[cfg(feature = "alloc")]
        ("own storage", SafeTensors::open_with(bytes, limits).map(|file| looks::at_safetensors(&file))),
        ("header alone", header_alone(bytes, len, limits)),
    ]
}

/// Begins with no byte, and brings as many as the reader asks for: it may ask only twice.
fn header_alone(bytes: &[u8], len: u64, limits: &Limits) -> Result<(), Error> {
    let mut have = 0;
    for _ in 0..3 {
        let mut slots = vec![Slot::EMPTY; 64 + bytes.len() / 7];
        let outcome = Header::open_in(&bytes[..have], len, &mut slots, limits).map(|_| ());
        let Some(needs) = outcome.err().and_then(|error| error.needs()) else { return outcome };
        assert!(needs <= len);
        have = usize::try_from(needs).unwrap();
    }
    panic!("the reader asked three times for more")
}

/// Looks at the tensors and the metadata of a file, without an allocation.
pub(crate) fn touch(file: &SafeTensors<'_>) {
    let mut data = 0;
    for tensor in file.tensors() {
        data += tensor.bytes().len();
        assert_eq!(Some(tensor.elements()), tensor.shape().elements());
        if let Some(name) = tensor.name().as_str() {
            assert_eq!(file.tensor(name).unwrap().span(), tensor.span());
        }
    }
    assert_eq!(data, file.data().len());
    assert!(file.tensor("there is no tensor of this name").is_err());
    for (key, value) in file.metadata().into_iter().flatten() {
        assert!(key.chars().count() <= key.raw().len() && value.chars().count() <= value.raw().len());
    }
}

fn index(bytes: &[u8], limits: &Limits) -> Vec<Outcome> {
    let open =
        |slots: &mut [IndexSlot]| ShardIndex::open_in(bytes, slots, limits).map(|index| looks::at_index(&index));
    vec![
        ("lent storage", open(&mut vec![IndexSlot::EMPTY; 64 + bytes.len() / 4])),
        ("exact storage", exactly(open)),
        #[cfg(feature = "alloc")]
        ("own storage", ShardIndex::open_with(bytes, limits).map(|index| looks::at_index(&index))),
    ]
}

/// Storage for one item.
trait Empty {
    const EMPTY: Self;
}

impl Empty for Slot {
    const EMPTY: Self = Slot::EMPTY;
}

impl Empty for IndexSlot {
    const EMPTY: Self = IndexSlot::EMPTY;
}

impl Empty for gguf::Slot {
    const EMPTY: Self = gguf::Slot::EMPTY;
}

/// Begins with no slot, and brings as many as the reader asks for: it may ask only once.
fn exactly<S: Clone + Empty>(open: impl Fn(&mut [S]) -> Result<(), Error>) -> Result<(), Error> {
    let outcome = open(&mut []);
    let Some(needed) = outcome.err().and_then(|error| error.needs_slots()) else { return outcome };
    let outcome = open(&mut vec![S::EMPTY; usize::try_from(needed).unwrap()]);
    assert!(outcome.is_ok() || outcome.unwrap_err().kind() != ErrorKind::StorageTooSmall);
    outcome
}

/// Looks at the entries of an index, without an allocation.
pub(crate) fn touch_index(index: &ShardIndex<'_>) {
    assert_eq!(index.tensors().count(), index.len());
    assert_eq!(index.in_file_order().count(), index.len());
    assert_eq!(index.shards().map(|shard| shard.tensors().count()).sum::<usize>(), index.len());
    for entry in index.tensors() {
        if let Some(name) = entry.name().as_str() {
            assert!(index.shard_of(name).unwrap() == entry.shard());
        }
    }
    for (key, value) in index.metadata().into_iter().flatten() {
        assert!(key.chars().count() <= key.raw().len() && !value.is_empty());
    }
    assert!(index.tensor("there is no tensor of this name").is_err());
}

fn gguf(bytes: &[u8], terms: &Terms) -> Vec<Outcome> {
    gguf_with(bytes, terms, |file| looks::at_gguf(&file, terms.array_text))
}

fn gguf_with(bytes: &[u8], terms: &Terms, look: impl Fn(Gguf<'_>) -> Result<(), Error> + Copy) -> Vec<Outcome> {
    let open = |slots: &mut [gguf::Slot]| Gguf::open_in(bytes, slots, &terms.limits).and_then(look);
    vec![
        ("lent storage", open(&mut vec![gguf::Slot::EMPTY; 64 + bytes.len() / 14])),
        ("exact storage", exactly(open)),
        #[cfg(feature = "alloc")]
        ("own storage", Gguf::open_with(bytes, &terms.limits).and_then(look)),
        ("header alone", gguf_header(bytes, terms)),
    ]
}

/// Begins with no byte, and brings as many as the reader asks for; padding and the text of arrays are looked at
/// afterwards, since a header alone does not show them.
fn gguf_header(bytes: &[u8], terms: &Terms) -> Result<(), Error> {
    let len = u64::try_from(bytes.len()).unwrap();
    let mut slots = vec![gguf::Slot::EMPTY; 64 + bytes.len() / 14];
    let mut have = 0;
    loop {
        match gguf::Header::open_in(&bytes[..have], len, &mut slots, &terms.limits) {
            Ok(header) => {
                header.check_padding(bytes)?;
                let mut arrays = header.pairs().filter_map(|pair| pair.value().array().ok());
                return if terms.array_text { arrays.try_for_each(|array| array.check_utf8()) } else { Ok(()) };
            }
            Err(error) => {
                let Some(needs) = error.needs() else { return Err(error) };
                assert!(needs <= len && needs > have as u64);
                have = usize::try_from(needs).unwrap();
            }
        }
    }
}

/// Looks at the tensors and pairs of a GGUF file, without an allocation; into the strings of arrays only where `array_text` is set.
pub(crate) fn touch_gguf(file: &Gguf<'_>, array_text: bool) -> Result<(), Error> {
    let mut end = file.data_offset();
    for tensor in file.tensors() {
        assert!(tensor.span().start() >= end && tensor.span().start() - end < u64::from(file.alignment()));
        end = tensor.span().end();
        assert_eq!(Some(tensor.elements()), tensor.shape().elements());
        let name = tensor.name().as_str().unwrap();
        assert_eq!(file.tensor(name).unwrap().span(), tensor.span());
    }
    assert!(file.tensor("there is no tensor of this name").is_err());
    for pair in file.pairs() {
        assert_eq!(file.get(pair.key()).map(|value| value.kind()), Some(pair.value().kind()));
        let Ok(array) = pair.value().array() else { continue };
        assert_eq!(array.iter().count(), array.len());
        if array_text {
            array.check_utf8()?;
        }
    }
    Ok(())
}

/// The index at `path` held against the shards beside it: every disagreement, in the order of the checks.
pub(crate) fn judge_set(path: &Path) -> Vec<Error> {
    let text = std::fs::read(path).unwrap();
    let mut slots = vec![IndexSlot::EMPTY; text.len()];
    let index = ShardIndex::open_in(&text, &mut slots, &Limits::default()).unwrap();
    let shards: BTreeMap<String, Vec<u8>> = files(path.parent().unwrap())
        .into_iter()
        .filter(|file| file != path)
        .map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&file).unwrap()))
        .collect();
    let names: Vec<&String> = shards.keys().collect();
    let mut found: Vec<Error> = index.check_files(&names).map(|finding| finding.error()).collect();
    let missing = found.iter().any(|error| error.kind() == ErrorKind::IxShardMissing);
    let mut total = 0;
    for (name, bytes) in shards.iter().filter(|(name, _)| index.shard(name).is_ok()) {
        let mut slots = vec![Slot::EMPTY; bytes.len()];
        let header = Header::open_in(bytes, bytes.len() as u64, &mut slots, &Limits::default()).unwrap();
        found.extend(index.check_shard(name, &header).map(|finding| finding.error()));
        total += header.data().len();
    }
    // Without all shards there is no sum to compare.
    found.extend(index.check_total(total).filter(|_| !missing).map(|finding| finding.error()));
    found
}
