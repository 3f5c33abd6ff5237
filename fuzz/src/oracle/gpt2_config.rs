//! `config.json` of a GPT-2: what we accept is JSON to serde_json, with the same values; errors are short and plain.

use serde_json::Value;
use tensorgate::gpt2::{Fields, Problems, Seen};

/// Shapes of a small model, to fill in what a config does not say.
const SEEN: Seen =
    Seen { n_layer: Some(2), n_embd: Some(64), n_inner: Some(256), n_positions: Some(16), n_vocab: Some(99) };

/// The oracle.
///
/// # Panics
///
/// Where a promise is broken.
pub fn check(data: &[u8]) {
    let first = Fields::from_json(data);
    assert_eq!(first, Fields::from_json(data), "another answer");
    let fields = match first {
        Ok(fields) => fields,
        Err(problems) => return plain(&problems),
    };
    let value: Value = serde_json::from_slice(data).expect("what we accept is JSON");
    let object = value.as_object().expect("an object");
    match fields.resolve(&SEEN) {
        Err(problems) => plain(&problems),
        Ok((config, notes)) => {
            assert!(notes.iter().all(|note| note.is_ascii()));
            assert_eq!(config.head_dim() * config.n_head(), config.n_embd());
            assert!(config.epsilon() > 0.0 && config.epsilon() <= 1.0);
            assert!(config.eos().iter().all(|id| usize::try_from(*id).unwrap_or(usize::MAX) < config.n_vocab()));
            for (key, found) in [
                ("n_layer", config.n_layer()),
                ("n_head", config.n_head()),
                ("n_embd", config.n_embd()),
                ("n_inner", config.n_inner()),
                ("n_positions", config.n_positions()),
                ("vocab_size", config.n_vocab()),
            ] {
                if let Some(said) = object.get(key).and_then(Value::as_u64) {
                    assert_eq!(usize::try_from(said).ok(), Some(found), "{key}");
                }
            }
            let scale = config.attention_scale(0);
            assert!(scale > 0.0 && scale <= 1.0);
        }
    }
}

/// Problems are shown in printable ASCII, a line each, and not too long.
pub fn plain(problems: &Problems) {
    assert!(problems.iter().len() > 0);
    let text = problems.to_string();
    assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{text:?}");
    assert!(text.len() < 8_000, "{}", text.len());
}

/// Whatever begins as an object, as indexes do, and the JSON of safetensors headers.
#[must_use]
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    let text = if file.first() == Some(&b'{') { file } else { file.get(8..)? };
    (text.first() == Some(&b'{') && text.len() < 20_000).then(|| text.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke;

    #[test]
    fn real_configs_and_changes_of_them() {
        let whole = br#"{"activation_function":"gelu_new","attn_pdrop":0.1,"bos_token_id":50256,"eos_token_id":[5,50256],
            "layer_norm_epsilon":1e-05,"model_type":"gpt2","n_ctx":16,"n_embd":64,"n_head":4,"n_inner":null,"n_layer":2,
            "n_positions":16,"scale_attn_by_inverse_layer_idx":true,"scale_attn_weights":false,"tie_word_embeddings":true,
            "task_specific_params":{"text-generation":{"do_sample":true,"max_length":50}},"vocab_size":99}"#;
        check(whole);
        smoke::mutants(check, 21, 3_000, &[whole.to_vec(), b"{}".to_vec(), b"\xEF\xBB\xBF{}".to_vec()]);
        smoke::noise(check, 22, 200);
    }
}
