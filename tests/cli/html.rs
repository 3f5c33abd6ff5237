//! `tensorgate inspect --html`, and the values that `--deep` finds. How the page looks and behaves in a browser is
//! `tests/browser`'s.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::common::file;
use crate::{run, sound};

/// What stands between two texts, each of which is there once.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.split_once(from).unwrap().1.split_once(to).unwrap().0
}

/// A text's hash as a page's policy names it.
fn hash(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes = Sha256::digest(text);
    let mut out = String::from("sha256-");
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let digit = char::from(DIGITS[usize::try_from(word >> (18 - 6 * at) & 63).unwrap()]);
            out.push(if at > three.len() { '=' } else { digit });
        }
    }
    out
}

#[test]
fn the_page_holds_the_document_and_admits_only_its_own_script() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.safetensors"), sound()).unwrap();
    let told = run(folder.path(), &["inspect", "m.safetensors", "--html", "m.html"]);
    assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (0, "the page is in m.html\n", ""));
    let page = fs::read_to_string(folder.path().join("m.html")).unwrap();
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let (style, script) = (between(&page, "<style>", "</style>"), between(&page, "<script>", "</script>"));
    let wanted = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(style),
        hash(script)
    );
    assert_eq!(policy, wanted);
    let document: Value = serde_json::from_str(between(&page, "id=\"data\">", "</script>")).unwrap();
    let json = run(folder.path(), &["inspect", "m.safetensors", "--json"]);
    assert_eq!(document, serde_json::from_str::<Value>(&json.out).unwrap());
}

#[test]
fn markup_in_a_file_stays_text() {
    let folder = tempfile::tempdir().unwrap();
    let name = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--";
    let header = json!({
        "__metadata__": {name: "]]></script>\u{2028}"},
        name: {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
    });
    fs::write(folder.path().join("m.safetensors"), file(&header.to_string(), b"\x01")).unwrap();
    assert_eq!(run(folder.path(), &["inspect", "m.safetensors", "--html", "m.html"]).code, 0);
    let page = fs::read_to_string(folder.path().join("m.html")).unwrap();
    let data = between(&page, "id=\"data\">", "</script>");
    assert!(!data.contains('<') && data.is_ascii());
    let document: Value = serde_json::from_str(data).unwrap();
    assert_eq!(document["tensors"][0]["name"], name);
    assert_eq!(document["metadata"][name], "]]></script>\u{2028}");
    assert_eq!(page.matches("<script").count(), 2);
}

#[test]
fn a_rejected_file_has_a_page_and_nothing_but_a_page_is_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.safetensors"), &sound()[..20]).unwrap();
    assert_eq!(run(folder.path(), &["inspect", "m.safetensors", "--html", "m.html"]).code, 1);
    let page = fs::read_to_string(folder.path().join("m.html")).unwrap();
    let document: Value = serde_json::from_str(between(&page, "id=\"data\">", "</script>")).unwrap();
    assert_eq!(
        (document["verdict"].as_str(), document["code"].as_str()),
        (Some("rejected"), Some("ST-HEADER-PAST-END"))
    );
    let told = run(folder.path(), &["inspect", "m.safetensors", "--html", "m.safetensors"]);
    assert_eq!((told.code, told.err.contains(".html")), (2, true), "{}", told.err);
    assert_eq!(fs::read(folder.path().join("m.safetensors")).unwrap(), &sound()[..20]);
}

#[test]
fn deep_tells_the_values_of_every_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let header = json!({
        "a": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]},
        "b": {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [32, 35]},
        "c": {"dtype": "I8", "shape": [5], "data_offsets": [35, 40]},
    });
    // The example of a standard deviation of 2 around a mean of 5.
    let mut data: Vec<u8> =
        [2.0_f32, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    data.extend([1, 2, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    fs::write(folder.path().join("m.safetensors"), file(&header.to_string(), &data)).unwrap();
    let told = run(folder.path(), &["inspect", "m.safetensors", "--json", "--deep"]);
    let document: Value = serde_json::from_str(&told.out).unwrap();
    let values = document["values"].as_array().unwrap();
    assert_eq!(document["tensors"].as_array().unwrap().len(), values.len());
    let of = |name: &str| {
        let place = document["tensors"].as_array().unwrap().iter().position(|t| t["name"] == name).unwrap();
        &values[place]
    };
    let a = of("a");
    for (key, want) in [("min", 2.0), ("max", 9.0), ("mean", 5.0), ("deviation", 2.0), ("zeros", 0.0), ("nan", 0.0)]
    {
        assert_eq!(a[key].as_f64(), Some(want), "{key}");
    }
    let bins: Vec<u64> = a["bins"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
    // From 2 to 9 in 48 steps: 4 is in step 13, 5 in step 20, 7 in step 34.
    let found: Vec<(usize, u64)> = bins.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
    assert_eq!((bins.len(), found), (48, vec![(0, 1), (13, 3), (20, 2), (34, 1), (47, 1)]));
    assert_eq!(of("b"), &Value::Null);
    assert_eq!(
        (&of("c")["mean"], &of("c")["deviation"], &of("c")["bins"][0]),
        (&json!(-1.0), &json!(0.0), &json!(5))
    );
}

#[test]
fn of_an_index_the_page_has_the_tensors_of_its_shards() {
    let folder = tempfile::tempdir().unwrap();
    let index = json!({"weight_map": {"a": "m-1.safetensors"}}).to_string();
    fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
    let header = json!({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}});
    let data = [0, 0, 128, 63, 0, 0, 0, 192]; // 1 and -2
    fs::write(folder.path().join("m-1.safetensors"), file(&header.to_string(), &data)).unwrap();
    let told = run(folder.path(), &["inspect", ".", "--html", "m.html", "--deep"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    let page = fs::read_to_string(folder.path().join("m.html")).unwrap();
    let document: Value = serde_json::from_str(between(&page, "id=\"data\">", "</script>")).unwrap();
    let tensor = &document["tensors"][0];
    assert_eq!(
        (&tensor["dtype"], &tensor["shard"], &tensor["bytes"]),
        (&json!("F32"), &json!("m-1.safetensors"), &json!(8))
    );
    let values = &document["values"][0];
    assert_eq!((&values["min"], &values["max"], &values["mean"]), (&json!(-2.0), &json!(1.0), &json!(-0.5)));
}
