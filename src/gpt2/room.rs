//! Memory for keys and values.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// From how many bytes on large pages are asked for. The first token touches all of them, since each layer and head has a
/// place of its own, and waits until they are zero: for 2 MiB at a time that is not worth it where all is small.
const LARGE: usize = 32 << 20;

/// Up to how many bytes from the beginning of one head's place to that of the next. Where they are further apart, a large page
/// holds little else than positions that may never come, and a short text would take the memory of the whole context.
const NEAR: usize = 512 << 10;

/// Bytes, all zero at first, of which the system gives the pages as they are touched.
///
/// Where there are many and they are used together, they lie in large pages if the system has them: a deep context is read
/// from end to end at each token, and from pages of 4 KiB memory is read at little more than half the speed.
#[derive(Debug)]
pub(super) enum Room {
    Heap(Box<[u8]>),
    Mapped(MmapMut),
}

impl Room {
    /// So many bytes, each head's `run` of them behind that of the one before, or `None` where there is no memory.
    pub(super) fn zeroed(len: usize, run: usize) -> Option<Self> {
        if cfg!(all(target_os = "linux", not(miri))) && len >= LARGE {
            let mapped = MmapMut::map_anon(len).ok()?;
            // Without large pages it works too.
            #[cfg(target_os = "linux")]
            let _ =
                mapped.advise(if run <= NEAR { memmap2::Advice::HugePage } else { memmap2::Advice::NoHugePage });
            return Some(Self::Mapped(mapped));
        }
        bytemuck::allocation::try_zeroed_slice_box(len).ok().map(Self::Heap)
    }
}

impl Deref for Room {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_are_zero_and_can_be_written_to() {
        for (len, run) in [(0, 0), (1, 1), (LARGE - 1, 1), (LARGE, 1), (LARGE + 4097, NEAR), (LARGE, NEAR + 1)] {
            let mut room = Room::zeroed(len, run).unwrap();
            assert_eq!(room.len(), len);
            assert!(room.iter().all(|byte| *byte == 0));
            room.fill(7);
            assert!(room.iter().all(|byte| *byte == 7));
        }
        assert!(Room::zeroed(usize::MAX, 1).is_none());
    }
}
