//! `tensorgate diff`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tensorgate::gguf::ValueType;

use crate::common::gguf::Writer;
use crate::common::{corpus, file, shared};
use crate::{Run, run};

/// A safetensors file: metadata as JSON, then name, dtype, shape and data of each tensor.
fn model(metadata: &str, tensors: &[(&str, &str, &str, Vec<u8>)]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    if !metadata.is_empty() {
        entries.push(format!("\"__metadata__\":{metadata}"));
    }
    for (name, dtype, shape, own) in tensors {
        let (begin, end) = (data.len(), data.len() + own.len());
        entries.push(format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#));
        data.extend_from_slice(own);
    }
    file(&format!("{{{}}}", entries.join(",")), &data)
}

fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn diff(folder: &Path, args: &[&str]) -> Run {
    run(folder, &[&["diff"], args].concat())
}

fn document(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&diff(folder, &[args, &["--json"]].concat()).out).unwrap()
}

/// A folder with two files that differ in everything.
fn two() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let nan = f32::NAN;
    let a = model(
        r#"{"format":"pt","gone":"x","step":"1"}"#,
        &[
            ("same", "F32", "[2]", singles(&[nan, 1.0])),
            ("old", "U8", "[1]", vec![1]),
            ("shape", "U8", "[2,2]", vec![1, 2, 3, 4]),
            ("type", "F32", "[2]", singles(&[1.0, 2.5])),
            ("values", "F32", "[5]", singles(&[1.0, nan, nan, 4.0, 5.0])),
            ("size", "U8", "[2]", vec![1, 2]),
        ],
    );
    let b = model(
        r#"{"format":"pt","new\u001b":"y","step":"2"}"#,
        &[
            ("same", "F32", "[2]", singles(&[nan, 1.0])),
            ("shape", "U8", "[4]", vec![1, 2, 3, 4]),
            ("type", "BF16", "[2]", vec![0x80, 0x3F, 0x00, 0x40]),
            ("values", "F32", "[5]", singles(&[1.0, nan, 3.0, 4.5, 6.0])),
            ("new\\u202e", "F16", "[]", vec![0, 0]),
            ("size", "U8", "[3]", vec![1, 2, 3]),
        ],
    );
    fs::write(at("a.safetensors"), a).unwrap();
    fs::write(at("b.safetensors"), b).unwrap();
    folder
}

