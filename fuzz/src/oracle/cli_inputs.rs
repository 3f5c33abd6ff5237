//! What the command line reads besides models: policies, which may come with the files that they speak of, baselines, caches
//! and manifests. Any bytes are understood or complained of, plainly and shortly; what was understood is written as the same.

use std::sync::LazyLock;

use tensorgate::ErrorKind;
use tensorgate_cli_inputs::probe;

use crate::heap;

/// The most bytes of memory for each byte of input, and besides.
const MEMORY: (u64, u64) = (400, 1 << 20);

/// Bytes of what is printed of a complaint.
const PRINTED: usize = 160_000;

/// Paths of files that a policy is asked about: near, deep, far, and such as patterns stumble over.
static PATHS: LazyLock<[String; 7]> = LazyLock::new(|| {
    [
        "/policy/a.safetensors".to_owned(),
        "/policy/a/b/c/model-00001-of-00002.gguf".to_owned(),
        "/policy/../b.gguf".to_owned(),
        "/elsewhere/\u{e9}\u{1b}.gguf".to_owned(),
        String::new(),
        format!("/policy/{}/x", "a".repeat(200)),
        "/a".repeat(300),
    ]
});

/// Rules of which none can be made less of: a file that breaks one was not proved.
static RULES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let of_files = |code: &&str| ["ST-", "JS-", "GG-"].iter().any(|start| code.starts_with(start));
    ErrorKind::ALL.iter().map(|kind| kind.code()).filter(of_files).collect()
});

/// The inputs that seeds are: what the manual shows, and what the program writes.
const SAMPLES: [&str; 5] = [
    "prelax = [\"trailing\"]\ndtypes = [\"F32\", \"q8_0\"]\nformats = [\"gguf\", \"safetensors\"]\narchitectures = [\"gpt2\"]\n\
     [files]\ninclude = [\"**/*.gguf\"]\nexclude = [\"old/**\", \"a?[bc]*\"]\n[limits]\nheader = 1000000\nstream = 7\n\
     [rules]\n\"ST-NOTE-SPACE\" = \"error\"\n\"GG-NOTE-*\" = \"off\"\nDT-BOOL = \"warn\"\n",
    "p[[override]]\npaths = [\"a/*\", \"*a*a*a*b/**\"]\ndtypes = []\nrelax = [\"long-names\"]\n[override.limits]\nrank = 9\n\
     [override.rules]\n\"ST-*\" = \"off\"\n[[override]]\npaths = ['**']\n",
    "b{\"version\":1,\"findings\":[{\"path\":\"a/b.gguf\",\"code\":\"ST-NOTE-SPACE\",\"offset\":9,\"size\":100,\"sha256\":\"00\"},\
     {\"path\":\"%ff\",\"code\":\"DT-BOOL\",\"offset\":null,\"size\":0,\"sha256\":\"\"}]}",
    "c{\"path\":\"/a\",\"identity\":{\"dev\":1,\"ino\":2,\"size\":3,\"mtime\":[4,5],\"ctime\":[6,-7]},\"format\":\"gguf\",\
     \"tensors\":8,\"data\":[1,2],\"findings\":[[\"note\",\"ST-NOTE-SPACE\",8,\"m\"]]}\nnothing\n",
    "mtensorgate-manifest 1\nmodel  sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  0\nfiles  1\n\
     file  sha256:a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5  7  a\\u{1b} b\n",
];

/// Runs `body` twice, which must say the same, in memory that is a small multiple of the input.
fn twice<T: PartialEq + std::fmt::Debug>(len: usize, body: impl Fn() -> T) -> T {
    let (first, tally) = heap::measure(&body);
    let most = MEMORY.0 * len as u64 + MEMORY.1;
    assert!(tally.peak <= most, "{} bytes for {len}", tally.peak);
    assert_eq!(first, body(), "another answer");
    first
}

