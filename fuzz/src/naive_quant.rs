//! Elements of blocks one at a time, each by its format's definition: slow, plain, and sharing nothing with the crate.
//!
//! Left out are the types with tables of patterns, whose definition is the tables.

use tensorgate::gguf::GgmlType;

/// The values of IQ4_NL and IQ4_XS.
const NON_LINEAR: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/// The values of E2M1, doubled.
const E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// An IEEE half by its definition; the product is exact.
fn half(block: &[u8], at: usize) -> f32 {
    let code = u16::from_le_bytes([block[at], block[at + 1]]);
    let (exponent, mantissa) = (i32::from(code >> 10 & 31), f32::from(code & 1023));
    let magnitude = match exponent {
        31 if mantissa == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        0 => mantissa * 2_f32.powi(-24),
        _ => (1024.0 + mantissa) * 2_f32.powi(exponent - 25),
    };
    if code >> 15 == 1 { -magnitude } else { magnitude }
}

/// Bit `index` of bytes, the lowest first.
fn bit(bytes: &[u8], index: usize) -> i16 {
    i16::from(bytes[index / 8] >> (index % 8) & 1)
}

/// The nibble of element `i` among `n`, where the low nibbles of the bytes are the first half.
fn nibble(bytes: &[u8], i: usize, n: usize) -> u8 {
    if i < n / 2 { bytes[i] & 15 } else { bytes[i - n / 2] >> 4 }
}

fn small(code: u8) -> f32 {
    f32::from(code)
}

/// The scale and the minimum of group `j` of Q4_K and Q5_K.
fn pair(s: &[u8], j: usize) -> (f32, f32) {
    if j < 4 {
        return (small(s[j] & 63), small(s[j + 4] & 63));
    }
    (small(s[j + 4] & 15 | s[j - 4] >> 6 << 4), small(s[j + 4] >> 4 | s[j] >> 6 << 4))
}

/// A digit of base 3.
fn trit(byte: u8, place: u32) -> f32 {
    let shifted = u32::from(byte) * 3_u32.pow(place) % 256;
    f32::from(u8::try_from(shifted * 3 / 256).expect("below 3")) - 1.0
}

fn power(exponent: i32) -> f32 {
    // In two steps, so that none of them leaves the range before the last.
    2_f32.powi(exponent / 2) * 2_f32.powi(exponent - exponent / 2)
}

