use super::*;
use crate::quant;
use std::vec;
use std::vec::Vec;

/// Counts of NaN, infinities, bools, scales, with the first place of each.
type Counts = [(u64, Option<u64>); 4];

fn counts(census: &Census) -> Counts {
    [census.not_a_number(), census.infinite(), census.bools(), census.scales()]
        .map(|places| (places.count(), places.first()))
}

/// The bytes in one piece, in pieces of every small length, and in two parts that are merged: all say the same.
fn look(scan: &Scan, bytes: &[u8]) -> Census {
    let mut whole = scan.clone();
    whole.feed(bytes);
    for length in [1, 2, 3, 5, 7, 64, 4095, 4097] {
        let mut pieces = scan.clone();
        bytes.chunks(length).for_each(|piece| pieces.feed(piece));
        assert_eq!(pieces.census(), whole.census(), "in pieces of {length}");
    }
    let unit = scan.unit();
    let middle = bytes.len() / unit / 2 * unit;
    let (front, back) = bytes.split_at(middle);
    let mut second = scan.clone().starting_at(num::widen(middle));
    second.feed(back);
    let mut first = scan.clone();
    first.feed(front);
    let mut merged = second.census();
    merged.merge(&first.census());
    assert_eq!(merged, whole.census(), "in two parts");
    whole.census()
}

const NONE: (u64, Option<u64>) = (0, None);

#[test]
fn every_code_of_the_narrow_floats() {
    let all: Vec<u8> = (0..=255).collect();
    for (dtype, nan, infinite) in [
        (Dtype::F8_E5M2, &[0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF][..], &[0x7C, 0xFC][..]),
        (Dtype::F8_E4M3, &[0x7F, 0xFF], &[]),
        (Dtype::F8_E4M3FNUZ, &[0x80], &[]),
        (Dtype::F8_E5M2FNUZ, &[0x80], &[]),
        (Dtype::F8_E8M0, &[0xFF], &[]),
        (Dtype::F4, &[], &[]),
        (Dtype::F6_E2M3, &[], &[]),
        (Dtype::F6_E3M2, &[], &[]),
        (Dtype::U8, &[], &[]),
        (Dtype::I8, &[], &[]),
    ] {
        let want = |codes: &[u64]| (num::widen(codes.len()), codes.first().copied());
        assert_eq!(counts(&look(&Scan::new(dtype), &all)), [want(nan), want(infinite), NONE, NONE], "{dtype}");
    }
    let bools = counts(&look(&Scan::new(Dtype::BOOL), &all));
    assert_eq!(bools, [NONE, NONE, (254, Some(2)), NONE]);
}

#[test]
fn every_code_of_the_halves_as_the_processor_sees_it() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let little: Vec<u8> = all.iter().flat_map(|code| code.to_le_bytes()).collect();
    let big: Vec<u8> = all.iter().flat_map(|code| code.to_be_bytes()).collect();
    // An IEEE half has five bits of exponent and ten of mantissa.
    let half = [(2 * 1023, Some(2 * 0x7C01)), (2, Some(2 * 0x7C00)), NONE, NONE];
    let bf16 = |wanted: fn(f32) -> bool| {
        let mut codes = all.iter().filter(|code| wanted(f32::from_bits(u32::from(**code) << 16)));
        let first = codes.next().map(|code| 2 * u64::from(*code));
        (1 + num::widen(codes.count()), first)
    };
    let brain = [bf16(f32::is_nan), bf16(f32::is_infinite), NONE, NONE];
    for (dtype, kind, want) in [(Dtype::F16, GgmlType::F16, half), (Dtype::BF16, GgmlType::BF16, brain)] {
        assert_eq!(counts(&look(&Scan::new(dtype), &little)), want);
        assert_eq!(counts(&look(&Scan::gguf(kind, Endian::Big), &big)), want);
    }
}

