//! Going over the strings of an array, several stretches at once.
//!
//! Where a string begins is known only from the length of the one before, so that a plain walk waits for memory at every
//! step. Here the walk guesses where strings begin some kilobytes further on and walks from there at the same time. A
//! guess counts only when the walk before it arrives exactly there: from one and the same place every walk goes on alike,
//! so what the lanes found is then what the plain walk would have found, and a wrong guess costs nothing but its work.

use crate::{num, steps};

/// Stretches that are walked at once.
const LANES: usize = 4;
/// Bytes of a stretch.
const STRIDE: usize = 2048;
/// The most strings that a block of stretches can begin: each takes eight bytes at the least.
const MOST: u64 = 1024;
/// How far a guess looks for the beginning of a string.
const REACH: usize = 256;

const _: () = assert!(LANES * STRIDE == 8 * 1024);

/// Goes over up to `count` strings of at most `most` bytes; what is left of the bytes and of the count.
pub(super) fn walk(bytes: &[u8], count: u64, most: u64, length: impl Fn([u8; 8]) -> u64 + Copy) -> (&[u8], u64) {
    let (mut rest, mut left) = (bytes, count);
    // Enough strings are left that no block can go over more than there are.
    while left > MOST && rest.len() > LANES.saturating_mul(STRIDE) {
        let (end, walked) = block(rest, most, length);
        rest = rest.get(end..).unwrap_or_default();
        left = left.saturating_sub(walked);
        if walked == 0 {
            break;
        }
    }
    plain(rest, left, most, length)
}

/// The plain walk. Each step waits for the length that the step before led to, so it does nothing besides.
#[inline]
fn plain(mut rest: &[u8], count: u64, most: u64, length: impl Fn([u8; 8]) -> u64) -> (&[u8], u64) {
    for done in 0..count {
        steps::take(1);
        let next = rest.split_first_chunk::<8>().and_then(|(head, tail)| {
            let len = length(*head);
            if len > most { None } else { tail.get(num::narrow(len)?..) }
        });
        match next {
            Some(next) => rest = next,
            None => return (rest, count.wrapping_sub(done)),
        }
    }
    (rest, 0)
}

/// One stretch: where it began, where its walk stands, where that may stop, and how many strings it went over.
#[derive(Clone, Copy)]
struct Lane {
    start: usize,
    place: usize,
    limit: usize,
    walked: u64,
}

/// Walks the stretches of one block; where the walk that counts ended, and how many strings it went over.
#[inline]
fn block(rest: &[u8], most: u64, length: impl Fn([u8; 8]) -> u64 + Copy) -> (usize, u64) {
    let mut lanes = [Lane { start: 0, place: 0, limit: LANES.saturating_mul(STRIDE), walked: 0 }; LANES];
    let mut limit = LANES.saturating_mul(STRIDE);
    for (index, lane) in lanes.iter_mut().enumerate().rev() {
        let start = if index == 0 { Some(0) } else { guess(rest, index.saturating_mul(STRIDE), length) };
        // A lane without a guess has nothing to walk, and the one before it goes on through its stretch.
        let start = start.unwrap_or(limit);
        *lane = Lane { start, place: start, limit, walked: 0 };
        limit = start;
    }
    let mut busy = true;
    while busy {
        busy = false;
        steps::take(LANES);
        for lane in &mut lanes {
            if lane.place < lane.limit {
                match step(rest, lane.place, most, length) {
                    Some(next) => {
                        lane.place = next;
                        lane.walked = lane.walked.wrapping_add(1);
                        busy = true;
                    }
                    None => lane.limit = 0,
                }
            }
        }
    }
    let (mut end, mut walked) = (0, 0_u64);
    for lane in lanes {
        if lane.start == end {
            end = lane.place;
            walked = walked.saturating_add(lane.walked);
        }
    }
    (end, walked)
}

/// Where the string that begins at `place` ends, if it is all there.
#[inline]
fn step(rest: &[u8], place: usize, most: u64, length: impl Fn([u8; 8]) -> u64) -> Option<usize> {
    let (head, tail) = rest.get(place..)?.split_first_chunk::<8>()?;
    let len = length(*head);
    let len = if len > most { None } else { num::narrow(len) }?;
    (len <= tail.len()).then(|| place.wrapping_add(len).wrapping_add(8))
}

