//! From a level to the function compiled for it.

/// Makes a function that takes a [`Level`](super::Level) first and runs a generic kernel compiled for that level.
macro_rules! dispatch {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $kernel:path;) => {
        $(#[$doc])*
        #[inline]
        $vis fn $name(level: $crate::simd::Level, $($arg: $ty),*) $(-> $ret)? {
            use $crate::simd::level::Isa;
            use $crate::simd::lanes;
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
            fn avx512($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: this function enables what the token stands for.
                let token = unsafe { lanes::avx512::Avx512::new() };
                $kernel(token, $($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            fn avx2($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: this function enables what the token stands for.
                let token = unsafe { lanes::avx2::Avx2::new() };
                $kernel(token, $($arg),*)
            }
            #[cfg(target_arch = "aarch64")]
            #[target_feature(enable = "neon")]
            fn neon($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: this function enables what the token stands for.
                let token = unsafe { lanes::neon::Neon::new() };
                $kernel(token, $($arg),*)
            }
            match level.isa() {
                Isa::Scalar => $kernel(lanes::scalar::Scalar, $($arg),*),
                Isa::Portable => $kernel(lanes::wide::Portable, $($arg),*),
                #[cfg(target_arch = "aarch64")]
                // SAFETY: a level is made only where the processor has it.
                Isa::Neon => unsafe { neon($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: a level is made only where the processor has it.
                Isa::Avx2 => unsafe { avx2($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: a level is made only where the processor has it.
                Isa::Avx512 | Isa::Avx512Bf16 => unsafe { avx512($($arg),*) },
            }
        }
    };
}

pub(super) use dispatch;
