//! A conversion takes memory for pieces, however large a tensor is. One test, since it looks at the whole process.

#![cfg(all(target_os = "linux", feature = "std"))]

#[path = "common/mod.rs"]
mod common;

use std::fs::{self, File};

use tensorgate::Dtype;
use tensorgate::file::Saver;
use tensorgate::model::convert::{Conversion, Draft, Naming, Target};
use tensorgate::model::{Format, Model};

/// The most bytes that this process ever had in memory, mapped files' pages among them.
fn peak() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn memory_does_not_grow_with_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.safetensors"), folder.path().join("b"));
    // A tensor of 128 MiB that stays, of 64 MiB that is cast, and two that are turned, each without content.
    for (name, shape, cast) in [
        ("w", [1_u64 << 25, 1], None),
        ("w", [1 << 12, 1 << 12], Some(Dtype::F16)),
        ("h.0.mlp.c_fc.weight", [1 << 12, 1 << 12], None),
        ("h.0.mlp.c_fc.weight", [17 << 20, 1], None),
    ] {
        let bytes = shape[0] * shape[1] * 4;
        let header = format!(r#"{{"{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[0,{bytes}]}}}}"#);
        let head = common::file(&header, &[]);
        fs::write(&from, &head).unwrap();
        File::options().write(true).open(&from).unwrap().set_len(head.len() as u64 + bytes).unwrap();
        let model = Model::open(&from).unwrap();
        let choose = move |_: Draft<'_>| cast.map(Into::into);
        let conversion = Conversion::to(Format::Gguf).with_naming(Naming::Gpt2).with_types(&choose);
        let plan = conversion.plan(&model).unwrap();
        assert_eq!(plan.outputs()[0].is_transposed(), name != "w");
        let before = peak();
        plan.save(Target::File(&to), &Saver::new()).unwrap();
        let grown = peak() - before;
        println!("{name} {shape:?}: {} MiB of memory for {} MiB", grown >> 20, bytes >> 20);
        // The pages of a matrix that is turned are the kernel's, and the process has them until it is done.
        let pages = if name == "w" { 0 } else { bytes };
        assert!(grown < pages + (32 << 20), "{name} {shape:?}: {grown} bytes");
        assert!(to.metadata().unwrap().len() > bytes / 2);
    }
}
