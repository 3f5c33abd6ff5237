//! Atomic saves: what is replaced and what is refused, modes, links, readers of the old file, other savers, cancelling.

#![cfg(feature = "std")]

#[path = "common/memory.rs"]
mod memory;

use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use memory::{Counting, counted};
use tensorgate::file::{Atomic, SaveError, Saver, Step, save_gguf, save_safetensors};
use tensorgate::gguf::{self, GgmlType, NO_PAIRS, PairSpec, WriteOptions};
use tensorgate::safetensors::{NO_METADATA, Plan, TensorSpec};
use tensorgate::{Dtype, Gguf, Limits, SafeTensors};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Atomic::create(path)?;
    file.write_all(bytes)?;
    Ok(file.commit()?)
}

#[test]
fn a_file_appears_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut file = Atomic::create(&path).unwrap();
    file.write_all(b"one").unwrap();
    file.flush().unwrap();
    assert!(!path.exists());
    let other = names(folder.path());
    assert!(other.len() == 1 && other[0].starts_with(".a.") && other[0].ends_with(".tensorgate-tmp"), "{other:?}");
    file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    // Replaced, and written again from the beginning.
    let mut file = Atomic::create(&path).unwrap();
    file.write_all(b"xxxxx").unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(b"two").unwrap();
    file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"twoxx");
    // Dropped, nothing has changed.
    let mut file = Atomic::create(&path).unwrap();
    file.write_all(&vec![7; 3 << 20]).unwrap();
    drop(file);
    assert_eq!((fs::read(&path).unwrap().as_slice(), names(folder.path()).len()), (&b"twoxx"[..], 1));
}

