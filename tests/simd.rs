//! Every kernel at every level that this machine has, against plain sums in double precision.
#![cfg(feature = "std")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::float_cmp,
    clippy::similar_names,
    reason = "test values are small, and some must be met exactly"
)]

#[path = "simd/blocks.rs"]
mod blocks;
mod common;
#[path = "simd/decode.rs"]
mod decode;
#[path = "simd/ops.rs"]
mod ops;
#[path = "simd/packed.rs"]
mod packed;
#[path = "simd/products.rs"]
mod products;
