//! Writing through a sink: any chunks, every miscount, every failure, no memory for data, and no abort where memory is out.

use proptest::collection::vec;
use proptest::prelude::*;
use tensorgate::gguf::{
    GgmlType, Header, NO_PAIRS, PairSpec, Plan, PlanError, TensorData, TensorSpec, WriteError, WriteOptions,
    serialize,
};
use tensorgate::{Limits, Sink};

use crate::memory::{Failing, Prefix, counted, rationed};

#[test]
fn five_gibibytes_without_memory_for_them() {
    const GIB: u64 = 1 << 30;
    let (three, two) = ([3, GIB / 4], [GIB / 2, 4]);
    let tensors = [
        TensorSpec::new("small", GgmlType::I8, &[5]),
        TensorSpec::new("three", GgmlType::F32, &three),
        TensorSpec::new("two", GgmlType::I8, &two),
    ];
    // The padding is no matter either.
    let plan = Plan::new(NO_PAIRS, tensors, &WriteOptions::default().with_alignment(1 << 28)).unwrap();
    assert_eq!(plan.file_len(), (1 << 28) + (1 << 28) + 5 * GIB);
    let chunk = vec![0_u8; 1 << 20];
    let sink = Prefix::of(plan.header().len());
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
    assert_eq!(sink.len, plan.file_len());
    let header = Header::open(&sink.kept, sink.len, &Limits::default()).unwrap();
    assert_eq!(header.tensor("three").unwrap().span().len(), 3 * GIB);
    assert_eq!(header.tensor("two").unwrap().span().end(), sink.len);
}

/// A plan takes memory for its header only: a small multiple of it, whatever the shapes say.
#[test]
fn a_plan_takes_memory_for_its_header() {
    let names: Vec<String> = (0..10_000).map(|i| format!("blk.{i}.attn_q.weight")).collect();
    for dim in [1, 1 << 20] {
        let shape = [dim, dim];
        let specs = names.iter().map(|name| TensorSpec::new(name, GgmlType::F32, &shape));
        let (plan, _, bytes) = counted(|| Plan::new(NO_PAIRS, specs, &WriteOptions::default()).unwrap());
        let header = plan.header().len() as u64;
        assert!(bytes <= 6 * header, "{bytes} bytes for a header of {header}");
    }
}

/// Three tensors, one of them with no bytes; their ends are not aligned.
fn three() -> [TensorData<'static>; 3] {
    [
        TensorSpec::new("a", GgmlType::I8, &[3]).with_bytes(&[1, 2, 3]),
        TensorSpec::new("b", GgmlType::F32, &[2]).with_bytes(&[4, 5, 6, 7, 8, 9, 10, 11]),
        TensorSpec::new("c", GgmlType::F32, &[0]).with_bytes(&[]),
    ]
}

fn options() -> WriteOptions {
    WriteOptions::default().with_alignment(16)
}

fn plan() -> Plan {
    Plan::new([("k", "v")], three().iter().map(TensorData::spec), &options()).unwrap()
}

fn whole() -> Vec<u8> {
    serialize([("k", "v")], three(), &options()).unwrap()
}

#[test]
fn slices_by_index() {
    let mut file = Vec::new();
    plan().write(&mut file, |index| three()[index].bytes()).unwrap();
    assert_eq!(file, whole());
    assert_eq!(file.len() as u64, plan().file_len());
    let outcome = plan().write(&mut Vec::new(), |index| vec![0; 3 + index]);
    assert_eq!(outcome, Err(WriteError::ByteCount { index: 1, expected: 8, given: 4 }));
}

#[test]
fn missing_bytes_stop_the_file() {
    let plan = plan();
    let missing = |index, expected, given| WriteError::ByteCount { index, expected, given };
    assert_eq!(plan.writer(Vec::new()).unwrap().finish(), Err(missing(0, 3, 0)));
    let mut writer = plan.writer(Vec::new()).unwrap();
    writer.tensor().unwrap().unwrap().write(&[1, 2]).unwrap();
    assert_eq!(writer.tensor().map(|_| ()), Err(missing(0, 3, 2)));
    assert_eq!(writer.tensor().map(|_| ()), Err(WriteError::Stopped));
    assert_eq!(writer.finish(), Err(WriteError::Stopped));
    let mut writer = plan.writer(Vec::new()).unwrap();
    writer.tensor().unwrap().unwrap().write(&[1, 2, 3]).unwrap();
    assert_eq!(writer.finish(), Err(missing(1, 8, 0)));
    // The last has no bytes, and need not be asked for; the padding before it is there all the same.
    let mut writer = plan.writer(Vec::new()).unwrap();
    writer.tensor().unwrap().unwrap().write(three()[0].bytes()).unwrap();
    writer.tensor().unwrap().unwrap().write(three()[1].bytes()).unwrap();
    assert_eq!(writer.finish().unwrap(), whole());
}

