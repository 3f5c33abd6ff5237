//! What we accept the reference reader accepts, and shows the same.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(st_reference);
