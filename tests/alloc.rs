//! What is allocated, counted: nothing with lent storage, otherwise never more bytes than the header or the index has (a
//! few times as many for GGUF), and a clean error at whichever allocation memory runs out.
#![expect(unsafe_code, reason = "an allocator that counts has to be one")]

mod common;
#[cfg(feature = "alloc")]
#[path = "../benches/headers/mod.rs"]
mod headers;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{bytes, cases, corpus};
use tensorgate::safetensors::{Header, Slot};
use tensorgate::shards::IndexSlot;
use tensorgate::{Gguf, Limits, SafeTensors, ShardIndex, gguf};

/// What was counted on this thread since [`counted`] began.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    on: bool,
    allocations: u64,
    live: usize,
    peak: usize,
    /// Which allocation fails, counted from 1; 0 for none.
    fail: u64,
}

thread_local! {
    static COUNTS: Cell<Counts> = const {
        Cell::new(Counts { on: false, allocations: 0, live: 0, peak: 0, fail: 0 })
    };
}

struct Counting;

/// Counts an allocation of `size` bytes; false where it is the one to fail.
fn taken(size: usize) -> bool {
    let mut counts = COUNTS.get();
    if !counts.on {
        return true;
    }
    counts.allocations += 1;
    let granted = counts.allocations != counts.fail;
    if granted {
        counts.live += size;
        counts.peak = counts.peak.max(counts.live);
    }
    COUNTS.set(counts);
    granted
}

fn given(size: usize) {
    let mut counts = COUNTS.get();
    if counts.on {
        counts.live = counts.live.saturating_sub(size);
        COUNTS.set(counts);
    }
}

// SAFETY: every block comes from and goes back to `System` with the layout it was asked for with; counting touches a
// `Cell` of the thread that needs neither an allocation nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises on `layout` are passed on.
        if taken(layout.size()) { unsafe { System.alloc(layout) } } else { std::ptr::null_mut() }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        given(layout.size());
        // SAFETY: the caller got `block` from `alloc` or `realloc` above, so from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new block count at once, as where the system has to move it.
        if !taken(size) {
            return std::ptr::null_mut();
        }
        given(layout.size());
        // SAFETY: the caller's promises on `block`, `layout` and `size` are passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `work` and counts; the `fail`-th allocation fails.
fn counted<T>(fail: u64, work: impl FnOnce() -> T) -> (T, Counts) {
    COUNTS.set(Counts { on: true, fail, ..Counts::default() });
    let result = work();
    let counts = COUNTS.replace(Counts::default());
    (result, counts)
}

/// Every file of a format that the corpus has.
fn corpus_files(ending: &str) -> Vec<(String, Vec<u8>)> {
    let rows = corpus::all_rows().into_iter().filter(|row| row.path.ends_with(ending));
    rows.map(|row| (row.path.clone(), std::fs::read(corpus::folder().join(&row.path)).unwrap())).collect()
}

/// Every small file of a format that there is: the cases and the corpus.
fn small_files_of(case_file: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> =
        cases(case_file).iter().map(|case| (case["name"].as_str().unwrap().to_owned(), bytes(case))).collect();
    all.extend(corpus_files(ending));
    all
}

fn small_files() -> Vec<(String, Vec<u8>)> {
    let all = small_files_of("safetensors.json", ".safetensors");
    assert!(all.len() > 600);
    all
}

fn small_ggufs() -> Vec<(String, Vec<u8>)> {
    let all = small_files_of("gguf.json", ".gguf");
    assert!(all.len() > 500);
    all
}

/// The indexes of the corpus, and one whose metadata takes storage of its own.
fn indexes() -> Vec<(String, Vec<u8>)> {
    let mut all = corpus_files(".index.json");
    let keys: Vec<String> = (0..500).rev().map(|key| format!("\"{key}\":0")).collect();
    let text = format!("{{\"metadata\":{{{}}},\"weight_map\":{{}}}}", keys.join(","));
    all.push(("metadata of 500 keys in no order".to_owned(), text.into_bytes()));
    assert!(all.len() > 100);
    all
}

#[test]
fn the_counter_counts() {
    let (block, counts) = counted(0, || vec![0_u8; 1000]);
    assert_eq!((block.len(), counts.allocations, counts.live, counts.peak), (1000, 1, 1000, 1000));
    let (failed, counts) = counted(2, || {
        let mut block: Vec<u8> = Vec::new();
        (block.try_reserve_exact(10).is_ok(), block.try_reserve_exact(20).is_err())
    });
    assert_eq!((failed, counts.allocations, counts.live, counts.peak), ((true, true), 2, 0, 10));
}

