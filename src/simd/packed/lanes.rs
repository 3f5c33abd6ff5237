//! Sixteen rows at a time: what the kernels of packed weights are written in.

use ::wide::i16x16;

use super::super::half::f16_to_f32;
#[cfg(target_arch = "aarch64")]
use super::super::lanes::neon::Neon;
use super::super::lanes::scalar::Scalar;
use super::super::lanes::wide::Portable;

/// Vectors of 16 whole numbers of 32 bits, or of four bytes each, and of 16 F32.
pub(in super::super) trait Words: Copy {
    /// Whole numbers.
    type I: Copy;
    /// F32.
    type F: Copy;
    /// Whether [`Self::dot8`] takes the bytes as they stand, 128 too large; else it takes 128 off itself.
    const RAISED: bool;

    fn load(self, from: &[u8; 64]) -> Self::I;
    fn splat(self, value: i32) -> Self::I;
    fn and(self, a: Self::I, mask: u32) -> Self::I;
    fn xor(self, a: Self::I, mask: u32) -> Self::I;
    fn add(self, a: Self::I, b: Self::I) -> Self::I;
    /// Logical shifts of 32 bits, and the arithmetic one to the right.
    fn left<const N: u32>(self, a: Self::I) -> Self::I;
    fn right<const N: u32>(self, a: Self::I) -> Self::I;
    fn down<const N: u32>(self, a: Self::I) -> Self::I;
    /// The bits of `a` where the mask has ones, else those of `b`.
    fn select(self, mask: u32, a: Self::I, b: Self::I) -> Self::I;
    /// Adds the products of four bytes of at most 63 with `q`.
    fn dot(self, sum: Self::I, words: Self::I, q: [i8; 4]) -> Self::I;
    /// Adds the products of four unsigned bytes with `q`: see [`Self::RAISED`].
    fn dot8(self, sum: Self::I, words: Self::I, q: [i8; 4]) -> Self::I;
    fn float(self, a: Self::I) -> Self::F;
    /// 16 F16.
    fn halves(self, from: &[u8; 32]) -> Self::F;
    fn splat_f(self, value: f32) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a × b + c`, rounded once or twice as the level has it.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    fn bits(self, a: Self::F) -> Self::I;
    fn store(self, to: &mut [f32; 16], a: Self::F);
    fn store_i(self, to: &mut [u32; 16], a: Self::I);

    /// Byte `at` of each word, signed.
    #[inline(always)]
    fn signed(self, words: Self::I, at: usize) -> Self::I {
        match at {
            0 => self.down::<24>(self.left::<24>(words)),
            1 => self.down::<24>(self.left::<16>(words)),
            2 => self.down::<24>(self.left::<8>(words)),
            _ => self.down::<24>(words),
        }
    }

    /// Byte `at` of each word, unsigned.
    #[inline(always)]
    fn unsigned(self, words: Self::I, at: usize) -> Self::I {
        match at {
            0 => self.and(words, 0xff),
            1 => self.and(self.right::<8>(words), 0xff),
            2 => self.and(self.right::<16>(words), 0xff),
            _ => self.right::<24>(words),
        }
    }
}

/// Adds the products of four bytes of each word, one by one: the specification.
fn dot_plain(mut sum: [u32; 16], words: [u32; 16], q: [i8; 4]) -> [u32; 16] {
    for (sum, word) in sum.iter_mut().zip(words) {
        let products = word.to_le_bytes().into_iter().zip(q).map(|(w, q)| i32::from(w) * i32::from(q));
        *sum = sum.wrapping_add(products.sum::<i32>().cast_unsigned());
    }
    sum
}

/// The same in pairs of 16 bits: the even bytes of eight words, then the odd ones.
#[inline(always)]
fn dot_pairs(mut sum: [u32; 16], words: [u32; 16], q: [i8; 4]) -> [u32; 16] {
    let wide = |q: i8| u32::from(i16::from(q).cast_unsigned());
    let pair = |low: i8, high: i8| bytemuck::cast::<[u32; 8], i16x16>([wide(low) | wide(high) << 16; 8]);
    let (even, odd) = (pair(q[0], q[2]), pair(q[1], q[3]));
    for (sum, words) in sum.as_chunks_mut::<8>().0.iter_mut().zip(words.as_chunks::<8>().0) {
        let split = |shift: u32| bytemuck::cast::<[u32; 8], i16x16>(words.map(|word| word >> shift & 0x00ff_00ff));
        let products = split(0).dot(even) + split(8).dot(odd);
        for (sum, product) in sum.iter_mut().zip(products.to_array()) {
            *sum = sum.wrapping_add(product.cast_unsigned());
        }
    }
    sum
}

/// Arrays, of which the compiler makes what its target has.
macro_rules! arrays {
    ($token:ty, $dot:ident) => {
        impl Words for $token {
            type I = [u32; 16];
            type F = [f32; 16];
            const RAISED: bool = true;

            #[inline(always)]
            fn load(self, from: &[u8; 64]) -> [u32; 16] {
                let mut all = [0; 16];
                for (to, word) in all.iter_mut().zip(from.as_chunks::<4>().0) {
                    *to = u32::from_le_bytes(*word);
                }
                all
            }
            #[inline(always)]
            fn splat(self, value: i32) -> [u32; 16] {
                [value.cast_unsigned(); 16]
            }
            #[inline(always)]
            fn and(self, a: [u32; 16], mask: u32) -> [u32; 16] {
                a.map(|a| a & mask)
            }
            #[inline(always)]
            fn xor(self, a: [u32; 16], mask: u32) -> [u32; 16] {
                a.map(|a| a ^ mask)
            }
            #[inline(always)]
            fn add(self, mut a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = a.wrapping_add(b));
                a
            }
            #[inline(always)]
            fn left<const N: u32>(self, a: [u32; 16]) -> [u32; 16] {
                a.map(|a| a << N)
            }
            #[inline(always)]
            fn right<const N: u32>(self, a: [u32; 16]) -> [u32; 16] {
                a.map(|a| a >> N)
            }
            #[inline(always)]
            fn down<const N: u32>(self, a: [u32; 16]) -> [u32; 16] {
                a.map(|a| (a.cast_signed() >> N).cast_unsigned())
            }
            #[inline(always)]
            fn select(self, mask: u32, mut a: [u32; 16], b: [u32; 16]) -> [u32; 16] {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = *a & mask | b & !mask);
                a
            }
            #[inline(always)]
            fn dot(self, sum: [u32; 16], words: [u32; 16], q: [i8; 4]) -> [u32; 16] {
                $dot(sum, words, q)
            }
            #[inline(always)]
            fn dot8(self, sum: [u32; 16], words: [u32; 16], q: [i8; 4]) -> [u32; 16] {
                self.dot(sum, words, q)
            }
            #[inline(always)]
            fn float(self, a: [u32; 16]) -> [f32; 16] {
                a.map(|a| a.cast_signed() as f32)
            }
            #[inline(always)]
            fn halves(self, from: &[u8; 32]) -> [f32; 16] {
                let mut all = [0.0; 16];
                for (to, half) in all.iter_mut().zip(from.as_chunks::<2>().0) {
                    *to = f16_to_f32(u16::from_le_bytes(*half));
                }
                all
            }
            #[inline(always)]
            fn splat_f(self, value: f32) -> [f32; 16] {
                [value; 16]
            }
            #[inline(always)]
            fn mul(self, mut a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
                a.iter_mut().zip(b).for_each(|(a, b)| *a *= b);
                a
            }
            #[inline(always)]
            fn fma(self, a: [f32; 16], b: [f32; 16], mut c: [f32; 16]) -> [f32; 16] {
                c.iter_mut().zip(a.into_iter().zip(b)).for_each(|(c, (a, b))| *c += a * b);
                c
            }
            #[inline(always)]
            fn bits(self, a: [f32; 16]) -> [u32; 16] {
                a.map(f32::to_bits)
            }
            #[inline(always)]
            fn store(self, to: &mut [f32; 16], a: [f32; 16]) {
                *to = a;
            }
            #[inline(always)]
            fn store_i(self, to: &mut [u32; 16], a: [u32; 16]) {
                *to = a;
            }
        }
    };
}

arrays!(Scalar, dot_plain);
arrays!(Portable, dot_pairs);
#[cfg(target_arch = "aarch64")]
arrays!(Neon, dot_pairs);
