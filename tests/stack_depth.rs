//! How deep the core's stack gets, measured: every case and every file of the corpus is judged, and everything in it
//! looked at, on a stack of our own that was painted before. It stays below 16 KiB, whatever is in
//! the file and however little the build is optimised; a microcontroller's is worked out by `tests/proof/run`, and is half of that.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![expect(unsafe_code, reason = "a change of stack is something that only assembly can say")]

mod common;

use core::arch::asm;
use core::fmt::{self, Write};

use common::{bytes, cases, corpus};
use tensorgate::detect::detect;
use tensorgate::safetensors::Slot;
use tensorgate::shards::IndexSlot;
use tensorgate::{Gguf, SafeTensors, ShardIndex, gguf};

/// What the core may take of a stack in all.
const MOST: usize = 16 * 1024;
/// What there is, so that what takes more is measured too.
const ROOM: usize = 256 * 1024;
const PAINT: u64 = 0xA5A5_5A5A_A5A5_5A5A;

/// Runs `work` on a painted stack; its result, and how many bytes of the stack were written to.
fn measured<T, F: FnMut() -> T>(stack: &mut [u128], work: F) -> (T, usize) {
    struct Job<T, F>(F, Option<T>);
    extern "C" fn call<T, F: FnMut() -> T>(job: *mut Job<T, F>) {
        // SAFETY: `measured` passes its own job, which it leaves alone until this returns.
        let Job(work, result) = unsafe { &mut *job };
        // Unwinding ends at the frame below, which has no way on: a panic aborts the test with its message.
        *result = Some(work());
    }
    stack.fill(u128::from(PAINT) << 64 | u128::from(PAINT));
    let range = stack.as_mut_ptr_range();
    let mut job = Job(work, None);
    let entry: extern "C" fn(*mut Job<T, F>) = call::<T, F>;
    // SAFETY: the new stack is ours, 16-byte aligned at its end, and longer than what is run takes (which is checked below);
    // the callee keeps r12, in which the old stack pointer waits.
    unsafe {
        asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {entry}",
            "mov rsp, r12",
            top = in(reg) range.end,
            entry = in(reg) entry,
            in("rdi") &raw mut job,
            out("r12") _,
            clobber_abi("C"),
        );
    }
    let bytes = stack.iter().flat_map(|pair| pair.to_le_bytes());
    let untouched =
        bytes.zip(PAINT.to_le_bytes().into_iter().cycle()).take_while(|(byte, paint)| byte == paint).count();
    (job.1.unwrap(), ROOM - untouched)
}

/// Takes text and forgets it.
struct Nowhere;

impl Write for Nowhere {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        std::hint::black_box(text);
        Ok(())
    }
}

/// Storage for each format, which is no part of the stack.
struct Slots {
    safetensors: Vec<Slot>,
    index: Vec<IndexSlot>,
    gguf: Vec<gguf::Slot>,
    row: Vec<f32>,
}

/// Judges and looks at `file`; whether it was accepted.
fn look(name: &str, file: &[u8], terms: &corpus::Terms, slots: &mut Slots) -> bool {
    let limits = &terms.limits;
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let outcome = if ending == "gguf" {
        let opened = Gguf::open_in(file, &mut slots.gguf, limits);
        opened.and_then(|file| look_at_gguf(&file, terms.array_text, &mut slots.row))
    } else if ending == "json" {
        ShardIndex::open_in(file, &mut slots.index, limits).map(|index| look_at_index(&index))
    } else {
        SafeTensors::open_in(file, &mut slots.safetensors, limits).map(|file| look_at_safetensors(&file))
    };
    let _ = write!(Nowhere, "{}", detect(file));
    outcome.inspect_err(|error| _ = write!(Nowhere, "{error} {error:?}")).is_ok()
}

