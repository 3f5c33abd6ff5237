//! A valid index and the shards of its folder, with one thing in which they disagree.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use tensorgate::ErrorKind;

use super::super::index::{Built, Metadata, at};
use super::super::lies::pick;
use super::super::model::fresh;

/// A shard that is there: its name and the names of the tensors in it, of a byte each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The file's name.
    pub name: String,
    /// Its tensors.
    pub tensors: Vec<String>,
}

impl Shard {
    /// The header, as the format has it, and how long the whole file would be.
    pub fn file(&self) -> (Vec<u8>, u64) {
        let entries: Vec<String> = self
            .tensors
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let key = serde_json::to_string(name).expect("a string");
                format!("{key}:{{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[{at},{}]}}", at + 1)
            })
            .collect();
        let text = format!("{{{}}}", entries.join(","));
        let mut file = (text.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(text.as_bytes());
        let len = file.len() + self.tensors.len();
        (file, len as u64)
    }
}

/// An index, a folder, and the one thing that is to be found.
#[derive(Clone, Debug)]
pub struct FolderLie {
    /// The name of the lie.
    pub name: &'static str,
    /// The index.
    pub text: Vec<u8>,
    /// The shards that are there.
    pub shards: Vec<Shard>,
    /// The bytes of all tensors.
    pub total: u64,
    /// What is to be found, and where in the index. None where nothing is, but for a missing size.
    pub found: Option<(ErrorKind, u64)>,
}

impl FolderLie {
    /// The folder as the index has it.
    fn truth(built: &Built) -> Self {
        let mut shards: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, shard) in &built.model.map {
            shards.entry(shard).or_default().push(name.clone());
        }
        let shards = shards.into_iter().map(|(name, tensors)| Shard { name: name.to_owned(), tensors }).collect();
        Self { name: "the truth", text: built.text(), shards, total: built.model.map.len() as u64, found: None }
    }

    /// Where the index's map begins.
    fn map_at(built: &Built) -> u64 {
        at(&built.tokens, built.map.start)
    }

    /// Tells the truth or one of seven lies; `None` where the index has no place for it. What the index says of its size
    /// is right, or a lie of its own, and where it says nothing that is what is found.
    ///
    /// # Errors
    ///
    /// When `u` has not enough bytes left.
    pub fn tell(built: &Built, u: &mut Unstructured<'_>) -> Result<Option<Self>> {
        let mut lie = Self::truth(built);
        let Some(total) = built.total() else {
            let metadata = built.metadata.as_ref().map_or(0, |range| at(&built.tokens, range.start));
            lie.name = "no size";
            lie.found = Some((ErrorKind::IxTotalSizeForm, metadata));
            debug_assert!(built.model.metadata != Metadata::Absent || metadata == 0);
            return Ok(Some(lie));
        };
        match u.int_in_range(0..=7)? {
            0 => {}
            1 => {
                let mut tokens = built.tokens.clone();
                let others: [&[u8]; 6] = [b"1.0", b"\"8\"", b"-0", b"null", b"18446744073709551616", b"[8]"];
                tokens.0[total].bytes = (*u.choose(&others)?).to_vec();
                lie.text = tokens.text();
                lie.found = Some((ErrorKind::IxTotalSizeForm, at(&built.tokens, total)));
            }
            2 => {
                lie.total = lie.total.wrapping_add(u.int_in_range(1..=u64::MAX)?);
                lie.found = Some((ErrorKind::IxTotalSize, at(&built.tokens, total)));
            }
            3 => {
                // A file that the index does not name.
                let name = if u.arbitrary()? { "zz-not-named" } else { "" };
                lie.shards.push(Shard { name: name.to_owned(), tensors: Vec::new() });
                lie.found = Some((ErrorKind::IxShardUnnamed, Self::map_at(built)));
            }
            kind => return lie.of_a_tensor(built, u, kind),
        }
        Ok(Some(lie))
    }

    fn of_a_tensor(mut self, built: &Built, u: &mut Unstructured<'_>, kind: u8) -> Result<Option<Self>> {
        let Some(index) = pick(u, &(0..built.model.map.len()).collect::<Vec<_>>())? else { return Ok(None) };
        let (name, shard) = &built.model.map[index];
        let (name_token, shard_token) = built.entry(index);
        let own = self.shards.iter().position(|one| one.name == *shard).expect("its shard is there");
        self.found = Some(match kind {
            4 => {
                self.shards[own].tensors.retain(|other| other != name);
                (ErrorKind::IxTensorMissing, at(&built.tokens, name_token))
            }
            5 => {
                let others: Vec<usize> = (0..self.shards.len()).filter(|other| *other != own).collect();
                let Some(other) = pick(u, &others)? else { return Ok(None) };
                self.shards[other].tensors.push(name.clone());
                (ErrorKind::IxTensorElsewhere, at(&built.tokens, shard_token))
            }
            6 => {
                let names: Vec<String> = built.model.map.iter().map(|(name, _)| name.clone()).collect();
                let name = fresh(u, &names)?;
                self.shards[own].tensors.push(name);
                (ErrorKind::IxTensorUnlisted, Self::map_at(built))
            }
            _ => {
                // It is told where the first of its tensors, by name, is put into it.
                let first = self.shards.remove(own).tensors.into_iter().min().expect("a shard has a tensor");
                let first = built.model.map.iter().position(|(name, _)| *name == first).expect("it is named");
                (ErrorKind::IxShardMissing, at(&built.tokens, built.entry(first).1))
            }
        });
        Ok(Some(self))
    }
}
