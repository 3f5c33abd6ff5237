//! Sharded indexes: the right verdict at the right offset for each rule, against `serde_json`, and on real files.

#![cfg(feature = "alloc")]

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{file, shared};
use proptest::prelude::*;
use serde_json::Value;
use tensorgate::detect::{Guess, detect};
use tensorgate::safetensors::Header;
use tensorgate::shards::IndexSlot;
use tensorgate::{Error, ErrorKind, Limits, ShardIndex};

const MAP: &str = r#""weight_map":{"a":"m"}"#;

/// An index with this metadata.
fn with_metadata(metadata: &str) -> String {
    format!("{{\"metadata\":{metadata},{MAP}}}")
}

/// An index that puts one tensor into this shard.
fn with_shard(shard: &str) -> String {
    format!("{{\"weight_map\":{{\"a\":\"{shard}\"}}}}")
}

/// Opens in both kinds of storage, which say the same.
fn open(text: &[u8], limits: &Limits) -> Result<(), Error> {
    let mut slots = vec![IndexSlot::EMPTY; 4096];
    let lent = ShardIndex::open_in(text, &mut slots, limits).map(|index| index.len());
    let owned = ShardIndex::open_with(text, limits).map(|index| index.len());
    assert_eq!(lent, owned, "{:?}", String::from_utf8_lossy(text));
    owned.map(|_| ())
}