#[test]
fn chunks_of_any_size_arrive_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for sizes in [
        vec![0, 1, 1 << 16, 5],
        vec![(1 << 16) - 1, 2, 20 << 20, 1],
        vec![(1 << 16) - 1; 5],
        vec![1 << 16; 4],
        vec![],
    ] {
        let mut expected = Vec::new();
        let mut file = Atomic::create(&path).unwrap();
        for (seed, size) in (1_u8..).zip(sizes) {
            let bytes: Vec<u8> = (0..=250_u8).cycle().take(size).map(|byte| byte ^ seed).collect();
            file.write_all(&bytes).unwrap();
            expected.extend(bytes);
        }
        file.commit().unwrap();
        assert!(fs::read(&path).unwrap() == expected);
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_mode_of_the_old_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"old").unwrap();
        for bits in [0o600, 0o644, 0o666, 0o640, 0o200, 0o777] {
            set_mode(&path, bits);
            put(&path, b"new").unwrap();
            assert_eq!(mode(&path), bits, "{bits:o}");
        }
        // Not what would give the saver's rights to others.
        set_mode(&path, 0o6755);
        put(&path, b"new").unwrap();
        assert_eq!(mode(&path), 0o755);
    }

    #[test]
    fn the_temporary_file_is_never_more_open_than_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"old").unwrap();
        set_mode(&path, 0o600);
        let seen = |step: Step, _: &Path| {
            if step == Step::SetMode {
                let temporary = names(folder.path()).into_iter().find(|name| name.ends_with("-tmp")).unwrap();
                assert_eq!(mode(&folder.path().join(temporary)), 0o600);
            }
            Ok(())
        };
        Atomic::create_watched(&path, &seen).unwrap().commit().unwrap();
    }

    /// The umask is the process's own, so a child is asked.
    #[test]
    fn a_new_file_follows_the_umask() {
        if let Ok(path) = std::env::var("TENSORGATE_UMASK_CHILD") {
            return put(Path::new(&path), b"new").unwrap();
        }
        for (umask, expected) in [("022", 0o644), ("077", 0o600), ("002", 0o664), ("000", 0o666)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            let status = Command::new("sh")
                .args(["-c", "umask $0 && exec \"$1\" --exact unix::a_new_file_follows_the_umask", umask])
                .arg(std::env::current_exe().unwrap())
                .env("TENSORGATE_UMASK_CHILD", &path)
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
            assert_eq!(mode(&path), expected, "{umask}");
        }
    }

    #[test]
    fn what_a_link_leads_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("blobs");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("real"), b"old").unwrap();
        symlink("blobs/real", folder.path().join("second")).unwrap();
        symlink("second", folder.path().join("first")).unwrap();
        put(&folder.path().join("first"), b"new").unwrap();
        assert_eq!(fs::read(inner.join("real")).unwrap(), b"new");
        for link in ["first", "second"] {
            assert!(folder.path().join(link).is_symlink());
        }
        assert_eq!((names(folder.path()).len(), names(&inner).len()), (3, 1));
        // One that leads to nothing yet: the file is made there.
        symlink("blobs/none", folder.path().join("dangling")).unwrap();
        put(&folder.path().join("dangling"), b"made").unwrap();
        assert_eq!(fs::read(inner.join("none")).unwrap(), b"made");
        assert!(folder.path().join("dangling").is_symlink());
        // An absolute one.
        symlink(inner.join("real"), folder.path().join("absolute")).unwrap();
        put(&folder.path().join("absolute"), b"again").unwrap();
        assert_eq!(fs::read(inner.join("real")).unwrap(), b"again");
        // Into a folder that is not there.
        symlink("nowhere/none", folder.path().join("lost")).unwrap();
        let error = Atomic::create(folder.path().join("lost")).unwrap_err();
        assert_eq!((error.step(), error.error().kind()), (Step::Inspect, io::ErrorKind::NotFound));
        // In circles.
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        let error = Atomic::create(folder.path().join("a")).unwrap_err();
        assert!(error.to_string().contains("symbolic links"), "{error}");
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path, kind| {
            let error = Atomic::create(path).unwrap_err();
            assert_eq!((error.step(), error.error().kind()), (Step::Inspect, kind), "{}", path.display());
            assert!(!error.is_committed());
        };
        refused(folder.path(), io::ErrorKind::IsADirectory);
        refused(Path::new("/dev/null"), io::ErrorKind::InvalidInput);
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        refused(&pipe, io::ErrorKind::InvalidInput);
        for path in ["", "/", "..", "a/..", "a/"] {
            refused(&folder.path().join("x").join(path), io::ErrorKind::InvalidInput);
        }
        refused(&folder.path().join("none/a"), io::ErrorKind::NotFound);
        let fixed = folder.path().join("fixed");
        fs::write(&fixed, b"old").unwrap();
        set_mode(&fixed, 0o444);
        refused(&fixed, io::ErrorKind::PermissionDenied);
        refused(&fixed.join("a"), io::ErrorKind::NotADirectory);
        assert_eq!((fs::read(&fixed).unwrap().as_slice(), names(folder.path()).len()), (&b"old"[..], 2));
    }

    #[test]
    fn names_of_any_bytes_and_length() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        for name in [&b"\xFF\xFEa"[..], &[b'x'; 255], "é".repeat(127).as_bytes()] {
            let path = folder.path().join(std::ffi::OsStr::from_bytes(name));
            put(&path, b"new").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
        }
    }

    /// A relative path without a folder, in a child whose working folder it is.
    #[test]
    fn a_bare_name_is_in_the_working_folder() {
        if std::env::var_os("TENSORGATE_BARE_CHILD").is_some() {
            return put(Path::new("bare"), b"new").unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "unix::a_bare_name_is_in_the_working_folder"])
            .current_dir(folder.path())
            .env("TENSORGATE_BARE_CHILD", "1")
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(
            (names(folder.path()), fs::read(folder.path().join("bare")).unwrap()),
            (vec!["bare".to_owned()], b"new".to_vec())
        );
    }

    /// The tensors are views of the very file that is replaced.
    #[test]
    #[allow(unsafe_code, reason = "a mapping can only be made so")]
    fn saving_over_the_mapped_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let (a, b) = (vec![1_u8; 3 << 20], vec![2_u8; 5]);
        let specs = [
            TensorSpec::new("a", Dtype::U8, &[3 << 20]).with_bytes(&a),
            TensorSpec::new("b", Dtype::U8, &[5]).with_bytes(&b),
        ];
        save_safetensors(&path, specs, NO_METADATA).unwrap();
        // SAFETY: nobody else has the file of this test's own folder, and it is replaced, not written into.
        let mapped = unsafe { memmap2::Mmap::map(&fs::File::open(&path).unwrap()) }.unwrap();
        let model = SafeTensors::open(&mapped).unwrap();
        save_safetensors(&path, model.tensors(), Some([("again", "yes")])).unwrap();
        let saved = fs::read(&path).unwrap();
        let again = SafeTensors::open(&saved).unwrap();
        assert_eq!(again.tensor("a").unwrap().bytes(), a);
        assert_eq!(again.tensor("b").unwrap().bytes(), b);
        assert!(again.metadata().is_some() && model.metadata().is_none());
        assert_eq!(model.tensor("a").unwrap().bytes(), a, "the old file is still mapped");
    }
}

