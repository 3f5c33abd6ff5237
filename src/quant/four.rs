//! Four bits an element that choose one of sixteen values: IQ4_NL and IQ4_XS, and the 4-bit floats MXFP4 and NVFP4.

use super::half::{cut, e8m0_half, f16, ue4m3_half};

/// The values of IQ4_NL and IQ4_XS (`kvalues_iq4nl` of `ggml-common.h`, ggml 0.25.3).
pub(crate) const NON_LINEAR: [f32; 16] =
    [-127., -104., -83., -65., -49., -35., -22., -10., 1., 13., 25., 38., 53., 69., 89., 113.];

/// The values of E2M1, doubled, so that all are whole. The reference holds them as integers: there is no negative zero.
pub(crate) const E2M1: [f32; 16] = [0., 1., 2., 3., 4., 6., 8., 12., 0., -1., -2., -3., -4., -6., -8., -12.];

/// Each of sixteen values times `d`.
#[inline]
fn scaled(values: &[f32; 16], d: f32) -> [f32; 16] {
    values.map(|value| value * d)
}

/// The low nibbles of the bytes through a table, then the high ones.
#[inline]
fn look_up<const H: usize>(qs: &[u8; H], out: &mut [f32], table: &[f32; 16]) {
    let [low, high] = out.as_chunks_mut::<H>().0 else { return };
    for ((q, low), high) in qs.iter().zip(low).zip(high) {
        // Both are below 16, so that the alternative never comes.
        *low = table.get(usize::from(q & 0x0F)).copied().unwrap_or_default();
        *high = table.get(usize::from(q >> 4)).copied().unwrap_or_default();
    }
}

#[inline]
pub(super) fn iq4_nl([d0, d1, qs @ ..]: &[u8; 18], out: &mut [f32; 32]) {
    look_up(qs, out, &scaled(&NON_LINEAR, f16([*d0, *d1])));
}

/// A scale of 6 bits for each 32: a nibble, and two bits of a word above it.
#[inline]
pub(super) fn iq4_xs([d0, d1, h0, h1, rest @ ..]: &[u8; 136], out: &mut [f32; 256]) {
    let d = f16([*d0, *d1]);
    let above = u16::from_le_bytes([*h0, *h1]);
    let ([l0, l1, l2, l3], qs) = cut::<4, 128, 132>(rest);
    let lows = [l0 & 0x0F, l0 >> 4, l1 & 0x0F, l1 >> 4, l2 & 0x0F, l2 >> 4, l3 & 0x0F, l3 >> 4];
    let runs = out.as_chunks_mut::<32>().0.iter_mut().zip(qs.as_chunks::<16>().0);
    for (((run, qs), low), shift) in runs.zip(lows).zip([0, 2, 4, 6, 8, 10, 12, 14]) {
        let code = u16::from(low) | ((above.wrapping_shr(shift) & 3) << 4);
        let dl = d * f32::from(code.wrapping_sub(32).cast_signed());
        look_up(qs, run, &scaled(&NON_LINEAR, dl));
    }
}

/// A power of two for each 32.
#[inline]
pub(super) fn mxfp4([e, qs @ ..]: &[u8; 17], out: &mut [f32; 32]) {
    look_up(qs, out, &scaled(&E2M1, e8m0_half(*e)));
}

/// An 8-bit float for each 16. The scale of the whole tensor that some writers keep beside it is not part of the block.
#[inline]
pub(super) fn nvfp4(block: &[u8; 36], out: &mut [f32; 64]) {
    let (scales, qs) = cut::<4, 32, 36>(block);
    let runs = out.as_chunks_mut::<16>().0.iter_mut().zip(qs.as_chunks::<8>().0);
    for ((run, qs), scale) in runs.zip(scales) {
        look_up(qs, run, &scaled(&E2M1, ue4m3_half(*scale)));
    }
}