#[test]
fn too_many_bytes_stop_the_file_and_are_not_written() {
    let plan = plan();
    let mut file = Vec::new();
    let mut writer = plan.writer(&mut file).unwrap();
    let mut tensor = writer.tensor().unwrap().unwrap();
    tensor.write(&[1, 2]).unwrap();
    assert_eq!(tensor.write(&[3, 4]), Err(WriteError::ByteCount { index: 0, expected: 3, given: 4 }));
    assert_eq!(tensor.write(&[3]), Err(WriteError::Stopped));
    assert_eq!(writer.finish().map(|_| ()), Err(WriteError::Stopped));
    assert_eq!(file.len() as u64, plan.data_offset() + 2);
}

#[test]
fn a_sink_that_fails_at_any_call() {
    // The header, its padding, a tensor and padding twice, the last tensor, the flush.
    for left in 0..8 {
        let mut sink = Failing { left, taken: 0 };
        let outcome = plan().write(&mut sink, |index| three()[index].bytes());
        assert_eq!(outcome, Err(WriteError::Sink("full")), "{left}");
        assert_eq!(sink.taken, left);
    }
    assert_eq!(plan().write(&mut Failing { left: 8, taken: 0 }, |index| three()[index].bytes()), Ok(()));
    // Where padding fails, it is for good, though the sink recover.
    let plan = plan();
    let mut writer = plan.writer(Failing { left: 1, taken: 0 }).unwrap();
    assert_eq!(writer.tensor().map(|_| ()), Err(WriteError::Sink("full")));
    assert_eq!(writer.tensor().map(|_| ()), Err(WriteError::Stopped));
    assert!(matches!(writer.finish(), Err(WriteError::Stopped)));
}

#[cfg(feature = "std")]
#[test]
fn any_writer_of_the_standard_library() {
    let mut sink = tensorgate::IoSink::new(std::io::BufWriter::new(Vec::new()));
    plan().write(&mut sink, |index| three()[index].bytes()).unwrap();
    assert_eq!(sink.into_inner().get_ref(), &whole());
}

/// Wherever memory runs out, an error comes back.
#[test]
fn memory_that_runs_out_is_an_error() {
    let (file, errors) = rationed(|| serialize([("k", "v")], three(), &options()));
    assert_eq!(file, whole());
    // The header as it grows, slots, tensors, slices; then the file.
    let (last, before) = errors.split_last().unwrap();
    assert!(before.len() >= 4, "{errors:?}");
    assert!(before.iter().all(|error| *error == WriteError::Plan(PlanError::OutOfMemory)), "{errors:?}");
    assert!(matches!(last, WriteError::Sink(_)), "{errors:?}");

    let many = || (0..200_u64).map(|_| ("k", "v"));
    let (error, errors) =
        rationed(|| match Plan::new(many(), three().iter().map(TensorData::spec), &WriteOptions::default()) {
            Err(PlanError::OutOfMemory) => Err(()),
            other => Ok(other.unwrap_err()),
        });
    assert_eq!(error, PlanError::DuplicateKey { index: 1, first: 0 });
    assert!(errors.len() >= 8, "the header and the slots grew");

    let plan = plan();
    let (file, errors) = rationed(|| {
        let mut file = Vec::new();
        plan.write(&mut file, |index| three()[index].bytes()).map(|()| file)
    });
    assert_eq!(file, whole());
    assert!(!errors.is_empty() && errors.iter().all(|error| matches!(error, WriteError::Sink(_))), "{errors:?}");
}

/// A value that is written once more asks for no memory besides the header's.
#[test]
fn long_values_are_not_copied_besides() {
    let tokens: Vec<String> = (0..10_000).map(|i| format!("token {i}")).collect();
    let scores = vec![0.5_f32; 10_000];
    let pairs = [PairSpec::new("tokens", &tokens[..]), PairSpec::new("scores", &scores[..])];
    let none = std::iter::empty::<TensorSpec<'_>>;
    let (plan, _, bytes) = counted(|| Plan::new(pairs, none(), &WriteOptions::default()).unwrap());
    // A buffer that doubles.
    assert!(bytes <= 3 * plan.header().len() as u64, "{bytes}");
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
                tensor.write_all(chunk).unwrap();
                rest = after;
            }
        }
        prop_assert_eq!(writer.finish().unwrap(), whole());
    }
}