/// Every reader at every moment sees one saver's whole file.
#[test]
fn many_savers_and_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let stop = AtomicBool::new(false);
    let save = |value: u8| {
        let bytes = vec![value; 300_000];
        let spec = TensorSpec::new("w", Dtype::U8, &[300_000]).with_bytes(&bytes);
        save_safetensors(&path, [spec], NO_METADATA).unwrap();
    };
    save(0);
    std::thread::scope(|scope| {
        let savers: Vec<_> = (1..4).map(|value| scope.spawn(move || (0..20).for_each(|_| save(value)))).collect();
        let reader = scope.spawn(|| {
            let mut read = 0;
            while !stop.load(Ordering::Relaxed) || read == 0 {
                let bytes = fs::read(&path).unwrap();
                let file = SafeTensors::open(&bytes).unwrap();
                let w = file.tensor("w").unwrap().bytes();
                assert!(w.iter().all(|byte| *byte == w[0]));
                read += 1;
            }
        });
        for saver in savers {
            saver.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(names(folder.path()), ["model.safetensors"]);
}

#[test]
fn both_formats_are_what_their_writers_make() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = [5_u8; 34];
    let path = folder.path().join("a.gguf");
    let w = gguf::TensorSpec::new("w", GgmlType::Q8_0, &[1, 32]).with_bytes(&bytes);
    let pairs = [PairSpec::new("general.architecture", "gpt2")];
    save_gguf(&path, pairs, [w], &WriteOptions::default()).unwrap();
    let saved = fs::read(&path).unwrap();
    assert_eq!(saved, gguf::serialize(pairs, [w], &WriteOptions::default()).unwrap());
    assert_eq!(Gguf::open(&saved).unwrap().tensor("w").unwrap().bytes(), bytes);
    let path = folder.path().join("a.safetensors");
    let w = TensorSpec::new("w", Dtype::U8, &[34]).with_bytes(&bytes);
    save_safetensors(&path, [w], Some([("k", "v")])).unwrap();
    assert_eq!(fs::read(&path).unwrap(), tensorgate::safetensors::serialize([w], Some([("k", "v")])).unwrap());
}

/// What can be refused is refused before anything is touched.
#[test]
fn a_plan_that_cannot_be_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/a");
    let w = TensorSpec::new("w", Dtype::U8, &[3]).with_bytes(&[0; 3]);
    assert!(matches!(save_safetensors(&path, [w, w], NO_METADATA), Err(SaveError::Safetensors(_))));
    let short = TensorSpec::new("w", Dtype::U8, &[3]).with_bytes(&[0; 2]);
    let error = save_safetensors(&path, [short], NO_METADATA).unwrap_err();
    assert!(matches!(error, SaveError::ByteCount { index: 0, expected: 3, given: 2 }), "{error}");
    let w = gguf::TensorSpec::new("w", GgmlType::I8, &[3]).with_bytes(&[0; 3]);
    assert!(matches!(save_gguf(&path, NO_PAIRS, [w, w], &WriteOptions::default()), Err(SaveError::Gguf(_))));
}

