//! The saves that are disturbed, and what a reader makes of the folder afterwards.

use std::fs;
use std::path::Path;

use tensorgate::file::{SaveError, Saver, Watch};
use tensorgate::gguf::{self, GgmlType, WriteOptions};
use tensorgate::safetensors::TensorSpec;
use tensorgate::{Dtype, Gguf, Limits, SafeTensors, ShardIndex};

/// What is saved over what.
pub(crate) struct Save {
    pub(crate) name: &'static str,
    old: Kind,
    new: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    File,
    Gguf,
    /// Of so many shards.
    Shards(usize),
}

pub(crate) const SAVES: &[Save] = &[
    Save { name: "safetensors over safetensors", old: Kind::File, new: Kind::File },
    Save { name: "safetensors where nothing was", old: Kind::Nothing, new: Kind::File },
    Save { name: "GGUF over GGUF", old: Kind::Gguf, new: Kind::Gguf },
    Save { name: "2 shards over 2 shards", old: Kind::Shards(2), new: Kind::Shards(2) },
    Save { name: "2 shards over one file", old: Kind::File, new: Kind::Shards(2) },
    Save { name: "one file over 2 shards", old: Kind::Shards(2), new: Kind::Shards(1) },
];

/// What a reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Old,
    New,
    /// Tensors of both, or a file that is no file.
    Broken,
}

/// Which of two models in one folder a reader takes: this crate's the index, `transformers` the single file.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    IndexFirst,
    SingleFirst,
}

impl Order {
    pub(crate) const ALL: [Self; 2] = [Self::IndexFirst, Self::SingleFirst];
}

/// Bytes of each tensor.
pub(crate) const LEN: usize = 3000;

const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";
const GGUF: &str = "model.gguf";

impl Save {
    /// A folder with the old model.
    pub(crate) fn prepare(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        self.prepare_in(folder.path());
        folder
    }

    pub(crate) fn prepare_in(&self, folder: &Path) {
        put(self.old, folder, 1, &()).unwrap();
        fs::write(folder.join("config.json"), b"{}").unwrap();
    }

    pub(crate) fn run(&self, folder: &Path, watch: &dyn Watch) -> Result<(), SaveError> {
        put(self.new, folder, 2, watch)
    }

    /// What readers of both orders see.
    pub(crate) fn seen(&self, folder: &Path) -> [Seen; 2] {
        Order::ALL.map(|order| self.seen_by(folder, order))
    }

    fn seen_by(&self, folder: &Path, order: Order) -> Seen {
        let values = if self.new == Kind::Gguf { read_gguf(folder) } else { read(folder, order) };
        match values {
            Ok(values) if values == [1, 1] => Seen::Old,
            Ok(values) if values == [2, 2] => Seen::New,
            Err(Missing) if self.old == Kind::Nothing => Seen::Old,
            _ => Seen::Broken,
        }
    }
}

/// Saves a model of two tensors whose bytes are all `value`.
fn put(kind: Kind, folder: &Path, value: u8, watch: &dyn Watch) -> Result<(), SaveError> {
    let bytes = vec![value; LEN];
    let saver = Saver::new().with_watch(watch);
    let spec = |name| TensorSpec::new(name, Dtype::U8, &[LEN as u64]).with_bytes(&bytes);
    let tensors = [spec("a"), spec("b")];
    match kind {
        Kind::Nothing => Ok(()),
        Kind::File => saver.safetensors(folder.join(SINGLE), tensors, Some([("k", "v")])),
        Kind::Shards(count) => {
            saver.sharded(folder, (2 * LEN / count) as u64, tensors, Some([("k", "v")])).map(drop)
        }
        Kind::Gguf => {
            let spec = |name| gguf::TensorSpec::new(name, GgmlType::I8, &[LEN as u64]).with_bytes(&bytes);
            saver.gguf(folder.join(GGUF), [("k", 1_u8)], [spec("a"), spec("b")], &WriteOptions::default())
        }
    }
}

/// There is no model.
struct Missing;

fn value_of(bytes: &[u8]) -> u8 {
    if bytes.len() == LEN && bytes.iter().all(|byte| *byte == bytes[0]) { bytes[0] } else { 0 }
}

fn read_gguf(folder: &Path) -> Result<Vec<u8>, Missing> {
    let bytes = fs::read(folder.join(GGUF)).map_err(|_| Missing)?;
    let Ok(model) = Gguf::open(&bytes) else { return Ok(vec![0]) };
    Ok(["a", "b"].iter().map(|name| model.tensor(name).map_or(0, |tensor| value_of(tensor.bytes()))).collect())
}

/// The bytes of the tensors `a` and `b`, 0 for one that is not whole.
fn read(folder: &Path, order: Order) -> Result<Vec<u8>, Missing> {
    let single = folder.join(SINGLE);
    let text = fs::read(folder.join(INDEX));
    let take_single = match order {
        Order::IndexFirst => text.is_err(),
        Order::SingleFirst => single.exists(),
    };
    if take_single {
        let bytes = fs::read(single).map_err(|_| Missing)?;
        return Ok(["a", "b"].map(|name| of_shard(&bytes, name)).to_vec());
    }
    let text = text.map_err(|_| Missing)?;
    let Ok(index) = ShardIndex::open(&text) else { return Ok(vec![0]) };
    let value = |name: &str| {
        let shard = index.shard_of(name).ok()?;
        Some(of_shard(&fs::read(folder.join(shard.as_str()?)).ok()?, name))
    };
    Ok(["a", "b"].map(|name| value(name).unwrap_or(0)).to_vec())
}

fn of_shard(bytes: &[u8], name: &str) -> u8 {
    let Ok(file) = SafeTensors::open_with(bytes, &Limits::default()) else { return 0 };
    file.tensor(name).map_or(0, |tensor| value_of(tensor.bytes()))
}

/// What is in the folder besides a model that an index-first reader sees: names without the letters of chance.
pub(crate) fn left_behind(folder: &Path, save: &Save) -> Vec<String> {
    let text = fs::read(folder.join(INDEX)).unwrap_or_default();
    let index = ShardIndex::open(&text).ok();
    let expected = |name: &str| {
        name == "config.json"
            || (name == GGUF && save.new == Kind::Gguf)
            || match &index {
                Some(index) => name == INDEX || index.shards().any(|shard| shard.name() == name),
                None => name == SINGLE,
            }
    };
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = names.filter(|name| !expected(name)).collect();
    left.sort();
    left
}
