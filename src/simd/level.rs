//! Which instructions the kernels may use.

use core::fmt;
use std::sync::OnceLock;

use super::maker::Maker;

/// The name of the environment variable that lowers [`Level::best`].
pub const VARIABLE: &str = "TENSORGATE_SIMD";

/// The instruction sets, from the least to the most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Isa {
    Scalar,
    Portable,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx512Bf16,
}

/// A set of instructions that this machine has: the proof that kernels written for it may run.
///
/// There is no way to make one that the machine lacks. Every level computes the same up to the rounding of sums, which
/// each kernel states.
///
/// ```
/// use tensorgate::simd::Level;
/// let level = Level::best();
/// assert!(level >= Level::PORTABLE || std::env::var_os("TENSORGATE_SIMD").is_some());
/// assert_eq!(Level::named("scalar"), Some(Level::SCALAR));
/// assert_eq!(Level::named("mmx"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(Isa);

impl Level {
    /// Plain code, one value at a time: the specification of the others.
    pub const SCALAR: Self = Self(Isa::Scalar);
    /// What the compiler's target has (SSE2 on x86-64, NEON on AArch64), through the `wide` crate.
    pub const PORTABLE: Self = Self(Isa::Portable);

    /// The fastest level of this machine, or the one that `TENSORGATE_SIMD` names where the machine has it.
    ///
    /// That is the last of [`Self::all`], but for Intel's processors, whose products of BF16 are slower than those of F32:
    /// there it is `avx512` even if there is `avx512bf16`.
    ///
    /// Found once; later changes of the variable are not seen. A name that is not known, or that the machine lacks, is
    /// as good as none.
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            let wanted = std::env::var(VARIABLE).ok().and_then(|name| Self::named(&name));
            wanted.unwrap_or_else(|| Self(fastest(detect(), Maker::ours())))
        })
    }

    /// The level of that name (`scalar`, `portable`, `neon`, `avx2`, `avx512`, `avx512bf16`; case does not matter), or
    /// `None` where it has no meaning here or the machine lacks it.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|level| level.name().eq_ignore_ascii_case(name.trim()))
    }

    /// The levels that this machine has, the least first.
    pub fn all() -> impl Iterator<Item = Self> {
        let top = detect();
        ISAS.iter().copied().filter(move |isa| *isa <= top).map(Self)
    }

    /// Its name, as [`Self::named`] takes it.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Isa::Scalar => "scalar",
            Isa::Portable => "portable",
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => "neon",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Bf16 => "avx512bf16",
        }
    }

    /// Whether its vectors hold 16 F32 and there are 32 of them.
    pub(super) const fn is_512(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if matches!(self.0, Isa::Avx512 | Isa::Avx512Bf16) {
            return true;
        }
        false
    }

    /// Whether it multiplies BF16.
    pub(super) const fn is_bf16(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if matches!(self.0, Isa::Avx512Bf16) {
            return true;
        }
        false
    }

    pub(super) const fn isa(self) -> Isa {
        self.0
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(target_arch = "x86_64")]
const ISAS: &[Isa] = &[Isa::Scalar, Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Avx512Bf16];
#[cfg(target_arch = "aarch64")]
const ISAS: &[Isa] = &[Isa::Scalar, Isa::Portable, Isa::Neon];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ISAS: &[Isa] = &[Isa::Scalar, Isa::Portable];

/// Every feature that a level's kernels enable is asked for here: the proofs of the kernels rest on it.
#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    // Counting of bits comes with every processor that has AVX2.
    let bits = is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    let avx2 = bits
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni");
    match (avx2, avx512, avx512 && is_x86_feature_detected!("avx512bf16")) {
        (_, _, true) => Isa::Avx512Bf16,
        (_, true, _) => Isa::Avx512,
        (true, ..) => Isa::Avx2,
        _ => Isa::Portable,
    }
}

/// The fastest of the levels up to `top`.
///
/// On AMD's Zen 4 and Zen 5 `vdpbf16ps` does twice the work of a `vfmadd231ps` in the same time. On Intel's Emerald Rapids it
/// takes 4.1 times as long (0.78 ns against 0.19), and Sapphire Rapids has the same core: their BF16 is in AMX, which has no
/// kernels here.
#[cfg(target_arch = "x86_64")]
fn fastest(top: Isa, maker: Maker) -> Isa {
    if maker == Maker::Intel { top.min(Isa::Avx512) } else { top }
}

#[cfg(not(target_arch = "x86_64"))]
fn fastest(top: Isa, _: Maker) -> Isa {
    top
}

/// NEON is part of the base of AArch64 targets with an operating system.
#[cfg(target_arch = "aarch64")]
fn detect() -> Isa {
    if std::arch::is_aarch64_feature_detected!("neon") { Isa::Neon } else { Isa::Portable }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detect() -> Isa {
    Isa::Portable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_order_agree() {
        let all: std::vec::Vec<Level> = Level::all().collect();
        assert!(all.len() >= 2 && all.is_sorted());
        for level in all {
            assert_eq!(Level::named(level.name()), Some(level));
            assert_eq!(Level::named(&std::format!(" {}", level.name().to_uppercase())), Some(level));
        }
        assert_eq!(Level::named(""), None);
        assert!(Level::best() <= Level(detect()));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn slow_products_of_bf16_are_left_aside() {
        for (maker, best) in [(Maker::Other, Isa::Avx512Bf16), (Maker::Intel, Isa::Avx512)] {
            assert_eq!(Level(fastest(Isa::Avx512Bf16, maker)), Level(best));
            for lower in [Isa::Portable, Isa::Avx2, Isa::Avx512] {
                assert_eq!(Level(fastest(lower, maker)), Level(lower));
            }
        }
    }
}
