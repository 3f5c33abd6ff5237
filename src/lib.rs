//! Load model files you do not trust.
#![cfg_attr(not(feature = "std"), no_std)]
#![doc(test(attr(deny(warnings))))]
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

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod cursor;
pub mod detect;
mod dtype;
mod error;
mod json;
mod limits;
mod name;
mod num;
pub mod safetensors;
mod shape;
pub mod shards;
mod span;
mod store;
mod unique;
mod view;

pub use dtype::Dtype;
pub use error::{Error, ErrorKind, NotFound};
pub use limits::Limits;
pub use name::Name;
pub use safetensors::SafeTensors;
pub use shape::{DimIter, Shape};
pub use shards::ShardIndex;
pub use span::Span;
pub use view::TensorView;
