//! The tables of `docs/security-record.md` hold: every case, file and test that they name is there, each input has the
//! verdict that its row says, and what is left to the consumer comes with its type.

mod common;

use std::path::Path;

use common::{bytes, cases, corpus};
use serde_json::Value;
use tensorgate::detect::Guess;
use tensorgate::gguf::{Slot, ValueError, ValueType};
use tensorgate::{ErrorKind, Gguf, Limits};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What stands between back quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Record, what answers here, and proof of each row.
fn rows(text: &str) -> Vec<[&str; 3]> {
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Record"));
    lines.map(row).collect()
}

fn row(line: &str) -> [&str; 3] {
    let columns: Vec<&str> = line.split(" | ").collect();
    let [record, _, here, proof] = columns[..] else { panic!("not four columns: {line}") };
    [record.trim_start_matches("| "), here, proof.trim_end_matches(" |")]
}

/// The verdict on one proof, or `None` where it is a test or a source file.
fn verdict(proof: &str, all: &[Value]) -> Option<String> {
    let outcome = |path: &str, bytes: &[u8]| {
        let (_, outcome) = corpus::judge(path, bytes, &corpus::Terms::default())[0];
        outcome.map_or_else(|error| error.code().to_owned(), |()| "accepted".to_owned())
    };
    if let Some(name) = proof.strip_prefix("case ") {
        let case = all.iter().find(|case| case["name"] == name).unwrap_or_else(|| panic!("no such case: {name}"));
        return Some(outcome(".gguf", &bytes(case)));
    }
    if proof.starts_with("corpus/") {
        let file = std::fs::read(root().join(proof)).unwrap_or_else(|error| panic!("{proof}: {error}"));
        return Some(outcome(proof, &file));
    }
    let (path, name) = proof.split_once(' ').unwrap_or_else(|| panic!("{proof} names no test"));
    let source = std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(source.contains(&format!("fn {name}(")), "{path} has no test {name}");
    None
}

#[test]
fn every_row_is_as_it_says() {
    let text = std::fs::read_to_string(root().join("docs/security-record.md")).unwrap();
    let all = cases("gguf.json");
    let is_rule = |word: &&str| ErrorKind::ALL.iter().any(|kind| kind.code() == *word);
    let rows = rows(&text);
    assert!(rows.len() > 80, "{}", rows.len());
    let mut wrong = Vec::new();
    for [record, here, proof] in rows {
        let verdicts: Vec<String> = quoted(proof).filter_map(|proof| verdict(proof, &all)).collect();
        assert!(quoted(proof).count() > 0, "{record} has no proof");
        let data = here.starts_with("**data**");
        let rules: Vec<&str> = quoted(here).filter(is_rule).collect();
        assert!(!data || rules.is_empty(), "{record}: data, and refused");
        let want = if data { vec!["accepted"] } else { rules };
        for verdict in verdicts.iter().filter(|verdict| !want.contains(&verdict.as_str())) {
            wrong.push(format!("{record}: {verdict} is not among {want:?}"));
        }
        for rule in want.iter().filter(|rule| **rule != "accepted") {
            if !verdicts.iter().any(|verdict| verdict == rule) {
                wrong.push(format!("{record}: nothing shows {rule}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every code in the text is one that there is.
#[test]
fn every_code_that_is_named_exists() {
    let text = std::fs::read_to_string(root().join("docs/security-record.md")).unwrap();
    let errors = ErrorKind::ALL.iter().map(|kind| kind.code());
    let known: Vec<&str> = errors.chain(Guess::ALL.iter().map(|guess| guess.code())).collect();
    let prefixes = ["TG-", "JS-", "ST-", "IX-", "GG-", "FT-"];
    let named = quoted(&text).filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix)));
    for code in named.filter(|code| !code.starts_with("ST-NOTE-")) {
        assert!(known.contains(&code), "{code} is no code");
    }
    #[cfg(feature = "alloc")]
    for note in quoted(&text).filter(|word| word.starts_with("ST-NOTE-")) {
        assert!(tensorgate::audit::RULES.iter().any(|rule| rule.code() == note), "{note} is no note");
    }
}

/// What the rows under **data** say of the typed getters.
#[test]
fn what_is_left_to_the_consumer_has_its_type() {
    let all = cases("gguf.json");
    let check = |name: &str, check: &dyn Fn(&Gguf<'_>)| {
        let file = bytes(all.iter().find(|case| case["name"] == name).unwrap());
        let mut slots = [Slot::EMPTY; 16];
        check(&Gguf::open_in(&file, &mut slots, &Limits::default()).unwrap());
    };
    check("kv_token_type_u8", &|file| {
        let types = file.array("tokenizer.ggml.token_type").unwrap();
        assert_eq!(types.elements::<i32>().err(), Some(ValueError::Type(ValueType::U8)));
        assert!(types.elements::<u8>().unwrap().eq([1, 1]));
    });
    check("kv_plamo2_token", &|file| {
        let tokens = file.array("tokenizer.ggml.tokens").unwrap().strings().unwrap();
        assert!(tokens.map(|token| token.as_str().unwrap()).eq(["<0x00>", "<0x-1>", "<0xZZ>"]));
    });
    check("kv_charsmap_short", &|file| {
        let map = file.array("tokenizer.ggml.precompiled_charsmap").unwrap();
        assert_eq!(map.le_slice::<u8>().unwrap(), [1, 2]);
    });
    check("kv_image_mean_short", &|file| {
        let mean = file.array("clip.vision.image_mean").unwrap();
        assert_eq!((mean.len(), mean.get(0).unwrap().f64(), mean.get(1)), (1, Ok(0.5), None));
    });
    check("kv_image_mean_scalar", &|file| {
        assert_eq!(file.array("clip.vision.image_mean").unwrap_err(), ValueError::Type(ValueType::F32));
    });
    check("kv_pinpoints_odd", &|file| {
        assert_eq!(file.array("clip.vision.image_grid_pinpoints").unwrap().len(), 3);
    });
    check("kv_scale_factor_zero", &|file| assert_eq!(file.i64("clip.vision.projector.scale_factor"), Ok(0)));
    check("kv_block_count_zero", &|file| assert_eq!(file.u64("llama.block_count"), Ok(0)));
    check("kv_split_str", &|file| {
        assert_eq!(file.u64("split.no"), Err(ValueError::Type(ValueType::String)));
        assert_eq!(file.str("split.no"), Ok("x"));
    });
    check("kv_arch_wrong_type", &|file| {
        assert_eq!(file.str("general.architecture"), Err(ValueError::Type(ValueType::U32)));
    });
    check("kv_arch_missing", &|file| assert_eq!(file.str("general.architecture"), Err(ValueError::Missing)));
    let template = std::fs::read(corpus::folder().join("accept/gguf-template-as-text.gguf")).unwrap();
    let mut slots = [Slot::EMPTY; 1];
    let file = Gguf::open_in(&template, &mut slots, &Limits::default()).unwrap();
    assert_eq!(file.str("tokenizer.chat_template"), Ok("{{ x.__class__ }}"));
}
