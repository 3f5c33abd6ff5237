//! Where memory runs out: each request for memory fails in turn, in everything that takes a stranger's file. What comes of
//! it is an error, or the whole result; a process that ends is a fault, but for the standard library's own small requests.
//!
//! Most containers of the standard library end the process when they cannot grow. Requests below [`SMALL`] are left to
//! them: they are for paths, for names, for the boxes of errors and for what grows with the number of files of a model, and
//! no file can make them large. Every larger one is made in a way that can fail.
//!
//! Since a process that ends takes the test along, each operation runs in a child, which says how far it has come.

#![cfg(all(feature = "std", target_os = "linux"))]
#![expect(unsafe_code, reason = "an allocator that refuses can only be written so")]

#[path = "../common/mod.rs"]
mod common;

mod operations;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use operations::{OPERATIONS, Operation};

/// Requests for fewer bytes are always met.
const SMALL: usize = 1024;

/// How many larger requests are still met, of all threads; the one after that fails.
static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);
/// How many larger requests there were.
static MADE: AtomicU64 = AtomicU64::new(0);

struct Refusing;

fn allowed(more: usize) -> bool {
    if more < SMALL {
        return true;
    }
    MADE.fetch_add(1, Relaxed);
    if LEFT.load(Relaxed) == u64::MAX {
        return true;
    }
    let met = LEFT.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
    if !met && std::env::var_os("TENSORGATE_TRACE").is_some() {
        LEFT.store(u64::MAX, Relaxed);
        eprintln!("{}", std::backtrace::Backtrace::force_capture());
    } else if !met {
        // One request fails, as where another program gives some memory back.
        LEFT.store(u64::MAX, Relaxed);
    }
    met
}

// SAFETY: every request goes to the system's allocator as it came, or is answered with null, which the contract allows.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !allowed(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && !allowed(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

const NAME: &str = "TENSORGATE_MEMORY_OPERATION";
const FROM: &str = "TENSORGATE_MEMORY_FROM";
const FOLDER: &str = "TENSORGATE_MEMORY_FOLDER";

/// The child: runs an operation with its first, second, … large request failing, and says each before it is tried.
#[test]
fn child() {
    let Ok(name) = std::env::var(NAME) else { return };
    let operation = OPERATIONS.iter().find(|operation| operation.name == name).unwrap();
    let folder = std::env::var(FOLDER).unwrap();
    let from: u64 = std::env::var(FROM).unwrap().parse().unwrap();
    let mut prepared = (operation.prepare)(Path::new(&folder));
    for ration in from.. {
        println!("at {ration}");
        std::io::stdout().flush().unwrap();
        MADE.store(0, Relaxed);
        LEFT.store(ration, Relaxed);
        let outcome = prepared();
        LEFT.store(u64::MAX, Relaxed);
        let made = MADE.load(Relaxed);
        if made <= ration {
            assert!(outcome.is_ok(), "{name} fails with all the memory it wants");
            println!("done {made}");
            return;
        }
        if outcome.is_ok() {
            println!("endured {ration}");
        }
    }
}

/// What became of an operation.
#[derive(Debug, Default)]
struct Found {
    requests: u64,
    endured: usize,
    aborted: Vec<String>,
}

fn tried(operation: &Operation, folder: &Path) -> Found {
    let mut found = Found::default();
    let mut from = 0;
    loop {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "child", "--nocapture"]);
        let output =
            child.env(NAME, operation.name).env(FROM, from.to_string()).env(FOLDER, folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = |word: &str| -> Option<u64> {
            said.lines().rev().find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
        };
        found.endured += said.lines().filter(|line| line.starts_with("endured")).count();
        if let Some(made) = last("done ") {
            found.requests = made;
            return found;
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let at = last("at ").filter(|_| stderr.contains("memory allocation of"));
        let at = at.unwrap_or_else(|| panic!("{}: {said}{stderr}", operation.name));
        found.aborted.push(format!("{}, request {at}: {stderr}", operation.name));
        from = at + 1;
        assert!(found.aborted.len() < 200, "{}: {found:#?}", operation.name);
    }
}

#[test]
fn running_out_of_memory_is_an_error() {
    let only = std::env::var("TENSORGATE_ONLY").ok();
    let folder = tempfile::tempdir().unwrap();
    operations::write_files(folder.path());
    let mut aborted = Vec::new();
    for operation in OPERATIONS.iter().filter(|operation| only.as_deref().is_none_or(|only| only == operation.name))
    {
        let found = tried(operation, folder.path());
        println!(
            "{}: {} large requests, {} endured, {} end the process",
            operation.name,
            found.requests,
            found.endured,
            found.aborted.len()
        );
        assert!(found.requests > 0, "{} asks for nothing", operation.name);
        let (most, why) = operation.ends;
        assert_eq!(most > 0, !why.is_empty(), "{}", operation.name);
        if found.aborted.len() > most {
            aborted.extend(found.aborted);
        }
    }
    assert!(aborted.is_empty(), "{}", aborted.join("\n"));
}
