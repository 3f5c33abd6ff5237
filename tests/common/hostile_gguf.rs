//! GGUF files that are made to cost as much as they can.

use super::hostile::{Collisions, scattered};

/// The frame of a GGUF file of version 3.
fn frame(tensors: usize, pairs: usize) -> Vec<u8> {
    [b"GGUF", &3_u32.to_le_bytes()[..], &(tensors as u64).to_le_bytes(), &(pairs as u64).to_le_bytes()].concat()
}

fn string(file: &mut Vec<u8>, text: &str) {
    file.extend((text.len() as u64).to_le_bytes());
    file.extend(text.as_bytes());
}

/// A GGUF file of these keys, each with a bool.
fn pairs(keys: &[String]) -> Vec<u8> {
    let mut file = frame(0, keys.len());
    for key in keys {
        string(&mut file, key);
        file.extend([7, 0, 0, 0, 1]);
    }
    file
}

/// A GGUF file of these tensors, each of one dimension and no element.
fn tensors(names: &[String]) -> Vec<u8> {
    let mut file = frame(names.len(), 0);
    for name in names {
        string(&mut file, name);
        file.extend([1, 0, 0, 0]);
        file.extend([0; 20]);
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file
}

/// The shortest printable names that differ.
fn short_names(count: usize) -> Vec<String> {
    let digit = |value: usize| char::from(b'!' + u8::try_from(value % 94).unwrap());
    (0..count)
        .map(|mut index| {
            let mut name = String::new();
            loop {
                name.push(digit(index));
                if index < 94 {
                    return name;
                }
                index = index / 94 - 1;
            }
        })
        .collect()
}

/// Honest names, and behind them just as many that collide as spend the budget of the table.
fn colliding(count: usize) -> Vec<String> {
    let flood = (count * 64 + 2048).isqrt() * 11 / 10;
    // As `unique` of src/gguf/check.rs builds its table.
    let mut names = Collisions::new(count * 2, count);
    (0..count).map(|index| if index + flood < count { scattered(index) } else { names.next() }).collect()
}

/// How many keys and how many tensors a hostile GGUF file has.
const KEYS: usize = 200_000;
const TENSORS: usize = 100_000;

/// GGUF files that are made to cost as much as they can, the last name once more where they are to be refused.
pub(crate) fn all() -> Vec<(&'static str, Vec<u8>, bool)> {
    let again = |mut names: Vec<String>| {
        let first = names[0].clone();
        *names.last_mut().unwrap() = first;
        names
    };
    vec![
        ("short keys", pairs(&short_names(KEYS)), true),
        ("short keys, the first one again", pairs(&again(short_names(KEYS))), false),
        ("keys that collide", pairs(&colliding(KEYS)), true),
        ("keys that collide, the first one again", pairs(&again(colliding(KEYS))), false),
        ("short tensors", tensors(&short_names(TENSORS)), true),
        ("short tensors, the first one again", tensors(&again(short_names(TENSORS))), false),
        ("tensors that collide", tensors(&colliding(TENSORS)), true),
        ("tensors that collide, the first one again", tensors(&again(colliding(TENSORS))), false),
    ]
}
