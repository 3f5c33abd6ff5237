//! Realistic safetensors headers: Llama-like names and shapes, in the order that writers leave them in.

use std::fmt::Write as _;

/// In which order a header's entries stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// By name, as the reference writer leaves a file of one dtype.
    Writer,
    /// By layer and module, as a checkpoint's dictionary has them (names do not ascend).
    Model,
}

/// The names and shapes of a model with enough layers for `tensors` tensors; a mixture of experts when it is large.
fn tensors(count: usize) -> Vec<(String, Vec<u64>)> {
    let experts: usize = if count > 2_000 { 64 } else { 0 };
    let mut all = vec![("model.embed_tokens.weight".to_owned(), vec![128_256, 4_096])];
    for layer in 0.. {
        let prefix = format!("model.layers.{layer}");
        for (module, shape) in [
            ("self_attn.q_proj", vec![4_096, 4_096]),
            ("self_attn.k_proj", vec![1_024, 4_096]),
            ("self_attn.v_proj", vec![1_024, 4_096]),
            ("self_attn.o_proj", vec![4_096, 4_096]),
            ("input_layernorm", vec![4_096]),
            ("post_attention_layernorm", vec![4_096]),
        ] {
            all.push((format!("{prefix}.{module}.weight"), shape));
        }
        for expert in 0..experts.max(1) {
            let mlp = if experts == 0 { "mlp".to_owned() } else { format!("mlp.experts.{expert}") };
            for (module, shape) in [
                ("gate_proj", vec![14_336, 4_096]),
                ("up_proj", vec![14_336, 4_096]),
                ("down_proj", vec![4_096, 14_336]),
            ] {
                all.push((format!("{prefix}.{mlp}.{module}.weight"), shape));
            }
        }
        if all.len() + 2 >= count {
            break;
        }
    }
    all.truncate(count.saturating_sub(2));
    all.push(("model.norm.weight".to_owned(), vec![4_096]));
    all.push(("lm_head.weight".to_owned(), vec![128_256, 4_096]));
    all.truncate(count);
    all
}

/// The header's JSON and the length of the data it declares.
pub(crate) fn header(count: usize, order: Order) -> (String, u64) {
    let mut all = tensors(count);
    if order == Order::Writer {
        all.sort();
    }
    let mut json = String::from("{\"__metadata__\":{\"format\":\"pt\"}");
    let mut offset = 0_u64;
    for (name, shape) in all {
        let end = offset + shape.iter().product::<u64>() * 2;
        let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
        let dims = dims.join(",");
        write!(json, ",\"{name}\":{{\"dtype\":\"BF16\",\"shape\":[{dims}],\"data_offsets\":[{offset},{end}]}}")
            .unwrap();
        offset = end;
    }
    json.push('}');
    while json.len() % 8 != 0 {
        json.push(' ');
    }
    (json, offset)
}
