//! `tensorgate check --deep`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tensorgate::audit::{RULES, Severity};

use crate::common::gguf::Writer;
use crate::common::{corpus, file};
use crate::{pipe, run, sound};

/// A safetensors file of these tensors: name, dtype, elements and data, in this order.
fn model(tensors: &[(&str, &str, usize, Vec<u8>)]) -> Vec<u8> {
    let mut data = Vec::new();
    let mut entries = Vec::new();
    for (name, dtype, elements, own) in tensors {
        let end = data.len() + own.len();
        entries.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":[{elements}],"data_offsets":[{},{end}]}}"#,
            data.len()
        ));
        data.extend_from_slice(own);
    }
    file(&format!("{{{}}}", entries.join(",")), &data)
}

fn line(folder: &Path, args: &[&str]) -> Value {
    let run = run(folder, &[&["check", "--deep", "--format=jsonl"], args].concat());
    assert_eq!(run.err, "");
    run.lines().remove(0)
}

/// What was told by the rules about data: code and offset, the fault first.
fn told(line: &Value) -> Vec<(String, u64)> {
    let findings = line["findings"].as_array().unwrap();
    let all = std::iter::once(line).chain(findings);
    let pairs = all.filter_map(|item| Some((item["code"].as_str()?.to_owned(), item["offset"].as_u64()?)));
    pairs.filter(|(code, _)| code.starts_with("DT-")).collect()
}

#[test]
fn every_file_of_the_corpus_has_its_finding() {
    let rows = corpus::deep();
    assert!(rows.len() > 20);
    for row in rows {
        let (code, at) = row.rejected.unwrap();
        let whole = fs::read(corpus::folder().join(&row.path)).unwrap();
        let deep = line(&corpus::folder(), &[&row.path]);
        assert!(told(&deep).contains(&(code.clone(), at)), "{}: {deep}", row.path);
        let rule = RULES.iter().find(|rule| rule.code() == code).unwrap();
        let rejected = rule.severity() == Severity::Error;
        assert_eq!(deep["verdict"], if rejected { "rejected" } else { "accepted" }, "{}", row.path);
        let piped = pipe(&whole, &["check", "--deep", "--format=jsonl", "-"]).lines().remove(0);
        assert_eq!((&piped["data"], told(&piped)), (&deep["data"], told(&deep)), "{}", row.path);
        let shallow = run(&corpus::folder(), &["check", "--format=jsonl", &row.path]);
        assert_eq!((shallow.code, told(&shallow.lines()[0])), (0, vec![]), "{}", row.path);
        assert_eq!(shallow.lines()[0]["data"], Value::Null);
    }
}

/// Numbers that repeat on every machine.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |last| Some(last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)))
        .map(|number| number >> 33)
}

/// Elements of a type, none of them odd, with odd ones at these places, which ascend.
fn planted(elements: usize, good: &[u8], bad: &[u8], places: &[usize]) -> Vec<u8> {
    let mut data = good.repeat(elements);
    for place in places {
        data[place * bad.len()..][..bad.len()].copy_from_slice(bad);
    }
    data
}

