//! Files to begin with: the case files and the corpus of the repository, and the replay of files.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// Inputs longer than this are not given to oracles as seeds: they cost time and show nothing that a short one does not.
const LONGEST: usize = 64 * 1024;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package stands in the repository").to_path_buf()
}

/// Sharded indexes to begin with: plain ones, ones spelt oddly, and metadata of every kind.
pub const INDEXES: &[&str] = &[
    r#"{"metadata":{"total_size":8},"weight_map":{"a":"m-1-of-2.safetensors","b":"m-2-of-2.safetensors"}}"#,
    r#"{ "weight_map":{"w":"a","":"b","\u0061\n":"\u0061.bin"},"metadata":null} "#,
    r#"{"weight_map":{},"metadata":{"total_size":1.0,"x":[{"a":[-1,2e3,true,false,null,"s"]},{}],"y":{"k":{"k":{}}}}}"#,
    r#"{"weight_map":{"z":"1","y":"1","x":"2","w":"1","v":"3","u":"\ud83d\ude00"},"metadata":{"total_size":"8"}}"#,
    r#"{"metadata":{"b":0,"a":0,"d":0,"c":0,"total_size":18446744073709551615},"weight_map":{"aa":"x","a":"x"}}"#,
];

/// Every case file, [`INDEXES`], and every file of `corpus/` where there is one, up to 64 KiB.
pub fn files() -> Vec<Vec<u8>> {
    let mut files = cases("safetensors.json");
    files.extend(cases("gguf.json"));
    files.extend(INDEXES.iter().map(|text| text.as_bytes().to_vec()));
    for path in walk(&root().join("corpus")) {
        files.extend(std::fs::read(path).ok());
    }
    files.retain(|file| file.len() <= LONGEST);
    files
}

/// The `hex` of each case in a file of `tests/cases`.
pub fn cases(name: &str) -> Vec<Vec<u8>> {
    let path = root().join("tests/cases").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<Value> = serde_json::from_str(&text).expect("the cases are JSON");
    cases.iter().filter_map(|case| hex(case["hex"].as_str()?)).collect()
}

fn hex(text: &str) -> Option<Vec<u8>> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

/// Every file under `folder`, in order of name; nothing where it is missing.
pub fn walk(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { walk(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).collect()
}

/// Runs `check` on every file named, folders whole. A broken promise panics.
pub fn replay(check: fn(&[u8]), arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut count = 0_usize;
    for argument in arguments {
        let path = PathBuf::from(argument);
        let paths = if path.is_dir() { walk(&path) } else { vec![path] };
        for path in paths {
            match std::fs::read(&path) {
                Ok(bytes) => check(&bytes),
                Err(error) => {
                    eprintln!("{}: {error}", path.display());
                    return ExitCode::FAILURE;
                }
            }
            count += 1;
        }
    }
    println!("{count} files replayed");
    ExitCode::SUCCESS
}

/// What campaigns have found for a target, minimised: the inputs in `fuzz/corpora/TARGET.tar.gz`; none where there is no
/// such file.
pub fn packed(target: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora").join(format!("{target}.tar.gz"));
    let Ok(file) = std::fs::File::open(&path) else { return Vec::new() };
    let fault = |error: std::io::Error| -> ! { panic!("{}: {error}", path.display()) };
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let mut inputs = Vec::new();
    for entry in archive.entries().unwrap_or_else(|error| fault(error)) {
        let mut entry = entry.unwrap_or_else(|error| fault(error));
        if entry.header().entry_type().is_file() {
            let mut input = Vec::new();
            entry.read_to_end(&mut input).unwrap_or_else(|error| fault(error));
            inputs.push(input);
        }
    }
    inputs
}

/// Runs every target on its seeds, on what campaigns have found and on the inputs that once broke it; how many there
/// were. A broken promise panics, and the input is shown.
pub fn replay_all() -> usize {
    let files = files();
    let (next, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(target) = crate::TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
            count.fetch_add(replay_one(target, &files), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(work);
        }
    });
    count.into_inner()
}

fn replay_one(target: &crate::Target, files: &[Vec<u8>]) -> usize {
    let old = walk(&root().join("corpus/regress").join(target.name));
    let old = old.into_iter().filter_map(|path| std::fs::read(path).ok());
    let seeds = files.iter().filter_map(|file| (target.seed)(file));
    let mut count = 0;
    for input in seeds.chain(packed(target.name)).chain(old) {
        let judged = std::panic::catch_unwind(|| (target.check)(&input));
        if let Err(broken) = judged {
            eprintln!("{} of {} bytes: {}", target.name, input.len(), input.escape_ascii());
            std::panic::resume_unwind(broken);
        }
        count += 1;
    }
    count
}

/// Writes the seeds of every target, and what campaigns have found for it, to `folder/<target>/`, and says how many there
/// are.
///
/// # Errors
///
/// Those of the file system.
pub fn write_seeds(folder: &Path) -> std::io::Result<usize> {
    let files = files();
    let mut count = 0;
    for target in crate::TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        let mut seeds: Vec<Vec<u8>> = files.iter().filter_map(|file| (target.seed)(file)).collect();
        seeds.extend(packed(target.name));
        for (index, seed) in seeds.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{index:04}")), seed)?;
        }
        count += seeds.len();
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_something_to_begin_with() {
        assert!(files().len() > 250);
        assert_eq!(hex("00ff"), Some(vec![0, 255]));
        assert_eq!(hex("0"), None);
    }

    #[test]
    fn every_target_has_its_file_and_every_file_its_target() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
        let mut files: Vec<String> =
            walk(&folder).iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        let mut targets: Vec<String> = crate::TARGETS.iter().map(|target| target.name.to_owned()).collect();
        files.sort();
        targets.sort();
        assert_eq!(files, targets);
        let manifest = include_str!("../Cargo.toml");
        assert!(targets.iter().all(|name| manifest.contains(&format!("\nname = \"{name}\"\npath"))));
    }

    #[test]
    fn seeds_are_written_for_every_target() {
        let folder = std::env::temp_dir().join(format!("tensorgate-seeds-{}", std::process::id()));
        let count = write_seeds(&folder).unwrap();
        assert_eq!(walk(&folder).len(), count);
        for target in crate::TARGETS {
            assert!(!walk(&folder.join(target.name)).is_empty(), "{}", target.name);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