fn look_at_safetensors(file: &SafeTensors<'_>) {
    for tensor in file.tensors() {
        let _ = write!(Nowhere, "{tensor:?} {} {}", tensor.shape(), tensor.name());
        let _ = tensor.name().as_str().map(|name| file.tensor(name).is_ok());
        let _ = tensor.iter_f32().map(|floats| floats.take(100).sum::<f32>());
        let _ = tensor.slice(&[]).map(|part| part.runs().count());
    }
    for (key, value) in file.metadata().into_iter().flatten() {
        let _ = write!(Nowhere, "{key} {value:?}");
    }
}

fn look_at_gguf(file: &Gguf<'_>, array_text: bool, row: &mut [f32]) -> Result<(), tensorgate::Error> {
    for tensor in file.tensors() {
        let _ = write!(Nowhere, "{} {:?} {}", tensor.name(), tensor.kind(), tensor.shape());
        let _ = tensor.name().as_str().map(|name| file.tensor(name).is_ok());
        let _ = tensorgate::quant::Rows::of(&tensor).map(|rows| rows.decode(0, row).is_ok());
    }
    for pair in file.pairs() {
        let _ = write!(Nowhere, "{:?}", pair.key());
        let Ok(array) = pair.value().array() else { continue };
        let _ = write!(Nowhere, "{}", array.iter().take(100).count());
        if array_text {
            array.check_utf8()?;
        }
    }
    Ok(())
}

fn look_at_index(index: &ShardIndex<'_>) {
    for entry in index.tensors() {
        let _ = write!(Nowhere, "{} {:?}", entry.name(), entry.shard());
        let _ = entry.name().as_str().map(|name| index.shard_of(name).is_ok());
    }
    let found = index.check_files(&["model.safetensors"]);
    found.for_each(|finding| _ = write!(Nowhere, "{finding}"));
}

#[test]
fn no_file_takes_more_than_sixteen_kibibytes() {
    let mut files = Vec::new();
    for row in corpus::all_rows() {
        let bytes = std::fs::read(corpus::folder().join(&row.path)).unwrap();
        files.push((row.path, bytes, row.terms));
    }
    for (list, ending) in [("safetensors.json", ".safetensors"), ("gguf.json", ".gguf")] {
        for case in cases(list) {
            files.push((format!("{}{ending}", case["name"]), bytes(&case), corpus::Terms::default()));
        }
    }
    for (name, build) in common::hostile::ALL {
        let json = build(20_000);
        let file = common::file(std::str::from_utf8(&json).unwrap(), &[]);
        files.push((format!("{name}.safetensors"), file, corpus::Terms::default()));
    }
    for (name, file, _) in common::hostile_gguf::all() {
        files.push((format!("{name}.gguf"), file, corpus::Terms::default()));
    }
    let mut slots = Slots {
        safetensors: vec![Slot::EMPTY; 20_000],
        index: vec![IndexSlot::EMPTY; 20_000],
        gguf: vec![gguf::Slot::EMPTY; 20_000],
        row: vec![0.0; 512],
    };
    let mut stack = vec![0_u128; ROOM / size_of::<u128>()];
    let ((), nothing) = measured(&mut stack, || ());
    assert!(nothing < 512, "{nothing}");
    for ending in [".safetensors", ".index.json", ".gguf"] {
        let judged = files.iter().filter(|(name, ..)| name.ends_with(ending));
        let depths = judged.map(|(name, file, terms)| {
            let (_, depth) = measured(&mut stack, || look(name, file, terms, &mut slots));
            (depth, name)
        });
        let (depth, name) = depths.max().unwrap();
        println!("{ending}: at most {depth} bytes of stack ({name})");
        assert!(depth <= MOST, "{name} takes {depth} bytes");
    }
}

/// A deep stack is seen: the measure can fail.
#[test]
fn what_takes_more_is_seen() {
    let mut stack = vec![0_u128; ROOM / size_of::<u128>()];
    let (sum, depth) = measured(&mut stack, || {
        let block = std::hint::black_box([1_u8; 10_000]);
        block.iter().map(|byte| usize::from(*byte)).sum::<usize>()
    });
    assert_eq!(sum, 10_000);
    assert!(depth > 10_000, "{depth}");
}