#[test]
fn counts_and_places_are_exact_across_every_border() {
    let folder = tempfile::tempdir().unwrap();
    // Threads take 8 MiB, buffers 256 KiB, stripes 4 KiB: an odd element on either side of each border.
    let borders = |size: usize, elements: usize| {
        let around = [4 << 10, 256 << 10, 8 << 20, 16 << 20].map(|border: usize| border / size);
        let mut places: Vec<usize> = around.iter().flat_map(|place| [place - 1, *place]).collect();
        places.extend([0, elements - 1]);
        places.extend(numbers(7).take(50).map(|number| usize::try_from(number).unwrap() % elements));
        places.retain(|place| *place < elements);
        places.sort_unstable();
        places.dedup();
        places
    };
    let (halves, singles, bytes) = (9_000_001, 2_500_003, 9_000_007);
    let (nans, infinities, bools) = (borders(2, halves), borders(4, singles), borders(1, bytes));
    let tensors = [
        ("bools", "BOOL", bytes, planted(bytes, &[1], &[7], &bools)),
        ("halves", "F16", halves, planted(halves, &[0, 60], &[1, 0x7C], &nans)),
        ("empty", "F32", 0, vec![]),
        ("tin", "U8", 1, vec![3]),
        ("singles", "F32", singles, planted(singles, &[0, 0, 128, 63], &[0, 0, 128, 255], &infinities)),
        ("zeros", "I64", 1_500_000, vec![0; 12_000_000]),
    ];
    let whole = model(&tensors);
    let data_at = whole.len() - tensors.iter().map(|(.., data)| data.len()).sum::<usize>();
    assert!(data_at % 2 == 1, "elements are split by every border");
    fs::write(folder.path().join("m.safetensors"), &whole).unwrap();
    let (halves_at, singles_at) = (data_at + bytes, data_at + bytes + 2 * halves + 1);
    let zeros_at = singles_at + 4 * singles;
    let none = json!({"count": 0, "first": null});
    let places = |start: usize, size: usize, places: &[usize]| json!({"count": places.len(), "first": start + size * places[0]});
    let odd = |name: &str, dtype: &str, start: usize, zero: bool, counts: [Value; 4]| {
        let [bools, nan, infinite, scales] = counts;
        json!({"shard": null, "name": name, "dtype": dtype, "start": start, "zero": zero,
            "bools": bools, "nan": nan, "infinite": infinite, "scales": scales})
    };
    let (n, n2) = (|| none.clone(), || none.clone());
    let want = json!({"bytes": whole.len() - data_at, "tensors": 6, "odd": [
        odd("bools", "BOOL", data_at, false, [places(data_at, 1, &bools), n(), n(), n()]),
        odd("halves", "F16", halves_at, false, [n(), places(halves_at, 2, &nans), n(), n2()]),
        odd("singles", "F32", singles_at, false, [n(), n(), places(singles_at, 4, &infinities), n()]),
        odd("zeros", "I64", zeros_at, true, [n(), n(), n(), n()]),
    ]});
    let first = line(folder.path(), &["m.safetensors", "--jobs=1"]);
    assert_eq!(first["data"], want);
    let at = |place: usize| u64::try_from(place).unwrap();
    let codes = [
        ("DT-BOOL", at(data_at + bools[0])),
        ("DT-NAN", at(halves_at + 2 * nans[0])),
        ("DT-INFINITE", at(singles_at + 4 * infinities[0])),
        ("DT-ZERO", at(zeros_at)),
    ];
    assert_eq!(told(&first), codes.map(|(code, at)| (code.to_owned(), at)));
    for jobs in ["--jobs=2", "--jobs=5"] {
        assert_eq!(line(folder.path(), &["m.safetensors", jobs]), first);
    }
    let piped = pipe(&whole, &["check", "--deep", "--format=jsonl", "-"]).lines().remove(0);
    assert_eq!((&piped["data"], told(&piped)), (&first["data"], told(&first)));
}

#[test]
fn people_are_told_what_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let nan = [0, 0, 128, 63, 0, 0, 192, 127];
    let whole = model(&[("w\\u001b", "F32", 4, nan.repeat(2)), ("b", "I8", 2, vec![0; 2])]);
    let data_at = whole.len() - 18;
    fs::write(folder.path().join("m.safetensors"), whole).unwrap();
    let shown = run(folder.path(), &["check", "--deep", "m.safetensors"]);
    assert!(shown.out.contains("18 bytes of data read)"), "{}", shown.out);
    let warning = format!(
        "    warning DT-NAN at byte {}: elements that are not a number (NaN): 2 in 1 tensor (first: \"w\\u{{1b}}\")\n",
        data_at + 4
    );
    assert!(shown.out.contains(&warning), "{}", shown.out);
    assert!(!shown.out.contains("DT-ZERO"), "notes need --verbose");
    let shown = run(folder.path(), &["check", "--deep", "-v", "m.safetensors"]);
    let tensors = format!("      w\\u{{1b}}, F32: nan: 2 (first at byte {})\n      b, I8: all zero\n", data_at + 4);
    assert!(shown.out.contains("    note DT-ZERO at byte ") && shown.out.contains(&tensors), "{}", shown.out);
    let rejected = run(&corpus::folder().join("deep/DT-BOOL"), &["check", "--deep", "two.safetensors"]);
    let lines: Vec<&str> = rejected.out.lines().collect();
    assert!(lines[0].starts_with("rejected    two.safetensors: DT-BOOL at byte "), "{}", rejected.out);
    assert!(lines[1].contains("02 00 01 02 01") && lines[2].trim_end().ends_with("^~"), "{}", rejected.out);
    assert_eq!(rejected.code, 1);
}

