//! Valid indexes with one known fault, in the text or in the folder.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(index_lies);
