//! A synthetic GGUF header in the shape of a large vocabulary: 150,000 tokens with scores and types, 280,000 merges,
//! 1,000 tensors; about 12 MB. The data itself is not there.

/// Appends what GGUF files are made of.
struct Out(Vec<u8>);

impl Out {
    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.u64(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn array(&mut self, key: &str, kind: u32, count: u64) {
        self.text(key);
        self.u32(9);
        self.u32(kind);
        self.u64(count);
    }
}

/// A piece of text that looks like a token: 1 to 16 bytes, some of it not ASCII.
fn piece(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5;
    let mut text = if seed.is_multiple_of(3) { "\u{120}".to_owned() } else { String::new() };
    for _ in 0..1 + state % 11 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push(char::from(b'a' + u8::try_from((state >> 40) % 26).unwrap()));
    }
    text
}

/// The header and the length of the data it declares (F16 tensors, alignment 32).
pub(crate) fn header() -> (Vec<u8>, u64) {
    const TOKENS: u64 = 150_000;
    const MERGES: u64 = 280_000;
    const TENSORS: u64 = 1_000;
    let mut out = Out(b"GGUF".to_vec());
    out.u32(3);
    out.u64(TENSORS);
    out.u64(6);
    out.text("general.architecture");
    out.u32(8);
    out.text("llama");
    out.text("llama.block_count");
    out.u32(4);
    out.u32(111);
    out.array("tokenizer.ggml.tokens", 8, TOKENS);
    (0..TOKENS).for_each(|i| out.text(&piece(i)));
    out.array("tokenizer.ggml.scores", 6, TOKENS);
    (0..TOKENS).for_each(|_| out.u32(0));
    out.array("tokenizer.ggml.token_type", 5, TOKENS);
    (0..TOKENS).for_each(|_| out.u32(1));
    out.array("tokenizer.ggml.merges", 8, MERGES);
    (0..MERGES).for_each(|i| out.text(&format!("{} {}", piece(i), piece(i + 7))));
    let mut offset = 0_u64;
    for i in 0..TENSORS {
        out.text(&format!("blk.{}.part_{}.weight", i / 9, i % 9));
        out.u32(2);
        out.u64(4096);
        out.u64(4096);
        out.u32(1);
        out.u64(offset);
        offset += 4096 * 4096 * 2;
    }
    while !out.0.len().is_multiple_of(32) {
        out.0.push(0);
    }
    (out.0, offset)
}
