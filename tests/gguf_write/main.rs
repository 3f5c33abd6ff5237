//! The GGUF writer: our reader shows what was given, files of real writers come out again byte for byte, and what our
//! reader would refuse is refused.

#![cfg(feature = "alloc")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/memory.rs"]
mod memory;

mod agree;
mod layout;
mod limits;
mod random;
mod refusals;
mod rewrite;
mod stream;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;
