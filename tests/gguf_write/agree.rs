//! The writer and the reader draw the line at the same place. A careless encoder, which knows the format and none of its
//! rules, makes the file; the reader judges that, the writer the same input; and where both take it, the bytes are the
//! same.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tensorgate::Limits;
use tensorgate::gguf::{Endian, GgmlType, Header, PairSpec, Plan, PlanError, TensorSpec, WriteOptions};

/// Values that the rules look at.
#[derive(Clone, Copy, Debug)]
enum Val {
    U32(u32),
    U64(u64),
    Text(&'static str),
    Texts(&'static [&'static str]),
    I16s(&'static [i16]),
}

/// Numbers in the file's byte order.
struct Bytes {
    bytes: Vec<u8>,
    big: bool,
}

impl Bytes {
    fn u32(&mut self, value: u32) {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn u64(&mut self, value: u64) {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn text(&mut self, text: &str) {
        self.u64(text.len() as u64);
        self.bytes.extend(text.bytes());
    }

    fn value(&mut self, value: Val) {
        match value {
            Val::U32(value) => {
                self.u32(4);
                self.u32(value);
            }
            Val::U64(value) => {
                self.u32(10);
                self.u64(value);
            }
            Val::Text(text) => {
                self.u32(8);
                self.text(text);
            }
            Val::Texts(texts) => {
                self.u32(9);
                self.u32(8);
                self.u64(texts.len() as u64);
                for text in texts {
                    self.text(text);
                }
            }
            Val::I16s(numbers) => {
                self.u32(9);
                self.u32(3);
                self.u64(numbers.len() as u64);
                for number in numbers {
                    self.bytes.extend(if self.big { number.to_be_bytes() } else { number.to_le_bytes() });
                }
            }
        }
    }
}

type Tensor = (&'static str, u32, Vec<u64>);

/// The header, and the file's length however long that is.
fn careless(pairs: &[(&str, Val)], tensors: &[Tensor], big: bool) -> (Vec<u8>, u128) {
    let mut out = Bytes { bytes: b"GGUF".to_vec(), big };
    out.u32(3);
    out.u64(tensors.len() as u64);
    out.u64(pairs.len() as u64);
    let mut alignment = 32;
    for (key, value) in pairs {
        out.text(key);
        out.value(*value);
        if let ("general.alignment", Val::U32(value)) = (*key, value) {
            alignment = u128::from(*value).max(1);
        }
    }
    let mut next = 0_u128;
    for (name, kind, dims) in tensors {
        out.text(name);
        out.u32(u32::try_from(dims.len()).unwrap());
        // The file has the innermost first.
        dims.iter().rev().for_each(|dim| out.u64(*dim));
        out.u32(*kind);
        out.u64(u64::try_from(next & u128::from(u64::MAX)).unwrap());
        let kind = GgmlType::from_id(*kind);
        let (block, size) = kind.block_elements().zip(kind.block_bytes()).unwrap_or((1, 1));
        let elements = dims.iter().fold(1_u128, |product, dim| product.saturating_mul(u128::from(*dim)));
        let bytes = (elements / u128::from(block)).saturating_mul(u128::from(size)).min(1 << 100);
        next = (next + bytes).next_multiple_of(alignment);
    }
    let head = out.bytes.len() as u128;
    let len = if tensors.is_empty() { head } else { head.next_multiple_of(alignment) + next };
    (out.bytes, len)
}

fn pairs() -> impl Strategy<Value = Vec<(&'static str, Val)>> {
    let key = prop_oneof![
        9 => select(vec!["a", "b", "c", "d", "general.name", "x-y z~"]),
        2 => Just("general.alignment"),
        1 => select(vec!["", "é", "a\0", "seven77", "\u{7f}"]),
    ];
    let texts: &[&str] = &["", "日", "five5"];
    let value = prop_oneof![
        select(vec![0, 1, 8, 32, 48, 256]).prop_map(Val::U32),
        any::<u64>().prop_map(Val::U64),
        select(vec!["", "é\0", "twelve bytes", "thirteen byte"]).prop_map(Val::Text),
        select(vec![texts, &[], &["thirteen byte"], &[""; 5], &[""; 6]]).prop_map(Val::Texts),
        select(vec![&[][..], &[-1, 2], &[0; 5], &[0; 6]]).prop_map(Val::I16s),
    ];
    vec((key, value), 0..4)
}

fn tensors() -> impl Strategy<Value = Vec<Tensor>> {
    const EDGE: u64 = u64::MAX >> 1;
    let name = prop_oneof![
        9 => select(vec!["a", "b", "c", "d", "e", "é日"]),
        1 => select(vec!["", "a\n", "\u{85}", "nine9999", "ten1010101"]),
    ];
    let kind = prop_oneof![9 => select(vec![0, 1, 2, 8, 14, 24, 39]), 1 => select(vec![4, 31, 43, u32::MAX])];
    let dim = prop_oneof![
        9 => select(vec![0, 1, 2, 3, 32, 64, 256, 512]),
        2 => select(vec![1 << 20, 1 << 31, 1 << 32, 1 << 40, 1 << 62, EDGE / 2, EDGE - 31, EDGE, EDGE + 1, u64::MAX]),
    ];
    vec((name, kind, vec(dim, 0..6)), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_writer_takes_what_the_reader_takes(pairs in pairs(), tensors in tensors(), big in any::<bool>(), three in any::<bool>()) {
        let limits = Limits::default().with_string_len(12).with_key_len(17).with_array_len(5).with_gguf_name_len(9);
        let limits = if three { limits.with_gguf_rank(3).with_tensors(2).with_metadata_keys(2).with_metadata_len(150) } else { limits };
        let endian = if big { Endian::Big } else { Endian::Little };
        let specs = pairs.iter().map(|(key, value)| match *value {
            Val::U32(value) => PairSpec::new(*key, value),
            Val::U64(value) => PairSpec::new(*key, value),
            Val::Text(text) => PairSpec::new(*key, text),
            Val::Texts(texts) => PairSpec::new(*key, texts),
            Val::I16s(numbers) => PairSpec::new(*key, numbers),
        });
        let described = tensors.iter().map(|(name, kind, dims)| TensorSpec::new(*name, GgmlType::from_id(*kind), dims));
        let plan = Plan::new(specs, described, &WriteOptions::default().with_endian(endian).with_limits(limits));

        let (header, file_len) = careless(&pairs, &tensors, big);
        match (plan, u64::try_from(file_len)) {
            (Ok(plan), Ok(file_len)) => {
                prop_assert_eq!(plan.header(), header);
                prop_assert_eq!(plan.file_len(), file_len);
                let read = Header::open(plan.header(), file_len, &limits).unwrap();
                prop_assert_eq!(read.data_offset(), plan.data_offset());
                prop_assert!(read.tensors().map(|t| t.span()).eq(plan.tensors().map(|t| t.span())));
            }
            (Ok(_), Err(_)) => prop_assert!(false, "the length does not fit"),
            (Err(PlanError::FileLen), file_len) => prop_assert!(file_len.is_err()),
            (Err(error), file_len) => {
                let read = Header::open(&header, file_len.unwrap_or(u64::MAX), &limits);
                prop_assert!(read.is_err(), "{}", error);
            }
        }
    }
}
