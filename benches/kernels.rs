//! Products of one row and of many, against ggml's own row functions in the same run: `cargo bench --bench kernels`.
//!
//! ggml is `libggml-cpu.so` of the Python package `llama-cpp-python`, or the file that `GGML_CPU` names; without it only our
//! own speed is shown. Speeds are gigabytes of weights a second on one thread, medians of rounds in which all take turns;
//! on a shared machine only the ratios mean something. `-- TYPE…` measures some types only, `-- tokens` the products of many.

#![expect(unsafe_code, reason = "ggml's functions are called through their C interface")]
#![expect(clippy::cast_precision_loss, reason = "times and counts to be shown")]

#[path = "kernels/clock.rs"]
mod clock;
#[path = "kernels/ggml.rs"]
mod ggml;

use std::hint::black_box;
use std::time::Instant;

use ggml::Ggml;
use tensorgate::simd::{Act, Form, Level, MatMut, Matrix, Scratch, Then, WeightType};

const ROUNDS: usize = 9;

fn time(call: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    let before = clock::seconds(start);
    call();
    clock::seconds(start) - before
}

/// The median time of each call, the calls taking turns.
fn medians(calls: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let mut times = vec![Vec::new(); calls.len()];
    for round in 0..=ROUNDS {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            let taken = time(call);
            if round > 0 {
                times.push(taken);
            }
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
        .collect()
}

/// Rows whose every bit is a finite weight.
fn weights(ty: WeightType, rows: usize, len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let size = ty.row_bytes(len).unwrap_or(0) * rows;
    let mut bytes: Vec<u8> = std::iter::repeat_with(|| next().to_le_bytes()).flatten().take(size).collect();
    let scales: &[usize] = match ty {
        WeightType::F32 => {
            for word in bytes.as_chunks_mut::<4>().0 {
                word[3] = 0x3c | word[3] & 0x80;
            }
            return bytes;
        }
        WeightType::F16 | WeightType::BF16 => {
            for word in bytes.as_chunks_mut::<2>().0 {
                word[1] = 0x3c | word[1] & 0x80;
            }
            return bytes;
        }
        WeightType::Q6_K => &[208],
        WeightType::Q4_0 | WeightType::Q5_0 | WeightType::Q8_0 => &[0],
        _ => &[0, 2],
    };
    for block in bytes.chunks_exact_mut(ty.block_bytes()) {
        for at in scales {
            block[at + 1] = 0x20 | block[at + 1] & 3;
        }
    }
    bytes
}

fn inputs(count: usize) -> Vec<f32> {
    (0..count).map(|at| ((at * 7919 % 2003) as f32 / 1001.0 - 1.0) * 2.0).collect()
}

/// One token: rows from the second-level cache, and from memory.
fn one_token(ggml: Option<&Ggml>, ty: WeightType) {
    let len = 3072;
    let row = ty.row_bytes(len).unwrap_or(0);
    let x = inputs(len);
    for (place, bytes, repeat) in [("cache", 400_000, 200), ("memory", 150_000_000, 1)] {
        let rows = bytes / row;
        let data = weights(ty, rows, len);
        let matrix = Matrix::new(ty, &data, rows, len).expect("so many rows were made");
        let mut names: Vec<String> = Vec::new();
        let mut calls: Vec<Box<dyn FnMut() + '_>> = Vec::new();
        let lengths = (row * rows * repeat) as f64 / 1e9;
        for level in Level::all().filter(|level| *level >= Level::PORTABLE) {
            let mut act = Act::new();
            act.set(level, ty.form(), &x, len).expect("a whole row");
            let (mut out, mut scratch) = (vec![0.0; rows], Scratch::new());
            names.push(level.name().to_owned());
            calls.push(Box::new(move || {
                for _ in 0..repeat {
                    let into = MatMut::new(&mut out, rows).expect("a row");
                    matrix.multiply(level, &act, into, Then::default(), &mut scratch).expect("shapes fit");
                }
                black_box(&out);
            }));
        }
        if ty.is_float() {
            // The same bytes as GPT-2's Conv1D has them, a row an input.
            let (level, mut act) = (Level::best(), Act::new());
            let matrix = Matrix::input_major(ty, &data, rows, len).expect("so many rows were made");
            act.set(level, Form::F32, &inputs(rows), rows).expect("a whole row");
            let (mut out, mut scratch) = (vec![0.0; len], Scratch::new());
            names.push("input-major".to_owned());
            calls.push(Box::new(move || {
                for _ in 0..repeat {
                    let into = MatMut::new(&mut out, len).expect("a row");
                    matrix.multiply(level, &act, into, Then::default(), &mut scratch).expect("shapes fit");
                }
                black_box(&out);
            }));
        }
        if let Some(ggml) = ggml {
            let act = ggml.activations(ty, &x);
            let (mut out, data) = (vec![0.0; rows], &data);
            names.push("ggml".to_owned());
            calls.push(Box::new(move || {
                for _ in 0..repeat {
                    for (out, row) in out.iter_mut().zip(data.chunks_exact(row)) {
                        *out = ggml.dot(ty, len, row, &act);
                    }
                }
                black_box(&out);
            }));
        }
        show(&format!("{ty:?} {place}"), &names, &medians(&mut calls), lengths, "GB/s");
    }
}

fn show(what: &str, names: &[String], times: &[f64], amount: f64, unit: &str) {
    print!("{what:<14}");
    for (name, time) in names.iter().zip(times) {
        print!("  {name} {:.1}", amount / time);
    }
    print!(" {unit}");
    let of = |name: &str| names.iter().position(|own| own == name).map(|at| times[at]);
    if let (Some(best), Some(theirs)) = (of(Level::best().name()), of("ggml")) {
        print!("   {:.2} times ggml", theirs / best);
    }
    println!();
}

/// Many tokens: billions of multiplications and additions a second.
fn many_tokens(ty: WeightType) {
    let (len, rows, tokens) = (768, 1536, 256);
    let data = weights(ty, rows, len);
    let x = inputs(len * tokens);
    let mut names = Vec::new();
    let mut calls: Vec<Box<dyn FnMut() + '_>> = Vec::new();
    let forms = if ty == WeightType::BF16 { vec![Form::F32, Form::Bf16] } else { vec![ty.form()] };
    for form in forms {
        for input_major in [false, true] {
            if input_major && !ty.is_float() {
                continue;
            }
            let matrix = if input_major {
                Matrix::input_major(ty, &data, len, rows)
            } else {
                Matrix::new(ty, &data, rows, len)
            };
            let matrix = matrix.expect("so many rows were made");
            for level in Level::all().filter(|level| *level > Level::PORTABLE) {
                let (mut act, mut out, mut scratch) = (Act::new(), vec![0.0; rows * tokens], Scratch::new());
                let x = &x;
                let how = if input_major { " input-major" } else { "" };
                names.push(format!("{}{how} {form:?}", level.name()));
                calls.push(Box::new(move || {
                    act.set(level, form, x, len).expect("whole rows");
                    let into = MatMut::new(&mut out, rows).expect("whole rows");
                    matrix.multiply(level, &act, into, Then::default(), &mut scratch).expect("shapes fit");
                    black_box(&out);
                }));
            }
        }
    }
    let operations = 2.0 * (len * rows * tokens) as f64 / 1e9;
    show(&format!("{ty:?} tokens"), &names, &medians(&mut calls), operations, "GOP/s");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let chosen = |ty: &WeightType| {
        let named = words.iter().any(|word| *word == format!("{ty:?}"));
        named || words.iter().all(|word| word == "tokens")
    };
    let ggml = Ggml::open();
    match &ggml {
        Ok(ggml) => println!("ggml: {}", ggml.path().display()),
        Err(reason) => println!("without ggml: {reason}"),
    }
    for ty in WeightType::ALL.into_iter().filter(chosen) {
        if words.iter().any(|word| word == "tokens") {
            many_tokens(ty);
        } else {
            one_token(ggml.as_ref().ok(), ty);
        }
    }
}
