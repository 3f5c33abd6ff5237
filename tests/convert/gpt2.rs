//! GPT-2's names and layout, both ways, on models that other programs made.

use tensorgate::model::convert::{Draft, Naming};

use super::*;

fn gpt2(conversion: Conversion<'_>) -> Conversion<'_> {
    conversion.with_naming(Naming::Gpt2)
}

/// Rows and columns of plain numbers of so many bytes, changed.
fn turned(bytes: &[u8], shape: &[u64], width: usize) -> Vec<u8> {
    let [rows, columns] = [shape[0], shape[1]].map(|dim| usize::try_from(dim).unwrap());
    let at = |row: usize, column: usize| &bytes[(row * columns + column) * width..][..width];
    (0..columns).flat_map(|column| (0..rows).flat_map(move |row| at(row, column).to_vec())).collect()
}

/// What llama.cpp's converter made of this model.
#[test]
fn the_same_tensors_as_llama_cpp_converts_to() {
    let place = Place::new();
    for (from, wanted) in [("plain", "f32"), ("attnbias-f32", "f32")] {
        let source = Model::open(data(&format!("tiny-gpt2/tinyA-{from}"))).unwrap();
        let plan = gpt2(to_gguf()).plan(&source).unwrap();
        let buffers = source.names().filter(|name| name.ends_with(".attn.bias") || name.ends_with("masked_bias"));
        let mut left_out = plan.left_out().to_vec();
        left_out.sort();
        assert_eq!(left_out, buffers.map(str::to_owned).collect::<Vec<_>>());
        plan.save(Target::File(&place.at("a.gguf")), &Saver::new()).unwrap();
        let theirs = Model::open(data(&format!("tiny-gpt2-gguf/tinyA-{wanted}.gguf"))).unwrap();
        assert_eq!(tensors(&Model::open(place.at("a.gguf")).unwrap()), tensors(&theirs), "{from}");
    }
    // In halves: vectors and positions are F32 there too.
    let source = Model::open(data("tiny-gpt2/tinyA-plain")).unwrap();
    for (kind, name) in [(GgmlType::F16, "f16"), (GgmlType::BF16, "bf16"), (GgmlType::Q8_0, "q8_0")] {
        let choose = move |_: Draft<'_>| Some(kind.into());
        let ours = place.converted(&source, &gpt2(to_gguf()).with_types(&choose), "b.gguf");
        let theirs = Model::open(data(&format!("tiny-gpt2-gguf/tinyA-{name}.gguf"))).unwrap();
        let shown = |model: &Model| -> Vec<_> {
            tensors(model).into_iter().map(|(name, kind, shape, _)| (name, kind, shape)).collect()
        };
        assert_eq!(shown(&ours), shown(&theirs), "{name}");
        if kind != GgmlType::Q8_0 {
            assert_eq!(tensors(&ours), tensors(&theirs), "{name}");
        }
    }
}

#[test]
fn there_and_back_with_the_head_and_without_buffers() {
    let place = Place::new();
    for folder in ["tinyA-prefix-lmhead", "tinyA-prefix-attnbias-u8", "tinyA-plain", "tinyB-plain"] {
        let source = Model::open(data(&format!("tiny-gpt2/{folder}"))).unwrap();
        let there = place.converted(&source, &gpt2(to_gguf()), "a.gguf");
        assert_eq!(there.contains("output.weight"), source.contains("lm_head.weight"));
        let back = place.converted(&there, &gpt2(to_safetensors()), "b.safetensors");
        let is_parameter = |name: &str| !name.ends_with(".attn.bias") && !name.ends_with(".attn.masked_bias");
        let mut wanted: Vec<_> = tensors(&source).into_iter().filter(|(name, ..)| is_parameter(name)).collect();
        for (name, ..) in &mut wanted {
            if !name.starts_with("transformer.") && name != "lm_head.weight" {
                *name = format!("transformer.{name}");
            }
        }
        wanted.sort();
        assert_eq!(tensors(&back), wanted, "{folder}");
    }
}

/// The projection out of attention is square, so that its shape does not tell whether it was transposed.
#[test]
fn square_projections_are_transposed_too() {
    let place = Place::new();
    let source = Model::open(data("tiny-gpt2/tinyA-plain")).unwrap();
    let there = place.converted(&source, &gpt2(to_gguf()), "a.gguf");
    let (old, new) =
        (source.tensor("h.0.attn.c_proj.weight").unwrap(), there.tensor("blk.0.attn_output.weight").unwrap());
    assert!(old.shape()[0] == old.shape()[1] && old.shape() == new.shape());
    assert_ne!(old.bytes(), new.bytes());
    assert_eq!(new.bytes(), turned(old.bytes(), old.shape(), 4));
}

/// Larger than a tile, in each width of plain numbers, and through other types.
#[test]
fn large_matrices_are_transposed_whole() {
    let place = Place::new();
    let (rows, columns) = (1031_u64, 777_u64);
    for (dtype, width) in [(Dtype::F16, 2), (Dtype::F32, 4), (Dtype::F64, 8)] {
        let len = usize::try_from(rows * columns).unwrap() * width;
        // No exponent of all ones.
        let bytes: Vec<u8> = (0..len).map(|at| u8::try_from(at * 2_654_435_761 % 59).unwrap()).collect();
        let source =
            place.safetensors("a.safetensors", &[("h.3.mlp.c_fc.weight", dtype, &[rows, columns], &bytes)]);
        let there = place.converted(&source, &gpt2(to_gguf()), "a.gguf");
        let w = there.tensor("blk.3.ffn_up.weight").unwrap();
        assert_eq!(w.shape(), [columns, rows]);
        assert!(w.bytes() == turned(&bytes, &[rows, columns], width), "{dtype}");
        let choose = |_: Draft<'_>| Some(Dtype::BF16.into());
        let cast = place.converted(&source, &gpt2(to_gguf()).with_types(&choose), "b.gguf");
        let keep = place.converted(&source, &to_gguf().with_types(&choose), "c.gguf");
        let kept = keep.tensor("h.3.mlp.c_fc.weight").unwrap();
        assert!(
            cast.tensor("blk.3.ffn_up.weight").unwrap().bytes() == turned(kept.bytes(), &[rows, columns], 2),
            "{dtype}"
        );
        assert!(cast.tensor("blk.3.ffn_up.weight").unwrap().bytes().iter().any(|byte| *byte != 0));
    }
}

/// Blocks lie along rows that become columns: each is decoded, then turned.
#[test]
fn blocks_are_decoded_and_transposed() {
    let place = Place::new();
    for name in ["tinyA-q8_0", "tinyC-q4_k_m", "tinyC-q6_k", "tinyA-q4_0"] {
        let source = Model::open(data(&format!("tiny-gpt2-gguf/{name}.gguf"))).unwrap();
        let back = place.converted(&source, &gpt2(to_safetensors()), "b.safetensors");
        let plain = place.converted(&source, &to_safetensors(), "c.safetensors");
        assert_eq!(back.len(), source.len());
        for (theirs, ours, transposed) in [
            ("blk.0.attn_qkv.weight", "transformer.h.0.attn.c_attn.weight", true),
            ("blk.0.ffn_down.weight", "transformer.h.0.mlp.c_proj.weight", true),
            ("token_embd.weight", "transformer.wte.weight", false),
        ] {
            let (old, new) = (plain.tensor(theirs).unwrap(), back.tensor(ours).unwrap());
            let wanted = if transposed { turned(old.bytes(), old.shape(), 4) } else { old.bytes().to_vec() };
            assert!(new.bytes() == wanted, "{name} {theirs}");
        }
    }
}

/// A name that stays takes no other's shape: not in the same format, and not where names are kept.
#[test]
fn nothing_is_turned_where_names_stay() {
    let place = Place::new();
    let source = Model::open(data("tiny-gpt2/tinyA-attnbias-f32")).unwrap();
    let same = place.converted(&source, &gpt2(to_safetensors()), "a.safetensors");
    assert_eq!(tensors(&same).len() + gpt2(to_safetensors()).plan(&source).unwrap().left_out().len(), source.len());
    let kept = place.converted(&source, &to_gguf(), "b.gguf");
    assert_eq!(tensors(&kept), tensors(&source));
}
