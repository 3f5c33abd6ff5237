//! A raised limit never turns acceptance into refusal; each limit counts exactly.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(limits);
