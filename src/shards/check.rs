//! An index held against the shards that are there.
//!
//! Three questions, each answered lazily, without an allocation, with everything said by name:
//!
//! - [`ShardIndex::check_files`]: is each shard that is named there, and each that is there named?
//! - [`ShardIndex::check_shard`], for each shard that is there: does it hold the tensors that the index puts into it,
//!   and no other?
//! - [`ShardIndex::check_total`]: is `metadata.total_size` the sum of the tensors' bytes? A warning, since files
//!   without it and with another are in use and load.

use core::fmt;

use super::{IndexEntry, Shard, ShardIndex};
use crate::Name;
use crate::error::{Error, ErrorKind};
use crate::safetensors::Header;

/// One thing in which an index and its shards disagree.
///
/// [`Display`](fmt::Display) is printable ASCII, and names no longer than the names themselves (escaped).
#[derive(Clone, Copy, Debug)]
pub struct Finding<'a> {
    error: Error,
    tensor: Option<Name<'a>>,
    shard: Option<Name<'a>>,
    assigned: Option<Name<'a>>,
    entry_at: Option<u64>,
}

impl<'a> Finding<'a> {
    const fn new(error: Error) -> Self {
        Self { error, tensor: None, shard: None, assigned: None, entry_at: None }
    }

    const fn in_shard(mut self, shard: Name<'a>) -> Self {
        self.shard = Some(shard);
        self
    }

    const fn of_tensor(mut self, tensor: Name<'a>) -> Self {
        self.tensor = Some(tensor);
        self
    }

    /// What kind of finding it is.
    pub const fn kind(&self) -> ErrorKind {
        self.error.kind()
    }

    /// The stable code of the kind.
    pub const fn code(&self) -> &'static str {
        self.error.code()
    }

    /// The finding as an error, its offset in the index: that of the assignment, or of `weight_map`'s object where the
    /// index does not have what was found.
    pub const fn error(&self) -> Error {
        self.error
    }

    /// Whether the model loads all the same.
    pub const fn is_warning(&self) -> bool {
        matches!(self.kind(), ErrorKind::IxTotalSize | ErrorKind::IxTotalSizeForm | ErrorKind::IxShardUnnamed)
    }

    /// The tensor that it is about.
    pub const fn tensor(&self) -> Option<Name<'a>> {
        self.tensor
    }

    /// The shard that it is about: the one that lacks or has the tensor, or is missing or not named.
    pub const fn shard(&self) -> Option<Name<'a>> {
        self.shard
    }

    /// The shard that the index puts the tensor into, where that is another ([`ErrorKind::IxTensorElsewhere`]).
    pub const fn assigned(&self) -> Option<Name<'a>> {
        self.assigned
    }

    /// Where the tensor's entry stands in the shard, where the shard has it.
    pub const fn entry_at(&self) -> Option<u64> {
        self.entry_at
    }
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        for (what, name) in [("tensor", self.tensor), ("shard", self.shard), ("index says", self.assigned)] {
            if let Some(name) = name {
                write!(f, "; {what} {name:?}")?;
            }
        }
        Ok(())
    }
}

