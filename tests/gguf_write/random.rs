//! Any pairs and tensors, in either byte order and at any alignment: the reader shows the same.

use proptest::collection::vec;
use proptest::prelude::*;
use tensorgate::gguf::{
    Endian, GgmlType, PairSpec, TensorSpec, Value, ValueType, WriteOptions, WriteValue, serialize,
};
use tensorgate::{Gguf, Limits};

/// A value that owns what it holds.
#[derive(Clone, Debug)]
enum Owned {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    Text(String),
    U64(u64),
    I64(i64),
    F64(f64),
    U8s(Vec<u8>),
    I8s(Vec<i8>),
    U16s(Vec<u16>),
    I16s(Vec<i16>),
    U32s(Vec<u32>),
    I32s(Vec<i32>),
    F32s(Vec<f32>),
    Bools(Vec<bool>),
    Texts(Vec<String>),
    U64s(Vec<u64>),
    I64s(Vec<i64>),
    F64s(Vec<f64>),
}

macro_rules! each {
    ($value:expr, $number:ident => $scalar:expr, $text:ident => $string:expr, $array:ident => $slice:expr,
     $texts:ident => $strings:expr) => {
        match $value {
            Owned::U8($number) => $scalar,
            Owned::I8($number) => $scalar,
            Owned::U16($number) => $scalar,
            Owned::I16($number) => $scalar,
            Owned::U32($number) => $scalar,
            Owned::I32($number) => $scalar,
            Owned::F32($number) => $scalar,
            Owned::Bool($number) => $scalar,
            Owned::U64($number) => $scalar,
            Owned::I64($number) => $scalar,
            Owned::F64($number) => $scalar,
            Owned::Text($text) => $string,
            Owned::U8s($array) => $slice,
            Owned::I8s($array) => $slice,
            Owned::U16s($array) => $slice,
            Owned::I16s($array) => $slice,
            Owned::U32s($array) => $slice,
            Owned::I32s($array) => $slice,
            Owned::F32s($array) => $slice,
            Owned::Bools($array) => $slice,
            Owned::U64s($array) => $slice,
            Owned::I64s($array) => $slice,
            Owned::F64s($array) => $slice,
            Owned::Texts($texts) => $strings,
        }
    };
}

impl Owned {
    fn given(&self) -> WriteValue<'_> {
        each!(self, n => (*n).into(), t => t.into(), a => a.as_slice().into(), t => t.as_slice().into())
    }

    /// Whether the reader shows this. Floats are compared with their bits.
    fn is(&self, shown: Value<'_>) -> bool {
        fn same<T: Bits>(number: T, shown: Value<'_>) -> bool {
            T::of(shown).is_some_and(|shown| shown == number.bits())
        }
        fn all<T: Bits + tensorgate::gguf::Element>(array: &[T], shown: Value<'_>) -> bool {
            let Ok(shown) = shown.array() else { return false };
            let Ok(elements) = shown.elements::<T>() else { return false };
            elements.map(Bits::bits).eq(array.iter().map(|number| number.bits()))
        }
        each!(self, n => same(*n, shown), t => shown.str() == Ok(t), a => all(a, shown), t => {
            let Ok(Ok(strings)) = shown.array().map(|array| array.strings()) else { return false };
            strings.map(|text| text.as_str().unwrap()).eq(t.iter())
        })
    }
}

