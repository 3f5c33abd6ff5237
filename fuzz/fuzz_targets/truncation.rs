//! No proper prefix of a file is a file, and a header that comes in pieces is judged as one that comes whole.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(truncation);
