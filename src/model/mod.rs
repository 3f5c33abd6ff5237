//! Whole models, and the state of training them.

pub mod checkpoint;
