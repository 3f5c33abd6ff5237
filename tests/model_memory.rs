//! Opening a model costs its headers: bytes read, pages in memory, and memory allocated. One test, since it looks at the
//! whole process.

#![cfg(all(target_os = "linux", feature = "std"))]

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use tensorgate::file::{Advice, Hold};
use tensorgate::model::{Model, Options};

/// Bytes that this process has in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Bytes that this process has asked the kernel to read; none where the kernel does not count.
fn read() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

/// A model of 8 billion BF16 parameters in four shards without content, shaped as Llama 3's.
fn sparse(folder: &Path) -> std::io::Result<u64> {
    let mut shards = vec![Vec::new(); 4];
    shards[0].push(("model.embed_tokens.weight".to_owned(), vec![128_256_u64, 4096]));
    for layer in 0..32 {
        for (part, shape) in [
            ("input_layernorm", vec![4096]),
            ("mlp.down_proj", vec![4096, 14_336]),
            ("mlp.gate_proj", vec![14_336, 4096]),
            ("mlp.up_proj", vec![14_336, 4096]),
            ("post_attention_layernorm", vec![4096]),
            ("self_attn.k_proj", vec![1024, 4096]),
            ("self_attn.o_proj", vec![4096, 4096]),
            ("self_attn.q_proj", vec![4096, 4096]),
            ("self_attn.v_proj", vec![1024, 4096]),
        ] {
            shards[layer / 8].push((format!("model.layers.{layer}.{part}.weight"), shape));
        }
    }
    shards[3].push(("lm_head.weight".to_owned(), vec![128_256, 4096]));
    shards[3].push(("model.norm.weight".to_owned(), vec![4096]));
    let mut map = Vec::new();
    let mut total = 0;
    for (number, tensors) in (1..).zip(&shards) {
        let name = format!("model-{number:05}-of-00004.safetensors");
        let (mut header, mut end) = (String::from("{"), 0_u64);
        for (tensor, shape) in tensors {
            let begin = end;
            end += shape.iter().product::<u64>() * 2;
            let comma = if begin == 0 { "" } else { "," };
            write!(
                header,
                r#"{comma}"{tensor}":{{"dtype":"BF16","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#
            )
            .unwrap();
            map.push(format!(r#""{tensor}":"{name}""#));
        }
        header.push('}');
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        let path = folder.join(&name);
        std::fs::write(&path, &bytes)?;
        File::options().write(true).open(&path)?.set_len(bytes.len() as u64 + end)?;
        total += end;
    }
    let index = format!(r#"{{"metadata":{{"total_size":{total}}},"weight_map":{{{}}}}}"#, map.join(","));
    std::fs::write(folder.join("model.safetensors.index.json"), index)?;
    Ok(total)
}

#[test]
fn opening_costs_the_headers() {
    let folder = tempfile::tempdir().unwrap();
    let total = match sparse(folder.path()) {
        Ok(total) => total,
        Err(error) => return eprintln!("skipped: this file system has no such files: {error}"),
    };
    assert_eq!(total, 16_060_522_496);
    if cfg!(target_pointer_width = "32") {
        assert_eq!(Model::open(folder.path()).unwrap_err().code(), "IO-ADDRESS-SPACE");
        return;
    }
    // Once before, so that what the program itself takes is there.
    drop(Model::open(folder.path()).unwrap());

    let (before, read_before, start) = (resident(), read(), std::time::Instant::now());
    let model = Model::open(folder.path()).unwrap();
    let took = start.elapsed();
    let grown = resident().saturating_sub(before);
    assert_eq!((model.len(), model.files().len()), (291, 4));
    assert!(grown < 4 << 20, "{grown} bytes for an open model");
    if let (Some(before), Some(after)) = (read_before, read()) {
        // The headers, the index, and this process's own looking at itself.
        assert!(after - before < 200_000, "{} bytes read", after - before);
        println!("opened in {took:?}: {} bytes read, {grown} bytes of memory", after - before);
    }

    // Touching one tensor costs its pages, and dropping them gives them back.
    let tensor = model.tensor("model.layers.9.mlp.down_proj.weight").unwrap();
    let len = tensor.bytes().len() as u64;
    assert_eq!(len, 4096 * 14_336 * 2);
    let before = resident();
    assert!(tensor.bytes().iter().all(|byte| *byte == 0));
    let touched = resident().saturating_sub(before);
    assert!((len / 10 * 9..len + (8 << 20)).contains(&touched), "{touched} bytes for a tensor of {len}");
    tensor.advise(Advice::DontNeed);
    let left = resident().saturating_sub(before);
    assert!(left < 2 << 20, "{left} bytes left of {touched}");
    println!("a tensor of {len} bytes: {touched} of memory, {left} after it was dropped");
    drop((tensor, model));

    // A model that is refused is not copied first: the last shard is bad here.
    let last = folder.path().join("model-00004-of-00004.safetensors");
    File::options().write(true).open(&last).unwrap().set_len(100).unwrap();
    for hold in [Hold::Snapshot, Hold::Read] {
        let (before, start) = (resident(), read());
        let options = Options::default().with_hold(hold).with_memory_limit(u64::MAX);
        let error = Model::open_with(folder.path(), &options).unwrap_err();
        assert_eq!(error.code(), "ST-HEADER-PAST-END");
        let grown = resident().saturating_sub(before);
        assert!(grown < 4 << 20, "{grown} bytes for a model that is refused");
        if let (Some(before), Some(after)) = (start, read()) {
            assert!(after - before < 200_000, "{} bytes read", after - before);
        }
    }
}
