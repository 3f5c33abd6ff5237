//! Load model files you do not trust.
//!
//! tensorgate reads safetensors files, Hugging Face sharded indexes and GGUF over borrowed bytes. It proves the whole
//! header before it hands anything out, and gives typed, alignment-aware views of the tensor data without a copy. The core
//! needs neither `std` nor an allocator.
//!
//! # A first look
//!
//! ```
//! # #[cfg(feature = "alloc")]
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! use tensorgate::SafeTensors;
//!
//! // Any bytes: a mapped file, a download, an embedded blob.
//! let mut bytes = 54_u64.to_le_bytes().to_vec();
//! bytes.extend_from_slice(br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
//! bytes.extend_from_slice(&[0, 0, 128, 63, 0, 0, 0, 64]);
//!
//! let file = SafeTensors::open(&bytes)?; // every claim proved, or an error with code and offset
//! for tensor in file.tensors() {
//!     println!("{} {} {}", tensor.name(), tensor.dtype(), tensor.shape());
//! }
//! assert_eq!(file.tensor("w")?.bytes().len(), 8);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "alloc"))]
//! # fn main() {}
//! ```
//!
//! # Which entry for whom
//!
//! | you have | use |
//! |---|---|
//! | a path to a model, however it is kept | `Model::open` (with `std`) |
//! | a whole file in memory | [`SafeTensors::open`] |
//! | no allocator | [`SafeTensors::open_in`] with your own [`safetensors::Slot`]s |
//! | the beginning of a file and its length | [`safetensors::Header::open`], which says how many bytes it still needs |
//! | a GGUF file | [`Gguf::open`], [`Gguf::open_in`], [`gguf::Header::open`] |
//! | a sharded model | [`ShardIndex::open`], then [`ShardIndex::check_shard`] for each shard |
//! | bytes of which you know nothing | [`detect::detect`] |
//! | a tensor | [`TensorView::as_le`] at any alignment, [`TensorView::as_slice`] where aligned, [`TensorView::slice`] for a part |
//! | doubts about a tensor's numbers | [`scan::Scan`] |
//! | blocks of a GGUF tensor, or values to make blocks of | [`quant::decode`], [`quant::Rows`], [`quant::encode`] |
//! | tensors to save | [`safetensors::Plan`], or [`safetensors::serialize`] in one call |
//! | a path to save them under | `file::Saver`: one file or shards, all or nothing (with `std`) |
//!
//! # Guides
//!
//! [`guide`] has one, with a program that runs, for each kind of user: those who load models of strangers, have no allocator, judge
//! files in a sandbox, run GPT-2, or fuzz.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | everything that needs neither `std` nor an allocator: validation, views, slices, block formats |
//! | `alloc` | owned storage, writers, findings and what other readers do (`audit`), the tokenizer |
//! | `std` (default) | files, whole models, saves, kernels, GPT-2 |
//! | `iq` | block types with tables of patterns (9 KiB), in `std` already |
//! | `cli` | what the command line uses; the library needs none of it |
//! | `arbitrary` | generators on public types |
//!
//! # What strict means
//!
//! tensorgate accepts a subset of what the reference readers accept, and everything that their writers write and they read
//! back. Where they
//! disagree with each other (duplicate keys, unknown fields, white space before the header), a file means different things
//! to different readers: it is refused, with a stable code whose reason stands in the rules book, `docs/rules.md`.
#![cfg_attr(not(feature = "std"), no_std)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(
    not(feature = "alloc"),
    allow(rustdoc::broken_intra_doc_links, reason = "links to what the features add lead nowhere without them")
)]
#![deny(missing_docs, unnameable_types)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::as_conversions,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable
    )
)]

#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(feature = "arbitrary")]
mod arbitrary;
#[cfg(feature = "alloc")]
pub mod audit;
mod cursor;
pub mod detect;
mod dtype;
mod error;
#[cfg(feature = "std")]
pub mod file;
pub mod gguf;
#[cfg(feature = "std")]
pub mod gpt2;
#[cfg(any(doc, doctest))]
pub mod guide;
mod json;
mod limits;
#[cfg(feature = "std")]
pub mod model;
mod name;
mod num;
#[cfg(any(kani, test))]
mod proofs;
pub mod quant;
pub mod safetensors;
pub mod scan;
mod shape;
pub mod shards;
#[cfg(feature = "std")]
pub mod simd;
mod sink;
pub mod slice;
mod span;
#[cfg(test)]
mod sparse {
    //! Tests that look at all of something look at a part of it where the processor is an emulated one.

    /// How far a loop over all of something goes at once: `step` where `TENSORGATE_SPARSE` is set, else 1.
    pub(crate) fn step(step: usize) -> usize {
        if std::env::var_os("TENSORGATE_SPARSE").is_some() { step } else { 1 }
    }
}
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod steps;
#[cfg(not(fuzzing))]
mod steps;
mod store;
#[cfg(feature = "alloc")]
pub mod stream;
#[cfg(feature = "alloc")]
pub mod tokenizer;
pub mod typed;
mod unique;
mod view;

pub use dtype::Dtype;
pub use error::{Error, ErrorKind, NotFound};
#[cfg(feature = "std")]
pub use file::IoSink;
pub use gguf::Gguf;
pub use limits::Limits;
#[cfg(feature = "std")]
pub use model::Model;
pub use name::Name;
pub use safetensors::SafeTensors;
pub use shape::{DimIter, Shape};
pub use shards::ShardIndex;
pub use sink::Sink;
pub use slice::{Axis, SliceError, SubTensor};
pub use span::Span;
pub use typed::CastError;
pub use view::TensorView;
