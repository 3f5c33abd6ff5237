//! The corpus: its manifest, and how a file of each format is judged.

use std::path::{Path, PathBuf};

use tensorgate::safetensors::{Header, Slot};
use tensorgate::{Error, ErrorKind, Limits, SafeTensors};

/// A row of `corpus/MANIFEST.tsv`.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) path: String,
    pub(crate) sha256: String,
    pub(crate) origin: String,
    pub(crate) licence: String,
    /// `None` where the file is to be accepted.
    pub(crate) rejected: Option<(String, u64)>,
    pub(crate) limits: Limits,
}

/// Kinds that no format reaches yet.
pub(crate) const WAITING: &[ErrorKind] = &[ErrorKind::JsonValue];

/// The folder of the corpus.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Every row of the manifest.
pub(crate) fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("MANIFEST.tsv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("path\tsha256\tverdict\tcode\toffset\torigin\tlicence\tlimits"));
    lines.map(row).collect()
}

fn row(line: &str) -> Row {
    let fields: Vec<&str> = line.split('\t').collect();
    let [path, sha256, verdict, code, offset, origin, licence, relaxed] = fields[..] else { panic!("{line}") };
    let rejected = match verdict {
        "accepted" => {
            assert_eq!((code, offset), ("-", "-"), "{line}");
            None
        }
        "rejected" => Some((code.to_owned(), offset.parse().unwrap())),
        other => panic!("no such verdict: {other}"),
    };
    Row {
        path: path.to_owned(),
        sha256: sha256.to_owned(),
        origin: origin.to_owned(),
        licence: licence.to_owned(),
        rejected,
        limits: limits(relaxed),
    }
}

/// The limits that a row names: `-` for the defaults, else one setting.
fn limits(text: &str) -> Limits {
    let limits = Limits::default();
    if text == "-" {
        return limits;
    }
    let (name, most) = text.split_once('=').unwrap();
    let most = most.parse().unwrap();
    match name {
        "header_len" => limits.with_header_len(most),
        "tensors" => limits.with_tensors(most),
        "rank" => limits.with_rank(most),
        "name_len" => limits.with_name_len(most),
        "metadata_keys" => limits.with_metadata_keys(most),
        other => panic!("no such limit: {other}"),
    }
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

/// The file judged in every way that its format has; the format is told by the end of the file's name.
pub(crate) fn judge(path: &str, bytes: &[u8], limits: &Limits) -> Vec<Outcome> {
    if path.ends_with(".safetensors") {
        return safetensors(bytes, limits);
    }
    panic!("{path}: no format has this ending")
}

/// Whether some format has this ending.
pub(crate) fn is_known(path: &str) -> bool {
    path.ends_with(".safetensors")
}

fn safetensors(bytes: &[u8], limits: &Limits) -> Vec<Outcome> {
    let len = u64::try_from(bytes.len()).unwrap();
    let mut slots = vec![Slot::EMPTY; 64 + bytes.len() / 7];
    vec![
        ("lent storage", SafeTensors::open_in(bytes, &mut slots, limits).map(|file| touch(&file))),
        ("exact storage", exact_storage(bytes, limits)),
        #[cfg(feature = "alloc")]
        ("own storage", SafeTensors::open_with(bytes, limits).map(|file| touch(&file))),
        ("header alone", header_alone(bytes, len, limits)),
    ]
}

/// Begins with no slot, and brings as many as the reader asks for: it may ask only once.
fn exact_storage(bytes: &[u8], limits: &Limits) -> Result<(), Error> {
    let mut slots = Vec::new();
    let outcome = SafeTensors::open_in(bytes, &mut slots, limits).map(|file| touch(&file));
    let Some(needed) = outcome.err().and_then(|error| error.needs_slots()) else { return outcome };
    let mut slots = vec![Slot::EMPTY; usize::try_from(needed).unwrap()];
    let outcome = SafeTensors::open_in(bytes, &mut slots, limits).map(|file| touch(&file));
    assert!(outcome.is_ok() || outcome.unwrap_err().kind() != ErrorKind::StorageTooSmall);
    outcome
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

/// Looks at everything that the file shows.
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