/// Element `i` of a block; `None` for types with tables of patterns.
pub fn element(kind: GgmlType, b: &[u8], i: usize) -> Option<f32> {
    let (h, l) = (i / 128, i % 32);
    let pass = i % 128 / 32;
    Some(match kind {
        GgmlType::F32 => f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        GgmlType::F16 => half(b, 0),
        GgmlType::BF16 => f32::from_le_bytes([0, 0, b[0], b[1]]),
        GgmlType::I8 => f32::from(b[0].cast_signed()),
        GgmlType::I16 => f32::from(i16::from_le_bytes([b[0], b[1]])),
        GgmlType::Q4_0 => (small(nibble(&b[2..], i, 32)) - 8.0) * half(b, 0),
        GgmlType::Q4_1 => small(nibble(&b[4..], i, 32)) * half(b, 0) + half(b, 2),
        GgmlType::Q5_0 => (small(nibble(&b[6..], i, 32)) + f32::from(16 * bit(&b[2..6], i)) - 16.0) * half(b, 0),
        GgmlType::Q5_1 => {
            (small(nibble(&b[8..], i, 32)) + f32::from(16 * bit(&b[4..8], i))) * half(b, 0) + half(b, 2)
        }
        GgmlType::Q8_0 => f32::from(b[2 + i].cast_signed()) * half(b, 0),
        GgmlType::Q8_1 => f32::from(b[4 + i].cast_signed()) * half(b, 0),
        GgmlType::Q8_K => f32::from_le_bytes([b[0], b[1], b[2], b[3]]) * f32::from(b[4 + i].cast_signed()),
        GgmlType::Q1_0 => f32::from(2 * bit(&b[2..], i) - 1) * half(b, 0),
        GgmlType::Q2_0 => (small(b[2 + i / 4] >> (2 * (i % 4)) & 3) - 1.0) * half(b, 0),
        GgmlType::Q2_K => {
            let q = b[16 + 32 * h + l] >> (2 * pass) & 3;
            let scale = b[i / 16];
            half(b, 80) * small(scale & 15) * small(q) - half(b, 82) * small(scale >> 4)
        }
        GgmlType::Q3_K => {
            let group = i / 16;
            let low = if group < 8 { b[96 + group] & 15 } else { b[88 + group] >> 4 };
            let high = b[104 + group % 4] >> (2 * (group / 4)) & 3;
            let q = b[32 + 32 * h + l] >> (2 * pass) & 3;
            let above = b[l] >> (4 * h + pass) & 1;
            half(b, 108) * (small(low | high << 4) - 32.0) * (small(q) - if above == 1 { 0.0 } else { 4.0 })
        }
        GgmlType::Q4_K => {
            let (scale, min) = pair(&b[4..16], i / 32);
            let q = nibble(&b[16 + 32 * (i / 64)..], i % 64, 64);
            half(b, 0) * scale * small(q) - half(b, 2) * min
        }
        GgmlType::Q5_K => {
            let (scale, min) = pair(&b[4..16], i / 32);
            let q = nibble(&b[48 + 32 * (i / 64)..], i % 64, 64) | (b[16 + l] >> (i / 32) & 1) << 4;
            half(b, 0) * scale * small(q) - half(b, 2) * min
        }
        GgmlType::Q6_K => {
            let byte = b[64 * h + l + if pass % 2 == 1 { 32 } else { 0 }];
            let low = if pass < 2 { byte & 15 } else { byte >> 4 };
            let q = low | (b[128 + 32 * h + l] >> (2 * pass) & 3) << 4;
            half(b, 208) * f32::from(b[192 + i / 16].cast_signed()) * (small(q) - 32.0)
        }
        GgmlType::TQ1_0 => {
            let (byte, place) = match i {
                0..160 => (b[i % 32], i / 32),
                160..240 => (b[32 + i % 16], (i - 160) / 16),
                _ => (b[48 + i % 4], (i - 240) / 4),
            };
            trit(byte, u32::try_from(place).expect("below 5")) * half(b, 52)
        }
        GgmlType::TQ2_0 => (small(b[32 * h + l] >> (2 * pass) & 3) - 1.0) * half(b, 64),
        GgmlType::IQ4_NL => half(b, 0) * f32::from(NON_LINEAR[usize::from(nibble(&b[2..], i, 32))]),
        GgmlType::IQ4_XS => {
            let group = i / 32;
            let low = b[4 + group / 2] >> (4 * (group % 2)) & 15;
            let high = u16::from_le_bytes([b[2], b[3]]) >> (2 * group) & 3;
            let scale = small(low) + f32::from(16 * high) - 32.0;
            half(b, 0) * scale * f32::from(NON_LINEAR[usize::from(nibble(&b[8 + 16 * group..], l, 32))])
        }
        GgmlType::MXFP4 => f32::from(E2M1[usize::from(nibble(&b[1..], i, 32))]) * power(i32::from(b[0]) - 128),
        GgmlType::NVFP4 => {
            let code = b[i / 16];
            let (exponent, mantissa) = (i32::from(code >> 3 & 15), small(code & 7));
            let scale = match exponent {
                _ if code == 0x7F => 0.0,
                0 => mantissa * power(-10),
                _ => (8.0 + mantissa) * power(exponent - 11),
            };
            f32::from(E2M1[usize::from(nibble(&b[4 + 8 * (i / 16)..], i % 16, 16))]) * scale
        }
        _ => return None,
    })
}
