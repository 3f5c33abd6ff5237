//! What `generate` is given to go on from: taken whole, or refused and told, before anything of it is shown.

use super::{Run, pipe, run, tensorgate};

/// Greedy, and as little as shows what was gone on from.
const FEW: [&str; 2] = ["--temperature=0", "--tokens=3"];

fn given(input: &[u8], args: &[&str]) -> Run {
    pipe(input, &[&["generate"], args, &FEW].concat())
}

#[test]
fn a_prompt_that_is_too_long_is_refused_and_not_cut() {
    let most = 16 << 20;
    // The second would be cut within a letter of two bytes.
    for input in [vec![b'a'; most + 1], "a\u{e9}".repeat(most / 2).into_bytes()] {
        let shown = given(&input, &["-"]);
        assert_eq!((shown.code, shown.out.as_str()), (2, ""), "{}", shown.err);
        assert!(shown.err.contains("standard input is longer than the 16777216 bytes (16 MiB)"), "{}", shown.err);
    }
    let shown = given(b"It is \xff", &["-"]);
    assert!(shown.code == 2 && shown.err.contains("standard input is not UTF-8 (byte 6)"), "{}", shown.err);
}

#[test]
fn nothing_is_shown_of_a_prompt_that_has_no_room() {
    let long = "It is a truth ".repeat(100);
    for args in [&[&long, "--context=16"][..], &["-"], &["-", "--json"]] {
        let shown = given(long.as_bytes(), args);
        assert_eq!((shown.code, shown.out.as_str()), (2, ""), "{args:?}: {}", shown.err);
        assert!(shown.err.contains(" tokens, and the context has room for "), "{}", shown.err);
    }
}

#[test]
fn a_conversation_goes_on_without_what_cannot_be_taken() {
    let (endless, long) = (vec![b'a'; 5 << 19], "She had ".repeat(300).into_bytes());
    let odd = [b"It was", &endless[..], b"\xff\xfe", &long[..], b"And then", b""].join(&b'\n');
    let (plain, shown) = (given(b"It was\nAnd then\n", &["-i"]), given(&odd, &["-i"]));
    assert_eq!((plain.code, plain.err.as_str()), (0, ""));
    assert_eq!((shown.code, shown.out.as_str()), (2, plain.out.as_str()), "{}", shown.err);
    let told: Vec<&str> = shown.err.lines().collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for (line, said) in told.iter().zip([
        "line 2 is left out: it is longer than the 1048576 bytes (1 MiB)",
        "line 3 is left out: it is not UTF-8",
        "line 4 is left out: the text has ",
    ]) {
        assert!(line.starts_with(&format!("tensorgate: {said}")), "{line}");
    }
    assert!(told[2].contains(" of them from before: shorten the text"), "{}", told[2]);
    // So does one whose prompt is what has no room.
    let prompt = "It is a truth ".repeat(100);
    let shown = given(b"It was\nAnd then\n", &["models/austen", &prompt, "-i"]);
    assert_eq!((shown.code, shown.out.as_str()), (2, plain.out.as_str()));
    assert!(shown.err.starts_with("tensorgate: the prompt is left out: the text has "), "{}", shown.err);
}

#[test]
fn only_tokens_that_were_run_are_counted() {
    // Half the context of 256 is left where the middle is dropped.
    let long = given("It is a truth ".repeat(80).as_bytes(), &["-", "--slide"]);
    assert!(long.code == 0 && long.err.contains("prompt 128 tokens, "), "{}", long.err);
    let short = given(b"It is a truth", &["-", "--slide"]);
    assert!(short.code == 0 && short.err.contains("prompt 8 tokens, "), "{}", short.err);
}

#[cfg(unix)]
#[test]
fn a_text_that_nobody_reads_is_noted() {
    let note = "note: standard input is not read: give \"-\" as PROMPT to go on from what comes there";
    for args in [&[][..], &["It is"], &["models/austen", "It is"], &["models/austen"]] {
        let prompted = args.contains(&"It is");
        assert_eq!(given(b"She had", args).err.contains(note), !prompted, "{args:?}");
    }
    for args in [&["generate", "--tokens=1"][..], &["generate", "It is", "--tokens=1"]] {
        assert!(!run(std::path::Path::new("."), args).err.contains("note"), "{args:?}");
    }
    let file = std::fs::File::open("README.md").unwrap();
    let ran = Run::of(tensorgate().args(["generate", "--tokens=1"]).stdin(file).output().unwrap());
    assert!(ran.code == 0 && ran.err.contains(note), "{}", ran.err);
}
