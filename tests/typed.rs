//! Typed access: every dtype against every way in, every misalignment, and every code of every floating-point dtype.

#![cfg(feature = "alloc")]

mod common;

use std::borrow::Cow;

use common::file;
use tensorgate::typed::{
    Element, F32Iter, LeC64, LeElement, LeF32, LeF64, LeI16, LeI32, LeI64, LeU16, LeU32, LeU64,
};
use tensorgate::{CastError, Dtype, SafeTensors, TensorView};

/// A file of one tensor `w`.
fn one(dtype: Dtype, elements: usize, data: &[u8]) -> Vec<u8> {
    let len = data.len();
    file(&format!(r#"{{"w":{{"dtype":"{dtype}","shape":[{elements}],"data_offsets":[0,{len}]}}}}"#), data)
}

/// Runs `check` on the tensor of such a file.
fn with<R>(dtype: Dtype, elements: usize, data: &[u8], check: impl FnOnce(TensorView<'_>) -> R) -> R {
    let bytes = one(dtype, elements, data);
    check(SafeTensors::open(&bytes).unwrap().tensor("w").unwrap())
}

/// What each cast to a type has against the tensor's dtype.
fn casts<T: Element>(view: TensorView<'_>) -> [Option<CastError>; 4] {
    // Whether the bytes happen to be aligned is not asked here.
    let of_dtype = |error: &CastError| !matches!(error, CastError::Alignment { .. } | CastError::ByteOrder);
    let mut out = [T::zeroed()];
    [
        view.as_slice::<T>().err().filter(of_dtype),
        view.as_le::<T::Le>().err(),
        view.to_cow::<T>().err(),
        view.copy_to(&mut out).err(),
    ]
}

#[test]
fn each_type_is_the_element_of_one_dtype() {
    for &dtype in Dtype::ALL {
        // Four elements of the narrow ones are whole bytes; the others have one, as `casts` expects.
        let elements = if dtype.bits() < 8 { 4 } else { 1 };
        let data = vec![0; usize::try_from(dtype.bytes_for(elements).unwrap()).unwrap()];
        with(dtype, usize::try_from(elements).unwrap(), &data, |view| {
            let outcomes = [
                (Dtype::U8, casts::<u8>(view)),
                (Dtype::I8, casts::<i8>(view)),
                (Dtype::I16, casts::<i16>(view)),
                (Dtype::U16, casts::<u16>(view)),
                (Dtype::I32, casts::<i32>(view)),
                (Dtype::U32, casts::<u32>(view)),
                (Dtype::F32, casts::<f32>(view)),
                (Dtype::I64, casts::<i64>(view)),
                (Dtype::U64, casts::<u64>(view)),
                (Dtype::F64, casts::<f64>(view)),
                (Dtype::C64, casts::<[f32; 2]>(view)),
            ];
            for (expected, outcome) in outcomes {
                let want = (expected != dtype).then_some(CastError::Dtype { expected, found: dtype });
                assert_eq!(outcome, [want; 4], "{dtype} as {expected}");
            }
            let want = (dtype != Dtype::BOOL).then_some(CastError::Dtype { expected: Dtype::BOOL, found: dtype });
            assert_eq!(view.as_bool().err(), want);
            let real = dtype.tag().starts_with('F') || dtype == Dtype::BF16;
            assert_eq!(view.iter_f32().err(), (!real).then_some(CastError::NotFloat { found: dtype }));
        });
    }
}

/// The values of one type come out of every cast as they went in.
fn round_trip<T: Element + PartialEq + std::fmt::Debug>(values: &[T], bytes: &[u8]) {
    with(T::DTYPE, values.len(), bytes, |view| {
        let stored = view.as_le::<T::Le>().unwrap();
        assert_eq!(stored.as_ptr().addr(), view.bytes().as_ptr().addr());
        assert!(stored.iter().map(|element| T::from_le(*element)).eq(values.iter().copied()));
        assert_eq!(*view.to_cow::<T>().unwrap(), *values);
        let mut out = vec![values[0]; values.len()];
        view.copy_to(&mut out).unwrap();
        assert_eq!(out, values);
        for wrong in [values.len() - 1, values.len() + 1] {
            let mut out = vec![values[0]; wrong];
            let (expected, found) = ((wrong * size_of::<T>()) as u64, bytes.len() as u64);
            assert_eq!(view.copy_to(&mut out), Err(CastError::Size { expected, found }));
            assert_eq!(out, vec![values[0]; wrong]);
        }
    });
}

#[test]
fn values_come_out_as_they_went_in() {
    macro_rules! numbers {
        ($($type:ty)*) => {$(
            let values = [<$type>::MIN, <$type>::MAX, <$type>::from(true), <$type>::default()];
            round_trip::<$type>(&values, &values.map(<$type>::to_le_bytes).concat());
        )*};
    }
    numbers! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }
    let complex = [[1.0, -2.0_f32], [f32::INFINITY, 0.25]];
    round_trip(&complex, &complex.map(|parts| parts.map(f32::to_le_bytes).concat()).concat());
}

#[test]
fn stored_types_have_alignment_one() {
    fn check<T: LeElement>(dtype: Dtype) {
        assert_eq!((align_of::<T>(), size_of::<T>() as u64 * 8, T::DTYPE), (1, dtype.bits(), dtype));
    }
    check::<LeI16>(Dtype::I16);
    check::<LeU16>(Dtype::U16);
    check::<LeI32>(Dtype::I32);
    check::<LeU32>(Dtype::U32);
    check::<LeF32>(Dtype::F32);
    check::<LeI64>(Dtype::I64);
    check::<LeU64>(Dtype::U64);
    check::<LeF64>(Dtype::F64);
    check::<LeC64>(Dtype::C64);
}

/// The official `model.safetensors` of GPT-2 has a header of 14,283 bytes.
#[test]
fn data_at_14291_at_every_misalignment() {
    let values: Vec<f32> = (0..100_u8).map(|i| f32::from(i) * 0.37 - 11.0).collect();
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let header = r#"{"wte.weight":{"dtype":"F32","shape":[10,10],"data_offsets":[0,400]}}"#;
    let bytes = file(&format!("{header:14283}"), &data);
    let mut memory = vec![0_u64; bytes.len() / 8 + 3];
    let memory: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
    let mut aligned = 0;
    for shift in 0..8 {
        let place = &mut memory[shift..][..bytes.len()];
        place.copy_from_slice(&bytes);
        let view = SafeTensors::open(place).unwrap().tensor("wte.weight").unwrap();
        assert_eq!(view.span().start(), 14_291);

        let stored: &[LeF32] = view.as_le().unwrap();
        assert_eq!(stored.as_ptr().addr(), view.bytes().as_ptr().addr());
        assert!(stored.iter().map(|value| value.get()).eq(values.iter().copied()));
        assert!(view.iter_f32().unwrap().eq(values.iter().copied()));

        let past = (14_291 + shift) % 4;
        let in_place = view.as_slice::<f32>();
        let cow = view.to_cow::<f32>().unwrap();
        assert_eq!(*cow, *values);
        if cfg!(target_endian = "big") {
            assert_eq!(in_place, Err(CastError::ByteOrder));
            assert!(matches!(cow, Cow::Owned(_)));
        } else if past == 0 {
            aligned += 1;
            assert_eq!(in_place.unwrap().as_ptr().addr(), view.bytes().as_ptr().addr());
            assert!(matches!(cow, Cow::Borrowed(_)));
        } else {
            assert_eq!(in_place, Err(CastError::Alignment { needed: 4, past: past as u64 }));
            assert!(matches!(cow, Cow::Owned(_)));
        }
    }
    assert_eq!(aligned, if cfg!(target_endian = "big") { 0 } else { 2 });
}

#[test]
fn nothing_is_never_misaligned() {
    let bytes = one(Dtype::F64, 0, &[]);
    let mut memory = vec![0_u64; bytes.len() / 8 + 3];
    let memory: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
    for shift in 0..8 {
        let place = &mut memory[shift..][..bytes.len()];
        place.copy_from_slice(&bytes);
        let view = SafeTensors::open(place).unwrap().tensor("w").unwrap();
        assert_eq!(view.as_le::<LeF64>().unwrap().len(), 0);
        assert_eq!(view.copy_to::<f64>(&mut []), Ok(()));
        assert_eq!((view.iter_f32().unwrap().len(), view.iter_f32().unwrap().next()), (0, None));
        if cfg!(target_endian = "little") {
            assert_eq!(view.as_slice::<f64>(), Ok(&[][..]));
        }
    }
}

#[test]
fn bools_are_checked() {
    with(Dtype::BOOL, 4, &[0, 1, 1, 0], |view| assert_eq!(view.as_bool(), Ok(&[false, true, true, false][..])));
    with(Dtype::BOOL, 0, &[], |view| assert_eq!(view.as_bool(), Ok(&[][..])));
    for place in 0..5_u8 {
        for byte in 2..=255 {
            let mut data = [0, 1, 0, 1, 2];
            data[usize::from(place)] = byte;
            let want = CastError::NotBool { index: place.into(), byte };
            with(Dtype::BOOL, 5, &data, |view| assert_eq!(view.as_bool(), Err(want)));
        }
    }
}

/// What the codes of a format that stand for no number are.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// The largest exponent: infinity, and NaN where the mantissa is not 0.
    Ieee,
    /// All bits but the sign: NaN.
    LastIsNan,
    /// The code of negative zero: NaN.
    NegativeZeroIsNan,
    None,
}

const FORMATS: [(Dtype, i32, i32, i32, Special); 9] = [
    (Dtype::F4, 2, 1, 1, Special::None),
    (Dtype::F6_E2M3, 2, 3, 1, Special::None),
    (Dtype::F6_E3M2, 3, 2, 3, Special::None),
    (Dtype::F8_E5M2, 5, 2, 15, Special::Ieee),
    (Dtype::F8_E4M3, 4, 3, 7, Special::LastIsNan),
    (Dtype::F8_E5M2FNUZ, 5, 2, 16, Special::NegativeZeroIsNan),
    (Dtype::F8_E4M3FNUZ, 4, 3, 8, Special::NegativeZeroIsNan),
    (Dtype::F16, 5, 10, 15, Special::Ieee),
    (Dtype::BF16, 8, 7, 127, Special::Ieee),
];

/// The value of a code by the definition of its format, in wider arithmetic.
fn defined(code: u32, exponent_bits: i32, mantissa_bits: i32, bias: i32, special: Special) -> f64 {
    let mantissa = code % (1 << mantissa_bits);
    let exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1);
    let sign = if code >> (mantissa_bits + exponent_bits) == 1 { -1.0 } else { 1.0 };
    let largest = exponent + 1 == 1 << exponent_bits;
    let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
    let magnitude = match special {
        Special::Ieee if largest && mantissa == 0 => f64::INFINITY,
        Special::Ieee if largest => f64::NAN,
        Special::LastIsNan if largest && mantissa + 1 == 1 << mantissa_bits => f64::NAN,
        Special::NegativeZeroIsNan if sign < 0.0 && exponent == 0 && mantissa == 0 => f64::NAN,
        _ if exponent == 0 => fraction * 2_f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2_f64.powi(i32::try_from(exponent).unwrap() - bias),
    };
    magnitude.copysign(sign)
}