#[test]
fn what_is_accepted() {
    for text in [
        r#"{"weight_map":{}}"#.to_owned(),
        format!("{{{MAP}}}"),
        format!("{{ {MAP} , \"metadata\" : null }} \r\n\t"),
        r#"{"weight\u005fmap":{"":"m","\u0000":"m","a":"\u006d"}}"#.to_owned(),
        with_metadata("{}"),
        with_metadata(r#"{"total_size":18446744073709551615}"#),
        with_metadata(r#"{"total_size":1.5e3,"a":-0.5,"b":[true,false,null,[],{}],"c":{"a":{"a":1}},"d":"x"}"#),
        with_metadata(&format!("{{\"a\":{}1{}}}", "[".repeat(8), "]".repeat(8))),
        with_shard("model-00001-of-00006.safetensors"),
        with_shard("model-0-of-2.safetensors"),
        with_shard(&"x".repeat(255)),
        with_shard("日本"),
    ] {
        assert_eq!(open(text.as_bytes(), &Limits::default()), Ok(()), "{text}");
        serde_json::from_str::<Value>(&text).unwrap();
    }
}

/// Text, kind, offset.
fn refused() -> Vec<(String, ErrorKind, usize)> {
    use ErrorKind as K;
    let long = "x".repeat(256);
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(9), "]".repeat(9));
    let own = |text: &str, kind, at| (text.to_owned(), kind, at);
    vec![
        own("", K::JsonEnd, 0),
        own("[]", K::JsonNotObject, 0),
        own(" {}", K::JsonNotObject, 0),
        own("\u{feff}{}", K::JsonNotObject, 0),
        own(r#"{"weight_map":{}} x"#, K::JsonTrailing, 18),
        own(r#"{"weight_map":{},}"#, K::JsonKey, 17),
        own(r#"{"weight_map":{"a":"m",}}"#, K::JsonKey, 23),
        own(r#"{"weight_map":{"a""m"}}"#, K::JsonColon, 18),
        own("{\"weight_map\":{\"a\n\":\"m\"}}", K::JsonControl, 17),
        own(r#"{"weight_map":{"\x":"m"}}"#, K::JsonEscape, 16),
        own(r#"{"weight_map":{"\ud800":"m"}}"#, K::JsonSurrogate, 16),
        own(r#"{"weight_map":{},"extra":1}"#, K::IxFieldUnknown, 17),
        own("{}", K::IxFieldMissing, 0),
        own(r#"{"metadata":{}}"#, K::IxFieldMissing, 0),
        own(r#"{"weight_map":{},"weight_map":{}}"#, K::IxDupField, 17),
        own(r#"{"weight_map":{},"weight_\u006dap":{}}"#, K::IxDupField, 17),
        own(r#"{"metadata":null,"metadata":null,"weight_map":{}}"#, K::IxDupField, 17),
        (with_metadata("[]"), K::IxMetadataType, 12),
        (with_metadata("\"x\""), K::IxMetadataType, 12),
        (with_metadata(r#"{"a":1,"\u0061":2}"#), K::IxDupMetadataKey, 19),
        (with_metadata(r#"{"z":{"b":{},"a":0,"a":1}}"#), K::IxDupMetadataKey, 31),
        (with_metadata(r#"{"a":01}"#), K::IxMetadataNumber, 17),
        (with_metadata(r#"{"a":[1e400]}"#), K::IxMetadataNumber, 18),
        (with_metadata(r#"{"a":NaN}"#), K::JsonValue, 17),
        (with_metadata(r#"{"a":}"#), K::JsonValue, 17),
        (with_metadata(&deep), K::IxDepthLimit, 25),
        own(r#"{"weight_map":[]}"#, K::IxMapType, 14),
        own(r#"{"weight_map":null}"#, K::IxMapType, 14),
        own(r#"{"weight_map":{"a":"m","a":"m"}}"#, K::IxDupName, 23),
        own(r#"{"weight_map":{"b":"m","c":"m","a":"m","\u0063":"n","b":"m"}}"#, K::IxDupName, 39),
        own(r#"{"weight_map":{"a":1}}"#, K::IxShardType, 19),
        own(r#"{"weight_map":{"a":null}}"#, K::IxShardType, 19),
        (with_shard(""), K::IxShardName, 19),
        (with_shard(".."), K::IxShardName, 19),
        (with_shard("../m"), K::IxShardName, 19),
        (with_shard(r"a\\b"), K::IxShardName, 19),
        (with_shard(r"\/etc\/passwd"), K::IxShardName, 19),
        (with_shard(r"a\u002fb"), K::IxShardName, 19),
        (with_shard("C:m"), K::IxShardName, 19),
        (with_shard(r"m\u0000"), K::IxShardName, 19),
        (with_shard("NUL.safetensors"), K::IxShardName, 19),
        (with_shard("m."), K::IxShardName, 19),
        (with_shard(&long), K::IxShardName, 19),
        // The same raw text as its neighbour's is not judged again, another spelling is.
        own(r#"{"weight_map":{"a":"m","b":"m","c":"\u002e"}}"#, K::IxShardName, 35),
    ]
}

#[test]
fn what_is_refused_and_where() {
    for (text, kind, at) in refused() {
        let error = open(text.as_bytes(), &Limits::default()).unwrap_err();
        assert_eq!((error.kind(), error.at()), (kind, at as u64), "{text}");
    }
    let error = open(b"{\"weight_map\":{\"\xff\":\"m\"}}", &Limits::default()).unwrap_err();
    assert_eq!((error.kind(), error.at()), (ErrorKind::JsonUtf8, 16));
}

#[test]
fn every_kind_of_an_index_has_a_case() {
    let refused = refused();
    let limits = [
        ErrorKind::IxLengthLimit,
        ErrorKind::IxTensorLimit,
        ErrorKind::IxShardLimit,
        ErrorKind::IxNameLimit,
        ErrorKind::IxMetadataLimit,
    ];
    for kind in ErrorKind::ALL.iter().filter(|kind| kind.code().starts_with("IX-")) {
        let against_shards = [
            ErrorKind::IxTotalSize,
            ErrorKind::IxTotalSizeForm,
            ErrorKind::IxTensorMissing,
            ErrorKind::IxTensorElsewhere,
            ErrorKind::IxTensorUnlisted,
            ErrorKind::IxShardMissing,
            ErrorKind::IxShardUnnamed,
        ];
        let known = refused.iter().any(|(_, other, _)| other == kind)
            || limits.contains(kind)
            || against_shards.contains(kind);
        assert!(known, "{} has no case", kind.code());
    }
}

#[test]
fn limits_at_and_over() {
    let text = r#"{"metadata":{"b":1,"a":{"k":[2]}},"weight_map":{"long":"m","b":"n","c":"m"}}"#;
    let at = |needle: &str| text.find(needle).unwrap() as u64;
    let none = Limits::default();
    let len = text.len() as u64;
    let checks: [(Limits, Limits, ErrorKind, u64, u64); 6] = [
        (none.with_index_len(len), none.with_index_len(len - 1), ErrorKind::IxLengthLimit, 0, len - 1),
        (none.with_tensors(3), none.with_tensors(2), ErrorKind::IxTensorLimit, at("\"c\""), 2),
        (none.with_shards(2), none.with_shards(1), ErrorKind::IxShardLimit, at("\"n\""), 1),
        (none.with_name_len(4), none.with_name_len(3), ErrorKind::IxNameLimit, at("\"long\""), 3),
        (none.with_index_metadata_len(21), none.with_index_metadata_len(20), ErrorKind::IxMetadataLimit, 12, 20),
        (
            none.with_index_metadata_depth(2),
            none.with_index_metadata_depth(1),
            ErrorKind::IxDepthLimit,
            at("[2"),
            1,
        ),
    ];
    for (enough, tight, kind, at, want) in checks {
        assert_eq!(open(text.as_bytes(), &enough), Ok(()));
        assert_eq!(open(text.as_bytes(), &tight), Err(Error::wanting(kind, at, want)));
    }
}

#[test]
fn storage_says_how_much_is_needed() {
    let mut text = "{\"metadata\":{".to_owned();
    text.extend((0..101).rev().map(|key| format!("\"{key}\":0,")));
    text.pop();
    text.push_str("},\"weight_map\":{\"b\":\"m\",\"a\":\"m\"}}");
    let mut few = vec![IndexSlot::EMPTY; 52];
    let error = ShardIndex::open_in(text.as_bytes(), &mut few, &Limits::default()).unwrap_err();
    assert_eq!((error.kind(), error.needs_slots()), (ErrorKind::StorageTooSmall, Some(53)));
    let mut enough = vec![IndexSlot::EMPTY; 53];
    let index = ShardIndex::open_in(text.as_bytes(), &mut enough, &Limits::default()).unwrap();
    assert_eq!((index.len(), ShardIndex::open(text.as_bytes()).unwrap().len()), (2, 2));
    let error = ShardIndex::open_in(text.as_bytes(), &mut [], &Limits::default()).unwrap_err();
    assert_eq!(error.needs_slots(), Some(53));
}

#[test]
fn the_densest_index_has_room() {
    // Every one-byte name and the empty one, eight bytes each: no more memory than text, and enough of it.
    let plain = (b' '..=b'~').filter(|byte| !matches!(byte, b'"' | b'\\'));
    let entries: Vec<String> = plain.rev().map(|byte| format!("\"{}\":\"m\"", char::from(byte))).collect();
    let text = format!("{{\"weight_map\":{{{},\"\":\"m\"}}}}", entries.join(","));
    assert_eq!(open(text.as_bytes(), &Limits::default()), Ok(()));
    let index = ShardIndex::open(text.as_bytes()).unwrap();
    assert_eq!(index.len(), 94);
    assert!(index.len() * size_of::<IndexSlot>() <= text.len());
}

#[test]
fn every_prefix_is_refused() {
    let text = r#"{"metadata":{"total_size":12,"x":[1.5,{"y":"\u00e9"}]},"weight_map":{"b":"m","\u0061":"日本"}}"#;
    assert_eq!(open(text.as_bytes(), &Limits::default()), Ok(()));
    for len in 0..text.len() {
        let error = open(&text.as_bytes()[..len], &Limits::default()).unwrap_err();
        assert!(error.at() <= len as u64, "{len}");
    }
}

/// Everything that an index shows agrees with the map that `serde_json` reads.
fn same_as_serde(text: &str, index: &ShardIndex<'_>) {
    let value: Value = serde_json::from_str(text).expect("what we accept, serde_json accepts");
    let map = value["weight_map"].as_object().unwrap();
    let want: BTreeMap<String, String> =
        map.iter().map(|(name, shard)| (name.clone(), shard.as_str().unwrap().to_owned())).collect();
    assert_eq!((map.len(), index.len()), (want.len(), want.len()));
    let pair = |entry: tensorgate::shards::IndexEntry<'_>| {
        (entry.name().to_cow().into_owned(), entry.shard().to_cow().into_owned())
    };
    let sorted: Vec<_> = index.tensors().map(pair).collect();
    assert_eq!(sorted, want.clone().into_iter().collect::<Vec<_>>());
    let in_file: Vec<_> = index.in_file_order().map(pair).collect();
    let order: Vec<_> = map.iter().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect();
    assert_eq!(in_file, order);

    let mut by_shard: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, shard) in &want {
        assert!(index.shard_of(name).unwrap() == shard.as_str());
        by_shard.entry(shard).or_default().push(name);
    }
    assert!(index.shard_of("no such name").is_err());
    assert_eq!(index.shards().len(), by_shard.len());
    for (shard, (name, tensors)) in index.shards().zip(&by_shard) {
        assert!(shard.name() == *name);
        assert_eq!(shard.len(), tensors.len());
        assert!(shard.tensors().map(|entry| entry.name()).eq(tensors.iter().copied()));
        assert_eq!(index.shard(name).unwrap().len(), tensors.len());
    }
    assert!(index.shard("no such shard").is_err());

    let metadata = value.get("metadata").and_then(Value::as_object);
    assert_eq!(index.metadata().is_some(), metadata.is_some());
    if let (Some(ours), Some(theirs)) = (index.metadata(), metadata) {
        let ours: Vec<(String, Value)> =
            ours.iter().map(|(k, v)| (k.to_cow().into_owned(), serde_json::from_str(v).unwrap())).collect();
        assert_eq!(ours, theirs.iter().map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>());
    }
    let total = metadata.and_then(|metadata| metadata.get("total_size")).and_then(Value::as_u64);
    assert_eq!(index.total_size(), total);
}

#[test]
fn real_indexes() {
    let Some(folder) = shared("real/index") else { return };
    let mut found = Vec::new();
    for path in files(&folder) {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(detect(text.as_bytes()), Guess::Index);
        let index = ShardIndex::open(text.as_bytes()).unwrap();
        same_as_serde(&text, &index);
        assert!(index.total_size().is_some());
        found.push((index.len(), index.shards().len()));
    }
    found.sort_unstable();
    assert_eq!(found, [(36, 6), (1957, 2)]);
}

/// Files two folders down.
fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let list = |folder: &std::path::Path| {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = list(folder).iter().flat_map(|folder| list(folder)).collect();
    all.sort();
    all
}

#[test]
fn a_real_index_against_its_shards() {
    let Some(real) = shared("real") else { return };
    let text = files(&real.join("index"))
        .into_iter()
        .find(|path| path.to_string_lossy().contains("FluxML"))
        .map(|path| fs::read(path).unwrap())
        .unwrap();
    let index = ShardIndex::open(&text).unwrap();
    let mut there = Vec::new();
    for path in files(&real.join("safetensors")).iter().filter(|path| path.to_string_lossy().contains("FluxML")) {
        // The collection puts a hash and `_` before each name.
        let name = path.file_name().unwrap().to_str().unwrap().split_once('_').unwrap().1.to_owned();
        let file = fs::read(path).unwrap();
        let header = Header::open(&file, file.len() as u64, &Limits::default()).unwrap();
        if index.shard(&name).is_ok() {
            assert_eq!(index.check_shard(&name, &header).map(|f| f.to_string()).collect::<Vec<_>>(), [""; 0]);
            there.push(name);
        } else {
            let first = index.check_shard(&name, &header).next().unwrap();
            assert_eq!(first.kind(), ErrorKind::IxShardUnnamed);
        }
    }
    there.sort();
    assert_eq!(there.len(), 4);
    // Two of the six are not in the collection.
    let missing: Vec<_> = index.check_files(&there).map(|f| (f.kind(), f.shard().unwrap().to_string())).collect();
    assert_eq!(missing.len(), 2);
    assert!(missing.iter().all(|(kind, shard)| *kind == ErrorKind::IxShardMissing && !there.contains(shard)));
}

#[test]
fn strangers_of_the_collection() {
    let Some(real) = shared("real") else { return };
    for path in files(&real.join("lfs")) {
        assert_eq!(detect(&fs::read(&path).unwrap()), Guess::LfsPointer, "{}", path.display());
    }
    let mut json = 0;
    for path in files(&real.join("safetensors")) {
        let bytes = fs::read(&path).unwrap();
        let guess = detect(&bytes);
        if bytes.first() == Some(&b'{') {
            assert_eq!(guess, Guess::Json, "{}", path.display());
            json += 1;
        } else if Header::open(&bytes, bytes.len() as u64, &Limits::default().with_leading_space(true)).is_ok() {
            assert_eq!(guess, Guess::Safetensors, "{}", path.display());
        }
    }
    assert!(json >= 6);
    for path in files(&real.join("gguf")) {
        let bytes = fs::read(&path).unwrap();
        assert!(matches!(detect(&bytes), Guess::Gguf | Guess::GgufBig | Guess::GgufOld), "{}", path.display());
    }
}

/// A shard with these tensors of one byte each.
fn shard(names: &[&str]) -> Vec<u8> {
    let entry = |(at, name): (usize, &&str)| {
        format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[{at},{}]}}", at + 1)
    };
    let entries: Vec<String> = names.iter().enumerate().map(entry).collect();
    file(&format!("{{{}}}", entries.join(",")), &vec![0; names.len()])
}

#[test]
fn findings_name_what_disagrees() {
    let text =
        r#"{"metadata":{"total_size":4},"weight_map":{"d":"two","a":"one","c":"one","b\u0062":"one","e":"three"}}"#;
    let index = ShardIndex::open(text.as_bytes()).unwrap();
    let at = |needle: &str| text.find(needle).unwrap() as u64;
    let of = |name: &str, names: &[&str]| {
        let file = shard(names);
        let header = Header::open(&file, file.len() as u64, &Limits::default()).unwrap();
        let show = |name: Option<tensorgate::Name<'_>>| name.map(|name| name.to_string()).unwrap_or_default();
        index
            .check_shard(name, &header)
            .map(|f| (f.code(), f.error().at(), show(f.tensor()), show(f.assigned()), f.entry_at().is_some()))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("one", &["c", "bb", "a"]), []);
    assert_eq!(of("two", &["\\u0064"]), []);
    let one = of("one", &["d", "a", "x\\u0009"]);
    let want = [
        ("IX-TENSOR-MISSING", at(r#""b\u0062"#), "bb".to_owned(), String::new(), false),
        ("IX-TENSOR-MISSING", at(r#""c""#), "c".to_owned(), String::new(), false),
        ("IX-TENSOR-ELSEWHERE", at(r#""two""#), "d".to_owned(), "two".to_owned(), true),
        ("IX-TENSOR-UNLISTED", at(r#"{"d""#), "x\\t".to_owned(), String::new(), true),
    ];
    assert_eq!(one, want);
    let four = of("four", &["a"]);
    assert_eq!(four.iter().map(|f| f.0).collect::<Vec<_>>(), ["IX-SHARD-UNNAMED", "IX-TENSOR-ELSEWHERE"]);
    assert_eq!(of("three", &[]).len(), 1);

    for names in [["two", "one", "extra"], ["extra", "one", "two"]] {
        let found: Vec<_> = index.check_files(&names).map(|f| (f.code(), f.shard().unwrap().to_string())).collect();
        let want = [("IX-SHARD-MISSING", "three".to_owned()), ("IX-SHARD-UNNAMED", "extra".to_owned())];
        assert_eq!(found, want);
    }
    assert!(index.check_total(4).is_none());
    let total = index.check_total(5).unwrap();
    assert_eq!((total.kind(), total.error().at(), total.is_warning()), (ErrorKind::IxTotalSize, 26, true));
    assert_eq!(total.error().want(), Some(5));
    for (metadata, at) in [("{}", 12), ("null", 12), (r#"{"total_size":4.0}"#, 26), (r#"{"total_size":"4"}"#, 26)] {
        let text = with_metadata(metadata);
        let form = ShardIndex::open(text.as_bytes()).unwrap().check_total(4).unwrap();
        assert_eq!((form.kind(), form.error().at()), (ErrorKind::IxTotalSizeForm, at), "{metadata}");
    }
    let shown = index.check_files(&["\u{1b}[2J"; 1]).last().unwrap().to_string();
    assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{shown}");
}

#[test]
fn names_made_to_collide_cost_no_more() {
    // Names that differ late, in an order that no sort likes, and escapes at the front: judged in any case.
    let mut text = "{\"weight_map\":{".to_owned();
    let count = 20_000_u64;
    let common = "b".repeat(40);
    text.extend((0..count).map(|i| {
        let mixed = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
        format!("\"\\u0061{common}{mixed:06}{i:06}\":\"{}\",", mixed % 300)
    }));
    text.pop();
    text.push_str("}}");
    let index = ShardIndex::open(text.as_bytes()).unwrap();
    assert_eq!((index.len() as u64, index.shards().len()), (count, 300));
    assert!(index.tensors().is_sorted_by(|a, b| a.name() < b.name()));
    assert_eq!(index.shards().map(|shard| shard.len() as u64).sum::<u64>(), count);
}

proptest! {
    #[test]
    fn what_we_accept_serde_json_reads_the_same(
        entries in prop::collection::vec(
            ("(a|b|\\\\u0061|é|\\\\ud83d\\\\ude00|\\\\\"|\\\\\\\\){0,4}", "(m|n|\\\\u006d|x-[0-9]|nul|\\.|é){1,3}"), 0..12),
        metadata in "(null|\\{\\}|\\{\"total_size\":[0-9.e]{1,4}\\}|\\{\"[ab]\":[-0-9.eE\\[\\]{},\"a]{0,8},\"[ab]\":1\\})",
        space in "[ \n\r\t]{0,2}",
    ) {
        let map: Vec<String> = entries.iter().map(|(name, shard)| format!("\"{name}\"{space}:{space}\"{shard}\"")).collect();
        let text = format!("{{\"metadata\":{space}{metadata},\"weight_map\":{{{}}}{space}}}", map.join(","));
        if let Ok(index) = ShardIndex::open(text.as_bytes()) {
            same_as_serde(&text, &index);
        }
    }

    #[test]
    fn any_text_over_the_alphabet_is_judged(text in "[{}\\[\\]\":,a0-9.e\\\\u \n]{0,40}") {
        let inner = format!("{{\"weight_map\":{{\"a\":\"m\"}},\"metadata\":{text}}}");
        for text in [&text, &inner] {
            if let Ok(index) = ShardIndex::open(text.as_bytes()) {
                same_as_serde(text, &index);
            }
        }
    }
}

/// A shard that lacks one of its tensors, and has two of another's instead.
#[test]
fn tensors_of_others_hide_none_that_is_missing() {
    let entry = |name: &str, at: u64| {
        format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{at},{}]}}", at + 1)
    };
    let header = format!("{{{},{},{}}}", entry("a", 0), entry("y", 1), entry("z", 2));
    let file = common::file(&header, &[0; 3]);
    let shard = tensorgate::SafeTensors::open(&file).unwrap();
    let text = br#"{"weight_map":{"a":"one","b":"one","y":"two","z":"two"}}"#;
    let index = ShardIndex::open(text).unwrap();
    let found: Vec<_> = index.check_shard("one", shard.header()).collect();
    let codes: Vec<_> = found.iter().map(|finding| (finding.code(), finding.is_warning())).collect();
    let missing = ("IX-TENSOR-MISSING", false);
    let elsewhere = ("IX-TENSOR-ELSEWHERE", false);
    assert_eq!(codes, [missing, elsewhere, elsewhere]);
    let said = found[1].to_string();
    assert!(["\"y\"", "\"one\"", "\"two\""].iter().all(|name| said.contains(name)), "{said}");
    assert!(index.check_total(3).unwrap().is_warning());
}

/// By their places in the order of the names, whatever the order of the file.
#[test]
fn tensors_by_their_places() {
    let text = r#"{"weight_map":{"b":"x.safetensors","a":"y.safetensors"}}"#;
    let index = ShardIndex::open(text.as_bytes()).unwrap();
    let at = |place| index.get(place).map(|entry| (entry.name().to_cow(), entry.shard().to_cow()));
    assert_eq!(at(0), Some(("a".into(), "y.safetensors".into())));
    assert_eq!(at(1), Some(("b".into(), "x.safetensors".into())));
    assert_eq!(at(2), None);
}
