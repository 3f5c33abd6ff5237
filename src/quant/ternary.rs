//! Three values an element, −1, 0 and 1, under one scale.

use super::half::{cut, f16};

/// The digit that a byte has at a power of three: a byte is a fraction of 256 in base 3.
#[inline]
fn digit(byte: u8, power: u8, d: f32) -> f32 {
    let digit = u16::from(byte.wrapping_mul(power)).wrapping_mul(3) >> 8;
    f32::from(digit.wrapping_sub(1).cast_signed()) * d
}

/// Decodes `W` bytes: the first digits of all come first.
#[inline]
fn digits<const W: usize>(bytes: &[u8; W], out: &mut [f32], d: f32) {
    for (run, power) in out.as_chunks_mut::<W>().0.iter_mut().zip([1, 3, 9, 27, 81]) {
        for (out, byte) in run.iter_mut().zip(bytes) {
            *out = digit(*byte, power, d);
        }
    }
}

/// Five digits a byte; four in the last four bytes. Of the 256 bytes 13 are no five digits; they decode all the same.
#[inline]
pub(super) fn tq1_0(block: &[u8; 54], out: &mut [f32; 256]) {
    let (first, rest) = cut::<32, 22, 54>(block);
    let (second, rest) = cut::<16, 6, 22>(rest);
    let (last, d) = cut::<4, 2, 6>(rest);
    let d = f16(*d);
    let Some((out, rest)) = out.split_first_chunk_mut::<160>() else { return };
    digits(first, out, d);
    let Some((out, rest)) = rest.split_first_chunk_mut::<80>() else { return };
    digits(second, out, d);
    digits(last, rest, d);
}

/// 2 bits an element: the lowest bits of 32 bytes come first. The fourth value is 2.
#[inline]
pub(super) fn tq2_0(block: &[u8; 66], out: &mut [f32; 256]) {
    let (qs, d) = cut::<64, 2, 66>(block);
    let d = f16(*d);
    for (half, qs) in out.as_chunks_mut::<128>().0.iter_mut().zip(qs.as_chunks::<32>().0) {
        for (run, shift) in half.as_chunks_mut::<32>().0.iter_mut().zip([0, 2, 4, 6]) {
            for (out, q) in run.iter_mut().zip(qs) {
                let code = q.wrapping_shr(shift) & 3;
                *out = f32::from(code.wrapping_sub(1).cast_signed()) * d;
            }
        }
    }
}
