//! Saving, beside a plain write of the same bytes with the same durability and the reference crate:
//! `cargo bench --bench save [-- FOLDER [MIB]]`.
//!
//! Three ways take turns, so that a disk whose speed drifts moves all of them alike: this crate's atomic save, a plain
//! `write` and `fsync` of the same bytes, and `safetensors::serialize_to_file`, which does not bring anything to the disk
//! and is therefore followed by an `fsync`. Figures are medians, and medians of the ratios of each round.

#![expect(clippy::cast_precision_loss, reason = "times and counts to be shown")]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use safetensors::tensor::TensorView;
use tensorgate::file::save_safetensors;
use tensorgate::safetensors::{NO_METADATA, TensorSpec, serialize};
use tensorgate::{Dtype, SafeTensors};

const ROUNDS: usize = 9;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn seconds(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

/// A line of the process's status, in KiB; 0 where that is not known.
fn status(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0)
}

/// The most memory in KiB that `call` has had at once, beyond what there was.
fn grown(call: impl FnOnce()) -> u64 {
    // Linux: the peak is forgotten.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = status("VmRSS:");
    call();
    status("VmHWM:").saturating_sub(before)
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let mib: usize = arguments.next().and_then(|mib| mib.parse().ok()).unwrap_or(256);
    println!(
        "  MiB  tensors  ours MB/s  write+fsync MB/s  reference+fsync MB/s  of write  of reference  memory KiB"
    );
    for tensors in [10, 1000] {
        row(&folder, mib, tensors);
    }
}

fn row(folder: &Path, mib: usize, tensors: usize) {
    let folder = tempfile::tempdir_in(folder).unwrap();
    let path = |name: &str| folder.path().join(name);
    let len = (mib << 20) / tensors;
    let bytes: Vec<u8> = (0..=250_u8).cycle().take(len).collect();
    let names: Vec<String> = (0..tensors).map(|at| format!("model.layers.{at}.weight")).collect();
    let shape = [len as u64];
    let specs = || names.iter().map(|name| TensorSpec::new(name, Dtype::U8, &shape).with_bytes(&bytes));
    let whole = serialize(specs(), NO_METADATA).unwrap();
    assert_eq!(SafeTensors::open(&whole).unwrap().len(), tensors);
    let (mut ours, mut plain, mut reference, mut memory) = (vec![], vec![], vec![], 0);
    for round in 0..ROUNDS {
        // Each goes first, second and third equally often: what one leaves for the disk to do, the next waits for.
        for turn in 0..3 {
            match (round + turn) % 3 {
                0 => {
                    memory = memory.max(grown(|| {
                        ours.push(seconds(|| save_safetensors(path("ours"), specs(), NO_METADATA).unwrap()));
                    }));
                }
                1 => plain.push(seconds(|| {
                    let mut file = File::create(path("plain")).unwrap();
                    file.write_all(black_box(&whole)).unwrap();
                    file.sync_all().unwrap();
                })),
                _ => reference.push(seconds(|| {
                    let views = names
                        .iter()
                        .map(|name| (name, TensorView::new(safetensors::Dtype::U8, vec![len], &bytes).unwrap()));
                    safetensors::serialize_to_file(views, None, &path("reference")).unwrap();
                    File::open(path("reference")).unwrap().sync_all().unwrap();
                })),
            }
        }
        assert_eq!(fs::metadata(path("ours")).unwrap().len(), whole.len() as u64);
        for name in ["plain", "reference"] {
            fs::remove_file(path(name)).unwrap();
        }
        // As for the others, a file that is not there yet.
        fs::remove_file(path("ours")).unwrap();
    }
    let ratio = |other: &[f64]| median(other.iter().zip(&ours).map(|(other, ours)| other / ours).collect());
    let (of_plain, of_reference) = (ratio(&plain), ratio(&reference));
    let speed = |times: Vec<f64>| whole.len() as f64 / median(times) / 1e6;
    println!(
        "{mib:5}  {tensors:7}  {:9.0}  {:16.0}  {:20.0}  {of_plain:8.2}  {of_reference:12.2}  {memory:10}",
        speed(ours),
        speed(plain),
        speed(reference)
    );
}
