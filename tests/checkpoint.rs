//! Checkpoints: what is saved comes back, bit for bit; what is not as expected is told whole and changes nothing.

#![cfg(feature = "std")]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tensorgate::file::{ReadError, SaveError, Saver};
use tensorgate::model::checkpoint::{Checkpoint, Mismatch, Restore, RestoreError, Values, ValuesMut};
use tensorgate::safetensors::{NO_METADATA, TensorSpec, serialize};
use tensorgate::{Dtype, SafeTensors};

/// Saves into a folder that is removed, and gives the file's bytes.
fn saved(checkpoint: &Checkpoint<'_>) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    checkpoint.save(&path).unwrap();
    (folder, path)
}

fn mismatches(outcome: Result<std::collections::BTreeMap<String, String>, RestoreError>) -> Vec<Mismatch> {
    match outcome {
        Err(RestoreError::Mismatch(wrong)) => wrong,
        other => panic!("{other:?}"),
    }
}

#[test]
#[expect(clippy::many_single_char_names, reason = "one for each type of integer")]
fn every_type_comes_back() {
    let half = [1_u8, 2, 3, 4];
    let floats = [1.5_f32, -0.0, f32::NAN, f32::from_bits(1)];
    let (wide, complex, bools) = (vec![f64::MAX, 1e-310], [[1.0_f32, -2.0]], [true, false, true]);
    let (a, b, c, d) = ([u8::MAX, 1], [i8::MIN, 1], [u16::MAX, 1], [i16::MIN, 1]);
    let (e, g, h, i) = ([u32::MAX, 1], [i32::MIN, 1], [u64::MAX, 1], [i64::MIN, 1]);
    let checkpoint = Checkpoint::new()
        .model("f32", &[2, 2], &floats)
        .model("f64", &[2], &wide)
        .model("c64", &[1], &complex)
        .model("bool", &[3], &bools)
        .model("u8", &[2], &a)
        .model("i8", &[2], &b)
        .model("u16", &[2], &c)
        .model("i16", &[2], &d)
        .optimizer("u32", &[2], &e)
        .optimizer("i32", &[2], &g)
        .optimizer("u64", &[2], &h)
        .optimizer("i64", &[2], &i)
        .optimizer("bf16", &[2], Values::raw(Dtype::BF16, &half))
        .model("none", &[0, 7], &[0_f32; 0])
        .metadata("step", 7)
        .metadata("é\n", "\"");
    let (_folder, path) = saved(&checkpoint);
    let bytes = fs::read(&path).unwrap();
    let file = SafeTensors::open(&bytes).unwrap();
    assert_eq!(file.len(), 14);
    assert_eq!(file.tensor("model.u16").unwrap().bytes(), [255, 255, 1, 0]);
    assert_eq!(file.tensor("optim.bf16").unwrap().bytes(), half);

    let mut floats2 = [0_f32; 4];
    let (mut wide2, mut complex2, mut bools2) = (vec![0_f64; 2], [[0_f32; 2]], [false; 3]);
    let (mut a2, mut b2, mut c2, mut d2) = ([0_u8; 2], [0_i8; 2], [0_u16; 2], [0_i16; 2]);
    let (mut e2, mut g2, mut h2, mut i2, mut half2) = ([0_u32; 2], [0_i32; 2], [0_u64; 2], [0_i64; 2], [0_u8; 4]);
    let metadata = Restore::new()
        .model("f32", &[2, 2], &mut floats2)
        .model("f64", &[2], &mut wide2)
        .model("c64", &[1], &mut complex2)
        .model("bool", &[3], &mut bools2)
        .model("u8", &[2], &mut a2)
        .model("i8", &[2], &mut b2)
        .model("u16", &[2], &mut c2)
        .model("i16", &[2], &mut d2)
        .optimizer("u32", &[2], &mut e2)
        .optimizer("i32", &[2], &mut g2)
        .optimizer("u64", &[2], &mut h2)
        .optimizer("i64", &[2], &mut i2)
        .optimizer("bf16", &[2], ValuesMut::raw(Dtype::BF16, &mut half2))
        .model("none", &[0, 7], &mut [0_f32; 0])
        .load(&path)
        .unwrap();
    assert_eq!(floats.map(f32::to_bits), floats2.map(f32::to_bits));
    assert_eq!((wide, complex, bools, half), (wide2, complex2, bools2, half2));
    assert_eq!((a, b, c, d, e, g, h, i), (a2, b2, c2, d2, e2, g2, h2, i2));
    assert_eq!(
        metadata.into_iter().collect::<Vec<_>>(),
        [("step".to_owned(), "7".to_owned()), ("é\n".to_owned(), "\"".to_owned())]
    );
}

