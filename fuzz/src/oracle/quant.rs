//! Blocks of any type: decoded in every way to the same elements, which are those of the format's definition; checked;
//! encoded within the type's error.

use tensorgate::gguf::{Endian, GgmlType};
use tensorgate::quant::{
    Fault, NonFinite, QuantError, Rows, What, check_row, decode, decode_block, decode_from, encode, encode_with,
    faults, is_decodable, is_encodable, swap_order,
};

use crate::naive_quant;

/// No more bytes than this are looked at: three blocks of the largest type, or values for four blocks.
const MOST: usize = 4096;

/// The first byte chooses the type; the rest are its blocks, and then values to encode.
pub fn check(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let bytes = &bytes[..bytes.len().min(MOST)];
    let Some(kind) = GgmlType::ALL.get(usize::from(*choice) % (GgmlType::ALL.len() + 1)).copied() else {
        return stranger(GgmlType::from_id(u32::from(*choice)), bytes);
    };
    let (elements, size) = sizes(kind);
    let whole = &bytes[..bytes.len() / size * size];
    if whole.len() < bytes.len() {
        let (expected, found) = (whole.len() as u64, bytes.len() as u64);
        assert_eq!(check_row(kind, bytes), Err(QuantError::Bytes { expected, found }));
        assert!(decode(kind, bytes, &mut vec![0.0; whole.len() / size * elements]).is_err());
    }
    decoded(kind, whole);
    if is_encodable(kind) {
        let values: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        encoded(kind, &values[..values.len() / elements * elements]);
    } else {
        assert_eq!(encode(kind, &[], &mut []), Err(QuantError::NoEncoder(kind)));
    }
}

fn sizes(kind: GgmlType) -> (usize, usize) {
    let block = kind.block().expect("it is known");
    (block.elements() as usize, block.bytes() as usize)
}

/// A type that the format does not have is refused everywhere.
fn stranger(kind: GgmlType, bytes: &[u8]) {
    if !kind.is_known() {
        let unknown = QuantError::UnknownType(kind);
        assert_eq!(decode(kind, bytes, &mut [0.0; 32]), Err(unknown));
        assert_eq!(encode(kind, &[0.0; 32], &mut [0; 32]), Err(unknown));
        assert_eq!(check_row(kind, bytes), Err(unknown));
        assert_eq!(swap_order(kind, &mut bytes.to_vec()), Err(unknown));
        assert!(!is_decodable(kind) && !is_encodable(kind));
    }
}

/// The same bits; of NaNs, which multiplications make, that both are some.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn decoded(kind: GgmlType, bytes: &[u8]) {
    let (elements, size) = sizes(kind);
    let count = bytes.len() / size;
    let mut out = vec![f32::NAN; count * elements];
    decode(kind, bytes, &mut out).expect("whole blocks of a known type");
    let is_out = |other: &[f32]| other.len() == out.len() && other.iter().zip(&out).all(|(a, b)| same(*a, *b));

    // By definition, one element at a time.
    for (block, values) in bytes.chunks(size).zip(out.chunks(elements)) {
        for (at, value) in values.iter().enumerate() {
            if let Some(want) = naive_quant::element(kind, block, at) {
                assert!(same(*value, want), "{kind}, element {at}: {value:e}, not {want:e}");
            }
        }
    }
    // Block by block, as rows, one by one, and in the other byte order.
    let mut again = vec![f32::NAN; out.len()];
    for (block, values) in bytes.chunks(size).zip(again.chunks_mut(elements)) {
        decode_block(kind, block, values).expect("one block");
    }
    assert!(is_out(&again));
    let mut turned = bytes.to_vec();
    swap_order(kind, &mut turned).expect("whole blocks");
    decode_from(kind, Endian::Big, &turned, &mut again).expect("whole blocks");
    assert!(is_out(&again));
    let rows = Rows::new(kind, Endian::Big, &turned, elements as u64, count as u64).expect("whole blocks");
    assert!(is_out(&rows.values().collect::<Vec<_>>()));
    for (row, values) in again.chunks_mut(elements).enumerate() {
        rows.decode(row, values).expect("there is such a row");
    }
    assert!(is_out(&again));
    if let Some(last) = out.len().checked_sub(1) {
        assert!(rows.values().nth(last).is_some_and(|value| same(value, out[last])));
    }

    checked(kind, bytes, &turned, &out);
    swap_order(kind, &mut turned).expect("whole blocks");
    assert_eq!(turned, bytes);
}

