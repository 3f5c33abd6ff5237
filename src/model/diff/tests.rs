use super::*;
use crate::Dtype;
use crate::gguf::GgmlType;
use std::vec;
use std::vec::Vec;

fn run(element: impl Into<ElementType>, bytes: &[u8]) -> Run<'_> {
    Run::new(element.into(), Endian::Little, bytes)
}

fn compare(a: Run<'_>, b: Run<'_>) -> Difference {
    let there = Comparer::default().compare(a, b).unwrap();
    let back = Comparer::default().compare(b, a).unwrap();
    assert_eq!(there, back, "a difference has no direction");
    there
}

fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn counts_and_distances() {
    let a = singles(&[0.0, 1.0, -2.0, 4.0]);
    let b = singles(&[-0.0, 1.5, 2.0, 4.0]);
    let found = compare(run(Dtype::F32, &a), run(Dtype::F32, &b));
    assert_eq!((found.elements(), found.differ(), found.same_nan(), found.not_finite()), (4, 2, 0, 0));
    assert_eq!((found.max(), found.mean()), (4.0, 4.5 / 4.0));
    let same = compare(run(Dtype::F32, &a), run(GgmlType::F32, &a));
    assert_eq!(same, Difference { elements: 4, ..Difference::default() });
}

#[test]
fn what_has_no_distance_is_counted_apart() {
    let (nan, other) = (f32::from_bits(0x7FC0_0000), f32::from_bits(0x7FC0_0001));
    let infinite = f32::INFINITY;
    let a = singles(&[nan, nan, nan, infinite, infinite, infinite, 1.0, 8.0]);
    let b = singles(&[nan, other, 1.0, infinite, -infinite, 1.0, 3.0, 8.0]);
    let found = compare(run(Dtype::F32, &a), run(Dtype::F32, &b));
    assert_eq!((found.differ(), found.same_nan(), found.not_finite()), (5, 1, 4));
    assert_eq!((found.max(), found.mean()), (2.0, 2.0 / 3.0));
    // The same bytes: no value was looked at, and the NaNs are counted all the same.
    let found = compare(run(Dtype::F32, &a), run(Dtype::F32, &a));
    assert_eq!((found.differ(), found.same_nan(), found.elements()), (0, 3, 8));
    // Of other types the bits say nothing.
    let brain = [0xC1, 0x7F];
    let found = compare(run(Dtype::F32, &singles(&[nan])), run(Dtype::BF16, &brain));
    assert_eq!((found.differ(), found.same_nan()), (0, 1));
}

#[test]
fn integers_are_exact() {
    let wide = |values: &[i64]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
    let a = wide(&[i64::MAX, i64::MIN, 1 << 60, 5]);
    let b = wide(&[i64::MAX - 1, i64::MAX, 1 << 60, 5]);
    let found = compare(run(Dtype::I64, &a), run(GgmlType::I64, &b));
    assert_eq!((found.differ(), found.max()), (2, 18_446_744_073_709_551_615.0));
    let found = compare(run(Dtype::U8, &[200, 1]), run(Dtype::I8, &[200, 1]));
    assert_eq!((found.differ(), found.max()), (1, 256.0), "200 and -56");
    let found = compare(run(Dtype::BOOL, &[0, 1, 1]), run(Dtype::F32, &singles(&[0.0, 1.0, 0.0])));
    assert_eq!((found.differ(), found.max()), (1, 1.0));
}

#[test]
fn integers_of_every_width_beside_floats() {
    let doubles = |values: [f64; 2]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
    for (dtype, least, most) in [
        (Dtype::U8, 0.0, 255.0),
        (Dtype::I8, -128.0, 127.0),
        (Dtype::U16, 0.0, 65_535.0),
        (Dtype::I16, -32_768.0, 32_767.0),
        (Dtype::U32, 0.0, 4_294_967_295.0),
        (Dtype::I32, -2_147_483_648.0, 2_147_483_647.0),
        (Dtype::U64, 0.0, 18_446_744_073_709_551_615.0),
        (Dtype::I64, -9_223_372_036_854_775_808.0, 9_223_372_036_854_775_807.0),
    ] {
        let width = num::narrow(dtype.bits() / 8).unwrap();
        let signed = least < 0.0;
        let mut bytes = vec![0; 2 * width];
        bytes[width - 1] = if signed { 0x80 } else { 0 };
        bytes[width..].fill(0xFF);
        bytes[2 * width - 1] = if signed { 0x7F } else { 0xFF };
        let floats = doubles([least, most]);
        assert_eq!(compare(run(dtype, &bytes), run(Dtype::F64, &floats)).differ(), 0, "{dtype}");
        let floats = doubles([least, most - 4096.0]);
        assert_eq!(
            compare(run(dtype, &bytes), run(Dtype::F64, &floats)).max().to_bits(),
            4096.0_f64.to_bits(),
            "{dtype}"
        );
        assert_eq!(compare(run(dtype, &bytes), run(dtype, &bytes)).elements(), 2);
    }
}

