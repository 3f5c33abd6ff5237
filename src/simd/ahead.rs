//! Asking for memory before it is needed.

use super::maker::Maker;

/// Bytes of a page of most machines.
const PAGE: usize = 4096;
/// Lines of a page that are asked for: as many as it takes for the processor to see that more will follow.
const LINES: usize = 4;

/// Asks for the beginning of each page behind one that `part` ends or goes on from.
///
/// A processor fetches ahead by itself, but not from one page to the next, since it does not know where that is. Each page of a
/// mapped file so begins with waiting for its first lines, which takes about as long as reading half of it. With a few lines
/// asked for, the page is being fetched when its turn comes. More of them are worse than none.
#[inline(always)]
pub(super) fn next_page(part: &[u8]) {
    let start = part.as_ptr();
    let pages = (start.addr() % PAGE + part.len()) / PAGE;
    for page in 1..=pages {
        let page = start.wrapping_add((page + 1) * PAGE - start.addr() % PAGE);
        for line in 0..LINES {
            fetch_line(page.wrapping_add(64 * line));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_line(line: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which reads nothing and is without effect where nothing is.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_: *const u8) {}

/// Bytes from what is read to what is asked for meanwhile.
const FAR: usize = 4096;

/// Whether each line is to be asked for long before it is needed.
///
/// Intel's processors hardly fetch ahead of products, which leave them little room to run ahead themselves: products and waiting for
/// memory follow one another. AMD's fetch ahead as fast as they can by themselves, and more requests only stand in their way.
#[inline]
pub(super) fn is_wanted() -> bool {
    Maker::ours() == Maker::Intel
}

/// Asks for what lies [`FAR`] behind each line of `part`, if `WANTED`.
#[inline(always)]
pub(super) fn lines<const WANTED: bool>(part: &[u8]) {
    if WANTED {
        let start = part.as_ptr().wrapping_add(FAR);
        for line in 0..part.len().div_ceil(64) {
            fetch_line(start.wrapping_add(64 * line));
        }
    }
}
