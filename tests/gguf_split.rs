//! Models split over several files: shards made here, alone and together.

#![cfg(feature = "alloc")]

mod common;

use common::gguf::Writer;
use common::{bytes, cases};
use tensorgate::Limits;
use tensorgate::gguf::{Header, Split, SplitError, SplitErrorKind as Kind, SplitKeys, SplitSlot, ValueType};

/// A shard: `split.no`, `split.count`, `split.tensors.count`, an architecture, and empty tensors.
struct Shard<'t> {
    number: u16,
    count: u16,
    total: i32,
    architecture: Option<&'t str>,
    tensors: &'t [&'t str],
}

impl Shard<'_> {
    fn file(&self) -> Vec<u8> {
        let mut writer = Writer::new(self.tensors.len() as u64, 3 + u64::from(self.architecture.is_some()));
        writer.key("split.no", ValueType::U16).raw(&self.number.to_le_bytes());
        writer.key("split.count", ValueType::U16).raw(&self.count.to_le_bytes());
        writer.key("split.tensors.count", ValueType::I32).raw(&self.total.to_le_bytes());
        if let Some(architecture) = self.architecture {
            writer.key("general.architecture", ValueType::String).text(architecture.as_bytes());
        }
        for name in self.tensors {
            writer.tensor(name, &[0], 0, 0);
        }
        if !self.tensors.is_empty() {
            writer.data(0);
        }
        writer.0
    }
}

fn shard<'t>(number: u16, tensors: &'t [&'t str]) -> Shard<'t> {
    Shard { number, count: 3, total: 4, architecture: (number == 0).then_some("llama"), tensors }
}

/// Three shards that are a model: the first without tensors, as gguf-split can write it.
fn model() -> [Shard<'static>; 3] {
    [shard(0, &[]), shard(1, &["a", "b", "c"]), shard(2, &["d"])]
}

/// Where the value of each key stands in a shard.
const NUMBER_AT: u64 = 24 + 8 + 8 + 4;
const COUNT_AT: u64 = NUMBER_AT + 2 + 8 + 11 + 4;
const TOTAL_AT: u64 = COUNT_AT + 2 + 8 + 19 + 4;
const ARCHITECTURE_AT: u64 = TOTAL_AT + 4 + 8 + 20 + 4;

type Verdict = Result<SplitKeys, (Kind, Option<u32>, u64, Option<u64>)>;

fn verdict(outcome: Result<SplitKeys, SplitError>) -> Verdict {
    outcome.map_err(|error| (error.kind(), error.shard(), error.at(), error.want()))
}

fn header(file: &[u8]) -> Header<'_> {
    Header::open(file, file.len() as u64, &Limits::default()).unwrap()
}