#[test]
fn shards_are_read_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let one = model(&[("a", "F32", 1, vec![0, 0, 128, 63])]);
    let two = model(&[("b", "BF16", 2, vec![128, 63, 192, 127])]);
    fs::write(at("m-1.safetensors"), &one).unwrap();
    fs::write(at("m-2.safetensors"), &two).unwrap();
    let index = r#"{"metadata":{"total_size":8},"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}}"#;
    fs::write(at("m.safetensors.index.json"), index).unwrap();
    let sharded = line(folder.path(), &["m.safetensors.index.json"]);
    assert_eq!((&sharded["data"]["bytes"], &sharded["data"]["tensors"]), (&json!(8), &json!(2)));
    assert_eq!(sharded["data"]["odd"][0]["shard"], "m-2.safetensors");
    assert_eq!(told(&sharded), [("DT-NAN".to_owned(), two.len() as u64 - 2)]);
    // Named as shards and as a model, they are read once, and are said to be the same.
    let all = run(folder.path(), &["check", "--deep", "--format=jsonl", "."]).lines();
    assert_eq!(all.len(), 3);
    assert_eq!(all[1]["data"]["odd"][0]["shard"], Value::Null);
    assert_eq!(all[2]["data"], sharded["data"]);
    // A shard that is not there is warned of, and the others are read.
    fs::remove_file(at("m-1.safetensors")).unwrap();
    let rest = line(folder.path(), &["m.safetensors.index.json"]);
    assert_eq!((&rest["verdict"], &rest["data"]["bytes"]), (&json!("accepted"), &json!(4)));
    fs::write(at("m-2.safetensors"), model(&[("b", "BOOL", 4, vec![0, 1, 2, 3])])).unwrap();
    let rejected = run(folder.path(), &["check", "--deep", "m.safetensors.index.json"]);
    assert_eq!(rejected.code, 1);
    assert!(rejected.out.contains("DT-BOOL at byte ") && rejected.out.contains("in m-2.safetensors)"));
}

#[test]
fn the_parts_of_a_split_model_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for (number, scale) in [(0_u16, 0x3C_u8), (1, 0x7C)] {
        let mut writer = Writer::new(1, 3);
        for (key, value) in [("split.no", number), ("split.count", 2)] {
            writer.key(key, tensorgate::gguf::ValueType::U16).raw(&value.to_le_bytes());
        }
        writer.key("split.tensors.count", tensorgate::gguf::ValueType::I32).u32(2);
        let name = format!("t{number}");
        writer.tensor(&name, &[32], 8, 0).data(34);
        let end = writer.0.len();
        writer.0[end - 33] = scale;
        fs::write(folder.path().join(format!("m-{:05}-of-00002.gguf", number + 1)), &writer.0).unwrap();
    }
    let first = line(folder.path(), &["m-00001-of-00002.gguf"]);
    assert_eq!((&first["data"]["bytes"], &first["data"]["tensors"]), (&json!(68), &json!(2)), "{first}");
    let odd = &first["data"]["odd"][0];
    assert_eq!((&odd["shard"], &odd["dtype"]), (&json!("m-00002-of-00002.gguf"), &json!("Q8_0")));
    assert_eq!(odd["scales"], json!({"count": 1, "first": odd["start"]}));
    assert_eq!(first["data"]["odd"].as_array().unwrap().len(), 1);
    let second = line(folder.path(), &["m-00002-of-00002.gguf"]);
    assert_eq!((&second["data"]["bytes"], &second["data"]["odd"][0]["shard"]), (&json!(34), &Value::Null));
}

