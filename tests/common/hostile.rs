//! Headers that are made to cost as much as they can, of any length.
#![allow(dead_code, reason = "each test uses its own part")]

/// Builds a header of at most so many bytes.
type Build = fn(usize) -> Vec<u8>;

/// How a header's cost is driven up.
pub(crate) const ALL: &[(&str, Build)] = &[
    ("shape of zeros", shape_of_zeros),
    ("shape of zeros, spelt otherwise", spaced_shape),
    ("ignored field of arrays", ignored_field),
    ("ignored field, 1 deep per byte", deep_field),
    ("short empty tensors", short_tensors),
    ("short empty tensors, same name", same_names),
    ("short empty tensors, white space", spaced_tensors),
    ("short metadata keys in no order", short_keys),
    ("short metadata keys, the last one twice", short_keys_twice),
    ("empty metadata keys", empty_keys),
    ("escaped metadata keys in no order", escaped_keys),
    ("short metadata keys and a string of braces", keys_and_braces),
    ("tensors and metadata keys, half each", tensors_and_keys),
    ("one-byte tensors against the data's order", reversed_tensors),
    ("tensors whose names collide", colliding_names),
    ("metadata keys that collide", colliding_keys),
    ("white space", spaces),
    ("escapes in one name", escapes),
];

fn entry(name: &str) -> String {
    format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}},")
}

/// Fills up to `len` with what `next` gives, without the last comma, between `before` and `after`.
fn filled(len: usize, before: &str, after: &str, mut next: impl FnMut(usize) -> String) -> Vec<u8> {
    let mut text = String::with_capacity(len);
    text.push_str(before);
    for index in 0.. {
        let piece = next(index);
        if text.len() + piece.len() + after.len() > len {
            break;
        }
        text.push_str(&piece);
    }
    if let Some(comma) = text.trim_end().strip_suffix(',').map(str::len) {
        text.replace_range(comma..=comma, " ");
    }
    text.push_str(after);
    text.into_bytes()
}

fn shape_of_zeros(len: usize) -> Vec<u8> {
    filled(len, r#"{"w":{"dtype":"U8","shape":["#, r#"],"data_offsets":[0,0]}}"#, |_| "0,".into())
}

fn spaced_shape(len: usize) -> Vec<u8> {
    filled(len, r#"{"w": {"dtype":"U8","shape":[9999999,"#, r#"],"data_offsets":[0,0]}}"#, |index| {
        if index % 4 == 3 { "10,".into() } else { "0 ,".into() }
    })
}

fn ignored_field(len: usize) -> Vec<u8> {
    let before = r#"{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":["#;
    filled(len, before, "]}}", |_| "[0],".into())
}

