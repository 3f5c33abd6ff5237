//! A long text over several threads.
//!
//! Parts are small, so that their tokens are still in the machine's cache when they are appended to the others, which any
//! thread does while the rest goes on. Appending all at the end took a third of the time on two threads.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::vec::Vec;

use super::split::certain_start;
use super::{Encoder, Tokenizer};

/// How long a part is, in bytes.
const SIZE: usize = 1 << 18;

/// The tokens of all parts so far.
struct Joined {
    ids: Vec<u32>,
    /// The part that is to be appended next.
    next: usize,
    /// Parts that came before their turn.
    early: BTreeMap<usize, Vec<u32>>,
}

impl Joined {
    /// Takes a part's tokens, and appends what can be; the answer is memory for other ones.
    fn take(&mut self, at: usize, ids: Vec<u32>) -> Vec<u32> {
        self.early.insert(at, ids);
        let mut free = Vec::new();
        while let Some(mut ids) = self.early.remove(&self.next) {
            self.ids.append(&mut ids);
            self.next = self.next.saturating_add(1);
            free = ids;
        }
        free
    }
}

impl Tokenizer {
    /// The tokens of a text as [`encode`](Self::encode) gives them, by up to `threads` threads; this one works too.
    ///
    /// The text is cut where the pre-tokenizer certainly does, into parts of some 256 KiB. What has no such place (a run
    /// of one letter, say) is one part. Each thread has a cache of its own.
    ///
    /// When memory runs out this ends the program, as every vector does.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn core::error::Error>> {
    /// # use tensorgate::tokenizer::Tokenizer;
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/models/austen");
    /// # let read = |name: &str| std::fs::read(format!("{path}/{name}"));
    /// let tokenizer = Tokenizer::from_files(&read("vocab.json")?, &read("merges.txt")?)?;
    /// let text = "It is a truth universally acknowledged. ".repeat(20_000);
    /// let threads = std::thread::available_parallelism()?;
    /// let ids = tokenizer.encode_parallel(text.as_bytes(), threads);
    /// assert_eq!(ids, tokenizer.encode(text.as_bytes()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn encode_parallel(&self, text: &[u8], threads: NonZeroUsize) -> Vec<u32> {
        self.encode_parts(text, threads.get(), SIZE)
    }

    fn encode_parts(&self, text: &[u8], threads: usize, size: usize) -> Vec<u32> {
        let parts = parts(text, size);
        let threads = threads.min(parts.len());
        if threads < 2 {
            return self.encode(text);
        }
        let joined = Mutex::new(Joined { ids: super::room(text.len()), next: 0, early: BTreeMap::new() });
        let next = AtomicUsize::new(0);
        let work = || self.some(&parts, &next, &joined);
        thread::scope(|scope| {
            // A thread that cannot be had leaves its parts to the others.
            let others: Vec<_> =
                (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            work();
            for other in others {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        joined.into_inner().unwrap_or_else(PoisonError::into_inner).ids
    }

    /// Encodes those parts that nobody else takes.
    fn some(&self, parts: &[&[u8]], next: &AtomicUsize, joined: &Mutex<Joined>) {
        let mut encoder = Encoder::new(self);
        let mut ids = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(at) else { return };
            if encoder.encode_into(part, &mut ids).is_err() {
                // What a vector does that cannot grow.
                std::alloc::handle_alloc_error(core::alloc::Layout::for_value(*part));
            }
            ids = joined.lock().unwrap_or_else(PoisonError::into_inner).take(at, ids);
        }
    }
}

/// Cuts a text where pieces certainly start, into parts of at least `size` bytes but for the last.
fn parts(text: &[u8], size: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((part, after)) = certain_start(rest, size).and_then(|cut| rest.split_at_checked(cut)) {
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::split::pieces;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use std::string::String;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            4 => proptest::sample::select(&b" \n\t'stmdrvel0aZ.,"[..]).prop_map(|byte| std::vec![byte]),
            2 => any::<char>().prop_map(|c| String::from(c).into_bytes()),
            1 => any::<u8>().prop_map(|byte| std::vec![byte]),
            1 => proptest::sample::select(&["\u{3000}", "\u{a0}", "é", "я", "中", "。", "½", " 'll", "''ve", "  "][..])
                .prop_map(|text| text.as_bytes().to_vec()),
        ];
        proptest::collection::vec(part, 0..80).prop_map(|parts| parts.concat())
    }

    fn austen() -> Tokenizer {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/models/austen");
        let read = |name| std::fs::read(std::format!("{path}/{name}")).unwrap();
        Tokenizer::from_files(&read("vocab.json"), &read("merges.txt")).unwrap()
    }

    proptest! {
        // 8 times as often as other properties, wherever that is little or much.
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.saturating_mul(8)))]
        #[test]
        fn every_cut_is_the_start_of_a_piece(text in text(), size in 1..9_usize) {
            let mut starts = std::vec![0];
            for piece in pieces(&text) {
                starts.push(starts.last().unwrap() + piece.len());
            }
            let mut at = 0;
            let parts = parts(&text, size);
            for part in &parts[..parts.len() - 1] {
                prop_assert!(part.len() >= size);
                at += part.len();
                prop_assert!(starts.contains(&at), "{at} {:?}", text.escape_ascii());
            }
            prop_assert_eq!(parts.concat(), text);
        }
    }

    #[test]
    fn threads_make_no_difference() {
        let tokenizer = austen();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for _ in 0..50 / crate::sparse::step(5) {
            let text = text().new_tree(&mut runner).unwrap().current();
            for threads in [1, 2, 3, 8] {
                assert_eq!(tokenizer.encode_parts(&text, threads, 5), tokenizer.encode(&text));
            }
        }
    }

    #[test]
    fn a_plain_text_is_cut() {
        for word in ["word ", "слово. ", "字字字。", "a\n"] {
            assert!(parts(word.repeat(1000).as_bytes(), 500).len() > word.len(), "{word}");
        }
        assert_eq!(parts(&[b'a'; 1000], 10).len(), 1);
    }
}