#[test]
fn everything_that_can_differ_is_told() {
    let folder = two();
    let shown = diff(folder.path(), &["a.safetensors", "b.safetensors"]);
    assert_eq!((shown.code, shown.err.as_str()), (1, ""));
    let want = "\
removed   old  U8[1]
added     new\\u{202e}  F16[]
changed   shape  U8[2, 2] -> U8[4]: the same values
changed   size  U8[2] -> U8[3]: the tensors have not the same number of elements
changed   type  F32[2] -> BF16[2]: 1 of 2 differ, by 5.000e-1 at most, 2.500e-1 in the mean
changed   values  F32[5]: 3 of 5 differ, by 1.000e0 at most, 5.000e-1 in the mean, 1 with no distance, 1 the same NaN
removed   metadata gone: \"x\"
added     metadata new\\u{1b}: \"y\"
changed   metadata step: \"1\" -> \"2\"
1 tensor the same, 4 changed, 1 added, 1 removed; metadata differs
";
    assert_eq!(shown.out, want);
    let quiet = diff(folder.path(), &["-q", "a.safetensors", "b.safetensors"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (1, "", ""));
    let same = diff(folder.path(), &["a.safetensors", "a.safetensors"]);
    let line = "6 tensors the same, 0 changed, 0 added, 0 removed; metadata the same\n";
    assert_eq!((same.code, same.out.as_str()), (0, line));
    assert_eq!(diff(folder.path(), &["-q", "a.safetensors", "a.safetensors"]).code, 0);
}

#[test]
fn programs_are_told_the_same() {
    let folder = two();
    let value = document(folder.path(), &["a.safetensors", "b.safetensors"]);
    assert_eq!((&value["same"], &value["tensors"]["same"]), (&json!(false), &json!(1)));
    assert_eq!(value["tensors"]["removed"], json!([{"name": "old", "dtype": "U8", "shape": [1]}]));
    assert_eq!(value["tensors"]["added"], json!([{"name": "new\u{202e}", "dtype": "F16", "shape": []}]));
    assert_eq!(
        value["tensors"]["changed"][3],
        json!({
            "a": {"name": "values", "dtype": "F32", "shape": [5]},
            "b": {"name": "values", "dtype": "F32", "shape": [5]},
            "transposed": false, "retyped": false, "reshaped": false,
            "elements": 5, "differ": 3, "max": 1.0, "mean": 0.5, "not_finite": 1, "same_nan": 1,
            "not_compared": null,
        })
    );
    let size = &value["tensors"]["changed"][1];
    assert_eq!((&size["differ"], size["not_compared"].is_string()), (&Value::Null, true));
    assert_eq!(
        value["metadata"],
        json!({"added": {"new\u{1b}": "\"y\""}, "removed": {"gone": "\"x\""}, "changed": {"step": {"a": "\"1\"", "b": "\"2\""}}})
    );
}

#[test]
fn types_and_metadata_need_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, metadata: &str, tensor| {
        fs::write(folder.path().join(name), model(metadata, &[tensor])).unwrap();
    };
    write("a.safetensors", "", ("w", "F32", "[2]", singles(&[1.0, -0.0])));
    write("b.safetensors", r#"{"x":"y"}"#, ("w", "F16", "[2]", vec![0, 0x3C, 0, 0]));
    write("c.safetensors", "", ("w", "F16", "[2]", vec![0, 0x3C, 1, 0]));
    for (b, args, code) in [
        ("b.safetensors", &[][..], 1),
        ("b.safetensors", &["--values"], 0),
        ("c.safetensors", &["--values"], 1),
        ("c.safetensors", &["--values", "-q"], 1),
        ("b.safetensors", &["--values", "-q"], 0),
        ("b.safetensors", &["-q"], 1),
    ] {
        assert_eq!(diff(folder.path(), &[&["a.safetensors", b], args].concat()).code, code, "{b} {args:?}");
    }
    let value = document(folder.path(), &["a.safetensors", "b.safetensors"]);
    assert_eq!(
        (&value["tensors"]["changed"][0]["differ"], &value["tensors"]["changed"][0]["retyped"]),
        (&json!(0), &json!(true))
    );
}

/// A GGUF file of one F32 and one Q8_0 tensor, whose scale is 0.5 and whose numbers ascend from `first`.
fn gguf(first: u8, alignment: u32) -> Vec<u8> {
    let mut writer = Writer::new(2, 2);
    writer.key("general.name", ValueType::String).text(b"x");
    writer.key("general.alignment", ValueType::U32).u32(alignment);
    let second = u64::from(alignment).max(32);
    writer.tensor("f", &[3, 2], 0, 0).tensor("q", &[32], 8, second);
    let start = writer.0.len().next_multiple_of(usize::try_from(alignment).unwrap());
    writer.0.resize(start, 0);
    writer.raw(&singles(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    writer.0.resize(start + usize::try_from(second).unwrap(), 0);
    writer.raw(&[0x00, 0x38]);
    (0..32).for_each(|number| {
        writer.raw(&[first + number]);
    });
    writer.0.clone()
}

#[test]
fn formats_are_compared_by_value() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("m.gguf"), gguf(0, 32)).unwrap();
    let halves: Vec<f32> = (0..32_u8).map(|number| f32::from(number) / 2.0).collect();
    let f = singles(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let st = |halves: &[f32]| model("", &[("q", "F32", "[32]", singles(halves)), ("f", "F32", "[2,3]", f.clone())]);
    fs::write(at("m.safetensors"), st(&halves)).unwrap();
    let same = diff(folder.path(), &["--values", "m.gguf", "m.safetensors"]);
    assert_eq!(
        (same.code, same.out.as_str()),
        (0, "2 tensors the same, 0 changed, 0 added, 0 removed; metadata not compared\n")
    );
    let retyped = diff(folder.path(), &["m.gguf", "m.safetensors"]);
    assert!(retyped.code == 1 && retyped.out.starts_with("changed   q  Q8_0[32] -> F32[32]: the same values\n"));
    let mut other = halves;
    other[7] += 0.25;
    fs::write(at("m.safetensors"), st(&other)).unwrap();
    let value = document(folder.path(), &["m.gguf", "m.safetensors"]);
    let q = &value["tensors"]["changed"][0];
    assert_eq!((&q["differ"], &q["max"], &q["mean"]), (&json!(1), &json!(0.25), &json!(0.25 / 32.0)));
    // Of one format: blocks by their bytes, and pairs by key.
    fs::write(at("n.gguf"), gguf(1, 64)).unwrap();
    let shown = diff(folder.path(), &["m.gguf", "n.gguf"]);
    assert!(
        shown
            .out
            .starts_with("changed   q  Q8_0[32]: 32 of 32 differ, by 5.000e-1 at most, 5.000e-1 in the mean\n")
    );
    assert!(shown.out.contains("changed   metadata general.alignment: 32 -> 64\n"), "{}", shown.out);
    let big = corpus::folder().join("accept/gguf-big-endian-alignment-64.gguf");
    let big = big.to_str().unwrap();
    assert_eq!(diff(folder.path(), &[big, big]).code, 0);
}

#[test]
fn how_a_model_is_divided_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("sharded")).unwrap();
    let (a, b) = (singles(&[1.0]), vec![1, 2]);
    let text = r#"{"format":"pt"}"#;
    let whole = model(text, &[("a", "F32", "[1]", a.clone()), ("b", "U8", "[2]", b.clone())]);
    fs::write(at("m.safetensors"), whole).unwrap();
    fs::write(at("sharded/m-1.safetensors"), model(text, &[("b", "U8", "[2]", b)])).unwrap();
    fs::write(at("sharded/m-2.safetensors"), model(text, &[("a", "F32", "[1]", a)])).unwrap();
    let index = r#"{"metadata":{"total_size":6},"weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors"}}"#;
    fs::write(at("sharded/model.safetensors.index.json"), index).unwrap();
    for other in ["sharded", "sharded/model.safetensors.index.json"] {
        let same = diff(folder.path(), &["m.safetensors", other]);
        assert_eq!((same.code, same.err.as_str()), (0, ""), "{}", same.out);
    }
    let hashed = run(folder.path(), &["hash", "--tensors", "sharded"]);
    assert_eq!(hashed.out, run(folder.path(), &["hash", "--tensors", "m.safetensors"]).out);
    fs::remove_file(at("sharded/m-2.safetensors")).unwrap();
    let lost = diff(folder.path(), &["m.safetensors", "sharded/model.safetensors.index.json"]);
    assert_eq!((lost.code, lost.out.as_str()), (2, ""));
    for other in ["sharded", "missing", "Cargo.toml"] {
        assert_eq!(diff(folder.path(), &["m.safetensors", other]).code, 2, "{other}");
        assert_eq!(diff(folder.path(), &[other, "m.safetensors"]).code, 2, "{other}");
    }
    fs::write(at("bad.safetensors"), [9, 0, 0, 0, 0, 0, 0, 0, b'{']).unwrap();
    let bad = diff(folder.path(), &["m.safetensors", "bad.safetensors"]);
    assert!(bad.code == 2 && bad.out.contains("ST-HEADER-PAST-END"), "{}", bad.out);
}