/// A place from `from` on where three strings of ordinary length seem to follow one another.
#[inline]
fn guess(rest: &[u8], from: usize, length: impl Fn([u8; 8]) -> u64 + Copy) -> Option<usize> {
    const ORDINARY: u64 = 0xFFFF;
    let stretch = from..from.saturating_add(REACH);
    stretch.into_iter().find(|place| {
        let second = step(rest, *place, ORDINARY, length);
        let third = second.and_then(|place| step(rest, place, ORDINARY, length));
        third.and_then(|place| step(rest, place, ORDINARY, length)).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// The lengths of an array as its bytes.
    fn array(lengths: &[usize], filler: impl Fn(usize) -> u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        for len in lengths {
            bytes.extend_from_slice(&num::widen(*len).to_le_bytes());
            bytes.extend((0..*len).map(&filler));
        }
        bytes
    }

    fn agree(bytes: &[u8], count: u64, most: u64) {
        let quick = walk(bytes, count, most, u64::from_le_bytes);
        let sure = plain(bytes, count, most, u64::from_le_bytes);
        assert_eq!((quick.0.len(), quick.1), (sure.0.len(), sure.1));
    }

    #[test]
    fn lanes_find_what_the_plain_walk_finds() {
        let lengths: Vec<usize> = (0..6000).map(|i| i * 7 % 23).collect();
        let bytes = array(&lengths, |i| b'a' + u8::try_from(i % 26).unwrap());
        for count in [0, 1, 1023, 1024, 1025, 1026, 3000, 5999, 6000, 6001] {
            agree(&bytes, count, 1 << 30);
            agree(&bytes, count, 21);
        }
        for cut in [1, 7, 8, 9, 5000, 20_000] {
            agree(&bytes[..bytes.len() - cut], 6000, 1 << 30);
        }
    }

    #[test]
    fn a_string_that_is_too_long_is_passed_by_no_lane() {
        for place in [0, 1, 7, 186, 187, 188, 400, 743, 744, 745, 746, 1500, 2999] {
            let mut lengths = std::vec![3; 3000];
            lengths[place] = 30;
            let mut bytes = array(&lengths, |_| b'a');
            agree(&bytes, 3000, 20);
            // Within the limit, but not within the bytes.
            bytes[place * 11..place * 11 + 8].copy_from_slice(&num::widen(1 << 20).to_le_bytes());
            agree(&bytes, 3000, 1 << 30);
        }
    }

    /// Where the lanes find nothing the plain walk hides it: here is what they find.
    #[test]
    fn a_block_is_walked_to_its_end() {
        let bytes = array(&std::vec![3; 3000], |_| b'a');
        let length = u64::from_le_bytes;
        // Strings of eleven bytes: the first that begins behind 2048 bytes, and behind the block's 8192.
        assert_eq!(guess(&bytes, 2048, length), Some(187 * 11));
        assert_eq!(block(&bytes, 1 << 30, length), (745 * 11, 745));
        assert_eq!(block(&bytes, 3, length), (745 * 11, 745));
        assert_eq!(block(&bytes, 2, length), (0, 0));
    }

    #[test]
    fn text_that_looks_like_lengths_misleads_nobody() {
        // Strings full of what could be lengths of other strings, and lengths that point into the middle of those.
        for filler in [[0_u8, 0, 0, 0, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0, 0, 7], [8, 0, 0, 0, 0, 0, 0, 0, 0]] {
            let lengths: Vec<usize> = (0..3000).map(|i| i % 61).collect();
            agree(&array(&lengths, |i| filler[i % 9]), 3000, 1 << 30);
            agree(&array(&[70_000; 3], |i| filler[i % 9]), 3000, 1 << 30);
        }
        agree(&std::vec![0; 100_000], 12_500, 1 << 30);
        agree(&std::vec![0; 100_000], 12_501, 1 << 30);
        agree(&std::vec![0xFF; 100_000], 12_500, 1 << 30);
    }

    proptest! {
        #[test]
        fn any_array(lengths in prop::collection::vec(0_usize..40, 1500..2500), odd in any::<u8>(), cut in 0_usize..99) {
            let bytes = array(&lengths, |i| if i % 8 == 0 { odd } else { 0 });
            agree(&bytes[..bytes.len() - cut.min(bytes.len())], num::widen(lengths.len()), 39);
        }
    }
}