/// A complaint is printed in plain lines, and no more of it than anybody reads.
fn plain(complaint: &str) {
    assert!(!complaint.is_empty());
    let printed = probe::printed(complaint);
    assert!(printed.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{printed:?}");
    assert!(printed.len() <= PRINTED, "{} bytes", printed.len());
}

/// What was read is written, and then read as the same: writing it once more gives the same bytes.
fn again(read: impl Fn(&[u8]) -> Result<Vec<u8>, String>, input: &[u8]) -> Option<Vec<u8>> {
    match twice(input.len(), || read(input)) {
        Err(complaint) => {
            plain(&complaint);
            None
        }
        Ok(written) => {
            assert_eq!(read(&written).as_ref(), Ok(&written));
            Some(written)
        }
    }
}

/// The oracle.
///
/// # Panics
///
/// Where a promise is broken.
pub fn check(data: &[u8]) {
    let Some((kind, input)) = data.split_first() else { return };
    match kind {
        b'p' => {
            // It is read as text, or not at all.
            let Ok(text) = std::str::from_utf8(input) else { return };
            let paths: Vec<&str> = PATHS.iter().map(String::as_str).collect();
            match twice(input.len(), || probe::policy(text, &paths, &RULES)) {
                Err(complaint) => plain(&complaint),
                Ok(accepted) => assert_eq!(accepted, 0, "a policy made a refused file an accepted one: {text:?}"),
            }
        }
        b'b' => drop(again(probe::baseline, input)),
        b'm' => {
            // There is one way to write a manifest, and no other is read.
            if let Some(written) = again(probe::manifest, input) {
                assert_eq!(written, input);
            }
        }
        b'c' => {
            // Behind the line that says what all depends on, so that entries are reached.
            let (head, none) = probe::cache(b"").expect("nothing is a cache of nothing");
            assert_eq!(none, 0);
            cache(&[&head, input].concat());
        }
        b'C' => cache(input),
        _ => {}
    }
}

fn cache(input: &[u8]) {
    if let Some((written, good)) = twice(input.len(), || probe::cache(input)) {
        assert_eq!(probe::cache(&written), Some((written.clone(), good)));
    }
}

/// The n-th index of the corpus stands for the n-th sample.
#[must_use]
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    let place = crate::corpus::INDEXES.iter().position(|text| text.as_bytes() == file)?;
    SAMPLES.get(place).map(|sample| sample.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke;

    #[test]
    fn samples_are_understood() {
        let inside = |place: usize| SAMPLES[place][1..].to_owned();
        assert_eq!(probe::policy(&inside(0), &["/policy/a"], &RULES), Ok(0));
        assert_eq!(probe::policy(&inside(1), &["/policy/a/b"], &RULES), Ok(0));
        assert!(probe::baseline(inside(2).as_bytes()).is_ok());
        let (head, _) = probe::cache(b"").unwrap();
        let (written, good) = probe::cache(&[&head, inside(3).as_bytes()].concat()).unwrap();
        assert!(good == 1 && written.len() > head.len() + 100);
        assert_eq!(probe::manifest(inside(4).as_bytes()), Ok(inside(4).into_bytes()));
        assert_eq!(probe::cache(b"something else"), None);
        // The one rule of the library that a policy may lower is about data.
        assert_eq!(probe::policy("[rules]\nDT-BOOL = \"off\"\n", &["/policy/a"], &["DT-BOOL"]), Ok(1));
        assert!(RULES.len() > 80);
    }

    #[test]
    fn complaints_are_short_whatever_is_quoted() {
        let long = "\u{1b}".repeat(300_000);
        for text in
            [format!("{} = 1\n", "x".repeat(900_000)), format!("dtypes = ['''{}''']\n", "F".repeat(900_000))]
        {
            check(&[b"p", text.as_bytes()].concat());
        }
        check(
            &[b"b{\"version\":1,\"findings\":[],\"", long.escape_default().to_string().as_bytes(), b"\":0}"]
                .concat(),
        );
        let deep = [b"b".to_vec(), b"[".repeat(100_000)].concat();
        check(&deep);
        check(&[b"px = ".to_vec(), b"[".repeat(100_000)].concat());
    }

    #[test]
    fn smoke() {
        let seeds: Vec<Vec<u8>> = SAMPLES.iter().map(|sample| sample.as_bytes().to_vec()).collect();
        smoke::mutants(check, 77, 1500, &seeds);
        smoke::noise(check, 78, 300);
    }
}
