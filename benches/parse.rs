//! Parsing headers, side by side with the reference crate in one run: `cargo bench --bench parse`.
//!
//! Each figure is the median of rounds in which the readers take turns, so that a machine whose speed drifts moves all of
//! them alike. The reference needs the whole file in memory and is given no data: it
//! fails at its very last step, with all its work done.

#![expect(clippy::cast_precision_loss, reason = "times and counts to be shown")]

mod headers;

use std::hint::black_box;
use std::time::Instant;

use headers::{Order, header};
use tensorgate::Limits;
use tensorgate::safetensors::{Header, Slot};

/// Median of the times of `rounds` calls, in nanoseconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn time(repeat: usize, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeat {
        call();
    }
    start.elapsed().as_secs_f64() * 1e9 / repeat as f64
}

fn main() {
    println!(
        "tensors  order   header bytes  reference ns/t  open ns/t  ratio  open_in ns/t  ratio  GB/s   serde_json ratio"
    );
    for count in [160_usize, 1_000, 10_000, 100_000] {
        for order in [Order::Writer, Order::Model] {
            row(count, order);
        }
    }
}

fn row(count: usize, order: Order) {
    let (json, data_len) = header(count, order);
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    let file_len = file.len() as u64 + data_len;
    let limits = Limits::default();
    let mut slots = vec![Slot::EMPTY; count];
    let repeat = (200_000 / count).max(1);
    let (mut reference, mut ours, mut lent, mut bare) = (vec![], vec![], vec![], vec![]);
    for _ in 0..15 {
        // `read_metadata` fails at its last step, the length of the data, which is not there; all its work is done.
        reference.push(time(repeat.div_ceil(8), || {
            let _ = black_box(safetensors::SafeTensors::read_metadata(black_box(&file)));
        }));
        ours.push(time(repeat, || {
            assert_eq!(black_box(Header::open(black_box(&file), file_len, &limits)).unwrap().len(), count);
        }));
        lent.push(time(repeat, || {
            assert_eq!(
                black_box(Header::open_in(black_box(&file), file_len, &mut slots, &limits)).unwrap().len(),
                count
            );
        }));
        bare.push(time(repeat.div_ceil(4), || {
            black_box(serde_json::from_str::<serde::de::IgnoredAny>(black_box(&json))).unwrap();
        }));
    }
    let n = count as f64;
    let (reference, ours, lent, bare) = (median(reference), median(ours), median(lent), median(bare));
    println!(
        "{count:7}  {order:6?}  {:12}  {:14.0}  {:9.1}  {:5.1}  {:12.1}  {:5.1}  {:4.2}  {:5.1}",
        json.len(),
        reference / n,
        ours / n,
        reference / ours,
        lent / n,
        reference / lent,
        json.len() as f64 / ours,
        bare / ours,
    );
}
