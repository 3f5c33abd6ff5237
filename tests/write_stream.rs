//! Writing through a sink: any chunks, every miscount, every failure, no memory for data, and no abort where memory is out.

#![cfg(feature = "alloc")]
#[path = "common/memory.rs"]
mod memory;

use memory::{Counting, Failing, Prefix, counted, rationed};
use proptest::collection::vec;
use proptest::prelude::*;
use tensorgate::safetensors::{
    Header, NO_METADATA, Plan, PlanError, TensorData, TensorSpec, WriteError, serialize,
};
use tensorgate::{Dtype, Limits, Sink};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn five_gibibytes_without_memory_for_them() {
    const GIB: u64 = 1 << 30;
    let (three, two) = ([3, GIB / 4], [GIB / 2, 4]);
    let tensors = [
        TensorSpec::new("small", Dtype::U8, &[5]),
        TensorSpec::new("three", Dtype::F32, &three),
        TensorSpec::new("two", Dtype::U8, &two),
    ];
    let plan = Plan::new(tensors, NO_METADATA, &Limits::default()).unwrap();
    let chunk = vec![0_u8; 1 << 20];
    let sink = Prefix::of(plan.prefix().len());
    let (sink, made, _) = counted(|| {
        let mut writer = plan.writer(sink).unwrap();
        while let Some(mut tensor) = writer.tensor().unwrap() {
            while tensor.remaining() > 0 {
                let some = usize::try_from(tensor.remaining()).unwrap_or(usize::MAX).min(chunk.len());
                tensor.write(&chunk[..some]).unwrap();
            }
        }
        writer.finish().unwrap()
    });
    assert_eq!(made, 0, "streaming asked for memory");
    assert!(sink.flushed);
    assert_eq!(sink.len, plan.prefix().len() as u64 + 5 * GIB + 5);
    assert_eq!(sink.len, plan.file_len());
    // Our reader takes the header and the length.
    let header = Header::open(&sink.kept, sink.len, &Limits::default()).unwrap();
    assert_eq!(header.tensor("three").unwrap().span().len(), 3 * GIB);
    assert_eq!(header.tensor("two").unwrap().span().end(), sink.len);
}

/// A plan takes memory for its header only: a small multiple of it, whatever the shapes say.
#[test]
fn a_plan_takes_memory_for_its_header() {
    let names: Vec<String> = (0..10_000).map(|i| format!("model.layers.{i}.self_attn.q_proj.weight")).collect();
    for dim in [1, 1 << 20] {
        let shape = [dim, dim];
        let specs = names.iter().map(|name| TensorSpec::new(name, Dtype::F32, &shape));
        let (plan, _, bytes) = counted(|| Plan::new(specs, NO_METADATA, &Limits::default()).unwrap());
        let header = plan.header().len() as u64;
        assert!(bytes <= 4 * header, "{bytes} bytes for a header of {header}");
    }
}

/// Three tensors, given in another order than that of their data; the one called `c` has no bytes.
fn three() -> [TensorData<'static>; 3] {
    [
        TensorSpec::new("a", Dtype::U8, &[3]).with_bytes(&[1, 2, 3]),
        TensorSpec::new("b", Dtype::F32, &[2]).with_bytes(&[4, 5, 6, 7, 8, 9, 10, 11]),
        TensorSpec::new("c", Dtype::U8, &[0]).with_bytes(&[]),
    ]
}

fn plan() -> Plan {
    Plan::new(three().iter().map(TensorData::spec), Some([("k", "v")]), &Limits::default()).unwrap()
}

fn whole() -> Vec<u8> {
    serialize(three(), Some([("k", "v")])).unwrap()
}

#[test]
fn slices_by_index() {
    let mut file = Vec::new();
    plan().write(&mut file, |index| three()[index].bytes()).unwrap();
    assert_eq!(file, whole());
    // Bytes made on the spot do as well.
    let mut file = Vec::new();
    plan().write(&mut file, |index| three()[index].bytes().to_vec()).unwrap();
    assert_eq!(file, whole());
    let outcome = plan().write(&mut Vec::new(), |index| vec![0; 3 + index]);
    assert_eq!(outcome, Err(WriteError::ByteCount { index: 1, expected: 8, given: 4 }));
}