#[test]
fn large_tensors_are_compared_whole_and_alike_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // More than two stretches of a million elements, and a tail.
    let count: usize = 2_200_003;
    let mut values: Vec<f32> =
        (0_u16..1024).map(|number| f32::from(number) / 8.0 - 64.0).cycle().take(count).collect();
    let shape = format!("[{count}]");
    let write = |name: &str, dtype: &str, data: Vec<u8>| {
        fs::write(at(name), model("", &[("w", dtype, &shape, data)])).unwrap();
    };
    write("a.safetensors", "F32", singles(&values));
    let brain =
        |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()[2..].to_vec()).collect() };
    let cut = |value: f32| f32::from_bits(value.to_bits() & 0xFFFF_0000);
    write("b.safetensors", "BF16", brain(&values));
    for place in [0, 65_535, 65_536, 1_048_575, 1_048_576, 2_097_152, count - 1] {
        values[place] += 1000.0;
    }
    write("c.safetensors", "F32", singles(&values));
    let one = document(folder.path(), &["a.safetensors", "c.safetensors", "--jobs=1"]);
    let change = &one["tensors"]["changed"][0];
    assert_eq!(
        (&change["elements"], &change["differ"], &change["max"]),
        (&json!(count), &json!(7), &json!(1000.0))
    );
    let rounded = document(folder.path(), &["b.safetensors", "c.safetensors", "--jobs=1"]);
    let originals = (0_u16..1024).map(|number| f32::from(number) / 8.0 - 64.0).cycle().take(count);
    let distances: Vec<f64> =
        originals.zip(&values).map(|(before, after)| f64::from((cut(before) - after).abs())).collect();
    let change = &rounded["tensors"]["changed"][0];
    let differ = distances.iter().filter(|distance| **distance > 0.0).count();
    let max = distances.iter().copied().fold(0.0, f64::max);
    assert_eq!((&change["differ"], &change["max"]), (&json!(differ), &json!(max)));
    let mean = distances.iter().sum::<f64>() / 2_200_003.0;
    assert!((change["mean"].as_f64().unwrap() - mean).abs() <= mean * 1e-12);
    for jobs in ["--jobs=2", "--jobs=5"] {
        assert_eq!(document(folder.path(), &["a.safetensors", "c.safetensors", jobs]), one);
        assert_eq!(document(folder.path(), &["b.safetensors", "c.safetensors", jobs]), rounded);
    }
}