#[test]
fn lent_storage_takes_no_allocation() {
    let mut slots = vec![Slot::EMPTY; 20_000];
    for (name, whole) in small_files() {
        let (accepted, counts) = counted(0, || {
            let opened = SafeTensors::open_in(&whole, &mut slots, &Limits::default());
            opened.map(|file| corpus::touch(&file)).is_ok()
        });
        assert_eq!((counts.allocations, counts.peak), (0, 0), "{name}");
        let (again, counts) = counted(0, || {
            let opened = Header::open_in(&whole, whole.len() as u64, &mut slots, &Limits::default());
            opened.map(|header| header.tensors().map(|info| info.span().len()).sum::<u64>()).is_ok()
        });
        assert_eq!((counts.allocations, again), (0, accepted), "{name}");
    }
}

#[test]
fn lent_storage_takes_no_allocation_for_gguf() {
    let mut slots = vec![gguf::Slot::EMPTY; 20_000];
    for (name, whole) in small_ggufs() {
        let (accepted, counts) = counted(0, || {
            let opened = Gguf::open_in(&whole, &mut slots, &Limits::default());
            opened.map(|file| corpus::touch_gguf(&file, true)).is_ok()
        });
        assert_eq!((counts.allocations, counts.peak), (0, 0), "{name}");
        let (again, counts) = counted(0, || {
            let opened = gguf::Header::open_in(&whole, whole.len() as u64, &mut slots, &Limits::default());
            opened.is_ok_and(|header| header.check_padding(&whole).is_ok())
        });
        assert_eq!((counts.allocations, again), (0, accepted), "{name}");
    }
}

#[test]
fn lent_storage_takes_no_allocation_for_indexes() {
    let mut slots = vec![IndexSlot::EMPTY; 20_000];
    for (name, text) in indexes() {
        let (_, counts) = counted(0, || {
            let opened = ShardIndex::open_in(&text, &mut slots, &Limits::default());
            opened.map(|index| {
                corpus::touch_index(&index);
                let files = ["model-00001-of-00002.safetensors", "other.safetensors"];
                (index.check_files(&files).count(), index.check_total(7).is_some())
            })
        });
        assert_eq!((counts.allocations, counts.peak), (0, 0), "{name}");
    }
}

#[cfg(feature = "alloc")]
mod owned {
    use super::*;
    use crate::common::{file, hostile, hostile_gguf};
    use crate::headers::Order;
    use tensorgate::safetensors::TensorInfo;
    use tensorgate::{Error, ErrorKind};