/// Everything that is wrong, at once, in the order of the slices and then of the file; and nothing has changed.
#[test]
fn all_that_is_wrong_is_told_at_once() {
    let values = [1.0_f32; 6];
    let checkpoint = Checkpoint::new()
        .model("right", &[6], &values)
        .model("shape", &[2, 3], &values)
        .model("type", &[6], &values)
        .model("both", &[6], &values)
        .model("extra", &[6], &values)
        .optimizer("extra\u{1b}", &[6], &values);
    let (_folder, path) = saved(&checkpoint);
    let mut slices = [[9.0_f32; 6]; 4];
    let (mut ints, mut more) = ([9_i32; 6], [9_i32; 3]);
    let [right, shape, missing, short] = &mut slices;
    let outcome = Restore::new()
        .model("right", &[6], &mut *right)
        .model("shape", &[3, 2], &mut *shape)
        .model("missing", &[6], &mut *missing)
        .model("type", &[6], &mut ints)
        .model("both", &[3], &mut more)
        .optimizer("right", &[5], &mut *short)
        .load(&path);
    let text = outcome.as_ref().unwrap_err().to_string();
    let name = |name: &str| name.to_owned();
    assert_eq!(
        mismatches(outcome),
        [
            Mismatch::Shape { name: name("model.shape"), expected: vec![3, 2], found: vec![2, 3] },
            Mismatch::Missing { name: name("model.missing") },
            Mismatch::Dtype { name: name("model.type"), expected: Dtype::I32, found: Dtype::F32 },
            Mismatch::Dtype { name: name("model.both"), expected: Dtype::I32, found: Dtype::F32 },
            Mismatch::Shape { name: name("model.both"), expected: vec![3], found: vec![6] },
            Mismatch::Length { name: name("optim.right"), needed: 20, given: 24 },
            Mismatch::Missing { name: name("optim.right") },
            Mismatch::Unexpected { name: name("model.extra") },
            Mismatch::Unexpected { name: name("optim.extra\u{1b}") },
        ]
    );
    assert!(text.lines().count() == 10 && text.is_ascii() && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("\"model.shape\" has shape [2, 3], expected [3, 2]"), "{text}");
    assert_eq!((slices, ints, more), ([[9.0; 6]; 4], [9; 6], [9; 3]));
    // One name for two slices.
    let (mut one, mut two) = ([9.0_f32; 6], [9.0_f32; 6]);
    let (_folder, path) = saved(&Checkpoint::new().model("w", &[6], &values));
    let outcome = Restore::new().model("w", &[6], &mut one).model("w", &[6], &mut two).load(&path);
    assert_eq!(mismatches(outcome), [Mismatch::Twice { name: name("model.w") }]);
    assert_eq!((one, two), ([9.0; 6], [9.0; 6]));
}

#[test]
fn bools_are_checked_before_anything_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let tensors = [
        TensorSpec::new("model.w", Dtype::U8, &[2]).with_bytes(&[1, 2]),
        TensorSpec::new("model.mask", Dtype::BOOL, &[3]).with_bytes(&[1, 0, 2]),
    ];
    fs::write(&path, serialize(tensors, NO_METADATA).unwrap()).unwrap();
    let (mut w, mut mask) = ([9_u8; 2], [true; 3]);
    let outcome = Restore::new().model("w", &[2], &mut w).model("mask", &[3], &mut mask).load(&path);
    assert_eq!(mismatches(outcome), [Mismatch::Bool { name: "model.mask".to_owned(), at: 2 }]);
    assert_eq!((w, mask), ([9; 2], [true; 3]));
    // As bytes they are what they are.
    let mut raw = [0; 3];
    Restore::new()
        .model("w", &[2], &mut w)
        .model("mask", &[3], ValuesMut::raw(Dtype::BOOL, &mut raw))
        .load(&path)
        .unwrap();
    assert_eq!((w, raw), ([1, 2], [1, 0, 2]));
}

#[test]
fn the_model_without_the_optimizer() {
    let (w, state) = ([1.0_f32, 2.0], [0.5_f32; 2]);
    let (_folder, path) = saved(&Checkpoint::new().model("w", &[2], &w).optimizer("m", &[2], &state));
    let mut loaded = [0.0_f32; 2];
    let strict = Restore::new().model("w", &[2], &mut loaded).load(&path);
    assert_eq!(mismatches(strict), [Mismatch::Unexpected { name: "optim.m".to_owned() }]);
    Restore::new().model("w", &[2], &mut loaded).model_only().load(&path).unwrap();
    assert_eq!(loaded.map(f32::to_bits), w.map(f32::to_bits));
    // What was asked for is still to be there.
    let outcome = Restore::new().model("v", &[2], &mut loaded).model_only().load(&path);
    assert_eq!(mismatches(outcome).len(), 2);
}

