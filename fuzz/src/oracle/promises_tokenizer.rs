//! What every tokenizer keeps.

use tensorgate::tokenizer::{Encoder, Tokenizer};

/// The bytes come back, with special tokens too; no id is out of range.
pub fn round_trip(tokenizer: &Tokenizer, text: &[u8]) {
    let cold = tokenizer.encode(text);
    assert_eq!(tokenizer.decode(&cold).unwrap(), text);
    assert!(!cold.iter().any(|id| tokenizer.is_special(*id)));
    let special = tokenizer.encode_with_special(text);
    assert_eq!(tokenizer.decode(&special).unwrap(), text);
}

/// What was met before is encoded as what is new. An encoder takes 20 MB and time to clear them: not for every input.
pub fn warm(tokenizer: &Tokenizer, text: &[u8]) {
    let cold = tokenizer.encode(text);
    let mut encoder = Encoder::new(tokenizer);
    for _ in 0..2 {
        let mut warm = Vec::new();
        encoder.encode_into(text, &mut warm).unwrap();
        assert_eq!(warm, cold);
    }
}