/// Adds all shards under their names.
fn all<'a, 'n>(
    mut split: Split<'a, '_, 'n>,
    shards: &[(&'n str, &Shard<'_>)],
    headers: &[Header<'a>],
) -> Result<SplitKeys, SplitError> {
    shards.iter().zip(headers).try_for_each(|((name, _), header)| split.add(name, header))?;
    split.finish()
}

/// The verdict on shards under their names, the first one named first; the same in lent storage.
fn judge(shards: &[(&str, &Shard<'_>)]) -> Verdict {
    let files: Vec<_> = shards.iter().map(|(_, shard)| shard.file()).collect();
    let headers: Vec<_> = files.iter().map(|file| header(file)).collect();
    let owned = verdict(Split::new(&headers[0]).and_then(|split| all(split, shards, &headers)));
    let mut slots = [SplitSlot::EMPTY; 16];
    let lent = Split::new_in(&headers[0], &mut slots).and_then(|split| all(split, shards, &headers));
    assert_eq!(verdict(lent), owned);
    owned
}

const NAMES: [&str; 3] = ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"];

fn judge_named(shards: &[Shard<'_>]) -> Verdict {
    judge(&NAMES.into_iter().zip(shards).collect::<Vec<_>>())
}

#[test]
fn a_whole_model_in_any_order() {
    let shards = model();
    let keys = judge_named(&shards).unwrap();
    assert_eq!((keys.number(), keys.count(), keys.tensors()), (0, 3, 4));
    assert_eq!(judge(&[(NAMES[0], &shards[0]), (NAMES[2], &shards[2]), (NAMES[1], &shards[1])]), Ok(keys));
    let whole = Shard { number: 0, count: 1, total: 1, architecture: None, tensors: &["x"] };
    assert_eq!(judge(&[("m-00001-of-00001.gguf", &whole)]).unwrap().count(), 1);
}

#[test]
fn keys_of_another_type_are_typed_errors() {
    let all = cases("gguf.json");
    let case = |name: &str| bytes(all.iter().find(|case| case["name"] == name).unwrap());
    let keys = |file: &[u8]| SplitKeys::of(&header(file)).map_err(|error| (error.kind(), error.at()));
    assert_eq!(keys(&case("kv_split_str")), Err((Kind::KeyType, 24 + 16)));
    assert_eq!(keys(&case("kv_split_no_ge_count")), Err((Kind::Number, NUMBER_AT)));
    let found = keys(&case("kv_split_shard")).unwrap().unwrap();
    assert_eq!((found.number(), found.count(), found.tensors()), (1, 3, 2));
    let file = case("kv_split_shard");
    let first = Split::new(&header(&file)).map(|_| ()).unwrap_err();
    assert_eq!((first.kind(), first.shard(), first.at()), (Kind::First, Some(2), NUMBER_AT));
    // A model that is whole has no keys; gguf-split leaves a count of 0 where it merged one.
    assert_eq!(keys(&case("kv_i8")), Ok(None));
    assert_eq!(keys(&Shard { number: 0, count: 0, total: 0, architecture: None, tensors: &[] }.file()), Ok(None));
    let file = case("kv_i8");
    assert_eq!(Split::new(&header(&file)).map(|_| ()).unwrap_err().kind(), Kind::KeyMissing);
    // Every key with every other type, and every key alone.
    for (name, right) in
        [("split.no", ValueType::U16), ("split.count", ValueType::U16), ("split.tensors.count", ValueType::I32)]
    {
        for kind in ValueType::ALL {
            let mut writer = Writer::new(0, 1);
            writer.key(name, *kind);
            match kind {
                ValueType::Array => writer.array(ValueType::U16, 0),
                ValueType::String => writer.text(b"1"),
                plain => writer.raw(&vec![1; usize::try_from(plain.size().unwrap()).unwrap()]),
            };
            let want =
                if *kind == right { (Kind::KeyMissing, 0) } else { (Kind::KeyType, 24 + 8 + name.len() as u64) };
            assert_eq!(keys(&writer.0), Err(want), "{name} {kind}");
        }
    }
}

#[test]
fn numbers_agree_with_names_and_with_the_first() {
    let [first, second, third] = model();
    // Two shards under each other's names.
    let swapped = judge(&[(NAMES[0], &first), (NAMES[1], &third), (NAMES[2], &second)]);
    assert_eq!(swapped, Err((Kind::Number, Some(2), NUMBER_AT, Some(1))));
    let other = judge(&[(NAMES[0], &first), ("m-00002-of-00004.gguf", &second)]);
    assert_eq!(other, Err((Kind::Count, Some(2), COUNT_AT, Some(3))));
    let more = Shard { count: 4, ..shard(1, &[]) };
    assert_eq!(judge(&[(NAMES[0], &first), (NAMES[1], &more)]), Err((Kind::Count, Some(2), COUNT_AT, Some(3))));
    let total = Shard { total: 5, ..shard(1, &["a"]) };
    assert_eq!(judge(&[(NAMES[0], &first), (NAMES[1], &total)]), Err((Kind::Tensors, Some(2), TOTAL_AT, Some(4))));
    let negative = Shard { total: -1, ..shard(0, &[]) };
    assert_eq!(judge(&[(NAMES[0], &negative)]), Err((Kind::Tensors, None, TOTAL_AT, None)));
    let prefix = judge(&[(NAMES[0], &first), ("n-00002-of-00003.gguf", &second)]);
    assert_eq!(prefix, Err((Kind::Prefix, Some(2), 0, None)));
    assert_eq!(judge(&[("model.gguf", &first)]), Err((Kind::Name, None, 0, None)));
    assert_eq!(judge(&[("x/m-00001-of-00003.gguf", &first)]), Err((Kind::Name, None, 0, None)));
}

#[test]
fn the_architecture_is_the_same_where_it_is_given() {
    let [first, _, third] = model();
    let same = Shard { architecture: Some("llama"), ..shard(1, &["a", "b", "c"]) };
    assert!(judge(&[(NAMES[0], &first), (NAMES[1], &same), (NAMES[2], &third)]).is_ok());
    let other = Shard { architecture: Some("gpt2"), ..shard(1, &["a", "b", "c"]) };
    let verdict = judge(&[(NAMES[0], &first), (NAMES[1], &other)]);
    assert_eq!(verdict, Err((Kind::Architecture, Some(2), ARCHITECTURE_AT, None)));
}

#[test]
fn an_architecture_is_a_string() {
    let [first, ..] = model();
    let mut file = first.file();
    // The text's length becomes a number; the letters behind it are no part of the header.
    let type_at = usize::try_from(ARCHITECTURE_AT).unwrap() - 4;
    file[type_at..type_at + 4].copy_from_slice(&ValueType::U64.id().to_le_bytes());
    let error = Split::new(&header(&file)).unwrap_err();
    assert_eq!((error.kind(), error.at(), error.want()), (Kind::Architecture, ARCHITECTURE_AT - 4, None));
}

#[test]
fn missing_and_repeated_shards_are_named() {
    let shards = model();
    let named = |numbers: &[usize]| {
        judge(&numbers.iter().map(|number| (NAMES[*number], &shards[*number])).collect::<Vec<_>>())
    };
    assert_eq!(named(&[0, 2]), Err((Kind::Missing, Some(2), 0, None)));
    assert_eq!(named(&[0, 1]), Err((Kind::Missing, Some(3), 0, None)));
    assert_eq!(named(&[0, 1, 2, 1]), Err((Kind::Repeated, Some(2), 0, None)));
    let many = Shard { count: 9, total: 0, ..shard(0, &[]) };
    let file = many.file();
    let mut split = Split::new(&header(&file)).unwrap();
    assert!(split.missing().eq(1..=9));
    split.add("m-00001-of-00009.gguf", &header(&file)).unwrap();
    for number in [6, 3] {
        let file = Shard { number, count: 9, total: 0, ..shard(1, &[]) }.file();
        let file: &'static [u8] = file.leak();
        let name: &'static str = format!("m-{:05}-of-00009.gguf", number + 1).leak();
        split.add(name, &header(file)).unwrap();
        split.add(name, &header(file)).unwrap();
    }
    assert!(split.missing().eq([2, 3, 5, 6, 8, 9]));
}

#[test]
fn tensors_are_counted_and_their_names_unique() {
    let [first, second, _] = model();
    let twice = shard(2, &["b"]);
    // Without an architecture, the first info begins behind the three keys.
    let at = TOTAL_AT + 4;
    let verdict = judge(&[(NAMES[0], &first), (NAMES[1], &second), (NAMES[2], &twice)]);
    assert_eq!(verdict, Err((Kind::NameDup, Some(3), at, None)));
    let few = shard(2, &[]);
    let verdict = judge(&[(NAMES[0], &first), (NAMES[1], &second), (NAMES[2], &few)]);
    assert_eq!(verdict, Err((Kind::Tensors, None, 0, Some(3))));
    let many = shard(2, &["d", "e"]);
    let verdict = judge(&[(NAMES[0], &first), (NAMES[1], &second), (NAMES[2], &many)]);
    assert_eq!(verdict, Err((Kind::Tensors, None, 0, Some(5))));
}

#[test]
fn lent_storage_says_how_much_it_needs() {
    let files: Vec<_> = model().iter().map(Shard::file).collect();
    let headers: Vec<_> = files.iter().map(|file| header(file)).collect();
    for size in 0..=8 {
        let mut slots = vec![SplitSlot::EMPTY; size];
        let mut split = Split::new_in(&headers[0], &mut slots).unwrap();
        let added = NAMES.iter().zip(&headers).try_for_each(|(name, header)| split.add(name, header));
        // Three shards and four tensors.
        match added {
            Ok(()) => assert!(size >= 7 && split.finish().is_ok()),
            Err(error) => assert_eq!((error.kind(), error.want(), size < 7), (Kind::Storage, Some(7), true)),
        }
    }
}
