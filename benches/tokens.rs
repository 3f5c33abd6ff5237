//! Text to tokens: `cargo bench --bench tokens`, or with `-- mixed html threads` those rows alone.
//!
//! Ten megabytes of mixed text in six kinds, made of the repository's prose and code and of generators, the same each time.
//! The first pass is that of a new encoder, warm ones follow with the same; the time is that of the processor for this
//! thread, least and median of rounds. GPT-2's vocabulary is read from `../shared/gpt2` or the folder that `GPT2` names; without it
//! the small one of the tests is taken, whose figures are not comparable. The text is written to the file that
//! `TOKENS_TEXT` names, for others to read.

#![expect(unsafe_code, reason = "the processor's clock is asked through the C library")]
#![expect(clippy::cast_precision_loss, reason = "times and counts to be shown")]

#[path = "kernels/clock.rs"]
mod clock;
#[path = "tokens/text.rs"]
mod text;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tensorgate::tokenizer::{Encoder, Tokenizer};

const ROUNDS: usize = 5;
const WARM: usize = 3;

/// Least and median of some times, as megabytes a second.
fn rates(mut times: Vec<f64>, bytes: usize) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let rate = |time: f64| bytes as f64 / 1e6 / time;
    (rate(times[0]), rate(times[times.len() / 2]))
}

fn row(tokenizer: &Tokenizer, name: &str, text: &[u8]) {
    let (mut first, mut warm) = (Vec::new(), Vec::new());
    let mut ids = Vec::with_capacity(text.len());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut encoder = Encoder::new(tokenizer);
        for pass in 0..=WARM {
            ids.clear();
            let before = clock::seconds(start);
            encoder.encode_into(text, &mut ids).expect("memory");
            let times = if pass == 0 { &mut first } else { &mut warm };
            times.push(clock::seconds(start) - before);
        }
    }
    let ((first, first_median), (warm, warm_median)) = (rates(first, text.len()), rates(warm, text.len()));
    println!(
        "{name:<14} {:>9} B {:>8} tokens   first {first:>6.1} ({first_median:>6.1})   warm {warm:>6.1} ({warm_median:>6.1})",
        text.len(),
        ids.len()
    );
}

/// Wall time of a text over 1, 2, … threads, where there are so many, in turns; the factor is that of the best to one's.
fn threads(tokenizer: &Tokenizer, name: &str, text: &[u8]) {
    let most = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let counts: Vec<_> = (1..=most).filter_map(NonZeroUsize::new).collect();
    let mut times = vec![Vec::new(); counts.len()];
    for _ in 0..ROUNDS {
        for (count, times) in counts.iter().zip(&mut times) {
            let start = Instant::now();
            std::hint::black_box(tokenizer.encode_parallel(text, *count));
            times.push(start.elapsed().as_secs_f64());
        }
    }
    let mut one = None;
    for (count, times) in counts.iter().zip(times) {
        let (best, median) = rates(times, text.len());
        let factor = best / *one.get_or_insert(best);
        println!(
            "{name:<14} {:>9} B over {count} threads, wall time: {best:.1} ({median:.1}), {factor:.2} times",
            text.len()
        );
    }
}

fn vocabulary() -> (PathBuf, &'static str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let gpt2 = std::env::var_os("GPT2").map_or_else(|| root.join("../shared/gpt2"), PathBuf::from);
    if gpt2.join("vocab.json").exists() {
        return (gpt2, "GPT-2's vocabulary");
    }
    (root.join("tests/data/austen"), "the small vocabulary of the tests, for want of GPT-2's")
}

fn main() {
    let (folder, what) = vocabulary();
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a vocabulary");
    let tokenizer = Tokenizer::from_files(&read("vocab.json"), &read("merges.txt")).expect("a good vocabulary");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{what}; MB/s of one thread's processor time, best (median); load average {}", load.trim());
    let parts = text::parts(Path::new(env!("CARGO_MANIFEST_DIR")));
    let mixed = text::mixed(&parts);
    if let Some(file) = std::env::var_os("TOKENS_TEXT") {
        std::fs::write(file, &mixed).expect("a place for the text");
    }
    // `cargo bench` adds an argument of its own.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let row = |name: &str, text: &[u8]| {
        if is_wanted(name) {
            row(&tokenizer, name, text);
        }
    };
    row("mixed", &mixed);
    for (name, text) in &parts {
        row(name, text);
    }
    let runs = [
        ("a's", "a"),
        ("equal signs", "="),
        ("blanks", " "),
        ("tabs", "\t"),
        ("newlines", "\n"),
        ("digits", "7"),
        ("emoji", "😀"),
        ("one ideograph", "中"),
    ];
    for (name, unit) in runs {
        row(name, unit.repeat(1_000_000 / unit.len()).as_bytes());
    }
    let random = text::random(1_000_000);
    let letters: Vec<u8> = random.iter().map(|byte| b'a' + byte % 26).collect();
    row("random bytes", &random);
    row("random letters", &letters);
    if is_wanted("threads") {
        threads(&tokenizer, "mixed", &mixed);
        threads(&tokenizer, "ten times that", &mixed.repeat(10));
    }
}
