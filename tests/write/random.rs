//! Whatever is written is read back the same, between our writer and reader and the reference's, in every direction.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use tensorgate::safetensors::{Header, Plan, TensorSpec, serialize};
use tensorgate::{Dtype, Limits, SafeTensors};

use crate::reference::{self, Pairs, Tensor, data, shown, shown_by_reference, sorted};

fn text() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        4 => proptest::char::range('a', 'e'),
        1 => proptest::char::range('\0', '\u{a0}'),
        1 => any::<char>(),
    ];
    vec(one, 0..6).prop_map(|chars| chars.into_iter().collect())
}

fn tensors() -> impl Strategy<Value = Vec<Tensor>> {
    let one = (0..Dtype::ALL.len(), vec(0_u64..4, 0..5), any::<u8>());
    btree_map(text(), one, 0..12).prop_map(|named| {
        let named = named.into_iter().filter(|(name, _)| name != "__metadata__");
        let mut tensors: Vec<Tensor> =
            named.map(|(name, (dtype, shape, seed))| tensor(&name, dtype, shape, seed)).collect();
        // Out of the order of their names.
        tensors.sort_by_key(|tensor| tensor.bytes.iter().fold(7_u8, |sum, byte| sum.wrapping_mul(31) ^ byte));
        tensors
    })
}

fn tensor(name: &str, dtype: usize, mut shape: Vec<u64>, seed: u8) -> Tensor {
    let dtype = Dtype::ALL[dtype];
    if dtype.bytes_for(shape.iter().product()).is_none() {
        // Four elements of any dtype are whole bytes.
        shape.push(4);
    }
    let mut tensor = Tensor::new(name, dtype, &shape);
    tensor.bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(seed | 1).wrapping_add(seed));
    tensor
}

fn metadata() -> impl Strategy<Value = Option<Pairs>> {
    proptest::option::of(btree_map(text(), text(), 0..5))
}

/// Dimensions around every edge.
fn wild_shape() -> impl Strategy<Value = Vec<u64>> {
    let dim = prop_oneof![
        4 => 0_u64..5,
        1 => (0_u32..64, -1_i64..2).prop_map(|(shift, off)| (1_u64 << shift).wrapping_add_signed(off)),
    ];
    vec(dim, 0..5)
}

fn tight_limits() -> impl Strategy<Value = Limits> {
    (0_u64..600, 0_u64..6, 0_u64..6, 0_u64..30, 0_u64..6).prop_map(|(header, tensors, rank, name, keys)| {
        let limits = Limits::default().with_header_len(header).with_tensors(tensors).with_rank(rank);
        limits.with_name_len(name).with_metadata_keys(keys)
    })
}

proptest! {
    /// A plan exists exactly where the reader takes the file, whatever the shapes and the limits. (Where there is none
    /// under the limits, but one without them, the reader must refuse that one under the limits.)
    #[test]
    fn a_plan_is_a_file_that_the_reader_takes(
        named in vec((text(), 0..Dtype::ALL.len(), wild_shape()), 0..5), pairs in metadata(), limits in tight_limits(),
    ) {
        let specs = named.iter().map(|(name, dtype, shape)| TensorSpec::new(name, Dtype::ALL[*dtype], shape));
        let free = Plan::new(specs.clone(), pairs.as_ref(), &Limits::default());
        let tight = Plan::new(specs, pairs.as_ref(), &limits);
        match free {
            Ok(free) => {
                prop_assert!(Header::open(free.prefix(), free.file_len(), &Limits::default()).is_ok());
                let read = Header::open(free.prefix(), free.file_len(), &limits);
                prop_assert_eq!(tight.is_ok(), read.is_ok(), "{:?} {:?}", tight, read);
            }
            Err(_) => prop_assert!(tight.is_err()),
        }
    }

    #[test]
    fn every_way_round(tensors in tensors(), metadata in metadata()) {
        let ours = serialize(data(&tensors), metadata.as_ref()).unwrap();
        let want = (sorted(tensors.clone()), metadata.clone());

        let read = SafeTensors::open(&ours).unwrap();
        let (seen, pairs) = shown(&read);
        prop_assert_eq!((sorted(seen), pairs), want.clone());
        prop_assert_eq!(shown_by_reference(&ours), want.clone());
        // What was read is written again as it was.
        prop_assert_eq!(&serialize(read.tensors(), read.metadata()).unwrap(), &ours);

        if !tensors.is_empty() || metadata.as_ref().is_none_or(|pairs| !pairs.is_empty()) {
            let theirs = reference::serialize(&tensors, metadata.as_ref());
            let (seen, pairs) = shown(&SafeTensors::open(&theirs).unwrap());
            prop_assert_eq!((sorted(seen), pairs), want);
            prop_assert_eq!(ours, reference::serialize_sorted(&tensors, metadata.as_ref()));
        }
    }
}
