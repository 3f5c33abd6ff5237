//! Kernels for the processor at hand, and the threads that run them.

pub(crate) mod pool;
