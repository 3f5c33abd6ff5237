//! Writing: which tensors go into which shard, and the index that says so.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::ops::Range;

use crate::json::write::{integer, string};
use crate::{Name, Sink};

/// Cuts tensors of these lengths, in their order, into shards of at most `most` bytes of tensors: each range is a shard's.
///
/// A shard is begun where the next tensor would not fit; a tensor that is longer than `most` has a shard to itself.
/// Headers come on top. There is always at least one shard.
///
/// ```
/// use tensorgate::shards::split;
/// assert_eq!(split([3, 4, 2, 11, 5], 10), [0..3, 3..4, 4..5]);
/// ```
pub fn split(lengths: impl IntoIterator<Item = u64>, most: u64) -> Vec<Range<usize>> {
    let mut shards = Vec::new();
    let mut shard = 0_usize..0;
    let mut len = 0_u64;
    for length in lengths {
        let fits = len.checked_add(length).is_some_and(|longer| longer <= most);
        if !fits && !shard.is_empty() {
            shards.push(shard.clone());
            shard.start = shard.end;
            len = 0;
        }
        len = len.saturating_add(length);
        shard.end = shard.end.saturating_add(1);
    }
    shards.push(shard);
    shards
}

/// The text of an index: which shard each tensor is in, by its file name, and the bytes of all tensors together.
///
/// It is spelt as Hugging Face's writers spell it (`json.dumps` with an indent of 2 and sorted keys, and a line's end), but
/// for characters outside ASCII, which are not escaped. What it says is not judged: [`ShardIndex::open`](super::ShardIndex)
/// does that.
///
/// ```
/// let text = tensorgate::shards::serialize([("b", "two.safetensors"), ("a", "one.safetensors")], 24)?;
/// let index = tensorgate::ShardIndex::open(&text)?;
/// assert_eq!((index.len(), index.total_size()), (2, Some(24)));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
///
/// Where memory is out.
pub fn serialize<'a, T, S>(
    weight_map: impl IntoIterator<Item = (T, S)>,
    total_size: u64,
) -> Result<Vec<u8>, TryReserveError>
where
    T: Into<Name<'a>>,
    S: Into<Name<'a>>,
{
    let mut entries: Vec<(Name<'a>, Name<'a>)> = Vec::new();
    for (tensor, shard) in weight_map {
        entries.try_reserve(1)?;
        entries.push((tensor.into(), shard.into()));
    }
    entries.sort_unstable();
    let mut text = Vec::new();
    text.write_all(b"{\n  \"metadata\": {\n    \"total_size\": ")?;
    integer(&mut text, total_size)?;
    text.write_all(b"\n  },\n  \"weight_map\": {")?;
    let mut between: &[u8] = b"\n    ";
    for (tensor, shard) in &entries {
        text.write_all(between)?;
        string(&mut text, *tensor)?;
        text.write_all(b": ")?;
        string(&mut text, *shard)?;
        between = b",\n    ";
    }
    // An empty object has its brackets together.
    text.write_all(if entries.is_empty() { b"}\n}\n" } else { b"\n  }\n}\n" })?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn shards_are_as_full_as_they_can_be() {
        let ends = |shards: Vec<Range<usize>>| shards.iter().map(|shard| shard.end).collect::<Vec<_>>();
        assert_eq!((ends(split([], 10)), ends(split([10], 10))), (vec![0], vec![1]));
        assert_eq!(split([5, 5, 5], 10), [0..2, 2..3]);
        assert_eq!(split([11, 11], 10), [0..1, 1..2]);
        assert_eq!(split([1, 11, 1, 1], 10), [0..1, 1..2, 2..4]);
        assert_eq!(split([0, 0, 1, 0], 0), [0..2, 2..3, 3..4]);
        assert_eq!(split([u64::MAX, u64::MAX], u64::MAX), [0..1, 1..2]);
        assert_eq!(split(vec![3; 100], 10).len(), 34);
    }

    #[test]
    fn no_tensor_at_all() {
        let text = serialize([("", ""); 0], 0).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(read, serde_json::json!({"metadata": {"total_size": 0}, "weight_map": {}}));
        assert!(text.ends_with(b"\"weight_map\": {}\n}\n"));
    }
}