#[test]
fn files_that_are_no_checkpoint_change_nothing() {
    let (w, mut loaded) = ([1.0_f32; 1000], [9.0_f32; 1000]);
    let (folder, path) = saved(&Checkpoint::new().model("w", &[1000], &w));
    let whole = fs::read(&path).unwrap();
    for len in [0, 7, 8, 50, whole.len() - 4000, whole.len() - 1] {
        fs::write(&path, &whole[..len]).unwrap();
        let outcome = Restore::new().model("w", &[1000], &mut loaded).load(&path);
        assert!(matches!(outcome, Err(RestoreError::Invalid(_))), "{len}: {outcome:?}");
    }
    let mut load = |path: &Path| Restore::new().model("w", &[1000], &mut loaded).load(path).unwrap_err();
    assert!(matches!(load(folder.path()), RestoreError::Read(ReadError::IsDirectory)));
    assert!(matches!(load(&folder.path().join("none")), RestoreError::Read(ReadError::Io(_))));
    assert!(loaded.iter().all(|value| value.to_bits() == 9.0_f32.to_bits()));
}

#[test]
fn what_cannot_be_saved_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/a");
    let w = [1.0_f32; 6];
    let short = Checkpoint::new().model("w", &[6], &w).model("v", &[7], &w);
    assert!(matches!(short.save(&path), Err(SaveError::ByteCount { index: 1, expected: 28, given: 24 })));
    let twice = Checkpoint::new().model("w", &[6], &w).model("w", &[6], &w);
    assert!(matches!(twice.save(&path), Err(SaveError::Safetensors(_))));
    let keys = Checkpoint::new().metadata("k", 1).metadata("k", 2);
    assert!(matches!(keys.save_with(&path, &Saver::new()), Err(SaveError::Safetensors(_))));
    // The same name on both sides is two names.
    let both = Checkpoint::new().model("w", &[6], &w).optimizer("w", &[6], &w);
    both.save(folder.path().join("a")).unwrap();
}

/// Whatever step of a save fails: the old checkpoint or the new one is there whole, as the call says, and nothing else.
#[test]
fn a_save_is_all_or_nothing() {
    let (old, new) = ([1.0_f32; 3000], [2.0_f32; 3000]);
    let mut failed = 0;
    for at in 0.. {
        let (folder, path) = saved(&Checkpoint::new().model("w", &[3000], &old));
        let count = std::sync::atomic::AtomicUsize::new(0);
        let watch = |_: tensorgate::file::Step, _: &Path| {
            let full = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == at;
            if full { Err(std::io::Error::from_raw_os_error(28)) } else { Ok(()) }
        };
        let outcome =
            Checkpoint::new().model("w", &[3000], &new).save_with(&path, &Saver::new().with_watch(&watch));
        let mut loaded = [0.0_f32; 3000];
        Restore::new().model("w", &[3000], &mut loaded).load(&path).unwrap();
        let committed = outcome.as_ref().err().is_none_or(SaveError::is_committed);
        assert_eq!(loaded.map(f32::to_bits), if committed { new } else { old }.map(f32::to_bits), "{outcome:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        if outcome.is_ok() {
            break;
        }
        failed += 1;
    }
    assert!(failed > 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever one byte of the file is changed to: the slices have what the file says, or what they had.
    #[test]
    fn a_load_is_all_or_nothing(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let (w, m) = ([1.0_f32, 2.0], [true, false, true]);
        let (_folder, path) = saved(&Checkpoint::new().model("w", &[2], &w).optimizer("m", &[3], &m).metadata("k", "v"));
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = to;
        fs::write(&path, &bytes).unwrap();
        let (mut w2, mut m2) = ([9.0_f32; 2], [true; 3]);
        let outcome = Restore::new().model("w", &[2], &mut w2).optimizer("m", &[3], &mut m2).load(&path);
        if outcome.is_ok() {
            let file = SafeTensors::open(&bytes).unwrap();
            prop_assert!(file.tensor("model.w").unwrap().bytes() == w2.map(f32::to_le_bytes).as_flattened());
            prop_assert!(file.tensor("optim.m").unwrap().bytes() == m2.map(u8::from));
        } else {
            prop_assert_eq!((w2, m2), ([9.0; 2], [true; 3]));
        }
    }
}
