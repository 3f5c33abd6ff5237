//! (std) Products of weights as they stand in a file with activations, and what else a transformer needs, at the speed
//! of the machine.
//!
//! A kernel exists for each [`Level`]: plain code, portable vectors, AVX2, AVX-512, NEON. All compute the same up to the
//! rounding of sums. The plain one is the specification.
//!
//! # A product
//!
//! ```
//! use tensorgate::simd::{Act, Form, Level, MatMut, Matrix, Scratch, Then, WeightType};
//!
//! // Two outputs of three inputs each, as bytes of a file: any alignment will do.
//! let bytes: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|w| w.to_le_bytes()).collect();
//! let matrix = Matrix::new(WeightType::F32, &bytes, 2, 3)?;
//!
//! let (level, mut act, mut scratch) = (Level::best(), Act::new(), Scratch::new());
//! act.set(level, Form::F32, &[1.0, 0.0, -1.0], 3)?; // one token
//! let mut out = [0.0; 2];
//! let bias = [10.0, 20.0];
//! let then = Then { bias: Some(&bias), add: false };
//! matrix.multiply(level, &act, MatMut::new(&mut out, 2).unwrap(), then, &mut scratch)?;
//! assert_eq!(out, [8.0, 18.0]);
//! # Ok::<(), tensorgate::simd::ShapeError>(())
//! ```
//!
//! # Which form of activations
//!
//! | weights | form | why |
//! |---|---|---|
//! | F32, F16 | [`Form::F32`] | exact products |
//! | BF16 | [`Form::F32`], or [`Form::Bf16`] for many tokens on [`Level`] `avx512bf16` | the second is twice as fast on AMD's processors, slower on Intel's, and rounds activations to 8 bits; F32 and F16 weights would be rounded too |
//! | block formats | [`Form::Q8`] | whole-number arithmetic; [`Form::F32`] is exact and slow |
//!
//! Activations are made once ([`Act::set`]) and serve every matrix with that many inputs. One token is bound by memory:
//! each row is read once, in order. From [`MANY`] tokens on, weights are unpacked a tile at a time and used for all of
//! them.
//!
//! # Threads
//!
//! Kernels run on the caller's thread. To share a product out, cut the outputs: [`Matrix::outputs_at`] and
//! [`MatMut::split_at`] with the same numbers, one [`Scratch`] a thread.
//!
//! # What is not finite
//!
//! NaN and infinities in weights or activations make the products they enter NaN or infinite, never a plain number; which
//! of the two is not the same at every level.

#![expect(
    unsafe_code,
    reason = "instructions beyond the target's own, loads by pointer, columns of a matrix by thread"
)]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::inline_always,
    clippy::many_single_char_names,
    clippy::similar_names,
    clippy::wildcard_imports,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_value,
    clippy::float_cmp,
    clippy::needless_range_loop,
    reason = "kernels: lengths are checked at the entry points, numbers are small, all must be inlined into the functions \
              that enable instructions (what iterators are made of is not always), and each target sees another part"
)]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(
        dead_code,
        unused_variables,
        clippy::unused_self,
        reason = "only x86-64 has kernels for tiles of 8-bit and BF16 numbers"
    )
)]

mod act;
mod ahead;
mod decode;
mod dense;
mod dispatch;
mod gemm;
mod half;
mod lanes;
mod level;
mod maker;
mod mat;
mod matrix;
mod ops;
mod packed;
pub(crate) mod pool;
mod q8;
pub(crate) mod slab;
mod stripes;
pub(crate) mod text;
mod unpack;
mod weight;

use core::fmt;

pub use act::Act;
pub use decode::decode;
pub(crate) use gemm::Tiles;
pub use level::{Level, VARIABLE};
pub use mat::MatMut;
pub use matrix::{MANY, Matrix, Scratch, Then};
pub(crate) use ops::exponents;
pub use ops::{
    Gelu, add, add_scaled, argmax, bf16_to_f32, dot, f16_to_f32, f32_to_bf16, f32_to_f16, gelu, layer_norm, max,
    relu, softmax,
};
pub use packed::Packed;
pub(crate) use packed::{LANES as PACKED_ROWS, Part as PackedPart, Room as PackedRoom};
pub use weight::{Form, WeightType};

/// Lengths that do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError {
    what: &'static str,
    expected: usize,
    found: usize,
}

impl ShapeError {
    const fn new(what: &'static str, expected: usize, found: usize) -> Self {
        Self { what, expected, found }
    }

    /// An error unless the two are equal.
    const fn unless(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        if expected == found { Ok(()) } else { Err(Self::new(what, expected, found)) }
    }

    /// What does not fit.
    pub const fn what(self) -> &'static str {
        self.what
    }

    /// The length that would have been right, or of which it should have been a multiple.
    pub const fn expected(self) -> usize {
        self.expected
    }

    /// The length that was given.
    pub const fn found(self) -> usize {
        self.found
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, found {}", self.what, self.expected, self.found)
    }
}

impl core::error::Error for ShapeError {}
