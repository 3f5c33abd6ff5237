//! What is reported of files with bytes changed: printable ASCII (every run is held to that), as much as the files warrant,
//! a line a file, and the same twice. `NOISE=N` tries N changes of each file instead of one.

use std::fs;
use std::path::Path;

use crate::common::corpus;
use crate::run;

/// A generator of numbers that is the same on every machine (SplitMix64).
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(end.max(1)).unwrap()).unwrap()
    }
}

/// What means something to a terminal, to a log or to a format.
const PIECES: [&[u8]; 16] = [
    b"\x1b[2J",
    b"\x1b]0;title\x07",
    b"\r",
    b"\n",
    b"\0",
    b"\x7f",
    b"\xc2\x9b",
    "\u{202e}".as_bytes(),
    b"\xff",
    b"\\u001b",
    b"\"",
    b"{",
    b"]",
    b"0",
    b"-",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
];

fn changed(rng: &mut Rng, file: &[u8]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len() + 1);
        let end = (at + rng.below(3)).min(bytes.len());
        match rng.below(8) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            _ => {
                bytes.splice(at..end, PIECES[rng.below(PIECES.len())].iter().copied());
            }
        }
    }
    bytes
}

/// The corpus with changes, under names of their own; how many files there are and how many bytes they have.
fn write(folder: &Path, rounds: usize) -> (usize, usize) {
    let mut rng = Rng(60);
    let (mut files, mut bytes) = (0, 0);
    for path in corpus::files(&corpus::folder()) {
        let file = fs::read(&path).unwrap();
        if file.len() > 4096 {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // A folder's files are looked at where their name is a model's.
        let extension = ["gguf", "index.json"].into_iter().find(|end| name.ends_with(end)).unwrap_or("safetensors");
        for _ in 0..rounds {
            let file = changed(&mut rng, &file);
            fs::write(folder.join(format!("{files:05}.{extension}")), &file).unwrap();
            files += 1;
            bytes += file.len();
        }
    }
    (files, bytes)
}

#[test]
fn reports_of_noise_are_plain_and_short() {
    let rounds = std::env::var("NOISE").map_or(1, |rounds| rounds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (files, bytes) = write(folder.path(), rounds);
    assert!(files > 300, "{files}");
    for format in ["human", "json", "jsonl"] {
        let args = ["check", ".", "--format", format];
        let report = run(folder.path(), &args);
        assert_eq!(report.code, 1, "{format}: {}", report.err);
        assert!(report.out.len() < files * 3000 + bytes * 8 + 50_000, "{format}: {}", report.out.len());
        assert_eq!(report.out, run(folder.path(), &args).out, "{format}: the same files, two reports");
        if format == "jsonl" {
            let lines = report.lines();
            assert!(lines.len() >= files, "{} lines of {files} files", lines.len());
        }
    }
    // What is in a file is shown one file at a time: a few of those that are accepted.
    let lines = run(folder.path(), &["check", ".", "--format", "jsonl"]).lines();
    let accepted = lines.iter().filter(|line| line["verdict"] == "accepted").take(12 * rounds);
    for path in accepted.map(|line| line["path"].as_str().unwrap()) {
        let len = usize::try_from(fs::metadata(folder.path().join(path)).unwrap().len()).unwrap();
        for more in [&["inspect", path][..], &["inspect", path, "--json"], &["metadata", path]] {
            let shown = run(folder.path(), more);
            assert!(shown.out.len() < 5000 + len * 60, "{more:?}: {} bytes of {len}", shown.out.len());
        }
    }
}
