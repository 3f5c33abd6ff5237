//! Typed access at every alignment: in place, as little-endian numbers, copied and decoded, all say what the bytes say.

use std::borrow::Cow;

use tensorgate::typed::{Element, LeElement};
use tensorgate::{CastError, Dtype, SafeTensors, TensorView};

/// No tensor has more bytes than this.
const MOST: usize = 192;

/// The first byte chooses the dtype; the rest are the tensor's bytes.
pub fn check(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let dtype = Dtype::ALL[usize::from(*choice) % Dtype::ALL.len()];
    let unit = if dtype == Dtype::F6_E2M3 || dtype == Dtype::F6_E3M2 { 3 } else { unit(dtype) };
    let len = bytes.len().min(MOST) / unit * unit;
    let bytes = &bytes[..len];
    let elements = len as u64 * 8 / dtype.bits();
    let json = format!(r#"{{"w":{{"dtype":"{dtype}","shape":[{elements}],"data_offsets":[0,{len}]}}}}"#);
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.extend_from_slice(bytes);
    for shift in 0..8 {
        // The file begins `shift` bytes past a multiple of eight, wherever the buffer stands.
        let mut buffer = vec![0; file.len() + 16];
        let start = buffer.as_ptr().align_offset(8) + shift;
        buffer[start..start + file.len()].copy_from_slice(&file);
        let opened = SafeTensors::open(&buffer[start..start + file.len()]).expect("it is plain");
        let view = opened.tensor("w").expect("it is there");
        assert_eq!(view.bytes(), bytes);
        all(&view);
        bools(&view);
        floats(&view);
    }
}

const fn unit(dtype: Dtype) -> usize {
    match dtype.bits() {
        16 => 2,
        32 => 4,
        64 => 8,
        _ => 1,
    }
}

/// Compares a tensor's elements, read in each way as each type, with its bytes taken apart.
fn all(view: &TensorView<'_>) {
    one::<u8, 1>(view, u8::from_le_bytes, u8::to_le_bytes, u8::to_le_bytes);
    one::<i8, 1>(view, i8::from_le_bytes, i8::to_le_bytes, i8::to_le_bytes);
    one::<i16, 2>(view, i16::from_le_bytes, i16::to_le_bytes, |le| le.get().to_le_bytes());
    one::<u16, 2>(view, u16::from_le_bytes, u16::to_le_bytes, |le| le.get().to_le_bytes());
    one::<i32, 4>(view, i32::from_le_bytes, i32::to_le_bytes, |le| le.get().to_le_bytes());
    one::<u32, 4>(view, u32::from_le_bytes, u32::to_le_bytes, |le| le.get().to_le_bytes());
    one::<f32, 4>(view, f32::from_le_bytes, f32::to_le_bytes, |le| le.get().to_le_bytes());
    one::<i64, 8>(view, i64::from_le_bytes, i64::to_le_bytes, |le| le.get().to_le_bytes());
    one::<u64, 8>(view, u64::from_le_bytes, u64::to_le_bytes, |le| le.get().to_le_bytes());
    one::<f64, 8>(view, f64::from_le_bytes, f64::to_le_bytes, |le| le.get().to_le_bytes());
    let parts = |bytes: [u8; 8]| {
        let halves = bytes.as_chunks::<4>().0;
        [f32::from_le_bytes(halves[0]), f32::from_le_bytes(halves[1])]
    };
    let whole = |parts: [f32; 2]| {
        let mut bytes = [0; 8];
        let halves = bytes.as_chunks_mut::<4>().0;
        (halves[0], halves[1]) = (parts[0].to_le_bytes(), parts[1].to_le_bytes());
        bytes
    };
    one::<[f32; 2], 8>(view, parts, whole, |[real, imaginary]| whole([real.get(), imaginary.get()]));
}

fn one<T: Element, const N: usize>(
    view: &TensorView<'_>,
    from: impl Fn([u8; N]) -> T,
    to: impl Fn(T) -> [u8; N],
    stored: impl Fn(T::Le) -> [u8; N],
) {
    let mut out: Vec<T> = view.bytes().as_chunks::<N>().0.iter().map(|_| from([0; N])).collect();
    if T::DTYPE != view.dtype() {
        let wrong = CastError::Dtype { expected: T::DTYPE, found: view.dtype() };
        assert_eq!(view.as_slice::<T>().err(), Some(wrong));
        assert_eq!(view.as_le::<T::Le>().err(), Some(wrong));
        assert_eq!(view.to_cow::<T>().err(), Some(wrong));
        assert_eq!(view.copy_to(&mut out), Err(wrong));
        return;
    }
    assert_eq!(<T::Le as LeElement>::DTYPE, T::DTYPE);
    // Bits are compared, since a NaN is no number's equal.
    let manual: Vec<[u8; N]> = view.bytes().as_chunks::<N>().0.iter().map(|chunk| to(from(*chunk))).collect();
    assert_eq!(manual.as_flattened(), view.bytes());
    let little = view.as_le::<T::Le>().expect("any alignment will do");
    assert!(little.iter().map(|element| stored(*element)).eq(manual.iter().copied()));
    let past = view.bytes().as_ptr().addr() % align_of::<T>();
    let is_aligned = past == 0 || view.bytes().is_empty();
    let copy = view.to_cow::<T>().expect("there is memory");
    assert!(copy.iter().map(|element| to(*element)).eq(manual.iter().copied()));
    match view.as_slice::<T>() {
        Ok(slice) => {
            assert!(is_aligned && (cfg!(target_endian = "little") || N == 1));
            assert!(slice.iter().map(|element| to(*element)).eq(manual.iter().copied()));
            assert!(matches!(copy, Cow::Borrowed(_)));
        }
        Err(CastError::Alignment { needed, past: shown }) => {
            assert!(!is_aligned && needed == align_of::<T>() as u64 && shown == past as u64);
            assert!(matches!(copy, Cow::Owned(_)));
        }
        Err(error) => assert!(error == CastError::ByteOrder && cfg!(target_endian = "big")),
    }
    view.copy_to(&mut out).expect("as many as there are");
    assert!(out.iter().map(|element| to(*element)).eq(manual));
    out.push(from([0; N]));
    assert!(matches!(view.copy_to(&mut out), Err(CastError::Size { .. })));
}

fn bools(view: &TensorView<'_>) {
    match view.as_bool() {
        Ok(bools) => assert!(bools.iter().map(|value| u8::from(*value)).eq(view.bytes().iter().copied())),
        Err(CastError::NotBool { index, byte }) => {
            let first = view.bytes().iter().position(|byte| *byte > 1).expect("there is one");
            assert_eq!((index, byte), (first as u64, view.bytes()[first]));
        }
        Err(error) => {
            assert_eq!(error, CastError::Dtype { expected: Dtype::BOOL, found: view.dtype() });
            assert_ne!(view.dtype(), Dtype::BOOL);
        }
    }
}

/// A format of floats: exponent bits, mantissa bits, bias, and what the highest codes mean.
struct Float {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
}

#[derive(PartialEq)]
enum Special {
    /// The highest exponent is for infinities and NaNs.
    Ieee,
    /// The highest code is a NaN, the rest are numbers.
    HighestIsNan,
    /// The code of negative zero is the only NaN.
    NegativeZeroIsNan,
    /// All are numbers.
    None,
}

const fn float(dtype: Dtype) -> Option<Float> {
    let (exponent, mantissa, bias, special) = match dtype {
        Dtype::F4 => (2, 1, 1, Special::None),
        Dtype::F6_E2M3 => (2, 3, 1, Special::None),
        Dtype::F6_E3M2 => (3, 2, 3, Special::None),
        Dtype::F8_E5M2 => (5, 2, 15, Special::Ieee),
        Dtype::F8_E4M3 => (4, 3, 7, Special::HighestIsNan),
        Dtype::F8_E4M3FNUZ => (4, 3, 8, Special::NegativeZeroIsNan),
        Dtype::F8_E5M2FNUZ => (5, 2, 16, Special::NegativeZeroIsNan),
        Dtype::F16 => (5, 10, 15, Special::Ieee),
        Dtype::BF16 => (8, 7, 127, Special::Ieee),
        Dtype::F32 => (8, 23, 127, Special::Ieee),
        _ => return None,
    };
    Some(Float { exponent, mantissa, bias, special })
}

impl Float {
    /// The number of a code, by its definition.
    #[expect(clippy::cast_possible_wrap, reason = "exponents are small")]
    #[expect(clippy::cast_possible_truncation, reason = "exponents are small")]
    fn value(&self, code: u64) -> f64 {
        let mantissa = code & ((1 << self.mantissa) - 1);
        let exponent = (code >> self.mantissa) & ((1 << self.exponent) - 1);
        let negative = code >> (self.mantissa + self.exponent) & 1 == 1;
        let highest = (1 << self.exponent) - 1;
        let is_nan = match self.special {
            Special::Ieee => exponent == highest && mantissa != 0,
            Special::HighestIsNan => exponent == highest && mantissa == (1 << self.mantissa) - 1,
            Special::NegativeZeroIsNan => negative && exponent == 0 && mantissa == 0,
            Special::None => false,
        };
        let two = 2_f64;
        let fraction = f64::from(u32::try_from(mantissa).expect("small")) / two.powi(self.mantissa as i32);
        let magnitude = if is_nan {
            f64::NAN
        } else if exponent == highest && self.special == Special::Ieee {
            f64::INFINITY
        } else if exponent == 0 {
            fraction * two.powi(1 - self.bias)
        } else {
            (1.0 + fraction) * two.powi(exponent as i32 - self.bias)
        };
        if negative { -magnitude } else { magnitude }
    }
}

/// The code at `index`, `bits` wide, lowest bit first.
fn code(bytes: &[u8], index: usize, bits: usize) -> u64 {
    (0..bits).fold(0, |code, bit| {
        let place = index * bits + bit;
        code | (u64::from(bytes[place / 8] >> (place % 8) & 1) << bit)
    })
}

fn floats(view: &TensorView<'_>) {
    let dtype = view.dtype();
    let bits = usize::try_from(dtype.bits()).expect("small");
    let elements = view.bytes().len() * 8 / bits;
    let manual: Vec<f64> = (0..elements)
        .map_while(|index| {
            let code = code(view.bytes(), index, bits);
            match dtype {
                Dtype::F8_E8M0 if code == 0xFF => Some(f64::NAN),
                Dtype::F8_E8M0 => Some(2_f64.powi(i32::try_from(code).expect("small") - 127)),
                Dtype::F64 => Some(f64::from_bits(code)),
                other => float(other).map(|float| float.value(code)),
            }
        })
        .collect();
    let Ok(shown) = view.iter_f32() else {
        assert_eq!(view.iter_f32().err(), Some(CastError::NotFloat { found: dtype }));
        return assert!(float(dtype).is_none() && !matches!(dtype, Dtype::F64 | Dtype::F8_E8M0));
    };
    assert_eq!((shown.len(), manual.len()), (elements, elements));
    #[expect(clippy::cast_possible_truncation, reason = "it rounds to nearest, as documented")]
    let same = |shown: f32, manual: f64| {
        (shown.is_nan() && manual.is_nan()) || shown.to_bits() == (manual as f32).to_bits()
    };
    assert!(shown.clone().zip(&manual).all(|(shown, manual)| same(shown, *manual)), "{dtype}: {:?}", view.bytes());
    assert!(shown.clone().rev().zip(manual.iter().rev()).all(|(shown, manual)| same(shown, *manual)));
    let folded = shown.clone().fold(0, |index, value| {
        assert!(same(value, manual[index]));
        index + 1
    });
    assert_eq!(folded, elements);
    assert!(shown.clone().nth(elements / 2).is_none_or(|value| same(value, manual[elements / 2])));
    assert!(shown.clone().nth(elements).is_none());
}

/// Bytes of each kind: the file's own, as the dtype that its length chooses.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    let choice = u8::try_from(file.len() % 251).ok()?;
    (file.len() % 4 == 1).then(|| [&[choice], &file[..file.len().min(MOST)]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::Rng;

    #[test]
    fn every_code_of_every_dtype() {
        for (choice, dtype) in (0..).zip(Dtype::ALL) {
            if dtype.bits() <= 16 {
                let codes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
                for chunk in codes.chunks(MOST) {
                    check(&[&[choice], chunk].concat());
                }
            }
        }
    }

    #[test]
    fn smoke() {
        let mut rng = Rng::new(30);
        for round in 0..6000 {
            let len = rng.below(40);
            let mut input = rng.bytes(len + 1);
            input[0] = u8::try_from(round % 22).unwrap();
            check(&input);
        }
    }
}
