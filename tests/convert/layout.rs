//! Byte order, alignment, and the number of files.

use tensorgate::Gguf;
use tensorgate::gguf::Endian;

use super::*;

fn ggufs() -> Vec<PathBuf> {
    let entries = fs::read_dir(data("tiny-gpt2-gguf")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "gguf"));
    paths.sort();
    assert_eq!(paths.len(), 9);
    paths
}

#[test]
fn a_copy_is_the_same_file() {
    let place = Place::new();
    for path in ggufs() {
        let source = Model::open(&path).unwrap();
        place.convert(&source, &to_gguf(), "a.gguf").unwrap();
        assert!(fs::read(place.at("a.gguf")).unwrap() == fs::read(&path).unwrap(), "{path:?}");
    }
}

#[test]
fn split_and_merged_again_it_is_the_same_file() {
    let place = Place::new();
    for (number, path) in ggufs().into_iter().enumerate() {
        let source = Model::open(&path).unwrap();
        let target = place.at(&format!("m{number}.gguf"));
        let plan = to_gguf().plan(&source).unwrap();
        let report = plan.save(Target::Shards(&target, 9_000), &Saver::new()).unwrap();
        assert!(report.files().len() > 2, "{path:?}");
        let split = Model::open(&report.files()[0]).unwrap();
        assert_eq!(split.files().len(), report.files().len());
        assert_eq!(tensors(&split), tensors(&source));
        place.convert(&split, &to_gguf(), "merged.gguf").unwrap();
        assert!(fs::read(place.at("merged.gguf")).unwrap() == fs::read(&path).unwrap(), "{path:?}");
        // A name that is taken is not replaced, and nothing is left of the attempt.
        let before = place.names();
        fs::remove_file(&report.files()[0]).unwrap();
        let error = plan.save(Target::Shards(&target, 9_000), &Saver::new()).unwrap_err();
        assert!(error.to_string().contains("-00002-of-"), "{error}");
        assert_eq!(place.names().len() + 1, before.len());
    }
}