#[test]
fn what_is_rejected_is_not_read_and_streams_may_end_anywhere() {
    let whole = sound();
    for len in 0..=whole.len() {
        let piped = pipe(&whole[..len], &["check", "--deep", "--format=jsonl", "-"]).lines().remove(0);
        assert_eq!(piped["verdict"] == "accepted", len == whole.len(), "{len}: {piped}");
        assert_eq!(piped["data"].is_null(), len != whole.len());
    }
    let index = br#"{"weight_map":{"a":"m.safetensors"}}"#;
    let piped = pipe(index, &["check", "--deep", "--format=jsonl", "-"]).lines().remove(0);
    assert_eq!((&piped["verdict"], &piped["data"]["bytes"]), (&json!("accepted"), &json!(0)));
    let folder = tempfile::tempdir().unwrap();
    for args in [&["check", "--deep", "--jobs=0", "x"][..], &["check", "--deep", "--jobs=-1", "x"]] {
        let told = run(folder.path(), args);
        assert!(told.code == 2 && told.err.contains("a number of threads from 1 on"), "{}", told.err);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use crate::common::file;
    use crate::tensorgate;

    /// Waits until the program listens for SIGINT, the second bit of what it catches.
    pub(crate) fn listens(child: &Child) {
        let status = format!("/proc/{}/status", child.id());
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            let text = std::fs::read_to_string(&status).unwrap();
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            if u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it never listens");
    }

    pub(crate) fn signal(child: &Child, name: &str) {
        assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    }

    #[test]
    fn a_signal_ends_it_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        let header = r#"{"w":{"dtype":"F32","shape":[68719476736],"data_offsets":[0,274877906944]}}"#;
        let head = file(header, &[]);
        let sparse = File::create(&path).unwrap();
        (&sparse).write_all(&head).unwrap();
        sparse.set_len(head.len() as u64 + (1 << 38)).unwrap();
        let path = path.to_str().unwrap();
        for (args, name, code) in [
            (&["check", "--deep", "--format=jsonl", path][..], "-INT", 130),
            (&["check", "--deep", path], "-TERM", 143),
            (&["hash", path], "-INT", 130),
            (&["diff", path, path], "-INT", 130),
        ] {
            let mut command = tensorgate();
            let command = command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            listens(&child);
            signal(&child, name);
            let output = child.wait_with_output().unwrap();
            assert_eq!((output.status.code(), output.status.signal()), (Some(code), None), "{args:?}");
            assert_eq!(
                (output.stdout.as_slice(), output.stderr.as_slice()),
                (&b""[..], &b"tensorgate: interrupted\n"[..])
            );
        }
    }

    #[test]
    fn waiting_for_a_stream_ends_with_the_first_signal() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for (args, name, code) in [
            (&["check", "--deep", "-"][..], "-INT", 130),
            (&["check", "--deep", "pipe"], "-TERM", 143),
            (&["hash", "pipe"], "-INT", 130),
            (&["diff", "-", "pipe"], "-HUP", 129),
            (&["convert", "pipe", "a.gguf"], "-INT", 130),
            (&["quantize", "pipe", "a.gguf", "--type=q8_0"], "-TERM", 143),
        ] {
            if name == "-HUP" && crate::hangups_are_ignored() {
                continue;
            }
            let mut command = tensorgate();
            let command = command.current_dir(folder.path()).args(args);
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            listens(&child);
            std::thread::sleep(Duration::from_millis(100));
            assert_eq!(child.try_wait().unwrap(), None, "{args:?} waits for its input");
            signal(&child, name);
            let until = Instant::now() + Duration::from_secs(20);
            while child.try_wait().unwrap().is_none() {
                assert!(Instant::now() < until, "{args:?} does not end");
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(child.wait().unwrap().code(), Some(code), "{args:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// What was started with `nohup` outlives its terminal.
    #[test]
    fn a_hangup_that_is_ignored_stays_so() {
        let mut child = Command::new("sh")
            .args(["-c", "trap '' HUP; exec \"$0\" check --deep -", env!("CARGO_BIN_EXE_tensorgate")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        listens(&child);
        signal(&child, "-HUP");
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(child.try_wait().unwrap(), None);
        signal(&child, "-INT");
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }

    #[test]
    fn a_named_pipe_is_read_as_it_comes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let whole = std::fs::read(crate::common::corpus::folder().join("deep/DT-NAN/f32.safetensors")).unwrap();
        let writer = std::thread::spawn({
            let path = path.clone();
            move || File::options().write(true).open(path).unwrap().write_all(&whole)
        });
        let deep = super::line(folder.path(), &["pipe"]);
        writer.join().unwrap().unwrap();
        assert_eq!((deep["data"]["bytes"].as_u64(), &super::told(&deep)[0].0[..]), (Some(12), "DT-NAN"));
    }
}
