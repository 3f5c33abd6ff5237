//! What the audit finds in GGUF files: in the cases, in files made here, and in real ones.

#![cfg(feature = "alloc")]

mod common;

use common::gguf::Writer;
use common::{bytes, cases, shared};
use tensorgate::audit::{self, Severity};
use tensorgate::gguf::{Header, ValueType};
use tensorgate::{Gguf, Limits};

/// Code without its prefix, place and count of each finding.
type Found = Vec<(&'static str, u64, u64)>;

fn audit_with(file: &[u8], limits: &Limits) -> Found {
    let header = Header::open(file, file.len() as u64, limits).unwrap();
    let findings = audit::gguf(&header).unwrap();
    for finding in &findings {
        let shown = finding.to_string();
        assert!(shown.len() < 200 && shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{shown}");
    }
    assert!(findings.iter().all(|finding| finding.at() <= file.len() as u64 && finding.count() > 0));
    findings
        .iter()
        .map(|finding| (finding.code().strip_prefix("GG-NOTE-").unwrap(), finding.at(), finding.count()))
        .collect()
}

/// What is found besides what every small file of metadata is.
fn audit(file: &[u8]) -> Found {
    let mut found = audit_with(file, &Limits::default());
    found.retain(|(code, ..)| !matches!(*code, "NO-TENSORS" | "NO-ARCHITECTURE"));
    found
}

fn codes(found: &Found) -> Vec<&'static str> {
    found.iter().map(|(code, ..)| *code).collect()
}

#[test]
fn the_cases_are_found() {
    let wanted: &[(&str, &[&str])] = &[
        ("kv_tokens_not_strings", &["KEY-TYPE"]),
        ("kv_f32_nan", &["FLOAT"]),
        ("kv_f64_inf", &["FLOAT"]),
        ("kv_key_space", &["KEY-ODD"]),
        ("kv_key_hyphen", &["KEY-STYLE"]),
        ("kv_key_proto", &["KEY-PROTO"]),
        ("kv_str_trailing_nul", &["STRING-CONTROL"]),
        ("kv_str_bom", &["STRING-CONTROL"]),
        ("kv_arr_str_invalid_utf8", &["ARRAY-UTF8"]),
        ("kv_charsmap_short", &["KEY-VALUE"]),
        ("kv_image_mean_short", &["KEY-VALUE"]),
        ("kv_image_mean_scalar", &["KEY-TYPE"]),
        ("kv_pinpoints_odd", &["KEY-VALUE"]),
        ("kv_scale_factor_zero", &["KEY-VALUE"]),
        ("kv_arch_wrong_type", &["KEY-TYPE"]),
        ("kv_block_count_zero", &["KEY-VALUE"]),
        ("kv_token_type_u8", &["KEY-TYPE"]),
        ("kv_scores_short", &["TOKENIZER-LENGTH"]),
        ("kv_plamo2_token", &["BYTE-TOKEN"]),
        ("kv_bos_out_of_range", &["TOKEN-ID"]),
        ("kv_split_str", &["SPLIT-TYPE"]),
        ("kv_split_shard", &["SPLIT"]),
        ("kv_split_no_ge_count", &["SPLIT", "SPLIT-NUMBER"]),
        ("align_2", &["ALIGN"]),
        ("name_path", &["NAME-PATH"]),
        // Nothing is wrong with these.
        ("kv_head_count_array", &[]),
        ("kv_token_len_2g", &[]),
        ("kv_key_len_65535", &[]),
        ("kv_arr_str", &[]),
        ("kv_i64", &[]),
        ("kv_arr_f32", &[]),
        ("vocab_like", &[]),
        ("kv_all_types", &[]),
        ("align_8", &[]),
        ("many_tensors", &[]),
        ("be_v3", &[]),
        ("lora_like", &[]),
    ];
    let all = cases("gguf.json");
    for (name, codes_wanted) in wanted {
        let case = all.iter().find(|case| case["name"] == *name).unwrap_or_else(|| panic!("{name} is no case"));
        assert_eq!(codes(&audit(&bytes(case))), *codes_wanted, "{name}");
    }
    // No accepted case is beyond an audit.
    for case in &all {
        let file = bytes(case);
        if Gguf::open(&file).is_ok() {
            audit(&file);
        }
    }
    let case = |name: &str| bytes(all.iter().find(|case| case["name"] == name).unwrap());
    let found = audit_with(&case("kv_arch_missing"), &Limits::default());
    assert_eq!(found, [("NO-ARCHITECTURE", 24, 1), ("NO-TENSORS", 8, 1)]);
    assert!(!codes(&audit_with(&case("kv_split_shard"), &Limits::default())).contains(&"NO-ARCHITECTURE"));
}

/// A file of one string.
fn one(key: &str, text: &str) -> Vec<u8> {
    let mut writer = Writer::new(0, 1);
    writer.key(key, ValueType::String).text(text.as_bytes());
    writer.0
}

#[test]
fn templates_that_reach_out_and_templates_besides_the_first() {
    let value_at = |key: &str| 24 + 8 + key.len() as u64 + 4 + 8;
    let key = "tokenizer.chat_template";
    let bad = "{{ bos_token }}{% if x.__class__ %}{% endif %}";
    let inside = bad.find("__class__").unwrap() as u64;
    assert_eq!(audit(&one(key, bad)), [("TEMPLATE-CODE", value_at(key) + inside, 1)]);
    assert_eq!(audit(&one(key, "{{ bos_token }}{{ messages[0]['content'] }}")), []);
    let other = "tokenizer.chat_template.tool_use";
    assert_eq!(audit(&one(other, "{{ x }}")), [("TEMPLATES", 32, 1)]);
    assert_eq!(codes(&audit(&one(other, bad))), ["TEMPLATE-CODE", "TEMPLATES"]);
    // Only templates are programs.
    assert_eq!(audit(&one("general.description", bad)), []);
    let mut writer = Writer::new(0, 1);
    writer.key(key, ValueType::U8).raw(&[1]);
    assert_eq!(audit(&writer.0), [("KEY-TYPE", 24 + 8 + 23, 1)]);
}

#[test]
fn values_that_make_no_sense() {
    let number = |key: &str, value: u32| {
        let mut writer = Writer::new(0, 1);
        writer.key(key, ValueType::U32).u32(value);
        codes(&audit(&writer.0))
    };
    for (key, good, bad) in [
        ("llama.block_count", 512, 513),
        ("clip.vision.block_count", 1, 0),
        ("llama.context_length", 1, 0),
        ("llama.embedding_length", 4096, 0),
        ("llama.vocab_size", 0x7FFF_FFFF, 0x8000_0000),
        // Models without attention write 0.
        ("mamba.attention.head_count", 0, u32::MAX),
        ("mamba.feed_forward_length", 0, u32::MAX),
        ("general.file_type", 0, u32::MAX),
    ] {
        assert!(number(key, good).is_empty(), "{key}");
        assert_eq!(number(key, bad), ["KEY-VALUE"], "{key}");
    }
    assert!(number("block_count", 0).is_empty() && number("general.block_count", 0).is_empty());
    let mut writer = Writer::new(0, 2);
    writer.key("llama.block_count", ValueType::I32).raw(&(-1_i32).to_le_bytes());
    writer.key("llama.rope.freq_base", ValueType::U32).u32(1);
    assert_eq!(codes(&audit(&writer.0)), ["KEY-TYPE", "KEY-VALUE"]);
}

#[test]
fn the_tokenizer_is_of_one_piece() {
    let file = |scores: u64, bos: i32| {
        let mut writer = Writer::new(0, 3);
        writer
            .key("tokenizer.ggml.tokens", ValueType::Array)
            .array(ValueType::String, 2)
            .text(b"a")
            .text(b"<0xZ0>");
        writer.key("tokenizer.ggml.scores", ValueType::Array).array(ValueType::F32, scores);
        (0..scores).for_each(|_| {
            writer.raw(&f32::NAN.to_le_bytes());
        });
        writer.key("tokenizer.ggml.bos_token_id", ValueType::I32).raw(&bos.to_le_bytes());
        audit(&writer.0)
    };
    let token_at = 24 + 8 + 21 + 4 + 12 + 9;
    let scores_at = token_at + 14 + 8 + 21 + 4;
    assert_eq!(file(2, 1), [("FLOAT", scores_at, 2), ("BYTE-TOKEN", token_at, 1)]);
    assert_eq!(codes(&file(1, 2)), ["TOKENIZER-LENGTH", "FLOAT", "TOKEN-ID", "BYTE-TOKEN"]);
    assert_eq!(codes(&file(0, -1)), ["TOKENIZER-LENGTH", "TOKEN-ID", "BYTE-TOKEN"]);
}

#[test]
fn what_was_relaxed_is_found() {
    let mut writer = Writer::new(2, 2);
    writer.key("a", ValueType::String).text(b"\xff");
    writer.key("b", ValueType::Array).array(ValueType::Array, 1).array(ValueType::U8, 0);
    writer.tensor("x\u{e9}", &[1], 200, 0).tensor(&"n".repeat(70), &[1], 0, 32).data(64).raw(b"zip");
    let limits = Limits::default()
        .with_gguf_nested_arrays(1)
        .with_gguf_invalid_utf8(true)
        .with_gguf_unknown_types(true)
        .with_gguf_trailing(true)
        .with_gguf_name_len(100);
    let found = codes(&audit_with(&writer.0, &limits));
    assert_eq!(
        found,
        [
            "ARRAY-NESTED",
            "STRING-UTF8",
            "NAME-LONG",
            "TYPE-UNKNOWN",
            "TRAILING",
            "NO-ARCHITECTURE",
            "NAME-NON-ASCII"
        ]
    );
}

#[test]
fn one_finding_for_many_places() {
    let mut writer = Writer::new(0, 10_000);
    (0..10_000).for_each(|number| {
        writer.key(&format!("a {number}"), ValueType::F32).raw(&f32::INFINITY.to_le_bytes());
    });
    assert_eq!(audit(&writer.0), [("FLOAT", 24 + 8 + 3 + 4, 10_000), ("KEY-ODD", 32, 10_000)]);
}

#[test]
fn real_files_have_no_warnings() {
    let Some(folder) = shared("real") else { return };
    let mut seen = 0;
    let mut folders = vec![folder.join("vocab")];
    folders.extend(shared("tiny-gpt2-gguf"));
    for path in folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let path = path.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "gguf") {
            continue;
        }
        let file = std::fs::read(&path).unwrap();
        let header = Header::open(&file, file.len() as u64, &Limits::default()).unwrap();
        let findings = audit::gguf(&header).unwrap();
        let loud: Vec<_> = findings.iter().filter(|finding| finding.severity() >= Severity::Warning).collect();
        assert!(loud.is_empty(), "{}: {loud:?}", path.display());
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
}