#[test]
fn byte_order_there_and_back_for_every_type() {
    let place = Place::new();
    let mut list = Vec::new();
    for (number, kind) in GgmlType::ALL.iter().enumerate() {
        let len = usize::try_from(kind.block_bytes().unwrap() * 4).unwrap();
        let bytes: Vec<u8> = (0..len).map(|at| u8::try_from((at * 37 + number) % 255).unwrap()).collect();
        list.push((kind.to_string(), *kind, [2, u64::from(kind.block_elements().unwrap()) * 2], bytes));
    }
    let specs: Vec<(&str, GgmlType, &[u64], &[u8])> =
        list.iter().map(|(name, kind, shape, bytes)| (name.as_str(), *kind, &shape[..], &bytes[..])).collect();
    let pairs =
        [PairSpec::new("general.alignment", 64_u32), PairSpec::new("n", -7_i64), PairSpec::new("l", &[1_u16, 2])];
    let source = place.gguf("a.gguf", &pairs, &specs);
    let big = place.converted(
        &source,
        &to_gguf().with_non_finite(tensorgate::quant::NonFinite::Keep).with_endian(Endian::Big),
        "b.gguf",
    );
    let bytes = fs::read(place.at("b.gguf")).unwrap();
    let header = Gguf::open(&bytes).unwrap();
    assert_eq!((header.endian(), header.alignment(), header.i64("n")), (Endian::Big, 64, Ok(-7)));
    for (name, kind, _, bytes) in &list {
        let tensor = big.tensor(name).unwrap();
        // The same numbers, in other bytes wherever a number has more than one.
        let decode = |endian, bytes: &[u8]| {
            let mut out = vec![0.0; usize::try_from(kind.block_elements().unwrap() * 4).unwrap()];
            tensorgate::quant::decode_from(*kind, endian, bytes, &mut out).unwrap();
            out.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
        };
        assert_eq!(decode(Endian::Big, tensor.bytes()), decode(Endian::Little, bytes), "{name}");
        let bytes_only = matches!(name.as_str(), "I8" | "MXFP4" | "NVFP4");
        assert_eq!(tensor.bytes() == bytes, bytes_only, "{name}");
    }
    place.convert(&big, &to_gguf().with_non_finite(tensorgate::quant::NonFinite::Keep), "c.gguf").unwrap();
    assert!(fs::read(place.at("c.gguf")).unwrap() == fs::read(place.at("a.gguf")).unwrap());
    // Safetensors files are little-endian, whatever is asked for.
    let plain = place.gguf("p.gguf", &[], &[("w", GgmlType::I32, &[2], &[1, 2, 3, 4, 5, 6, 7, 8])]);
    let big = place.converted(
        &plain,
        &to_gguf().with_non_finite(tensorgate::quant::NonFinite::Keep).with_endian(Endian::Big),
        "q.gguf",
    );
    assert_eq!(big.tensor("w").unwrap().bytes(), [4, 3, 2, 1, 8, 7, 6, 5]);
    for endian in [Endian::Little, Endian::Big] {
        let back = place.converted(&big, &to_safetensors().with_endian(endian), "r.safetensors");
        assert_eq!(back.tensor("w").unwrap().bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}

#[test]
fn alignment() {
    let place = Place::new();
    let path = data("tiny-gpt2-gguf/tinyA-q8_0.gguf");
    let source = Model::open(&path).unwrap();
    let other = place.converted(&source, &to_gguf().with_alignment(4096), "a.gguf");
    assert!(other.tensors().all(|tensor| tensor.span().start() % 4096 == 0));
    assert_eq!(tensors(&other), tensors(&source));
    // What a file says of itself stays, also in the parts of a split.
    place.convert(&other, &to_gguf(), "b.gguf").unwrap();
    assert!(fs::read(place.at("b.gguf")).unwrap() == fs::read(place.at("a.gguf")).unwrap());
    let parts =
        to_gguf().plan(&other).unwrap().save(Target::Shards(&place.at("s.gguf"), 9_000), &Saver::new()).unwrap();
    let split = Model::open(&parts.files()[0]).unwrap();
    assert!(split.tensors().all(|tensor| tensor.span().start() % 4096 == 0));
    place.convert(&split, &to_gguf(), "c.gguf").unwrap();
    assert!(fs::read(place.at("c.gguf")).unwrap() == fs::read(place.at("a.gguf")).unwrap());
    place.convert(&other, &to_gguf().with_alignment(32), "d.gguf").unwrap();
    assert!(tensors(&Model::open(place.at("d.gguf")).unwrap()) == tensors(&source));

    // A safetensors file whose tensors lie anyhow, as other writers leave them.
    let json = r#"{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}}"#;
    fs::write(place.at("odd.safetensors"), common::file(json, &[1, 2, 3, 4, 5, 6, 7, 8, 9])).unwrap();
    let odd = Model::open(place.at("odd.safetensors")).unwrap();
    assert_ne!(odd.tensor("w").unwrap().span().start() % 8, 0);
    for alignment in [8, 64, 4096, 65_536] {
        let even = place.converted(&odd, &to_safetensors().with_alignment(alignment), "even.safetensors");
        let w = even.tensor("w").unwrap();
        assert_eq!((w.span().start() % u64::from(alignment), w.bytes()), (0, &[2, 3, 4, 5, 6, 7, 8, 9][..]));
        assert_eq!(tensors(&even), tensors(&odd));
    }
}

#[test]
fn shards_of_safetensors_and_one_file_again() {
    let place = Place::new();
    let source = Model::open(data("tiny-gpt2/tinyA-bf16")).unwrap();
    fs::create_dir(place.at("s")).unwrap();
    let plan = to_safetensors().plan(&source).unwrap();
    let report = plan.save(Target::Shards(&place.at("s"), 20_000), &Saver::new()).unwrap();
    assert!(report.files().len() > 3 && report.files().last().unwrap().ends_with("model.safetensors.index.json"));
    let sharded = Model::open(place.at("s")).unwrap();
    assert_eq!(tensors(&sharded), tensors(&source));
    let single = place.converted(&sharded, &to_safetensors(), "one.safetensors");
    assert_eq!(tensors(&single), tensors(&source));
    let metadata = |model: &Model| format!("{:?}", model.metadata());
    assert_eq!(metadata(&single), metadata(&source));
    // Over themselves: the folder that the tensors are mapped from.
    let again = to_safetensors().plan(&sharded).unwrap();
    again.save(Target::Shards(&place.at("s"), 40_000), &Saver::new()).unwrap();
    let fewer = Model::open(place.at("s")).unwrap();
    assert!(fewer.files().len() < sharded.files().len());
    assert_eq!(tensors(&fewer), tensors(&source));
}