/// The bits of a value; every NaN as a quiet one of its sign.
fn canonical(value: f32) -> u32 {
    if value.is_nan() { value.to_bits() & 0x8000_0000 | 0x7FC0_0000 } else { value.to_bits() }
}

/// Every code of a dtype once, in order, as its tensor has them.
fn all_codes(dtype: Dtype) -> Vec<u8> {
    let bits = usize::try_from(dtype.bits()).unwrap();
    let mut bytes = vec![0_u8; (bits << bits) / 8];
    for code in 0..1 << bits {
        for bit in 0..bits {
            let at = code * bits + bit;
            bytes[at / 8] |= u8::from(code >> bit & 1 == 1) << (at % 8);
        }
    }
    bytes
}

fn decoded(dtype: Dtype) -> Vec<f32> {
    with(dtype, 1 << dtype.bits(), &all_codes(dtype), |view| view.iter_f32().unwrap().collect())
}

#[test]
fn every_code_is_what_its_format_defines() {
    for (dtype, exponent_bits, mantissa_bits, bias, special) in FORMATS {
        assert_eq!(dtype.bits(), u64::try_from(1 + exponent_bits + mantissa_bits).unwrap());
        for (code, value) in (0..).zip(decoded(dtype)) {
            let exact = defined(code, exponent_bits, mantissa_bits, bias, special);
            #[expect(clippy::cast_possible_truncation, reason = "compared again below")]
            let want = exact as f32;
            assert!(exact.is_nan() || f64::from(want).to_bits() == exact.to_bits());
            assert_eq!(canonical(value), canonical(want), "{dtype} {code:#x}: {value} for {want}");
        }
    }
    for (code, value) in (0..).zip(decoded(Dtype::F8_E8M0)) {
        let want = if code == 255 { f64::NAN } else { 2_f64.powi(code - 127) };
        assert!(f64::from(value).to_bits() == want.to_bits() || value.is_nan() && code == 255, "{code}");
    }
}

