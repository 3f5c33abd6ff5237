//! The safetensors writer: the bytes are the reference writer's, what our reader would refuse is refused, and what is
//! written shows the same tensors again, to our reader and to the reference.

#![cfg(feature = "alloc")]

#[path = "../common/mod.rs"]
mod common;

mod equality;
mod files;
mod limits;
mod random;
mod reference;
mod refusals;
