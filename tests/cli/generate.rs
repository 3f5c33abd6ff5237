use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use super::{Run, tensorgate};

fn generate(args: &[&str]) -> Run {
    Run::of(tensorgate().arg("generate").args(args).output().unwrap())
}

fn own(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn without_a_model_the_program_has_one() {
    let run = generate(&["--tokens", "12"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.out.starts_with("It is a truth universally acknowledged, that") && run.out.len() > 60,
        "{}",
        run.out
    );
    assert!(run.err.contains("12 tokens written") && run.err.contains("tokens/s"), "{}", run.err);
    assert_eq!(generate(&["--tokens", "12", "--seed", "42"]).out, run.out);
    assert_ne!(generate(&["--tokens", "12", "--seed", "43"]).out, run.out);
}

#[test]
fn greedy_is_what_the_reference_wrote() {
    let reference: Value =
        serde_json::from_str(&std::fs::read_to_string(own("tests/data/austen/reference.json")).unwrap()).unwrap();
    for model in [None, Some(own("models/austen")), Some(own("models/austen/model.safetensors"))] {
        // A prompt alone is told from a path by its spaces.
        for case in reference["cases"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|case| case["text"].as_str().unwrap().contains(' '))
        {
            let prompt = case["text"].as_str().unwrap();
            let mut args: Vec<&str> = model.as_deref().into_iter().collect();
            args.extend([prompt, "--temperature", "0", "--tokens", "40", "--cache", "f32"]);
            let run = generate(&args);
            assert_eq!(run.code, 0, "{}", run.err);
            let text = run.out.strip_prefix(prompt).unwrap().trim_end_matches('\n');
            let expected = case["greedy_text"].as_str().unwrap().trim_end_matches('\n');
            assert!(
                !text.is_empty() && expected.starts_with(text) || text.starts_with(expected),
                "{text}\n{expected}"
            );
        }
    }
}

#[test]
fn json_says_all() {
    let run = generate(&["It is", "--json", "--tokens", "5", "--quantize", "q8_0"]);
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(document["finish"], "tokens");
    assert_eq!(document["tokens"].as_array().unwrap().len(), 5);
    for token in document["tokens"].as_array().unwrap() {
        assert!(token["log_probability"].as_f64().unwrap() < 0.0);
    }
    assert!(document["load_ms"].as_f64().unwrap() > 0.0 && document["threads"].as_u64().unwrap() >= 1);
}

#[test]
fn repacked_weights_write_the_same() {
    for blocks in ["q8_0", "q4_0", "q4_k"] {
        let args = ["It is", "--temperature", "0", "--tokens", "12", "--quantize", blocks];
        let (stored, packed) = (generate(&args), generate(&[&args[..], &["--repack"]].concat()));
        assert_eq!((packed.code, packed.out), (0, stored.out), "{blocks}: {}", packed.err);
    }
    // Weights that are no blocks stay as they are.
    let args = ["It is", "--temperature", "0", "--tokens", "12"];
    assert_eq!(generate(&[&args[..], &["--repack"]].concat()).out, generate(&args).out);
    for command in ["generate", "bench"] {
        let help = Run::of(tensorgate().args([command, "--help"]).output().unwrap());
        assert!(help.out.matches("--repack").count() >= 2, "{}", help.out);
    }
}

#[test]
fn stop_strings_end_the_text_before_them() {
    let whole = generate(&["It is", "--temperature", "0", "--json", "--tokens", "30"]);
    let whole: Value = serde_json::from_str(&whole.out).unwrap();
    let text = whole["text"].as_str().unwrap();
    let stop = text.split_whitespace().nth(4).unwrap();
    let run = generate(&["It is", "--temperature", "0", "--json", "--tokens", "30", "--stop", stop]);
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(document["finish"], "stop_string");
    assert_eq!(document["text"].as_str().unwrap(), &text[..text.find(stop).unwrap()]);
}

#[test]
fn prompts_come_from_standard_input_and_one_after_the_other() {
    for (args, lines) in [(&["-", "--tokens", "4"][..], 1), (&["--interactive", "--tokens", "4"][..], 2)] {
        let mut child = tensorgate()
            .arg("generate")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"It was\nShe had\n").unwrap();
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.out.lines().count() >= lines, "{}", run.out);
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (args, said) in [
        (&["no/such/model"][..], "no/such/model"),
        (&["--bogus"][..], "--bogus"),
        (&["--tokens"][..], "--tokens"),
        (&["--threads", "0"][..], "--threads"),
        (&["--top-p", "0"][..], "top_p must be above 0"),
        (&["--temperature", "nan"][..], "temperature must be 0 or more, and finite"),
        (&["--temperature", "inf"][..], "temperature must be 0 or more, and finite"),
        (&["--repetition-penalty", "inf"][..], "repetition_penalty must be above 0, and finite"),
        (&["--stop", ""][..], "'--stop <TEXT>': it must not be empty"),
        (&["--quantize", "q2_k"][..], "q2_k"),
        (&["--max-memory", "0"][..], "memory"),
        (&["--interactive", "--json"][..], "cannot be used with"),
    ] {
        let run = generate(args);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{args:?}: {}", run.err);
        assert!(run.err.contains(said), "{args:?}: {}", run.err);
    }
    let tiny = own("tests/data/tiny-gpt2/tinyA-plain");
    let run = generate(&[&tiny, "Hello"]);
    assert!(run.code == 2 && run.err.contains("there is no vocabulary"), "{}", run.err);
}

#[test]
fn a_context_that_is_too_long_or_too_short_is_said() {
    let run = generate(&["--tokens=1", "--context=999"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("note: the model knows 256 positions: --context 999 is taken as 256"), "{}", run.err);
    assert!(!generate(&["--tokens=1", "--context=256"]).err.contains("note"));
    let long = "It is a truth ".repeat(20);
    for args in [&[&long, "--context=16"][..], &[&long, "--context=16", "--json"]] {
        let run = generate(args);
        assert_eq!(run.code, 2, "{}", run.err);
        for said in [
            " tokens, and the context has room for 16: shorten the text, give it more with --context (up to 256), or let --slide",
            "the text has 1",
        ] {
            assert!(run.err.contains(said), "{}", run.err);
        }
    }
    let run = generate(&["It is ".repeat(300).as_str()]);
    assert!(run.err.contains("room for 256: shorten the text, or let --slide"), "{}", run.err);
    assert_eq!(generate(&[&long, "--context=16", "--slide", "--tokens=1"]).code, 0);
}

/// A folder with a tiny model and its vocabulary.
fn tiny() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for from in ["tinyA-plain/model.safetensors", "tinyA-plain/config.json", "vocab.json", "merges.txt"] {
        let from = own(&format!("tests/data/tiny-gpt2/{from}"));
        let name = std::path::Path::new(&from).file_name().unwrap();
        std::fs::copy(&from, folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn several_problems_are_several_lines() {
    let folder = tiny();
    let path = folder.path().to_str().unwrap();
    std::fs::write(folder.path().join("config.json"), r#"{"n_layer":0,"n_head":"x"}"#).unwrap();
    for command in ["generate", "bench"] {
        let run = Run::of(tensorgate().args([command, path]).output().unwrap());
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{}", run.err);
        assert!(
            run.err.starts_with(&format!("tensorgate: {path}: ")) && run.err.lines().count() == 2,
            "{}",
            run.err
        );
        assert!(!run.err.contains("\\\\"), "{}", run.err);
    }
}

#[test]
fn what_goes_wrong_while_it_writes_is_said_on_a_line_of_its_own() {
    let folder = tiny();
    let (path, model) = (folder.path().to_str().unwrap(), folder.path().join("model.safetensors"));
    let mut bytes = std::fs::read(&model).unwrap();
    let data = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    bytes[data..].fill(0xFF);
    std::fs::write(&model, bytes).unwrap();
    let run = generate(&[path, "Hello"]);
    assert_eq!((run.code, run.out.as_str()), (1, "Hello\n"), "{}", run.err);
    assert!(run.err.starts_with(&format!("tensorgate: {path}: ")), "{}", run.err);
}

/// The reference converter's file has all keys that there are.
#[test]
fn of_a_whole_gguf_file_there_is_nothing_to_note() {
    let run = generate(&[&own("tests/data/tiny-gpt2-gguf/tinyA-f32.gguf"), "Hello", "--tokens", "2", "--json"]);
    assert!(run.code == 0 && !run.err.contains("note:"), "{}", run.err);
}

#[test]
fn bench_says_what_it_has_no_room_for() {
    let folder = tiny();
    let path = folder.path().to_str().unwrap();
    let run = Run::of(tensorgate().args(["bench", "--rounds", "1", path]).output().unwrap());
    let said = "a context of 64 tokens has no room for it: prefill 128, prefill 512, decode 64, decode 128\n";
    assert!(run.code == 0 && run.err.ends_with(said), "{}", run.err);
    assert!(run.out.contains("first token after 16: ") && !run.out.contains("tokens/s"), "{}", run.out);
    // What was not run is not reported.
    let run = Run::of(tensorgate().args(["bench", "--rounds", "1", "--context", "1", path]).output().unwrap());
    let said = "a context of 1 token has no room for it: prefill 128, prefill 512, decode 64, decode 128\n";
    assert!(run.code == 0 && run.err.ends_with(said), "{}", run.err);
    assert!(run.out.contains("first token after 1: "), "{}", run.out);
}

/// Where the caches are large enough for the weights, as far as the system tells, that is told beside the share.
#[test]
fn a_share_from_the_caches_is_told() {
    let run = Run::of(tensorgate().args(["bench", "--rounds", "1"]).output().unwrap());
    let decoded: Vec<&str> = run.out.lines().filter(|line| line.starts_with("decode ")).collect();
    assert_eq!(decoded.len(), 2, "{}", run.out);
    let json = Run::of(tensorgate().args(["bench", "--rounds", "1", "--json"]).output().unwrap());
    let document: Value = serde_json::from_str(&json.out).unwrap();
    let weights = document["bytes_per_token"].as_u64().unwrap();
    let do_fit = document["cache_bytes"].as_u64().is_some_and(|caches| weights <= caches);
    for line in decoded {
        let (rate, rest) = line.split_once(" % of the bandwidth").unwrap();
        assert!(rate.rsplit(' ').next().unwrap().parse::<f64>().unwrap() > 0.0, "{line}");
        assert_eq!(rest.starts_with(", or from the caches ("), do_fit, "{line}");
    }
}

#[test]
fn bench_measures() {
    let run = Run::of(tensorgate().args(["bench", "--rounds", "1", "--json"]).output().unwrap());
    assert_eq!(run.code, 0, "{}", run.err);
    let document: Value = serde_json::from_str(&run.out).unwrap();
    let measured = document["measured"].as_array().unwrap();
    assert_eq!(measured.len(), 3, "a context of 256 has no room for 512");
    for one in measured {
        assert!(one["tokens_per_second"].as_f64().unwrap() > 0.0);
        let share = one["share_of_bandwidth"].as_f64();
        assert_eq!(share.is_some_and(|share| share > 0.0), one["what"] == "decode", "{one}");
    }
    assert_eq!(document["first_token_after"], 16);
    assert!(document["read_bytes_per_second"].as_f64().unwrap() > 1e6);
}

#[test]
fn nothing_at_once_and_no_context_are_no_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for option in ["--context", "--batch"] {
        let refused = crate::run(folder.path(), &["generate", "--tokens", "1", option, "0"]);
        assert!(refused.code == 2 && refused.err.contains(option), "{}", refused.err);
    }
}