fn deep_field(len: usize) -> Vec<u8> {
    filled(len, r#"{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":"#, "", |_| "[".into())
}

fn short_tensors(len: usize) -> Vec<u8> {
    filled(len, "{", "}", |index| entry(&index.to_string()))
}

fn same_names(len: usize) -> Vec<u8> {
    filled(len, "{", "}", |_| entry(""))
}

fn spaced_tensors(len: usize) -> Vec<u8> {
    filled(len, "{", "}", |index| entry(&scattered(index)).replace(':', " :"))
}

fn reversed_tensors(len: usize) -> Vec<u8> {
    let count = len / 70;
    let end = |index: usize| count.saturating_sub(index);
    filled(len, "{", "}", |index| {
        if index >= count {
            return " ".into();
        }
        let (begin, end) = (end(index) - 1, end(index));
        format!("\"{}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{begin},{end}]}},", scattered(index))
    })
}

/// Four letters, each time others, in no order.
pub(crate) fn scattered(index: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    let mixed = index.wrapping_mul(0x9E37_79B1) & 0xFF_FFFF;
    (0..4).map(|place| char::from(LETTERS[(mixed >> (6 * place)) & 63])).collect()
}

fn key(name: &str) -> String {
    format!("\"{name}\":\"\",")
}

const METADATA: &str = r#"{"__metadata__":{"#;

fn short_keys(len: usize) -> Vec<u8> {
    filled(len, METADATA, "}}", |index| key(&scattered(index)))
}

fn short_keys_twice(len: usize) -> Vec<u8> {
    let last = format!(",{}:\"\"}}}}", format_args!("\"{}\"", scattered(len / 10 - 10)));
    filled(len, METADATA, &last, |index| key(&scattered(index)))
}

fn empty_keys(len: usize) -> Vec<u8> {
    filled(len, METADATA, "}}", |_| key(""))
}

fn escaped_keys(len: usize) -> Vec<u8> {
    filled(len, METADATA, "}}", |index| key(&format!("\\n{}", scattered(index))))
}

fn keys_and_braces(len: usize) -> Vec<u8> {
    let before = format!("{METADATA}\"\":\"{}\",", "{".repeat(len / 45));
    filled(len, &before, "}}", |index| key(&scattered(index)))
}

fn tensors_and_keys(len: usize) -> Vec<u8> {
    let mut text = filled(len / 2, METADATA, "},", |index| key(&scattered(index)));
    text.extend(filled(len - text.len(), "", "}", |index| entry(&scattered(index))));
    text
}

fn spaces(len: usize) -> Vec<u8> {
    filled(len, "{", "}", |_| " ".into())
}

fn escapes(len: usize) -> Vec<u8> {
    filled(len, "{\"", r#"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#, |_| "\\n".into())
}

fn colliding_names(len: usize) -> Vec<u8> {
    let (honest, flood) = shares(len, entry("four").len(), entry("eightful").len());
    let count = honest + flood;
    // As `check::unique_names` builds its table.
    let mut names = Collisions::new(count * 2, count);
    filled(len, "{", "}", |index| match index {
        _ if index < honest => entry(&scattered(index)),
        _ if index < count => entry(&names.next()),
        _ => " ".into(),
    })
}

fn colliding_keys(len: usize) -> Vec<u8> {
    let (honest, flood) = shares(len, key("four").len(), key("eightful").len());
    let count = honest + flood;
    // As `check::unique_keys` builds its table.
    let mut names = Collisions::new(count + count / 5 + 2, len);
    filled(len, METADATA, "}}", |index| match index {
        _ if index < honest => key(&scattered(index)),
        _ if index < count => key(&names.next()),
        _ => " ".into(),
    })
}

/// How many honest items of one length and then colliding ones of another fill a header, when the colliding ones shall
/// just spend the budget of the table.
fn shares(len: usize, honest: usize, colliding: usize) -> (usize, usize) {
    let flood = (len / honest * 64 + 2048).isqrt() * 11 / 10;
    ((len - 40 - flood * colliding) / honest, flood)
}

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of `src/unique.rs`, for names of eight bytes; a test holds the two together.
pub(crate) fn hash8(name: [u8; 8]) -> u64 {
    [u64::from_le_bytes(name), 0, 8].iter().fold(MULTIPLIER, |state, word| {
        let product = (state ^ word).wrapping_mul(MULTIPLIER);
        product ^ (product >> 29)
    })
}

/// What went into one step of the hash, from what came out.
fn unmix(out: u64) -> u64 {
    let product = out ^ (out >> 29) ^ (out >> 58);
    // The inverse of an odd number modulo 2^64, by Newton: each step doubles the right bits.
    let inverse = (0..5).fold(MULTIPLIER, |inverse: u64, _| {
        inverse.wrapping_mul(2_u64.wrapping_sub(MULTIPLIER.wrapping_mul(inverse)))
    });
    product.wrapping_mul(inverse)
}

/// Names of eight printable bytes that all begin at one place of a table and have one fingerprint.
pub(crate) struct Collisions {
    capacity: u64,
    id_bits: u32,
    next: u64,
}

impl Collisions {
    pub(crate) fn new(capacity: usize, max_id: usize) -> Self {
        Self { capacity: capacity as u64, id_bits: usize::BITS - (max_id + 1).leading_zeros(), next: 0 }
    }

    pub(crate) fn next(&mut self) -> String {
        // High half: anything that scales to the middle place. Low half: the fingerprint is 0, the rest is free.
        let first = ((self.capacity / 2) << 32).div_ceil(self.capacity);
        loop {
            let high = first + (self.next >> self.id_bits);
            let low = self.next & ((1 << self.id_bits) - 1);
            self.next += 1;
            assert_eq!((high * self.capacity) >> 32, self.capacity / 2, "the names have run out");
            let name = unmix(unmix(unmix((high << 32) | low) ^ 8)) ^ MULTIPLIER;
            let bytes = name.to_le_bytes();
            if bytes.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
                assert_eq!(hash8(bytes), (high << 32) | low);
                return String::from_utf8(bytes.to_vec()).unwrap();
            }
        }
    }
}
