//! Decoding blocks, side by side with candle, ggml and gguf-py in one run: `cargo run --release --manifest-path
//! benches/peers/Cargo.toml --bin decode [TYPE…]`.
//!
//! ggml is `libggml-base.so` of the Python package `llama-cpp-python`, or the file that `GGML_BASE` names; gguf-py is the
//! package `gguf` of `python3`. Each is skipped in a plain line where it is missing. All decode the same blocks; a reader
//! whose elements are others is named. Times are of the thread's processor time, the least and the median of rounds in
//! which all take turns.

#[path = "../../../../kernels/clock.rs"]
mod clock;
mod peers;

use std::hint::black_box;
use std::time::Instant;

use tensorgate::gguf::GgmlType;
use tensorgate::{quant, simd};

const TYPES: [GgmlType; 10] = [
    GgmlType::Q4_0,
    GgmlType::Q4_1,
    GgmlType::Q5_0,
    GgmlType::Q5_1,
    GgmlType::Q8_0,
    GgmlType::Q2_K,
    GgmlType::Q3_K,
    GgmlType::Q4_K,
    GgmlType::Q5_K,
    GgmlType::Q6_K,
];

/// How many elements, how often in a round, and how many rounds: a row that stays in the first cache with its elements, a
/// tensor that stays in the third, one that leaves it.
const PLACES: [(&str, usize, usize, usize); 3] =
    [("4,096", 4096, 500, 25), ("1 Mi", 1 << 20, 4, 15), ("16 Mi", 1 << 24, 1, 7)];

/// A reader's name and what it decodes with; where it keeps its own time, it returns it.
type Reader<'a> = (String, Box<dyn FnMut(&mut [f32]) -> Option<f64> + 'a>);

/// Blocks of random bytes, whose halves are finite. Aligned as candle wants them.
fn blocks(kind: GgmlType, elements: usize) -> Vec<u16> {
    let (size, of) = (kind.block_bytes().unwrap() as usize, kind.block_elements().unwrap() as usize);
    let halves: &[usize] = match kind {
        GgmlType::Q2_K => &[80, 82],
        GgmlType::Q3_K => &[108],
        GgmlType::Q6_K => &[208],
        GgmlType::Q4_0 | GgmlType::Q5_0 | GgmlType::Q8_0 => &[0],
        _ => &[0, 2],
    };
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut words = Vec::with_capacity(elements / of * size / 2);
    for _ in 0..elements / of {
        for at in (0..size).step_by(2) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let word = (state >> 24) as u16;
            words.push(if halves.contains(&at) { word & 0x83FF | 0x2000 } else { word });
        }
    }
    words
}

fn ours<'a>(kind: GgmlType, bytes: &'a [u8]) -> Vec<Reader<'a>> {
    let mut all: Vec<Reader<'a>> = vec![(
        "quant".to_owned(),
        Box::new(move |out| {
            quant::decode(kind, bytes, out).unwrap();
            None
        }),
    )];
    // The levels below decode as `quant` does.
    for level in simd::Level::all().filter(|level| *level > simd::Level::PORTABLE && level.name() != "avx512bf16") {
        all.push((
            level.name().to_owned(),
            Box::new(move |out| {
                simd::decode(level, kind, bytes, out).unwrap();
                None
            }),
        ));
    }
    all
}

/// The least and the median nanoseconds an element of each reader.
fn measure(readers: &mut [Reader<'_>], elements: usize, repeat: usize, rounds: usize) -> Vec<(f64, f64)> {
    let mut out = vec![0.0_f32; elements];
    let mut times = vec![Vec::new(); readers.len()];
    for round in 0..=rounds {
        for ((_, call), times) in readers.iter_mut().zip(&mut times) {
            let start = Instant::now();
            let before = clock::seconds(start);
            let mut own = 0.0;
            for _ in 0..repeat {
                own += call(black_box(&mut out)).unwrap_or(0.0);
            }
            let taken = if own > 0.0 { own } else { clock::seconds(start) - before };
            if round > 0 {
                times.push(taken * 1e9 / (elements * repeat) as f64);
            }
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_by(f64::total_cmp);
            (times[0], times[times.len() / 2])
        })
        .collect()
}

/// Whether each reader decodes to the elements of the first.
fn compare(kind: GgmlType, readers: &mut [Reader<'_>], elements: usize) {
    let (mut first, mut out) = (vec![0.0; elements], vec![0.0_f32; elements]);
    readers[0].1(&mut first);
    for (name, call) in readers {
        out.fill(f32::NAN);
        call(&mut out);
        let differ = out.iter().zip(&first).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        if differ > 0 {
            println!("{kind}: {differ} of {elements} elements of {name} are others");
        }
    }
}

fn show(kind: GgmlType, place: &str, names: &[String], times: &[(f64, f64)]) {
    let bytes = f64::from(kind.block_bytes().unwrap()) / f64::from(kind.block_elements().unwrap());
    print!("| {kind} | {place} |");
    for name in ["quant", "avx2", "avx512", "candle", "candle tensor", "ggml", "gguf-py"] {
        match names.iter().position(|one| one == name) {
            Some(at) => print!(" {:.3} / {:.3} |", times[at].0, times[at].1),
            None => print!(" – |"),
        }
    }
    let of = |name: &str| names.iter().position(|one| one == name).map(|at| times[at]);
    let best =
        names.iter().zip(times).filter(|(name, _)| ["quant", "neon", "avx2", "avx512"].contains(&name.as_str()));
    // What `Level::best` takes: the last of ours.
    if let Some((_, best)) = best.last() {
        print!(" {:.1} |", bytes / best.1);
        for name in ["candle", "ggml", "gguf-py"] {
            match of(name) {
                Some(peer) => print!(" {:.1}, {:.1} |", peer.0 / best.0, peer.1 / best.1),
                None => print!(" – |"),
            }
        }
    }
    println!();
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ggml = peers::Ggml::open();
    match &ggml {
        Ok(ggml) => println!("ggml: {}", ggml.path().display()),
        Err(reason) => println!("without ggml: {reason}"),
    }
    let mut python = peers::Python::open();
    match &python {
        Ok(python) => println!("gguf-py: {}", python.version()),
        Err(reason) => println!("without gguf-py: {reason}"),
    }
    println!(
        "nanoseconds an element, least / median; GB/s of blocks by `Level::best`; peers' time over ours, least, median"
    );
    println!(
        "| type | elements | `quant` | avx2 | avx512 | candle `to_float` | candle `dequantize` | ggml | gguf-py | GB/s | candle | ggml | gguf-py |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for kind in TYPES.into_iter().filter(|kind| words.is_empty() || words.contains(&kind.to_string())) {
        for (place, elements, repeat, rounds) in PLACES {
            let words = blocks(kind, elements);
            let bytes = peers::bytes(&words);
            let mut readers = ours(kind, bytes);
            readers.push(("candle".to_owned(), peers::candle(kind, bytes)));
            if let Ok(ggml) = &ggml {
                readers.push(("ggml".to_owned(), ggml.reader(kind, bytes)));
            }
            if elements > 1 << 16 {
                readers.push(("candle tensor".to_owned(), peers::candle_tensor(kind, bytes, elements)));
                if let Ok(python) = &mut python {
                    readers.push(("gguf-py".to_owned(), python.reader(kind, bytes)));
                }
            }
            compare(kind, &mut readers, elements);
            let times = measure(&mut readers, elements, repeat, rounds);
            let names: Vec<String> = readers.iter().map(|(name, _)| name.clone()).collect();
            show(kind, place, &names, &times);
        }
    }
}
