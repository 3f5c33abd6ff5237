//! Sources that are cut or written while they are read: an error that names the tensor and its file, and nothing is left.

use std::cell::Cell;
use std::fs::File;
use std::sync::Mutex;

use tensorgate::file::ReadError;
use tensorgate::model::convert::{ConvertError, Draft, Naming};

use super::*;

/// Makes the file so long, through another handle.
fn cut(path: &Path, len: u64) {
    File::options().write(true).open(path).unwrap().set_len(len).unwrap();
}

/// The conversion was refused for a file that was so long and is now so long, and left nothing behind.
#[track_caller]
fn refused(place: &Place, error: &ConvertError, name: &str, lens: (u64, u64)) {
    let ConvertError::Read { tensor, path, error: ReadError::Changed { before, after } } = error else {
        panic!("{error}")
    };
    assert_eq!((tensor.as_str(), path, (*before, *after)), (name, &place.at("a.safetensors"), lens));
    let shown = error.to_string();
    assert!(
        shown.starts_with(&format!("\"{name}\", in ")) && shown.contains("a.safetensors: the file "),
        "{shown}"
    );
    assert_eq!(place.names(), ["a.safetensors"]);
}

/// A matrix that stays, is cast, is turned, or both, in every kind of target.
#[test]
#[cfg(unix)]
fn a_file_that_was_cut_since_it_was_opened() {
    let values = f32s(&vec![1.5; 1 << 20]);
    for name in ["w", "h.0.mlp.c_fc.weight"] {
        for kind in [GgmlType::F32, GgmlType::F16, GgmlType::Q8_0] {
            let place = Place::new();
            let source = place.safetensors("a.safetensors", &[(name, Dtype::F32, &[1024, 1024], &values)]);
            let path = place.at("a.safetensors");
            let (whole, left) = (path.metadata().unwrap().len(), 5000);
            cut(&path, left);
            let choose = move |_: Draft<'_>| Some(kind.into());
            let conversion = to_gguf().with_types(&choose).with_naming(Naming::Gpt2);
            let plan = conversion.plan(&source).unwrap();
            for target in [Target::File(&place.at("b.gguf")), Target::Shards(&place.at("b.gguf"), 1 << 20)] {
                refused(&place, &plan.save(target, &Saver::new()).unwrap_err(), name, (whole, left));
            }
            if kind != GgmlType::Q8_0 {
                let conversion = to_safetensors().with_types(&choose);
                let plan = conversion.plan(&source).unwrap();
                let error = plan.save(Target::Shards(place.0.path(), 1 << 20), &Saver::new()).unwrap_err();
                refused(&place, &error, name, (whole, left));
            }
        }
    }
}

/// Cut while it is read: in the tensor that is read, and before or behind what is read, where only the last look shows it.
#[test]
#[cfg(unix)]
fn a_file_that_is_cut_while_it_is_read() {
    const LEN: u64 = 3 << 20;
    let values = f32s(&vec![1.5; usize::try_from(LEN).unwrap()]);
    for kind in [GgmlType::F32, GgmlType::BF16] {
        for (left, name) in [(LEN * 4 * 3 / 2, "b"), (LEN * 2, "a"), (LEN * 8 + 50, "a"), (1, "a")] {
            let place = Place::new();
            let tensors = [("a", Dtype::F32, &[LEN][..], &values[..]), ("b", Dtype::F32, &[LEN], &values)];
            let source = place.safetensors("a.safetensors", &tensors);
            let path = place.at("a.safetensors");
            let whole = path.metadata().unwrap().len();
            // What was written before: the first piece of `a`, or all of it and the first piece of `b`.
            let wanted = if name == "a" { 1 } else { LEN * u64::from(kind.block_bytes().unwrap()) + 1 };
            let told = Mutex::new(Cell::new(0));
            let progress = |bytes: u64| {
                let told = told.lock().unwrap();
                let before = told.replace(told.get() + bytes);
                if before < wanted && told.get() >= wanted {
                    cut(&path, left);
                }
            };
            let choose = move |_: Draft<'_>| Some(kind.into());
            let conversion = to_gguf().with_types(&choose).with_progress(&progress);
            let error = place.convert(&source, &conversion, "b.gguf").unwrap_err();
            refused(&place, &error, name, (whole, left));
        }
    }
}

/// A file that is written while it is read is no source: what came of it would be neither the old one nor the new one.
#[test]
fn a_file_that_is_written_while_it_is_read() {
    let place = Place::new();
    let bytes = f32s(&vec![1.5; 300_000]);
    let source = place.safetensors("a.safetensors", &[("a", Dtype::F32, &[300_000], &bytes)]);
    let path = place.at("a.safetensors");
    let whole = path.metadata().unwrap().len();
    let write = |_: u64| {
        let text = std::fs::read(&path).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&path, text).unwrap();
    };
    let error = place.convert(&source, &to_gguf().with_progress(&write), "a.gguf").unwrap_err();
    refused(&place, &error, "a", (whole, whole));
    assert!(error.to_string().ends_with("the file was written while it was read"), "{error}");
}

/// One that another takes the place of stays as it is for whoever has it open, also before the first byte is read.
#[test]
fn a_file_that_another_takes_the_place_of() {
    let place = Place::new();
    let values = [f32s(&vec![1.5; 300_000]), f32s(&vec![2.5; 300_000])];
    let tensors = [("a", Dtype::F32, &[300_000][..], &values[0][..]), ("b", Dtype::F32, &[300_000], &values[1])];
    for early in [true, false] {
        let source = place.safetensors("a.safetensors", &tensors);
        let replace = |_: u64| {
            std::fs::write(place.at("b"), b"another").unwrap();
            std::fs::rename(place.at("b"), place.at("a.safetensors")).unwrap();
        };
        if early {
            replace(0);
        }
        let converted = place.converted(&source, &to_gguf().with_progress(&replace), "a.gguf");
        for (name, bytes) in ["a", "b"].into_iter().zip(&values) {
            assert!(converted.tensor(name).unwrap().bytes() == bytes);
        }
    }
    // And one that is gone.
    let source = place.safetensors("a.safetensors", &tensors);
    std::fs::remove_file(place.at("a.safetensors")).unwrap();
    assert!(place.converted(&source, &to_gguf(), "a.gguf").tensor("b").unwrap().bytes() == values[1]);
}

/// What is in memory of our own is converted whatever becomes of the file.
#[test]
fn a_snapshot_does_not_change() {
    use tensorgate::file::Hold;
    use tensorgate::model::Options;

    let place = Place::new();
    let bytes = f32s(&vec![1.5; 300_000]);
    place.safetensors("a.safetensors", &[("a", Dtype::F32, &[300_000], &bytes)]);
    for hold in [Hold::Snapshot, Hold::Read] {
        let source = Model::open_with(place.at("a.safetensors"), &Options::default().with_hold(hold)).unwrap();
        let text = fs::read(place.at("a.safetensors")).unwrap();
        cut(&place.at("a.safetensors"), 100);
        assert!(place.converted(&source, &to_gguf(), "a.gguf").tensor("a").unwrap().bytes() == bytes);
        fs::write(place.at("a.safetensors"), text).unwrap();
    }
}