#[test]
fn too_few_bytes_stop_the_file() {
    let plan = plan();
    let short = WriteError::ByteCount { index: 1, expected: 8, given: 7 };
    // Noticed when the next tensor is asked for …
    let mut writer = plan.writer(Vec::new()).unwrap();
    let mut tensor = writer.tensor().unwrap().unwrap();
    assert_eq!((tensor.index(), tensor.remaining()), (1, 8));
    tensor.write(&[0; 7]).unwrap();
    assert_eq!(tensor.remaining(), 1);
    assert_eq!(writer.tensor().map(|_| ()), Err(short.clone()));
    // … and nothing can be done afterwards.
    assert_eq!(writer.tensor().map(|_| ()), Err(WriteError::Stopped));
    assert_eq!(writer.finish(), Err(WriteError::Stopped));
    // Or at the end.
    let mut writer = plan.writer(Vec::new()).unwrap();
    writer.tensor().unwrap().unwrap().write(&[0; 7]).unwrap();
    assert_eq!(writer.finish(), Err(short));
}

#[test]
fn tensors_that_never_came_stop_the_file() {
    let plan = plan();
    let missing = |index, expected| Err(WriteError::ByteCount { index, expected, given: 0 });
    assert_eq!(plan.writer(Vec::new()).unwrap().finish(), missing(1, 8));
    // Asked for and given nothing.
    let mut writer = plan.writer(Vec::new()).unwrap();
    assert!(writer.tensor().unwrap().is_some());
    assert_eq!(writer.finish(), missing(1, 8));
    let mut writer = plan.writer(Vec::new()).unwrap();
    writer.tensor().unwrap().unwrap().write(&[0; 8]).unwrap();
    assert_eq!(writer.finish(), missing(0, 3));
    // The last has no bytes, and need not be asked for.
    let mut writer = plan.writer(Vec::new()).unwrap();
    writer.tensor().unwrap().unwrap().write(three()[1].bytes()).unwrap();
    writer.tensor().unwrap().unwrap().write(three()[0].bytes()).unwrap();
    assert_eq!(writer.finish().unwrap(), whole());
}

#[test]
fn too_many_bytes_stop_the_file_and_are_not_written() {
    let plan = plan();
    let header = plan.prefix().len();
    let mut file = Vec::new();
    let mut writer = plan.writer(&mut file).unwrap();
    let mut tensor = writer.tensor().unwrap().unwrap();
    tensor.write(&[0; 6]).unwrap();
    let many = WriteError::ByteCount { index: 1, expected: 8, given: 9 };
    assert_eq!(tensor.write(&[0; 3]), Err(many));
    // Not even as many as would have been right.
    assert_eq!(tensor.write(&[0; 2]), Err(WriteError::Stopped));
    assert_eq!(writer.finish().map(|_| ()), Err(WriteError::Stopped));
    assert_eq!(file.len(), header + 6);
    // A byte too many for a tensor that is whole, and for one that has none.
    let mut writer = plan.writer(Vec::new()).unwrap();
    let mut tensor = writer.tensor().unwrap().unwrap();
    tensor.write_all(&[0; 8]).unwrap();
    assert!(tensor.write_all(&[0]).is_err());
    assert_eq!(writer.finish(), Err(WriteError::Stopped));
    let mut writer = plan.writer(Vec::new()).unwrap();
    writer.tensor().unwrap().unwrap().write(&[0; 8]).unwrap();
    writer.tensor().unwrap().unwrap().write(&[0; 3]).unwrap();
    let mut last = writer.tensor().unwrap().unwrap();
    assert_eq!((last.index(), last.planned().span().len()), (2, 0));
    assert_eq!(last.write(&[0]), Err(WriteError::ByteCount { index: 2, expected: 0, given: 1 }));
    assert_eq!(writer.finish(), Err(WriteError::Stopped));
}

