//! Lent storage of any size and state gives the verdict of owned storage, or says what it lacks.
#![cfg_attr(fuzzing, no_main)]
tensorgate_fuzz::target!(lent_vs_owned);
