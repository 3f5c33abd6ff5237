//! Hostile vocabularies: a tokenizer or an error, and what the tokenizer encodes comes back.

use tensorgate::tokenizer::Tokenizer;

use super::promises_tokenizer::{round_trip, warm};

/// The vocabulary and the merges, or a `tokenizer.json`, are cut from the input at its first NUL.
pub fn check(data: &[u8]) {
    let text = b"It's  the text\n\n of 123 \xff\xe4\xb8\xad aaaaaaaaaaaaaaaa";
    let cut = data.iter().position(|byte| *byte == 0);
    let (first, second) = data.split_at(cut.unwrap_or(data.len()));
    let merges = second.get(1..).unwrap_or_default();
    for outcome in [Tokenizer::from_files(first, merges), Tokenizer::from_json(first)] {
        match outcome {
            Ok(tokenizer) => {
                round_trip(&tokenizer, text);
                warm(&tokenizer, text);
            }
            Err(error) => {
                let longest = first.len().max(merges.len());
                assert!(usize::try_from(error.at()).unwrap() <= longest, "{error}");
                assert!(error.to_string().contains(error.kind().code()));
            }
        }
    }
    if let Ok(model) = tensorgate::Gguf::open(data)
        && let Ok(tokenizer) = Tokenizer::from_gguf(model.header())
    {
        round_trip(&tokenizer, text);
    }
}

/// Any file is one.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    Some(file.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke() {
        let mut seeds = vec![
            br#"{"a":0,"b":1,"ab":2}"#.to_vec(),
            b"{\"a\":0,\"b\":1,\"ab\":2}\0#version: 0.2\na b\n".to_vec(),
            b"\xEF\xBB\xBF{\"a\":0,\"b\":1,\"ab\":2}\0\xEF\xBB\xBF#version: 0.2\na b\n".to_vec(),
            br#"{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}"#.to_vec(),
        ];
        crate::smoke::mutants(check, 52, 300, &seeds);
        seeds = crate::corpus::files();
        crate::smoke::mutants(check, 53, 1, &seeds);
    }
}