#[test]
fn singles_doubles_and_pairs_at_every_place() {
    for at in [0, 1, 511, 1023, 1024, 1500, 2499].into_iter().step_by(crate::sparse::step(6)) {
        for (value, nan, infinite) in [
            (f32::NAN, 1, 0),
            (f32::INFINITY, 0, 1),
            (f32::NEG_INFINITY, 0, 1),
            (-f32::NAN, 1, 0),
            (f32::MAX, 0, 0),
        ] {
            let mut singles = vec![1.5_f32; 2500];
            singles[at] = value;
            let place = |count: u64, unit: usize| (count, (count > 0).then(|| num::widen(at / unit * unit * 4)));
            let little: Vec<u8> = singles.iter().flat_map(|single| single.to_le_bytes()).collect();
            let big: Vec<u8> = singles.iter().flat_map(|single| single.to_be_bytes()).collect();
            let want = [place(nan, 1), place(infinite, 1), NONE, NONE];
            assert_eq!(counts(&look(&Scan::new(Dtype::F32), &little)), want);
            assert_eq!(counts(&look(&Scan::gguf(GgmlType::F32, Endian::Big), &big)), want);
            let want = [place(nan, 2), place(infinite, 2), NONE, NONE];
            assert_eq!(counts(&look(&Scan::new(Dtype::C64), &little)), want);
            let wide: Vec<f64> = singles.iter().map(|single| f64::from(*single)).collect();
            let place = |count: u64| (count, (count > 0).then(|| num::widen(at * 8)));
            let want = [place(nan), place(infinite), NONE, NONE];
            let little: Vec<u8> = wide.iter().flat_map(|double| double.to_le_bytes()).collect();
            let big: Vec<u8> = wide.iter().flat_map(|double| double.to_be_bytes()).collect();
            assert_eq!(counts(&look(&Scan::new(Dtype::F64), &little)), want);
            assert_eq!(counts(&look(&Scan::gguf(GgmlType::F64, Endian::Big), &big)), want);
        }
    }
    // One part infinite and the other no number: counted once, as no number.
    let pair: Vec<u8> = [f32::INFINITY, f32::NAN].iter().flat_map(|part| part.to_le_bytes()).collect();
    assert_eq!(counts(&look(&Scan::new(Dtype::C64), &pair)), [(1, Some(0)), NONE, NONE, NONE]);
}

#[test]
fn zeros_with_either_sign() {
    let bytes = |unit: &[u8], count: usize| unit.repeat(count);
    for (dtype, zero, other) in [
        (Dtype::F32, &[0, 0, 0, 0x80][..], &[1, 0, 0, 0][..]),
        (Dtype::F64, &[0, 0, 0, 0, 0, 0, 0, 0x80], &[0, 0, 0, 0, 0, 0, 0, 0x40]),
        (Dtype::F16, &[0, 0x80], &[0, 1]),
        (Dtype::BF16, &[0, 0x80], &[0x80, 0]),
        (Dtype::C64, &[0, 0, 0, 0x80, 0, 0, 0, 0], &[0, 0, 0, 0x80, 1, 0, 0, 0]),
        (Dtype::F8_E5M2, &[0x80], &[0x81]),
        (Dtype::F8_E4M3, &[0x80], &[1]),
        (Dtype::F8_E4M3FNUZ, &[0], &[0x80]),
        (Dtype::F4, &[0x88], &[0x98]),
        (Dtype::F6_E2M3, &[0, 0, 0], &[0, 0, 1]),
        (Dtype::BOOL, &[0], &[1]),
        (Dtype::I8, &[0], &[0x80]),
        (Dtype::U64, &[0; 8], &[0, 0, 0, 0, 0, 0, 0, 0x80]),
    ] {
        let mut data = bytes(zero, 3000);
        assert!(look(&Scan::new(dtype), &data).is_all_zero(), "{dtype}");
        let last = data.len() - other.len();
        data[last..].copy_from_slice(other);
        assert!(!look(&Scan::new(dtype), &data).is_all_zero(), "{dtype}");
    }
    assert!(!look(&Scan::new(Dtype::F8_E8M0), &[0; 100]).is_all_zero(), "2^-127");
    assert!(!look(&Scan::new(Dtype::F32), &[]).is_all_zero(), "there are no elements");
}

/// The scales of each type as the format's document lays them out: their places and how wide they are.
fn scales(kind: GgmlType) -> &'static [(usize, usize)] {
    match kind {
        GgmlType::Q4_1 | GgmlType::Q5_1 | GgmlType::Q8_1 | GgmlType::Q4_K | GgmlType::Q5_K => &[(0, 2), (2, 2)],
        GgmlType::Q2_K => &[(80, 2), (82, 2)],
        GgmlType::Q3_K => &[(108, 2)],
        GgmlType::Q6_K => &[(208, 2)],
        GgmlType::TQ1_0 => &[(52, 2)],
        GgmlType::TQ2_0 => &[(64, 2)],
        GgmlType::Q8_K => &[(0, 4)],
        GgmlType::MXFP4 => &[(0, 1)],
        GgmlType::NVFP4 | GgmlType::IQ1_M => &[],
        _ => &[(0, 2)],
    }
}