/// A GGUF file of one F32 tensor in two dimensions, outermost first.
fn table(name: &str, rows: usize, width: usize, data: &[f32]) -> Vec<u8> {
    let mut writer = Writer::new(1, 0);
    writer.tensor(name, &[width as u64, rows as u64], 0, 0).data(0).raw(&singles(data));
    writer.0.clone()
}

#[test]
fn projections_of_a_gpt2_are_transposed_between_formats() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // More than two steps of 65,536 elements.
    let (inner, outer) = (3, 70_001);
    let value = |row: usize, column: usize| f32::from(u16::try_from((row * 31 + column) % 1009).unwrap());
    let st: Vec<f32> = (0..inner).flat_map(|row| (0..outer).map(move |column| value(row, column))).collect();
    let mut gg: Vec<f32> = (0..outer).flat_map(|column| (0..inner).map(move |row| value(row, column))).collect();
    let shape = format!("[{inner},{outer}]");
    let mask = ("h.0.attn.bias", "U8", "[1,1,2,2]", vec![1, 0, 1, 1]);
    let tensors = [mask, ("h.0.attn.c_attn.weight", "F32", &shape, singles(&st))];
    fs::write(at("m.safetensors"), model("", &tensors)).unwrap();
    fs::write(at("m.gguf"), table("blk.0.attn_qkv.weight", outer, inner, &gg)).unwrap();
    let line = "1 tensor the same, 0 changed, 0 added, 0 removed, 1 buffer not compared; metadata not compared\n";
    for (a, b) in [("m.safetensors", "m.gguf"), ("m.gguf", "m.safetensors")] {
        let same = diff(folder.path(), &[a, b]);
        assert_eq!((same.code, same.out.as_str()), (0, line));
        let kept = document(folder.path(), &[a, b, "--names=keep"]);
        assert_eq!(
            kept["tensors"]["added"].as_array().unwrap().len()
                + kept["tensors"]["removed"].as_array().unwrap().len(),
            3
        );
    }
    let places = [0, 1, 65_535, 65_536, 130_000, inner * outer - 1];
    for place in places {
        gg[place] += 0.5;
    }
    fs::write(at("m.gguf"), table("blk.0.attn_qkv.weight", outer, inner, &gg)).unwrap();
    for jobs in ["--jobs=1", "--jobs=3"] {
        let value = document(folder.path(), &["m.safetensors", "m.gguf", jobs]);
        let change = &value["tensors"]["changed"][0];
        assert_eq!((&change["differ"], &change["max"]), (&json!(places.len()), &json!(0.5)));
        assert_eq!((&change["transposed"], &change["reshaped"]), (&json!(true), &json!(false)));
        assert_eq!(change["b"]["name"], "blk.0.attn_qkv.weight");
    }
    // Not transposed it is of another shape, though it has as many elements.
    fs::write(at("m.gguf"), table("blk.0.attn_qkv.weight", inner, outer, &st)).unwrap();
    assert_eq!(document(folder.path(), &["m.safetensors", "m.gguf"])["tensors"]["changed"][0]["reshaped"], true);
}