/// The check finds exactly the blocks whose elements are not finite.
fn checked(kind: GgmlType, bytes: &[u8], turned: &[u8], out: &[f32]) {
    let (elements, size) = sizes(kind);
    let found: Vec<_> = faults(kind, Endian::Little, bytes).expect("whole blocks").collect();
    assert!(faults(kind, Endian::Big, turned).expect("whole blocks").eq(found.iter().copied()));
    assert_eq!(check_row(kind, bytes).err(), found.first().copied().map(QuantError::Fault));
    assert!(found.is_sorted_by_key(Fault::at) && found.len() <= 2 * bytes.len() / size);
    for (block, values) in (0..).zip(out.chunks(elements)) {
        let faults = || found.iter().filter(|fault| fault.block() == block);
        let start = block * size as u64;
        assert!(faults().all(|fault| (start..start + size as u64).contains(&fault.at())));
        let is_finite = values.iter().all(|value| value.is_finite());
        match kind {
            // A finite scale of 32 bits times a byte may be infinite.
            GgmlType::Q8_K => assert!(faults().next().is_none() || !is_finite),
            // The sum is not decoded.
            GgmlType::Q8_1 => assert_eq!(faults().all(|fault| fault.at() != start), is_finite),
            // An exponent that stands for no number and is decoded all the same; twelve times the highest is infinite.
            GgmlType::MXFP4 => {
                let exponent = bytes[usize::try_from(start).expect("small")];
                assert!(is_finite || exponent >= 253);
                assert!(faults().all(|fault| fault.what() == What::Exponent));
                assert_eq!(faults().next().is_some(), exponent == 0xFF);
            }
            _ => assert_eq!(faults().next().is_none(), is_finite, "{kind}, block {block}"),
        }
    }
}

/// The most that an element may be off, as a part of the largest magnitude of the block; far from tight for the types
/// whose scale is a compromise.
fn bound(kind: GgmlType) -> f32 {
    match kind {
        GgmlType::F32 => 0.0,
        GgmlType::F16 => 1.0 / 2048.0,
        GgmlType::BF16 => 1.0 / 256.0,
        GgmlType::Q8_0 => 1.0 / 200.0,
        GgmlType::Q4_0 => 1.0 / 7.0,
        GgmlType::Q5_0 => 1.0 / 15.0,
        GgmlType::Q4_1 => 1.0 / 12.0,
        GgmlType::Q5_1 => 1.0 / 24.0,
        // Weighted least squares: an element whose weight is a 64th of all may be off eight times as far as it would be.
        GgmlType::Q4_K => 0.75,
        GgmlType::Q5_K => 0.5,
        GgmlType::Q6_K => 1.0 / 8.0,
        GgmlType::IQ4_NL => 0.4,
        GgmlType::MXFP4 => 0.26,
        other => panic!("{other} is not encoded"),
    }
}

fn encoded(kind: GgmlType, values: &[f32]) {
    let (elements, size) = sizes(kind);
    let mut blocks = vec![0xA5; values.len() / elements * size];
    encode_with(kind, NonFinite::Keep, values, &mut blocks).expect("whatever the values are");
    let kept = blocks.clone();
    let first = values.iter().position(|value| !value.is_finite());
    match encode(kind, values, &mut blocks) {
        Ok(()) => assert!(first.is_none() && blocks == kept),
        Err(QuantError::NotFinite { index, is_nan }) => {
            let first = first.expect("there is one");
            return assert_eq!((index, is_nan), (first as u64, values[first].is_nan()));
        }
        Err(QuantError::Overflow { index }) => {
            // The value, or the first of its block.
            let from = usize::try_from(index).expect("small");
            let block = &values[from..values.len().min(from + elements)];
            assert!(first.is_none_or(|first| first > from));
            return assert!(block.iter().any(|value| value.abs() > 65_000.0));
        }
        Err(error) => panic!("{error}"),
    }
    assert_eq!(check_row(kind, &blocks), Ok(()));
    let mut back = vec![f32::NAN; values.len()];
    decode(kind, &blocks, &mut back).expect("whole blocks");
    for (values, back) in values.chunks(elements).zip(back.chunks(elements)) {
        let most = values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        // Where scales are subnormal halves they are off by a fixed amount.
        let least = if matches!(kind, GgmlType::F32 | GgmlType::BF16 | GgmlType::MXFP4) { 1e-37 } else { 1e-4 };
        for (value, back) in values.iter().zip(back) {
            let off = (f64::from(*value) - f64::from(*back)).abs();
            let allowed = f64::from(most) * f64::from(bound(kind)) + least;
            assert!(off <= allowed, "{kind}: {value:e} comes back as {back:e}, the largest is {most:e}");
        }
    }
}

/// Blocks of each type: the file's own bytes, as the type that its length chooses.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    let choice = u8::try_from(file.len() % 36).ok()?;
    (file.len() % 4 == 2).then(|| [&[choice], &file[..file.len().min(MOST)]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::Rng;

    #[test]
    fn every_type_with_noise() {
        let mut rng = Rng::new(34);
        for round in 0..4000 {
            let len = rng.below(1200);
            let mut input = rng.bytes(len + 1);
            input[0] = u8::try_from(round % 36).unwrap();
            check(&input);
        }
    }

    #[test]
    fn every_type_with_values_as_models_have_them() {
        let mut rng = Rng::new(35);
        for round in 0..2000 {
            let mut input = vec![u8::try_from(round % 36).unwrap()];
            let size = f32::from_bits(u32::try_from(0x3000_0000 + rng.below(0x1700_0000)).unwrap());
            for _ in 0..768 {
                let unit = f32::from(i16::from_le_bytes([rng.bytes(1)[0], rng.bytes(1)[0]])) / 32_768.0;
                let value = if rng.below(20) == 0 { 0.0 } else { unit * unit * unit * size };
                input.extend_from_slice(&value.to_le_bytes());
            }
            check(&input);
        }
    }
}