#[test]
fn every_scale_of_every_block() {
    for kind in GgmlType::ALL.iter().copied().filter(|kind| kind.dtype().is_none()) {
        let unit = num::widen32(kind.block_bytes().unwrap());
        let (little, big) = (Scan::gguf(kind, Endian::Little), Scan::gguf(kind, Endian::Big));
        assert_eq!(little.unit(), unit);
        let count = 100 / crate::sparse::step(5);
        let (blocks, ill) = (vec![0x11; unit * count], unit * (count * 7 / 10));
        assert!(look(&little, &blocks).is_clean() && look(&big, &blocks).is_clean(), "{kind}");
        for (place, width) in scales(kind) {
            let bad: &[&[u8]] = match width {
                1 => &[&[0xFF]],
                2 => &[&[0, 0x7C], &[0, 0xFC], &[1, 0x7C], &[0xFF, 0xFF]],
                _ => &[&[0, 0, 0x80, 0x7F], &[0, 0, 0xC0, 0xFF]],
            };
            for code in bad {
                let mut data = blocks.clone();
                data[ill + place..][..*width].copy_from_slice(code);
                let want = [NONE, NONE, NONE, (1, Some(num::widen(ill)))];
                assert_eq!(counts(&look(&little, &data)), want, "{kind}");
                let turned: Vec<u8> = code.iter().rev().copied().collect();
                data[ill + place..][..*width].copy_from_slice(&turned);
                assert_eq!(counts(&look(&big, &data)), want, "{kind}");
            }
        }
    }
}

/// Bytes that repeat on every machine, in which each code of a scale comes up.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn what_is_counted_is_what_the_check_of_rows_objects_to() {
    for (seed, kind) in (1..).zip(GgmlType::ALL.iter().copied()) {
        let unit = num::widen32(kind.block_bytes().unwrap());
        for endian in [Endian::Little, Endian::Big] {
            let data = noise(unit * 500, seed);
            let faults = quant::faults(kind, endian, &data).unwrap();
            let mut blocks: Vec<u64> = faults.map(|fault| fault.block()).collect();
            blocks.dedup();
            let mut scan = Scan::gguf(kind, endian);
            scan.feed(&data);
            let census = scan.census();
            let [nan, infinite, _, scales] = counts(&census);
            let firsts = [nan.1, infinite.1, scales.1];
            let first = firsts.into_iter().flatten().min().map(|at| at / num::widen(unit));
            if kind == GgmlType::F64 {
                // The reference objects to doubles too large for a single as well.
                assert!(nan.0 + infinite.0 <= num::widen(blocks.len()));
            } else {
                assert_eq!(nan.0 + infinite.0 + scales.0, num::widen(blocks.len()), "{kind}");
                assert_eq!(first, blocks.first().copied(), "{kind}");
            }
        }
    }
}

#[test]
fn the_scale_in_parts() {
    let mut block = vec![0; 56];
    // d = 0x7C00 is spread over the upper four bits of four numbers, the lowest part first.
    for (part, bits) in [0x0_u16, 0x0, 0xC, 0x7].into_iter().enumerate() {
        block[48 + 2 * part..][..2].copy_from_slice(&(bits << 12).to_le_bytes());
    }
    let scan = Scan::gguf(GgmlType::IQ1_M, Endian::Little);
    assert_eq!(counts(&look(&scan, &block)), [NONE, NONE, NONE, (1, Some(0))]);
    block[55] = 0x6F;
    assert!(look(&scan, &block).is_clean());
    block[48..].fill(0x0F);
    block[48] = 0;
    assert!(look(&scan, &block).is_all_zero(), "the lower twelve bits are other scales");
}

#[test]
fn blocks_of_nothing_but_zeros() {
    for kind in GgmlType::ALL.iter().copied().filter(|kind| kind.dtype().is_none()) {
        let unit = num::widen32(kind.block_bytes().unwrap());
        let scan = Scan::gguf(kind, Endian::Little);
        let mut data = vec![0; unit * 9];
        assert!(look(&scan, &data).is_all_zero(), "{kind}");
        if let Some((place, width)) = scales(kind).last().filter(|_| kind != GgmlType::MXFP4) {
            data[unit * 8 + place + width - 1] = 1;
        } else if kind == GgmlType::IQ1_M {
            data[unit * 8 + 49] = 0x10;
        } else {
            data[unit * 8] = 1;
            assert!(look(&scan, &data).is_all_zero(), "{kind}: the scale of zeros");
            data[unit * 9 - 1] = 0x80;
            assert!(look(&scan, &data).is_all_zero(), "{kind}: a negative zero");
            data[unit * 9 - 1] = 0x10;
        }
        assert!(!look(&scan, &data).is_all_zero(), "{kind}");
    }
    let mut scan = Scan::gguf(GgmlType::from_id(4), Endian::Little);
    scan.feed(&[0; 10]);
    assert!(scan.census().is_clean());
    assert_eq!(scan.census().bytes(), 10);
}
