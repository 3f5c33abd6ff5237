//! Models out of pipes, devices and files of /proc.

use super::*;
use std::io::{Cursor, Read};

#[test]
fn a_stream_gives_the_same_as_a_file() {
    let files = [
        safetensors(r#"{"k":"v"}"#, &[("b", b"bb"), ("a", b"a")]),
        safetensors("", &[]),
        shard(0, 1, 2, &[("w", 1), ("v", 2)]),
        Writer::new(0, 0).0,
    ];
    let folder = tempfile::tempdir().unwrap();
    for bytes in files {
        let path = write(folder.path(), "file", &bytes);
        let (file, stream) = (Model::open(&path).unwrap(), read(bytes.clone()).unwrap());
        assert_eq!(contents(&file), contents(&stream));
        assert_eq!(stream.files()[0].bytes().hold(), Hold::Read);
        assert!(stream.files()[0].bytes().as_ptr().align_offset(64) == 0);
        // Every cut has the same verdict from both, and so has a byte too many.
        for len in (0..bytes.len()).step_by(3) {
            std::fs::write(&path, &bytes[..len]).unwrap();
            assert_eq!(code(Model::open(&path)), code(read(bytes[..len].to_vec())), "{len} of {}", bytes.len());
        }
        for more in [&b"\0"[..], b"\x01", &[0; 40]] {
            let longer = [&bytes, more].concat();
            std::fs::write(&path, &longer).unwrap();
            assert_eq!(code(Model::open(&path)), code(read(longer.clone())), "{} and {more:?}", bytes.len());
        }
    }
}

fn read(bytes: Vec<u8>) -> Result<Model, ModelError> {
    Model::from_reader(Cursor::new(bytes), &Options::default())
}

#[test]
fn a_bad_header_ends_the_reading() {
    /// Zeros for ever, and how many were taken.
    struct Endless<'c>(&'c std::sync::atomic::AtomicU64);
    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer.fill(0);
            self.0.fetch_add(buffer.len() as u64, std::sync::atomic::Ordering::Relaxed);
            Ok(buffer.len())
        }
    }
    static TAKEN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    for start in [&b"\x04\0\0\0\0\0\0\0{,,}"[..], b"GGUF\x01\0\0\0", b""] {
        let outcome = Model::from_reader(start.chain(Endless(&TAKEN)), &Options::default());
        assert!(outcome.is_err());
        assert!(TAKEN.load(std::sync::atomic::Ordering::Relaxed) < 1 << 20);
    }
    // A sound one is read to the limit, and no further.
    let sound = std::io::Cursor::new(safetensors("", &[("w", b"w")]));
    let options = Options::default().with_memory_limit(10 << 20);
    assert_eq!(code(Model::from_reader(sound.chain(Endless(&TAKEN)), &options)), "IO-STREAM-LIMIT");
    assert!(TAKEN.load(std::sync::atomic::Ordering::Relaxed) < 30 << 20);
}

#[test]
fn what_needs_its_folder_is_no_stream() {
    assert_eq!(code(read(br#"{"weight_map":{}}"#.to_vec())), "MO-NO-FOLDER");
    assert_eq!(code(read(shard(0, 2, 0, &[]))), "MO-NO-FOLDER");
    assert!(read(Vec::new()).unwrap_err().to_string().starts_with("the stream: ST-TOO-SHORT"));
}

#[cfg(target_os = "linux")]
#[test]
fn devices_and_files_of_proc() {
    for (path, want) in [
        ("/dev/null", "ST-TOO-SHORT"),
        ("/dev/zero", "JS-END"),
        ("/proc/self/status", "ST-HEADER-LIMIT"),
        ("/proc/self/mem", "IO-READ"),
        ("/proc", "MO-NOTHING-FOUND"),
    ] {
        assert_eq!(code(Model::open(path)), want, "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_where_it_was_named_and_refused_where_it_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("model.safetensors");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mkfifo cannot be run");
        return;
    }
    assert_eq!(code(Model::open(folder.path())), "IO-NOT-REGULAR");
    let index = write(folder.path(), "x.index.json", br#"{"weight_map":{"w":"model.safetensors"}}"#);
    assert_eq!(code(Model::open(index)), "IO-NOT-REGULAR");
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, safetensors("", &[("w", b"through")])))
    };
    let model = Model::open(&pipe).unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!(model.tensor("w").unwrap().bytes(), b"through");
}