#[test]
fn a_sink_that_fails_at_any_call() {
    // The header, three tensors, and the flush.
    for left in 0..5 {
        let mut sink = Failing { left, taken: 0 };
        assert_eq!(plan().write(&mut sink, |index| three()[index].bytes()), Err(WriteError::Sink("full")));
        assert_eq!(sink.taken, left);
    }
    assert_eq!(plan().write(&mut Failing { left: 5, taken: 0 }, |index| three()[index].bytes()), Ok(()));
    // A failure is for good, though the sink recover.
    let plan = plan();
    let mut writer = plan.writer(Failing { left: 1, taken: 0 }).unwrap();
    let mut tensor = writer.tensor().unwrap().unwrap();
    assert_eq!(tensor.write(&[0; 8]), Err(WriteError::Sink("full")));
    assert_eq!(tensor.write(&[0; 8]), Err(WriteError::Stopped));
    assert!(matches!(writer.finish(), Err(WriteError::Stopped)));
}

#[cfg(feature = "std")]
#[test]
fn any_writer_of_the_standard_library() {
    let plan = plan();
    let mut sink = tensorgate::IoSink::new(std::io::BufWriter::new(Vec::new()));
    plan.write(&mut sink, |index| three()[index].bytes()).unwrap();
    // Flushed: nothing is left in the buffer.
    assert_eq!(sink.into_inner().get_ref(), &whole());
    let mut room = [0_u8; 20];
    let outcome = plan.write(&mut tensorgate::IoSink::new(&mut room[..]), |index| three()[index].bytes());
    assert!(matches!(outcome, Err(WriteError::Sink(error)) if error.kind() == std::io::ErrorKind::WriteZero));
}

/// Wherever memory runs out, an error comes back.
#[test]
fn memory_that_runs_out_is_an_error() {
    let (file, errors) = rationed(|| serialize(three(), Some([("k", "v")])));
    assert_eq!(file, whole());
    // Items, slices, pairs, the prefix, the plan's tensors; then the file.
    let (last, before) = errors.split_last().unwrap();
    assert!(before.len() >= 5, "{errors:?}");
    assert!(before.iter().all(|error| *error == WriteError::Plan(PlanError::OutOfMemory)), "{errors:?}");
    assert!(matches!(last, WriteError::Sink(_)), "{errors:?}");

    let many = || (0..40_u64).map(|_| ("", ""));
    let (error, errors) =
        rationed(|| match Plan::new(three().iter().map(TensorData::spec), Some(many()), &Limits::default()) {
            Err(PlanError::OutOfMemory) => Err(()),
            other => Ok(other.unwrap_err()),
        });
    assert_eq!(error, PlanError::DuplicateKey { index: 1, first: 0 });
    assert!(errors.len() >= 5, "the list of pairs grew");

    let plan = plan();
    let (file, errors) = rationed(|| {
        let mut file = Vec::new();
        plan.write(&mut file, |index| three()[index].bytes()).map(|()| file)
    });
    assert_eq!(file, whole());
    assert!(!errors.is_empty() && errors.iter().all(|error| matches!(error, WriteError::Sink(_))), "{errors:?}");
}

proptest! {
    #[test]
    fn any_chunks_make_the_same_file(cuts in vec(0_usize..5, 0..40)) {
        let plan = plan();
        let mut cuts = cuts.into_iter().chain(std::iter::repeat(8));
        let mut writer = plan.writer(Vec::new()).unwrap();
        while let Some(mut tensor) = writer.tensor().unwrap() {
            let mut rest = three()[tensor.index()].bytes();
            while tensor.remaining() > 0 {
                let (chunk, after) = rest.split_at(cuts.next().unwrap().min(rest.len()));
                tensor.write(chunk).unwrap();
                rest = after;
            }
        }
        prop_assert_eq!(writer.finish().unwrap(), whole());
    }
}
