//! What every call on a sharded index promises, asserted around each call that the oracles make.

use std::collections::BTreeMap;

use tensorgate::safetensors::{Header, Slot as StSlot};
use tensorgate::shards::IndexSlot;
use tensorgate::{Error, ErrorKind, Limits, ShardIndex};

use super::promises::{self, Verdict};
use crate::sink::printable;
use crate::{heap, steps};

/// Slots that are enough for any index in `text`: one a tensor (8 bytes) and a part of one a metadata key.
pub fn slots_for(text: &[u8]) -> Vec<IndexSlot> {
    vec![IndexSlot::EMPTY; text.len() / 4 + 8]
}

/// Judges `text` in every way there is, twice each; all must say the same, and an accepted index keeps its promises.
///
/// # Errors
///
/// What all of them said.
pub fn index(text: &[u8], limits: &Limits) -> Verdict {
    let owned = open_owned(text, limits);
    let mut slots = slots_for(text);
    for again in [false, true] {
        let lent = steps::sorting(text.len(), || heap::none(|| ShardIndex::open_in(text, &mut slots, limits)));
        match &lent {
            Ok(_) if again => {}
            Ok(opened) => touch(opened, text),
            Err(refused) => promises::error(refused, text.len() as u64),
        }
        assert_eq!(lent.map(drop), owned, "lent and owned storage differ");
    }
    few_slots(text, limits, &owned);
    owned
}

/// With too few slots it says how many it needs, and those are enough.
fn few_slots(text: &[u8], limits: &Limits, owned: &Verdict) {
    let judge = |count| {
        let mut slots = vec![IndexSlot::EMPTY; count];
        heap::none(|| ShardIndex::open_in(text, &mut slots, limits).map(drop))
    };
    let lent = judge(0);
    match lent.as_ref().err().and_then(Error::needs_slots) {
        Some(needed) => assert_eq!(judge(usize::try_from(needed).unwrap()), *owned),
        None => assert_eq!(lent, *owned),
    }
}

/// Judges `text` in storage of our own, twice.
fn open_owned(text: &[u8], limits: &Limits) -> Verdict {
    let judge = || {
        let (outcome, tally) = steps::sorting(text.len(), || heap::measure(|| ShardIndex::open_with(text, limits)));
        assert!(tally.peak <= text.len() as u64, "{} bytes allocated for {} of text", tally.peak, text.len());
        if let Ok(opened) = &outcome {
            touch(opened, text);
        }
        outcome.map(drop)
    };
    let first = judge();
    assert_eq!(first, judge(), "the same text, two answers");
    if let Err(refused) = &first {
        assert!(!refused.kind().is_callers(), "{refused}: no verdict on a text that is all there");
    }
    first
}

/// Looks at everything that an accepted index offers, and checks what can be checked.
pub fn touch(opened: &ShardIndex<'_>, text: &[u8]) {
    heap::none(|| {
        assert_eq!(opened.json().as_bytes(), text);
        assert_eq!((opened.tensors().len(), opened.is_empty()), (opened.len(), opened.tensors().next().is_none()));
        assert!(opened.tensors().is_sorted_by(|a, b| a.name() < b.name()), "names are unique and ascend");
        assert_eq!(opened.in_file_order().fold(0, |count, _| count + 1), opened.len());
        assert!(opened.in_file_order().is_sorted_by(|a, b| a.name_at() < b.name_at()));
        let mut sum = 0;
        for shard in opened.shards() {
            assert!(shard.len() > 0 && shard.tensors().len() == shard.len());
            assert!(shard.tensors().all(|entry| entry.shard() == shard.name()));
            assert!(shard.tensors().is_sorted_by(|a, b| a.name() < b.name()));
            printable(&shard.name());
            sum += shard.len();
        }
        assert_eq!(sum, opened.len());
        assert!(opened.shards().map(|shard| shard.name()).is_sorted_by(|a, b| a < b));
        let at = |at: u64| text[usize::try_from(at).unwrap()];
        assert!(opened.tensors().all(|entry| at(entry.name_at()) == b'"' && at(entry.shard_at()) == b'"'));
        if let Some(metadata) = opened.metadata() {
            assert_eq!(at(metadata.at()), b'{');
            for (key, value) in metadata {
                printable(&key);
                assert!(!value.is_empty());
            }
        }
    });
    lookups(opened);
    findings(opened, text.len() as u64);
}

/// Every name finds its shard, and no shard name leads out of the folder.
fn lookups(opened: &ShardIndex<'_>) {
    for entry in opened.tensors() {
        let name = entry.name().to_cow();
        assert!(heap::none(|| opened.shard_of(&name)).is_ok_and(|shard| shard == entry.shard()));
        assert!(opened.tensor(&name).is_ok_and(|found| found.name_at() == entry.name_at()));
        printable(&entry.name());
    }
    for shard in opened.shards() {
        let name = shard.name().to_cow();
        assert!(
            !name.contains(['/', '\\', ':', '\0'])
                && name != "."
                && name != ".."
                && (1..=255).contains(&name.len())
        );
        assert!(opened.shard(&name).is_ok_and(|found| found.len() == shard.len()));
    }
}

/// The index against a folder of which one shard is there, with one tensor.
fn findings(opened: &ShardIndex<'_>, text_len: u64) {
    const JSON: &str = r#"{"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#;
    let mut prefix = (JSON.len() as u64).to_le_bytes().to_vec();
    prefix.extend_from_slice(JSON.as_bytes());
    let mut slots = [StSlot::EMPTY; 1];
    let header =
        Header::open_in(&prefix, prefix.len() as u64 + 1, &mut slots, &Limits::DEFAULT).expect("it is plain");
    let file = opened.shards().next().map_or("none".into(), |shard| shard.name().to_cow());
    let mut kinds = BTreeMap::new();
    let files = [file.as_ref()];
    let all = opened.check_shard(&file, &header).chain(opened.check_files(&files)).chain(opened.check_total(1));
    for finding in all {
        promises::error(&finding.error(), text_len);
        printable(&finding);
        *kinds.entry(finding.kind()).or_insert(0_usize) += 1;
    }
    let expected = opened.shard(&file).map_or(0, |shard| shard.len());
    let has = opened.shard_of("w").is_ok_and(|shard| shard == file.as_ref());
    let count = |kind| kinds.get(&kind).copied().unwrap_or(0);
    assert_eq!(count(ErrorKind::IxTensorMissing), expected - usize::from(has));
    assert_eq!(count(ErrorKind::IxTensorElsewhere) + count(ErrorKind::IxTensorUnlisted), usize::from(!has));
    assert_eq!(count(ErrorKind::IxShardMissing), opened.shards().len().saturating_sub(1));
    assert_eq!(opened.check_total(1).is_none(), opened.total_size() == Some(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promises_hold_for_a_plain_index() {
        for text in crate::corpus::INDEXES {
            assert_eq!(index(text.as_bytes(), &Limits::DEFAULT), Ok(()), "{text}");
        }
        let refused = index(br#"{"weight_map":{"w":"../a"}}"#, &Limits::DEFAULT).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::IxShardName);
    }
}