    /// At most the header's bytes are taken, nothing is kept but what the handle holds, and iteration takes nothing.
    fn check_peak(name: &str, whole: &[u8], len: u64) {
        let header_len = whole.first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word));
        let (opened, counts) = counted(0, || Header::open(whole, len, &Limits::default()));
        assert!(counts.peak as u64 <= header_len, "{name}: {} bytes for {header_len}", counts.peak);
        if let Ok(header) = opened {
            let plain =
                |info: &TensorInfo<'_>| info.name().as_str().is_some_and(|name| header.tensor(name).is_ok());
            let (found, counts) = counted(0, || header.tensors().filter(plain).count());
            assert_eq!(counts.allocations, 0, "{name}");
            let escaped = header.tensors().filter(|info| info.name().is_escaped()).count();
            assert_eq!(found + escaped, header.len(), "{name}");
        } else {
            assert_eq!(counts.live, 0, "{name}");
        }
    }

    #[test]
    fn never_more_than_the_header() {
        for (name, whole) in small_files() {
            check_peak(&name, &whole, whole.len() as u64);
        }
        for count in [1_000, 10_000] {
            for order in [Order::Writer, Order::Model] {
                let (json, data) = headers::header(count, order);
                let whole = file(&json, &[]);
                check_peak(&format!("{count} {order:?}"), &whole, whole.len() as u64 + data);
            }
        }
        let length = if cfg!(debug_assertions) { 200_000 } else { 10_000_000 };
        for (name, build) in hostile::ALL {
            for data in [0, 1_000_000] {
                let whole = file(std::str::from_utf8(&build(length)).unwrap(), &[]);
                check_peak(name, &whole, whole.len() as u64 + data);
            }
        }
    }

    #[test]
    fn memory_may_run_out_anywhere() {
        let mut all = small_files();
        all.extend(hostile::ALL.iter().map(|(name, build)| {
            let json = build(20_000);
            ((*name).to_owned(), file(std::str::from_utf8(&json).unwrap(), &[]))
        }));
        for (name, whole) in all {
            let (want, _) = counted(0, || SafeTensors::open(&whole).map(|_| ()));
            for fail in 1.. {
                let (outcome, counts) = counted(fail, || SafeTensors::open(&whole).map(|_| ()));
                assert_eq!(counts.live, 0, "{name}");
                if counts.allocations < fail {
                    assert_eq!(outcome, want, "{name}");
                    break;
                }
                let error = outcome.unwrap_err();
                assert_eq!(
                    (error.kind(), error.at()),
                    (ErrorKind::StorageTooSmall, 8),
                    "{name}, allocation {fail}"
                );
            }
        }
    }

    /// What is held is less than three times the header; while it grows, the block before it is there too.
    #[test]
    fn gguf_takes_a_few_times_its_header() {
        let hostile = hostile_gguf::all().into_iter().map(|(name, file, _)| (name.to_owned(), file));
        for (name, whole) in small_ggufs().into_iter().chain(hostile) {
            let len = whole.len() as u64;
            let (opened, counts) = counted(0, || gguf::Header::open(&whole, len, &Limits::default()));
            let bytes = opened.as_ref().map_or(whole.len(), |header| header.head().len());
            assert!(2 * counts.peak < 9 * bytes || bytes == 0, "{name}: {} bytes for {bytes}", counts.peak);
            if opened.is_ok() {
                assert!(counts.live < 3 * bytes, "{name}: {} bytes for {bytes}", counts.live);
            } else {
                assert_eq!(counts.live, 0, "{name}");
            }
        }
    }

    #[test]
    fn an_index_takes_no_more_than_its_text() {
        for (name, text) in indexes() {
            let (opened, counts) = counted(0, || ShardIndex::open(&text));
            assert!(counts.peak <= text.len(), "{name}: {} bytes for {}", counts.peak, text.len());
            assert!(opened.is_ok() || counts.live == 0, "{name}");
        }
    }

    /// Runs `open` with each allocation failing in turn, until none is left to fail.
    fn fail_each<T>(name: &str, at: u64, open: impl Fn() -> Result<T, Error>) {
        let (want, _) = counted(0, || open().map(|_| ()));
        for fail in 1.. {
            let (outcome, counts) = counted(fail, || open().map(|_| ()));
            assert_eq!(counts.live, 0, "{name}");
            if counts.allocations < fail {
                assert_eq!(outcome, want, "{name}");
                break;
            }
            // What is wrong with the file may be found without memory.
            let error = outcome.unwrap_err();
            let out_of_memory = (error.kind(), error.at()) == (ErrorKind::StorageTooSmall, at);
            assert!(out_of_memory || want == Err(error), "{name}, allocation {fail}: {error}");
        }
    }

    #[test]
    fn memory_may_run_out_anywhere_for_gguf_and_indexes() {
        for (name, whole) in small_ggufs() {
            fail_each(&name, 8, || Gguf::open(&whole));
        }
        for (name, text) in indexes() {
            fail_each(&name, 0, || ShardIndex::open(&text));
        }
    }
}

#[cfg(feature = "std")]
mod models {
    use super::*;
    use crate::headers::Order;
    use tensorgate::Model;

    /// Opens a file of `bytes` and as many zeros as make it `len` bytes long.
    fn peak(name: &str, bytes: &[u8], len: u64, header: usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
        let (model, counts) = counted(0, || Model::open(&path));
        let model = model.unwrap();
        println!("{name}: {} tensors, {} % of the header", model.len(), 100 * counts.peak / header);
        assert!(counts.peak < 10 * header + 200_000, "{name}: {} bytes for {header}", counts.peak);
    }

    /// The header, its private copy, its slots, and the table over all files.
    #[test]
    fn a_model_takes_less_than_ten_times_its_headers() {
        for (name, order) in [("writer", Order::Writer), ("model", Order::Model)] {
            let (json, data) = headers::header(20_000, order);
            peak(name, &common::file(&json, &[]), 8 + json.len() as u64 + data, json.len());
        }
        // One shape of very many dimensions, and very many tensors of a few bytes each.
        let zeros =
            format!(r#"{{"w":{{"dtype":"U8","shape":[{}0],"data_offsets":[0,0]}}}}"#, "0,".repeat(1_000_000));
        peak("zeros", &common::file(&zeros, &[]), 8 + zeros.len() as u64, zeros.len());
        let entry = |number: u32| format!(r#""{number:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
        let many = format!("{{{}}}", (0..50_000).map(entry).collect::<Vec<_>>().join(","));
        peak("many", &common::file(&many, &[]), 8 + many.len() as u64, many.len());
        let mut writer = common::gguf::Writer::new(50_000, 0);
        for number in 0..50_000 {
            writer.tensor(&format!("{number:x}"), &[], gguf::GgmlType::I8.id(), number * 32);
        }
        let header = writer.0.len();
        writer.data(50_000 * 32);
        peak("gguf", &writer.0, writer.0.len() as u64, header);
    }
}