#[test]
fn complex_numbers() {
    let a = singles(&[1.0, 2.0, f32::NAN, 0.0, 5.0, 5.0]);
    let b = singles(&[4.0, 6.0, f32::NAN, 0.0, 5.0, 5.0]);
    let found = compare(run(Dtype::C64, &a), run(Dtype::C64, &b));
    assert_eq!((found.elements(), found.differ(), found.same_nan(), found.max()), (3, 1, 1, 5.0));
    let outcome = Comparer::default().compare(run(Dtype::C64, &a), run(Dtype::F64, &[0; 24]));
    assert_eq!(outcome, Err(DiffError::Complex));
}

#[test]
fn either_order_of_bytes() {
    let little = singles(&[1.0, 2.0]);
    let big: Vec<u8> = [1.0_f32, 2.5].iter().flat_map(|value| value.to_be_bytes()).collect();
    let found = compare(run(Dtype::F32, &little), Run::new(GgmlType::F32.into(), Endian::Big, &big));
    assert_eq!((found.differ(), found.max()), (1, 0.5));
    let big: Vec<u8> = [1.0_f32, 2.0].iter().flat_map(|value| value.to_be_bytes()).collect();
    let found = compare(run(Dtype::F32, &little), Run::new(GgmlType::F32.into(), Endian::Big, &big));
    assert_eq!(found.differ(), 0);
    let bytes = [1, 2, 3];
    let found = compare(run(Dtype::I8, &bytes), Run::new(GgmlType::I8.into(), Endian::Big, &bytes));
    assert_eq!((found.elements(), found.differ()), (3, 0));
}

#[test]
fn narrow_floats_and_blocks() {
    // E2M1: 0.5, 1, 1.5, 6 in two bytes, the low nibble first.
    let four = [0x21, 0x73];
    let found = compare(run(Dtype::F4, &four), run(Dtype::F32, &singles(&[0.5, 1.0, 1.5, 4.0])));
    assert_eq!((found.elements(), found.differ(), found.max(), found.mean()), (4, 1, 2.0, 0.5));
    // A scale of 0.5, and the numbers 0 to 31.
    let mut block = vec![0x00, 0x38];
    block.extend(0..32);
    let halves: Vec<f32> = (0..32_u8).map(|number| f32::from(number) / 2.0).collect();
    let mut values = singles(&halves);
    assert_eq!(compare(run(GgmlType::Q8_0, &block), run(Dtype::F32, &values)).differ(), 0);
    values.truncate(124);
    let outcome = Comparer::default().compare(run(GgmlType::Q8_0, &block), run(Dtype::F32, &values));
    assert_eq!(outcome, Err(DiffError::Length));
    let outcome = Comparer::default().compare(run(Dtype::F32, &block[..3]), run(Dtype::F32, &block[..3]));
    assert_eq!(outcome, Err(DiffError::Length));
    let unknown = run(GgmlType::from_id(99), &block);
    assert_eq!(Comparer::default().compare(unknown, unknown), Err(DiffError::Length));
}

#[test]
fn every_element_of_many_steps_is_seen() {
    let count = 3 * 16 * 1024 + 5;
    let mut a = vec![1.0_f32; count];
    let b = singles(&a);
    for place in [0, 16_383, 16_384, 40_000, count - 1] {
        a[place] = 3.0;
    }
    let found = compare(run(Dtype::F32, &singles(&a)), run(Dtype::F32, &b));
    assert_eq!((found.elements(), found.differ(), found.max()), (num::widen(count), 5, 2.0));
    let halves = [0x00, 0x3C].repeat(count);
    let found = compare(run(Dtype::F32, &singles(&a)), run(Dtype::F16, &halves));
    assert_eq!((found.differ(), found.mean()), (5, 10.0 / numbers::wide(num::widen(count))));
}
