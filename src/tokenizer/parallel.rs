//! A long text over several threads.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::vec::Vec;

use super::split::certain_start;
use super::{Encoder, Tokenizer};

/// The least that is worth handing over, in bytes: caches are filled anew for each thread.
const LEAST: usize = 1 << 18;

/// How many parts each thread has, so that one which was held up leaves some to others.
const PARTS: usize = 4;

impl Tokenizer {
    /// The tokens of a text as [`encode`](Self::encode) gives them, by up to `threads` threads; this one works too.
    ///
    /// The text is cut where the pre-tokenizer certainly does, into parts of 256 KiB or more. What has no such place (a run
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
        self.encode_parts(text, threads.get(), LEAST)
    }

    fn encode_parts(&self, text: &[u8], threads: usize, least: usize) -> Vec<u32> {
        let size = text.len().div_ceil(threads.saturating_mul(PARTS)).max(least);
        let parts = parts(text, size);
        let threads = threads.min(parts.len());
        if threads < 2 {
            return self.encode(text);
        }
        let next = AtomicUsize::new(0);
        let work = || self.some(&parts, &next);
        let mut done = thread::scope(|scope| {
            // A thread that cannot be had leaves its parts to the others.
            let others: Vec<_> =
                (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            let mut done = work();
            for other in others {
                match other.join() {
                    Ok(more) => done.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            done
        });
        done.sort_unstable_by_key(|(at, _)| *at);
        let mut all = Vec::with_capacity(done.iter().map(|(_, ids)| ids.len()).sum());
        for (_, ids) in &mut done {
            all.append(ids);
        }
        all
    }

    /// The tokens of those parts that nobody else takes, with their places.
    fn some(&self, parts: &[&[u8]], next: &AtomicUsize) -> Vec<(usize, Vec<u32>)> {
        let mut encoder = Encoder::new(self);
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(at) else { return done };
            let mut ids = Vec::new();
            if encoder.encode_into(part, &mut ids).is_err() {
                // What a vector does that cannot grow.
                std::alloc::handle_alloc_error(core::alloc::Layout::for_value(*part));
            }
            done.push((at, ids));
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
