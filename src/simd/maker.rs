//! Who made the processor: what is fast on one maker's is slow on another's.

/// Makers whose processors want something of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    Intel,
    Other,
}

impl Maker {
    /// Of this machine. The processor is asked once: a hypervisor may take microseconds to answer.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn ours() -> Self {
        static OURS: std::sync::OnceLock<Maker> = std::sync::OnceLock::new();
        *OURS.get_or_init(Self::ask)
    }

    #[cfg(target_arch = "x86_64")]
    fn ask() -> Self {
        #[allow(unused_unsafe, reason = "Rust 1.89 has it unsafe, later ones do not")]
        // SAFETY: every processor of 64 bits has this instruction and its leaf 0.
        let leaf = unsafe { core::arch::x86_64::__cpuid(0) };
        Self::named([leaf.ebx, leaf.edx, leaf.ecx])
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn ours() -> Self {
        Self::Other
    }

    /// By the twelve letters that `cpuid` gives.
    #[cfg(target_arch = "x86_64")]
    fn named(name: [u32; 3]) -> Self {
        if name.map(u32::to_le_bytes).as_flattened() == b"GenuineIntel" { Self::Intel } else { Self::Other }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn makers_are_known_by_their_letters() {
        // The registers as the makers' manuals give them.
        assert_eq!(Maker::named([0x756e_6547, 0x4965_6e69, 0x6c65_746e]), Maker::Intel);
        assert_eq!(Maker::named([0x6874_7541, 0x6974_6e65, 0x444d_4163]), Maker::Other);
        #[cfg(target_os = "linux")]
        if let Ok(info) = std::fs::read_to_string("/proc/cpuinfo") {
            assert_eq!(Maker::ours() == Maker::Intel, info.contains("GenuineIntel"));
        }
    }
}
