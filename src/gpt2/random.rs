//! The generator behind sampling: the same numbers for the same seed, on every machine and in every version.

/// xoshiro256++ 1.0 of David Blackman and Sebastiano Vigna (<https://prng.di.unimi.it>), its state filled from a seed by
/// their SplitMix64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Random([u64; 4]);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed;
        Self([(); 4].map(|()| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut word = state;
            word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            word ^ (word >> 31)
        }))
    }

    /// A state that was saved; `None` for the one state that the generator never leaves.
    pub(crate) fn restore(state: [u64; 4]) -> Option<Self> {
        if state == [0; 4] { None } else { Some(Self(state)) }
    }

    pub(crate) const fn state(&self) -> [u64; 4] {
        self.0
    }

    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.0 = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number from 0 up to but not including 1, in steps of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "53 bits, which a double holds")]
        let bits = (self.next() >> 11) as f64;
        bits * (1.0 / 9_007_199_254_740_992.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The authors' first outputs for the state 1, 2, 3, 4, as in their reference in C.
    #[test]
    fn the_published_sequence() {
        let mut random = Random([1, 2, 3, 4]);
        let first = [(); 5].map(|()| random.next());
        assert_eq!(
            first,
            [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386, 9_228_616_714_210_784_205]
        );
    }

    /// SplitMix64's first outputs for the seed 1234567, as published with it.
    #[test]
    fn the_published_seeding() {
        let words = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
        ];
        assert_eq!(Random::new(1_234_567).state(), words);
    }

    #[test]
    fn units_stay_below_one() {
        let mut random = Random::new(0);
        let mean =
            (0..10_000).map(|_| random.unit()).inspect(|unit| assert!((0.0..1.0).contains(unit))).sum::<f64>()
                / 1e4;
        assert!((mean - 0.5).abs() < 0.02);
        assert_eq!(Random::restore([0; 4]), None);
        assert_eq!(Random::restore(random.state()), Some(random));
    }
}
