//! Text to tokens, side by side with tiktoken-rs in one run: `cargo run --release --manifest-path
//! benches/peers/tokens/Cargo.toml VOCABULARY`, a folder with GPT-2's `vocab.json` and `merges.txt`.
//!
//! The text is that of `cargo bench --bench tokens`. All take turns; times are the processor's for this thread.

#[path = "../../../kernels/clock.rs"]
mod clock;
#[path = "../../../tokens/text.rs"]
#[expect(dead_code, reason = "random bytes are no text, which is what the peer takes")]
mod text;

use std::path::{Path, PathBuf};
use std::time::Instant;

use tensorgate::tokenizer::{Encoder, Tokenizer};

const ROUNDS: usize = 5;

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("a folder with vocab.json and merges.txt"));
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a vocabulary");
    let tokenizer = Tokenizer::from_files(&read("vocab.json"), &read("merges.txt")).expect("a good vocabulary");
    // The same vocabulary: GPT-2's is what OpenAI calls r50k_base.
    let peer = tiktoken_rs::r50k_base().expect("its own vocabulary");
    let mut parts = text::parts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."));
    let mixed = text::mixed(&parts);
    parts.insert(0, ("mixed", mixed));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("MB/s of one thread's processor time, median of {ROUNDS}; load average {}", load.trim());
    for (name, bytes) in &parts {
        let text = std::str::from_utf8(bytes).expect("text");
        let (mut first, mut warm, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut encoder = Encoder::new(&tokenizer);
            let mut ids = Vec::with_capacity(bytes.len());
            for times in [&mut first, &mut warm] {
                ids.clear();
                time(times, || encoder.encode_into(bytes, &mut ids).expect("memory"));
            }
            let mut other = Vec::new();
            time(&mut theirs, || other = peer.encode_ordinary(text));
            assert!(ids.iter().map(|id| u64::from(*id)).eq(other.iter().map(|id| u64::from(*id))), "{name}");
        }
        let [first, warm, theirs] = [first, warm, theirs].map(|times| bytes.len() as f64 / 1e6 / median(times));
        println!(
            "{name:<9} first {first:>6.1}   warm {warm:>6.1}   tiktoken-rs {theirs:>5.1}   ratio {:>5.1} and {:>5.1}",
            first / theirs,
            warm / theirs
        );
    }
}

fn time(times: &mut Vec<f64>, call: impl FnOnce()) {
    let start = Instant::now();
    let before = clock::seconds(start);
    call();
    times.push(clock::seconds(start) - before);
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