/// A number as its bits, with the variant that the reader must show it in.
trait Bits: Copy {
    fn bits(self) -> u64;
    fn of(value: Value<'_>) -> Option<u64>;
}

macro_rules! bits {
    ($($type:ty, $variant:ident, $number:ident => $bits:expr;)*) => {$(
        impl Bits for $type {
            fn bits(self) -> u64 {
                let $number = self;
                $bits
            }

            fn of(value: Value<'_>) -> Option<u64> {
                if let Value::$variant(number) = value { Some(number.bits()) } else { None }
            }
        }
    )*};
}

bits! {
    u8, U8, n => n.into();
    i8, I8, n => n.cast_unsigned().into();
    u16, U16, n => n.into();
    i16, I16, n => n.cast_unsigned().into();
    u32, U32, n => n.into();
    i32, I32, n => n.cast_unsigned().into();
    f32, F32, n => n.to_bits().into();
    bool, Bool, n => n.into();
    u64, U64, n => n;
    i64, I64, n => n.cast_unsigned();
    f64, F64, n => n.to_bits();
}

fn value() -> impl Strategy<Value = Owned> {
    let text = || "\\PC{0,9}|[a\u{0}\u{7f}é日😀]{0,5}";
    let floats = || any::<u32>().prop_map(f32::from_bits);
    let doubles = || any::<u64>().prop_map(f64::from_bits);
    let scalars = prop_oneof![
        any::<u8>().prop_map(Owned::U8),
        any::<i8>().prop_map(Owned::I8),
        any::<u16>().prop_map(Owned::U16),
        any::<i16>().prop_map(Owned::I16),
        any::<u32>().prop_map(Owned::U32),
        any::<i32>().prop_map(Owned::I32),
        any::<bool>().prop_map(Owned::Bool),
        any::<u64>().prop_map(Owned::U64),
        any::<i64>().prop_map(Owned::I64),
    ];
    let arrays = prop_oneof![
        vec(any::<u8>(), 0..9).prop_map(Owned::U8s),
        vec(any::<i8>(), 0..9).prop_map(Owned::I8s),
        vec(any::<u16>(), 0..9).prop_map(Owned::U16s),
        vec(any::<i16>(), 0..9).prop_map(Owned::I16s),
        vec(any::<u32>(), 0..9).prop_map(Owned::U32s),
        vec(any::<i32>(), 0..9).prop_map(Owned::I32s),
        vec(any::<bool>(), 0..9).prop_map(Owned::Bools),
        vec(any::<u64>(), 0..9).prop_map(Owned::U64s),
        vec(any::<i64>(), 0..9).prop_map(Owned::I64s),
    ];
    let others = prop_oneof![
        floats().prop_map(Owned::F32),
        doubles().prop_map(Owned::F64),
        text().prop_map(Owned::Text),
        vec(floats(), 0..9).prop_map(Owned::F32s),
        vec(doubles(), 0..9).prop_map(Owned::F64s),
        vec(text(), 0..9).prop_map(Owned::Texts),
    ];
    prop_oneof![3 => scalars, 3 => arrays, 2 => others]
}

/// A type, and dimensions that are whole blocks, outermost first.
fn tensor() -> impl Strategy<Value = (GgmlType, Vec<u64>)> {
    let dims = prop_oneof![Just(vec![]), vec(0_u64..4, 1..5)];
    (proptest::sample::select(GgmlType::ALL), dims).prop_map(|(kind, mut dims)| {
        let block = u64::from(kind.block_elements().unwrap());
        match dims.last_mut() {
            Some(row) => *row *= block,
            None if block > 1 => dims.push(block),
            None => {}
        }
        (kind, dims)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_reader_shows_what_was_given(
        values in vec(value(), 0..12),
        tensors in vec(tensor(), 0..6),
        big in any::<bool>(),
        shift in proptest::option::of(0_u32..9),
        seed in any::<u8>(),
    ) {
        let keys: Vec<String> = (0..values.len()).map(|i| format!("{}key.{i}", "k-".repeat(i))).collect();
        let pairs: Vec<_> = keys.iter().zip(&values).map(|(key, value)| PairSpec::new(key, value.given())).collect();
        let names: Vec<String> = (0..tensors.len()).map(|i| format!("{}é {i}", "n".repeat(i * 7))).collect();
        let specs: Vec<_> = names.iter().zip(&tensors).map(|(n, (kind, dims))| TensorSpec::new(n, *kind, dims)).collect();
        let byte = |i: u64| u8::try_from(i % 251).unwrap().wrapping_add(seed) | 1;
        let data: Vec<Vec<u8>> =
            specs.iter().map(|spec| (0..spec.byte_len().unwrap()).map(byte).collect()).collect();
        let endian = if big { Endian::Big } else { Endian::Little };
        let mut options = WriteOptions::default().with_endian(endian);
        if let Some(shift) = shift {
            options = options.with_alignment(1 << shift);
        }
        let with_bytes = specs.iter().zip(&data).map(|(spec, bytes)| spec.with_bytes(bytes));
        let file = serialize(&pairs, with_bytes, &options).unwrap();

        let read = Gguf::open(&file).unwrap();
        prop_assert_eq!((read.version(), read.endian()), (3, endian));
        let alignment = shift.map_or(32, |shift| 1 << shift);
        prop_assert_eq!(read.alignment(), alignment);
        let shown: Vec<_> = read.pairs().collect();
        let added = usize::from(alignment != 32);
        prop_assert_eq!(shown.len(), values.len() + added);
        for ((shown, key), value) in shown.iter().zip(&keys).zip(&values) {
            prop_assert_eq!(shown.key(), key);
            prop_assert!(value.is(shown.value()), "{:?} {:?}", value, shown);
        }
        if added == 1 {
            let last = shown.last().unwrap();
            prop_assert_eq!((last.key(), last.value()), ("general.alignment", Value::U32(alignment)));
        }
        prop_assert_eq!(read.len(), specs.len());
        for ((shown, spec), bytes) in read.tensors().zip(&specs).zip(&data) {
            prop_assert_eq!(shown.name(), spec.name());
            prop_assert_eq!(shown.kind(), spec.kind());
            prop_assert!(shown.shape().iter().eq(spec.dims()));
            prop_assert_eq!(shown.bytes(), bytes);
            prop_assert_eq!(shown.span().start() % u64::from(alignment), 0);
        }
        // The last padding is there.
        let end = if specs.is_empty() { read.data_offset() } else { file.len().next_multiple_of(1 << shift.unwrap_or(5)) as u64 };
        prop_assert_eq!(file.len() as u64, end);
        // Once more from what the reader shows.
        prop_assert_eq!(&serialize(read.pairs(), read.tensors(), &options).unwrap(), &file);
    }

    /// Metadata goes from one byte order to the other, and back again unchanged.
    #[test]
    fn byte_orders_are_turned(values in vec(value(), 0..8)) {
        let keys: Vec<String> = (0..values.len()).map(|i| format!("k{i}")).collect();
        let pairs = || keys.iter().zip(&values).map(|(key, value)| PairSpec::new(key, value.given()));
        let none = std::iter::empty::<tensorgate::gguf::TensorData<'_>>;
        let little = serialize(pairs(), none(), &WriteOptions::default()).unwrap();
        let big = WriteOptions::default().with_endian(Endian::Big);
        let turned = serialize(Gguf::open(&little).unwrap().pairs(), none(), &big).unwrap();
        prop_assert_eq!(&serialize(pairs(), none(), &big).unwrap(), &turned);
        let read = Gguf::open_with(&turned, &Limits::default()).unwrap();
        prop_assert_eq!(serialize(read.pairs(), none(), &WriteOptions::default()).unwrap(), little);
    }
}

/// Strings that are no text stand in arrays only.
#[test]
fn strings_of_bytes() {
    let tokens: [&[u8]; 3] = [b"\xff", b"", b"ok"];
    let none = std::iter::empty::<tensorgate::gguf::TensorData<'_>>();
    let file = serialize([("t", &tokens)], none, &WriteOptions::default()).unwrap();
    let read = Gguf::open(&file).unwrap();
    let array = read.array("t").unwrap();
    assert_eq!(array.kind(), ValueType::String);
    assert!(array.strings().unwrap().map(tensorgate::gguf::Str::bytes).eq(tokens));
}