#[test]
fn the_prefix_of_a_gpt2s_names_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, prefix: &str, last: f32| {
        let name_of = |rest: &str| format!("{prefix}{rest}");
        let (wte, attn) = (name_of("wte.weight"), name_of("h.0.attn.c_attn.weight"));
        let (mask, other) = (name_of("h.0.attn.bias"), name_of("extra"));
        let tensors = [
            (wte.as_str(), "F32", "[2]", singles(&[1.0, 2.0])),
            (&attn, "F32", "[1,2]", singles(&[3.0, last])),
            (&mask, "U8", "[1]", vec![1]),
            (&other, "U8", "[1]", vec![1]),
            ("lm_head.weight", "F32", "[1]", singles(&[5.0])),
        ];
        fs::write(folder.path().join(name), model("", &tensors)).unwrap();
    };
    write("a.safetensors", "", 4.0);
    write("b.safetensors", "transformer.", 4.5);
    for (a, b) in [("a", "b"), ("b", "a")] {
        let (a, b) = (format!("{a}.safetensors"), format!("{b}.safetensors"));
        let found = document(folder.path(), &[&a, &b]);
        let tensors = &found["tensors"];
        // What is no tensor of a GPT-2 keeps its name.
        let strangers = ["added", "removed"].map(|kind| tensors[kind].as_array().unwrap().len());
        assert_eq!((strangers, &tensors["same"]), ([1, 1], &json!(3)), "{found}");
        assert_eq!(tensors["changed"].as_array().unwrap().len(), 1);
        assert_eq!(tensors["changed"][0]["max"], 0.5);
        let kept = document(folder.path(), &[&a, &b, "--names=keep"]);
        assert_eq!(kept["tensors"]["added"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn a_gpt2_of_the_reference_converter_is_the_one_it_was_made_of() {
    let (Some(hf), Some(gguf)) = (shared("tiny-gpt2"), shared("tiny-gpt2-gguf")) else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, code) in [("tinyA-f32.gguf", 0), ("tinyA-f16.gguf", 1), ("tinyA-q8_0.gguf", 1)] {
        for plain in ["tinyA-plain", "tinyA-prefix-attnbias-u8"] {
            let (a, b) = (hf.join(plain), gguf.join(name));
            let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
            let found = diff(folder.path(), &[a, b, "--values"]);
            assert_eq!(found.code, code, "{plain} {name}: {}", found.out);
            assert!(found.out.contains(", 0 added, 0 removed"), "{}", found.out);
            let value = document(folder.path(), &[a, b, "--values"]);
            for change in value["tensors"]["changed"].as_array().unwrap() {
                // Half of the last place of a half, or of a step of a block, of weights that are below one.
                let most = if name.contains("f16") { 1.0 / 2048.0 } else { 1.0 / 127.0 };
                assert!(change["max"].as_f64().unwrap() <= most && change["reshaped"] == false, "{change}");
            }
        }
    }
}