impl<'a> ShardIndex<'a> {
    /// What the shard called `shard`, whose proved header is `header`, and the index disagree in.
    ///
    /// First the tensors that the index puts into this shard and that it lacks, in the order of their names, then those
    /// that it has and the index puts elsewhere or nowhere, in the order of their data. When the index does not name
    /// the shard, that is said before all.
    ///
    /// Takes O(n log n) for n tensors in shard and index together.
    ///
    /// ```
    /// use tensorgate::{Limits, ShardIndex, safetensors::{Header, Slot}, shards::IndexSlot};
    ///
    /// let mut file = 104_u64.to_le_bytes().to_vec();
    /// file.extend_from_slice(br#"{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}"#);
    /// file.extend_from_slice(br#","z":{"dtype":"U8","shape":[],"data_offsets":[1,2]} }"#);
    /// let mut slots = [Slot::EMPTY; 2];
    /// let header = Header::open_in(&file, 114, &mut slots, &Limits::default())?;
    ///
    /// let text = br#"{"weight_map":{"a":"one","b":"one","z":"two"}}"#;
    /// let mut slots = [IndexSlot::EMPTY; 3];
    /// let index = ShardIndex::open_in(text, &mut slots, &Limits::default())?;
    /// let mut findings = index.check_shard("one", &header);
    /// let missing = findings.next().unwrap();
    /// assert!(missing.code() == "IX-TENSOR-MISSING" && missing.tensor().unwrap() == "b");
    /// let elsewhere = findings.next().unwrap();
    /// assert!(elsewhere.code() == "IX-TENSOR-ELSEWHERE" && elsewhere.assigned().unwrap() == "two");
    /// assert!(findings.next().is_none());
    /// # Ok::<(), tensorgate::Error>(())
    /// ```
    pub fn check_shard<'c>(
        &'c self,
        shard: &'c str,
        header: &'c Header<'c>,
    ) -> impl Iterator<Item = Finding<'c>> + Clone + 'c {
        let shard = Name::plain(shard);
        let named = self.find_shard(shard);
        let missing = named.into_iter().flat_map(move |named| {
            let lacking = lacking(&named, header);
            named.tensors().filter(move |entry| header.find(entry.name()).is_none()).take(lacking)
        });
        let missing = missing.map(move |entry| {
            Finding::new(Error::new(ErrorKind::IxTensorMissing, entry.name_at()))
                .of_tensor(entry.name())
                .in_shard(shard)
        });
        let stray = header.tensors().filter_map(move |tensor| {
            let mut finding = match self.find(tensor.name()) {
                Some(entry) if entry.shard() == shard => return None,
                Some(entry) => elsewhere(&entry),
                None => Finding::new(Error::new(ErrorKind::IxTensorUnlisted, self.map_at())),
            };
            finding.entry_at = Some(tensor.entry_at());
            Some(finding.of_tensor(tensor.name()).in_shard(shard))
        });
        let unnamed = named.is_none().then(|| self.unnamed(shard));
        unnamed.into_iter().chain(missing).chain(stray)
    }

    /// Which shards the index names and `files` lacks, then which files are there and not named. `files` are the names
    /// of the model files in the index's folder; quickest when they ascend.
    ///
    /// ```
    /// use tensorgate::{Limits, ShardIndex, shards::IndexSlot};
    /// let mut slots = [IndexSlot::EMPTY; 2];
    /// let text = br#"{"weight_map":{"a":"one","b":"two"}}"#;
    /// let index = ShardIndex::open_in(text, &mut slots, &Limits::default())?;
    /// let mut findings = index.check_files(&["three", "two"]);
    /// let missing = findings.next().unwrap();
    /// assert!(missing.code() == "IX-SHARD-MISSING" && missing.shard().unwrap() == "one");
    /// let unnamed = findings.next().unwrap();
    /// assert!(unnamed.code() == "IX-SHARD-UNNAMED" && unnamed.shard().unwrap() == "three");
    /// # Ok::<(), tensorgate::Error>(())
    /// ```
    pub fn check_files<'c, S: AsRef<str>>(
        &'c self,
        files: &'c [S],
    ) -> impl Iterator<Item = Finding<'c>> + Clone + 'c {
        let sorted = files.is_sorted_by(|a, b| a.as_ref() <= b.as_ref());
        let is_there = move |shard: Name<'_>| {
            if sorted {
                files.binary_search_by(|file| Name::plain(file.as_ref()).cmp(&shard)).is_ok()
            } else {
                files.iter().any(|file| shard == file.as_ref())
            }
        };
        let missing = self.shards().filter(move |shard| !is_there(shard.name())).map(|shard| {
            let at = shard.tensors().next().map_or(0, |entry| entry.shard_at());
            Finding::new(Error::new(ErrorKind::IxShardMissing, at)).in_shard(shard.name())
        });
        let extra = files.iter().map(|file| Name::plain(file.as_ref()));
        let extra = extra.filter(|file| self.find_shard(*file).is_none());
        missing.chain(extra.map(|file| self.unnamed(file)))
    }

    /// The warning, if any, about `metadata.total_size`, given the sum of the tensors' bytes over all shards: that of
    /// the lengths of [`Header::data`], since tensors tile it.
    pub fn check_total(&self, bytes: u64) -> Option<Finding<'a>> {
        let at = self.metadata.map_or(0, |found| found.total_size_at);
        match self.total_size() {
            Some(total) if total == bytes => None,
            Some(_) => Some(Finding::new(Error::wanting(ErrorKind::IxTotalSize, at, bytes))),
            None => Some(Finding::new(Error::new(ErrorKind::IxTotalSizeForm, at))),
        }
    }

    fn unnamed<'c>(&self, shard: Name<'c>) -> Finding<'c> {
        Finding::new(Error::new(ErrorKind::IxShardUnnamed, self.map_at())).in_shard(shard)
    }

    fn map_at(&self) -> u64 {
        u64::from(self.map_at)
    }
}

fn elsewhere<'c>(entry: &IndexEntry<'c>) -> Finding<'c> {
    let mut finding = Finding::new(Error::new(ErrorKind::IxTensorElsewhere, entry.shard_at()));
    finding.assigned = Some(entry.shard());
    finding
}

/// How many of the shard's tensors its header lacks. Names are unique on both sides, so counting those that it has is
/// enough, and when all are there none is looked up in the header.
fn lacking(shard: &Shard<'_>, header: &Header<'_>) -> usize {
    let index = shard.index;
    let has = |name: Name<'_>| index.find(name).is_some_and(|entry| entry.shard() == shard.name());
    // `count` adds with a panic where overflow is checked.
    header.tensors().filter(|tensor| has(tensor.name())).fold(shard.len(), |lacking, _| lacking.saturating_sub(1))
}
