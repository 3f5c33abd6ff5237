//! Opening GGUF files, side by side with candle in one run: `cargo run --release --manifest-path benches/peers/Cargo.toml
//! [FILE.gguf …]`. Without files it measures a synthetic vocabulary of 12 MB.
//!
//! Each figure is the median of rounds in which the readers take turns.

#[path = "../../headers/gguf.rs"]
mod synthetic;

use std::hint::black_box;
use std::io::Cursor;
use std::time::Instant;

use candle_core::quantized::gguf_file::Content;
use tensorgate::Limits;
use tensorgate::gguf::{Header, Slot, Value};

fn time(times: &mut Vec<f64>, call: impl FnOnce()) {
    let start = Instant::now();
    call();
    times.push(start.elapsed().as_secs_f64() * 1e6);
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// All strings of a header, scalars were checked when it was opened.
fn strings_are_utf8(header: &Header<'_>) -> bool {
    header.pairs().all(|pair| match pair.value() {
        Value::Array(array) => array.check_utf8().is_ok(),
        _ => true,
    })
}

fn row(name: &str, file: &[u8], file_len: u64) {
    let limits = Limits::default();
    let mut slots = vec![Slot::EMPTY; 4096];
    let (mut ours, mut lent, mut text, mut candle) = (vec![], vec![], vec![], vec![]);
    for _ in 0..21 {
        time(&mut candle, || {
            black_box(Content::read(&mut Cursor::new(black_box(file)))).unwrap();
        });
        for _ in 0..5 {
            time(&mut ours, || {
                black_box(Header::open(black_box(file), file_len, &limits)).unwrap();
            });
            time(&mut lent, || {
                black_box(Header::open_in(black_box(file), file_len, &mut slots, &limits)).unwrap();
            });
            time(&mut text, || {
                let header = Header::open(black_box(file), file_len, &limits).unwrap();
                assert!(black_box(strings_are_utf8(&header)));
            });
        }
    }
    let (ours, lent, text, candle) = (median(ours), median(lent), median(text), median(candle));
    println!(
        "{name}: {} bytes; candle {candle:.0} us; open {ours:.0} us ({:.0}x), lent {lent:.0} us ({:.0}x), with every string's UTF-8 {text:.0} us ({:.1}x)",
        file.len(),
        candle / ours,
        candle / lent,
        candle / text,
    );
}

fn main() {
    let (header, data) = synthetic::header();
    row("synthetic", &header, header.len() as u64 + data);
    for path in std::env::args().skip(1) {
        let file = std::fs::read(&path).unwrap();
        row(&path, &file, file.len() as u64);
    }
}