#[test]
fn quiet_nans_keep_their_payload() {
    let halves = decoded(Dtype::F16);
    let uppers = decoded(Dtype::BF16);
    for payload in 0..0x200 {
        assert_eq!(halves[0x7E00 | payload].to_bits(), 0x7FC0_0000 | u32::try_from(payload << 13).unwrap());
        assert_eq!(halves[0xFE00 | payload].to_bits(), 0xFFC0_0000 | u32::try_from(payload << 13).unwrap());
    }
    for payload in 0..0x40 {
        assert_eq!(uppers[0x7FC0 | payload].to_bits(), 0x7FC0_0000 | u32::try_from(payload << 16).unwrap());
    }
    let single = 0xFFC1_2345_u32;
    with(Dtype::F32, 1, &single.to_le_bytes(), |view| {
        assert!(view.iter_f32().unwrap().map(f32::to_bits).eq([single]));
    });
}

/// The table of another implementation: see `tests/interop/float_codes.py`.
#[test]
fn every_code_is_what_ml_dtypes_says() {
    let table = include_str!("data/float_codes.tsv");
    let mut compared = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let dtype = Dtype::from_tag(fields.next().unwrap().as_bytes()).unwrap();
        let values = decoded(dtype);
        let first = fields.next().unwrap();
        if first == "all" {
            let hash = values
                .iter()
                .flat_map(|value| canonical(*value).to_le_bytes())
                .fold(0xCBF2_9CE4_8422_2325_u64, |state, byte| {
                    (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
                });
            assert_eq!(format!("{hash:016x}"), fields.next().unwrap(), "{dtype}");
            compared += values.len();
        } else {
            let first: usize = first.parse().unwrap();
            for (code, want) in (first..).zip(fields) {
                assert_eq!(format!("{:08x}", values[code].to_bits()), want, "{dtype} {code:#x}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 16 + 2 * 64 + 5 * 256 + 2 * 65_536);
}

#[test]
fn doubles_are_rounded_to_nearest_even() {
    let above = f64::from(1.0_f32) + f64::from(f32::EPSILON) / 2.0;
    let cases = [
        (1.0, 1.0),
        (above, 1.0),
        (above + f64::EPSILON, 1.0 + f32::EPSILON),
        (above + f64::from(f32::EPSILON), 1.0 + 2.0 * f32::EPSILON),
        (-1e300, f32::NEG_INFINITY),
        (f64::from(f32::MAX), f32::MAX),
        (1e-300, 0.0),
        (-1e-300, -0.0),
        (2_f64.powi(-149), f32::from_bits(1)),
    ];
    let data: Vec<u8> = cases.iter().flat_map(|(wide, _)| wide.to_le_bytes()).collect();
    with(Dtype::F64, cases.len(), &data, |view| {
        for (value, (wide, want)) in view.iter_f32().unwrap().zip(cases) {
            assert_eq!(value.to_bits(), want.to_bits(), "{wide:e}");
        }
    });
    with(Dtype::F64, 1, &f64::NAN.to_le_bytes(), |view| assert!(view.iter_f32().unwrap().all(f32::is_nan)));
}

/// From either end, with skips, folded from the middle: always the same elements.
fn both_ends(iter: &F32Iter<'_>, want: &[u32]) {
    let bits = |values: &mut dyn Iterator<Item = f32>| values.map(f32::to_bits).collect::<Vec<_>>();
    for front in 0..=want.len() {
        for back in 0..=want.len() - front {
            let mut rest = iter.clone();
            for (index, expected) in want.iter().take(front).enumerate() {
                assert_eq!(rest.next().map(f32::to_bits), Some(*expected), "{index}");
            }
            for expected in want.iter().rev().take(back) {
                assert_eq!(rest.next_back().map(f32::to_bits), Some(*expected));
            }
            let middle = &want[front..want.len() - back];
            assert_eq!((rest.len(), rest.clone().count()), (middle.len(), middle.len()));
            assert_eq!(bits(&mut rest.clone()), middle);
            assert_eq!(bits(&mut rest.clone().rev()), middle.iter().rev().copied().collect::<Vec<_>>());
            let mut folded = Vec::new();
            rest.clone().for_each(|value| folded.push(value.to_bits()));
            assert_eq!(folded, middle);
            for skipped in 0..middle.len() + 2 {
                let mut skipping = rest.clone();
                assert_eq!(skipping.nth(skipped).map(f32::to_bits), middle.get(skipped).copied());
                assert_eq!(skipping.len(), middle.len().saturating_sub(skipped + 1));
                assert_eq!(skipping.next().map(f32::to_bits), middle.get(skipped + 1).copied());
            }
            let mut done = rest.clone();
            assert_eq!(done.nth(usize::MAX), None);
            assert_eq!((done.next(), done.next_back(), done.len()), (None, None, 0));
        }
    }
}

#[test]
fn iterators_agree_from_both_ends() {
    for &dtype in Dtype::ALL {
        let elements = 8;
        let len = usize::try_from(dtype.bytes_for(elements).unwrap()).unwrap();
        // Small positive codes, so that no element is a NaN.
        let data: Vec<u8> = (0..len).map(|at| u8::try_from(at * 37 % 59).unwrap()).collect();
        with(dtype, 8, &data, |view| {
            let Ok(iter) = view.iter_f32() else { return };
            let want: Vec<u32> = (0..8).filter_map(|index| iter.clone().nth(index)).map(f32::to_bits).collect();
            assert_eq!(want.len(), 8);
            assert!(format!("{iter:?}").ends_with("8 left)"));
            both_ends(&iter, &want);
        });
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let texts = [
        (CastError::Dtype { expected: Dtype::F32, found: Dtype::BF16 }, "the tensor's dtype is BF16, not F32"),
        (
            CastError::NotFloat { found: Dtype::U8 },
            "the tensor's dtype is U8, which is no real floating-point type",
        ),
        (
            CastError::Alignment { needed: 4, past: 3 },
            "the tensor begins 3 bytes past a multiple of 4, the alignment of its elements",
        ),
        (CastError::Size { expected: 8, found: 12 }, "the tensor has 12 bytes, not 8"),
        (CastError::ByteOrder, "the tensor is little-endian and this machine is not"),
        (CastError::NotBool { index: 7, byte: 9 }, "element 7 is 9, neither 0 nor 1"),
        (CastError::Alloc { bytes: 5 }, "there is no memory for a copy of 5 bytes"),
    ];
    for (error, text) in texts {
        assert_eq!(error.to_string(), text);
    }
}
