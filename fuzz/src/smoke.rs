//! Small seeded runs of an oracle, for `cargo test` on stable.

#[cfg(test)]
use std::collections::BTreeSet;

#[cfg(test)]
use tensorgate::{ErrorKind, Limits};

use crate::corpus;
#[cfg(test)]
use crate::r#gen::lies::{Lie, Told};

/// A generator of numbers that is the same on every machine (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// One that begins at `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or 0 where that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.word() % u64::try_from(end.max(1)).expect("fits")).expect("fits")
    }

    /// That many random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.word().to_le_bytes()[0]).collect()
    }
}

/// Runs `check` on `rounds` inputs of random bytes.
pub fn noise(check: fn(&[u8]), seed: u64, rounds: usize) {
    let mut rng = Rng::new(seed);
    for _ in 0..rounds {
        let len = rng.below(2000);
        check(&rng.bytes(len));
    }
}

/// Runs `check` on each of `seeds` and on `rounds` small changes of each.
pub fn mutants(check: fn(&[u8]), seed: u64, rounds: usize, seeds: &[Vec<u8>]) {
    let mut rng = Rng::new(seed);
    for input in seeds {
        check(input);
        if input.len() > 20_000 {
            continue;
        }
        for _ in 0..rounds {
            check(&mutant(&mut rng, input));
        }
    }
}

/// Runs `check` on the case files, on small changes of them, and on noise.
pub fn files(check: fn(&[u8]), seed: u64) {
    mutants(check, seed, 12, &corpus::files());
    noise(check, seed, 300);
}

/// Bytes that mean something to the formats.
const TOKENS: [&[u8]; 19] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b",",
    b":",
    b"0",
    b"\\u0061",
    b"null",
    b" ",
    b"18446744073709551616",
    b"\xff",
    b"\0\0\0\0",
    b"\x09\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"GGUF",
    b"general.alignment\x04\0\0\0",
];

/// `input` with one to three small changes.
fn mutant(rng: &mut Rng, input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len() + 1);
        match rng.below(5) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            2 if at < bytes.len() => {
                bytes.remove(at);
            }
            3 => {
                let token = TOKENS[rng.below(TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
            _ => {
                let end = (at + rng.below(40)).min(bytes.len());
                let copied = bytes[at..end].to_vec();
                let place = rng.below(bytes.len() + 1);
                bytes.splice(place..place, copied);
            }
        }
    }
    bytes
}

/// How the lies of one format are tried out.
#[cfg(test)]
pub(crate) struct Lies<'a, T> {
    /// Each lie by its name.
    pub(crate) all: &'a [(&'static str, T)],
    /// Bytes that a valid file is built from, and bytes that choose where the fault goes.
    pub(crate) noise: (usize, usize),
    /// Puts a lie into the file that the first bytes build.
    pub(crate) tell: fn(&T, &[u8], &[u8]) -> Told,
    /// Holds the reader against it.
    pub(crate) hold: fn(&Lie),
}

#[cfg(test)]
impl<T> Lies<'_, T> {
    /// Tells each lie up to 60 times, none too seldom; the kinds that they predict.
    pub(crate) fn tell_each(&self, rng: &mut Rng) -> BTreeSet<ErrorKind> {
        let mut kinds = BTreeSet::new();
        for (name, lie) in self.all {
            let mut told = 0;
            for _ in 0..4000 {
                let noise = rng.bytes(self.noise.0);
                let choice = rng.bytes(self.noise.1);
                let Ok(Some((file, kind, at))) = (self.tell)(lie, &noise, &choice) else { continue };
                kinds.insert(kind);
                told += 1;
                (self.hold)(&Lie { name, file, limits: Limits::DEFAULT, kind, at });
                if told == 60 {
                    break;
                }
            }
            assert!(told >= 20, "{name} was told {told} times only");
        }
        kinds
    }
}

/// Fails where a kind whose code begins with one of `families` is predicted by no lie, but for those that are met `elsewhere`.
#[cfg(test)]
pub(crate) fn all_predicted(kinds: &BTreeSet<ErrorKind>, families: &[&str], elsewhere: &[ErrorKind]) {
    let ours = |kind: &&ErrorKind| families.iter().any(|family| kind.code().starts_with(family));
    let missed: Vec<_> = ErrorKind::ALL
        .iter()
        .filter(ours)
        .filter(|kind| !kinds.contains(kind) && !elsewhere.contains(kind))
        .collect();
    assert!(missed.is_empty(), "no lie predicts {missed:?}");
}