#[test]
fn a_source_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, b"old").unwrap();
    let specs = [TensorSpec::new("w", Dtype::U8, &[4 << 20])];
    let plan = Plan::new(specs, NO_METADATA, &Limits::default()).unwrap();
    let error = Saver::new()
        .layout(&path, plan.layout(), |_, tensor| {
            tensor.write(&vec![0; 3 << 20])?;
            Err(SaveError::other("the source is gone"))
        })
        .unwrap_err();
    assert_eq!(error.to_string(), "the source is gone");
    // Too few and too many bytes.
    let few = Saver::new().layout(&path, plan.layout(), |_, tensor| Ok(tensor.write(&[0; 5])?)).unwrap_err();
    assert!(matches!(few, SaveError::ByteCount { index: 0, expected: 4_194_304, given: 5 }), "{few}");
    let many = Saver::new().layout(&path, plan.layout(), |_, tensor| Ok(tensor.write(&vec![0; 5 << 20])?));
    assert!(matches!(many, Err(SaveError::ByteCount { given: 5_242_880, .. })));
    assert_eq!((fs::read(&path).unwrap().as_slice(), names(folder.path()).len()), (&b"old"[..], 1));
}

/// Cancelled before any step up to the rename: an error that says so, and nothing has changed. Afterwards it is too late.
#[test]
fn cancelling_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let bytes = vec![1_u8; 20 << 20];
    let spec = TensorSpec::new("w", Dtype::U8, &[20 << 20]).with_bytes(&bytes);
    for at in 0.. {
        fs::write(&path, b"old").unwrap();
        let stop = AtomicBool::new(false);
        let steps = Mutex::new(Vec::new());
        let watch = |step: Step, path: &Path| {
            let mut steps = steps.lock().unwrap();
            if step.is_before_commit() && steps.len() == at {
                stop.store(true, Ordering::Relaxed);
            }
            steps.push(step);
            tensorgate::file::Watch::before(&stop, step, path)
        };
        let outcome = Saver::new().with_watch(&watch).safetensors(&path, [spec], NO_METADATA);
        assert_eq!(names(folder.path()).len(), 1);
        if stop.into_inner() {
            let error = outcome.unwrap_err();
            assert!(error.is_cancelled() && !error.is_committed(), "{error}");
            assert_eq!(fs::read(&path).unwrap(), b"old");
        } else {
            outcome.unwrap();
            let steps = steps.into_inner().unwrap();
            assert_eq!(steps.iter().filter(|step| **step == Step::Write).count(), 1 + 3, "a header, 20 MiB in 8s");
            assert_eq!(steps.last(), Some(&Step::SyncFolder));
            break;
        }
    }
}

/// A watch that says *interrupted* is not asked for ever.
#[test]
fn interrupted_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let watch = |step, _: &Path| if step == Step::Write { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) };
    let mut file = Atomic::create_watched(&path, &watch).unwrap();
    assert!(file.write_all(&vec![0; 2 << 20]).is_err());
    let error = file.commit().unwrap_err();
    assert_eq!(error.step(), Step::Write);
    assert_eq!(names(folder.path()), [""; 0]);
}

/// Memory is for the buffer and the header, whatever the file's length.
#[test]
fn memory_does_not_grow_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let chunk = vec![3_u8; 1 << 20];
    let mut taken = Vec::new();
    for len in [1_u64 << 20, 64 << 20, 200 << 20] {
        let shape = [len];
        let plan = Plan::new([TensorSpec::new("w", Dtype::U8, &shape)], NO_METADATA, &Limits::default()).unwrap();
        let ((), _, bytes) = counted(|| {
            let fill = |_, tensor: &mut tensorgate::file::SavedTensor<'_, '_, '_, _>| {
                while tensor.remaining() > 0 {
                    tensor.write(&chunk)?;
                }
                Ok(())
            };
            Saver::new().layout(&path, plan.layout(), fill).unwrap();
        });
        assert_eq!(fs::metadata(&path).unwrap().len(), plan.file_len());
        taken.push(bytes);
    }
    assert!(taken.iter().all(|bytes| *bytes < (1 << 20) + 65_536), "{taken:?}");
    assert!(taken[0].abs_diff(taken[2]) < 4096, "{taken:?}");
}
