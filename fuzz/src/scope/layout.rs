//! Every header of up to three tiny tensors: names, sizes and offsets out of a few, and every length of the data.

use tensorgate::Limits;
use tensorgate::safetensors::{Header, Slot};

/// A tensor of bytes: its size, and the offsets that it claims.
#[derive(Clone, Copy, Debug)]
struct Tiny {
    size: u64,
    begin: u64,
    end: u64,
}

/// Every tensor with a size and offsets up to `most`, the size right or one off.
fn all(most: u64) -> Vec<Tiny> {
    let places = (0..=most).flat_map(|begin| (0..=most).map(move |end| (begin, end)));
    let tensors = places.flat_map(|(begin, end)| {
        let right = end.saturating_sub(begin);
        [right, right + 1].map(|size| Tiny { size, begin, end })
    });
    tensors.collect()
}

/// Whether the tensors tile the data: some order of them begins at zero, goes on where the one before ended, and ends at
/// the end. Found by trying every order.
fn tiles(tensors: &[Tiny], from: u64, data_len: u64) -> bool {
    if tensors.is_empty() {
        return from == data_len;
    }
    (0..tensors.len()).any(|first| {
        let mut rest = tensors.to_vec();
        let tiny = rest.swap_remove(first);
        tiny.begin == from && tiny.begin + tiny.size == tiny.end && tiles(&rest, tiny.end, data_len)
    })
}

/// The header of the tensors under these names.
fn header(tensors: &[Tiny], names: &[&str], text: &mut Vec<u8>) {
    text.clear();
    text.extend_from_slice(&[0; 8]);
    text.push(b'{');
    for (index, (Tiny { size, begin, end }, name)) in tensors.iter().zip(names).enumerate() {
        if index > 0 {
            text.push(b',');
        }
        let digit = |number: &u64| b'0' + u8::try_from(*number).expect("one digit");
        text.push(b'"');
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b"\":{\"dtype\":\"U8\",\"shape\":[");
        text.push(digit(size));
        text.extend_from_slice(b"],\"data_offsets\":[");
        text.extend_from_slice(&[digit(begin), b',', digit(end)]);
        text.extend_from_slice(b"]}");
    }
    text.push(b'}');
    let len = text.len() as u64 - 8;
    text[..8].copy_from_slice(&len.to_le_bytes());
}

/// Judges every header of up to `count` of these tensors, under each set of names, for every length of the data up to
/// `most` and one more.
fn judge(count: usize, most: u64, spellings: &[[&str; 3]]) {
    let all = all(most);
    let (mut text, mut slots) = (Vec::new(), [Slot::EMPTY; 3]);
    let (mut judged, mut accepted) = (0_u64, 0_u64);
    for number in 0..=count {
        for mut choice in 0..all.len().pow(u32::try_from(number).expect("small")) {
            let mut tensors = [Tiny { size: 0, begin: 0, end: 0 }; 3];
            for tiny in &mut tensors[..number] {
                *tiny = all[choice % all.len()];
                choice /= all.len();
            }
            let tensors = &tensors[..number];
            for names in spellings {
                header(tensors, names, &mut text);
                for data_len in 0..=most + 1 {
                    let file_len = text.len() as u64 + data_len;
                    let ours = Header::open_in(&text, file_len, &mut slots, &Limits::DEFAULT);
                    let theirs = tiles(tensors, 0, data_len);
                    assert_eq!(ours.is_ok(), theirs, "{tensors:?} {names:?} {data_len}: {:?}", ours.err());
                    if let Ok(header) = ours {
                        accepted += 1;
                        let data_at = header.data().start();
                        let spans: Vec<_> = header.tensors().map(|info| info.span()).collect();
                        assert!(spans.is_sorted_by_key(|span| (span.start(), span.end())));
                        for (tiny, name) in tensors.iter().zip(names) {
                            let name = if name.starts_with('\\') { "b" } else { name };
                            let span = header.tensor(name).expect("it is there").span();
                            assert_eq!((span.start(), span.end()), (data_at + tiny.begin, data_at + tiny.end));
                        }
                    }
                    judged += 1;
                }
            }
        }
    }
    println!("{accepted} of {judged} layouts accepted");
    assert!(accepted > 50);
}

/// Names that ascend, that descend, and one with an escape, so that each way of reading an entry meets each layout.
const SPELLINGS: [[&str; 3]; 4] = [["a", "b", "c"], ["c", "b", "a"], ["\\u0062", "a", "c"], ["a", "\\u0062", "c"]];

#[test]
fn layouts_of_two_tensors_and_of_three_smaller_ones() {
    judge(2, 4, &SPELLINGS);
    judge(3, 1, &SPELLINGS);
}

#[test]
#[ignore = "minutes; fuzz/scope.sh runs it optimised"]
fn whole_layouts_of_three_tensors() {
    judge(3, 4, &SPELLINGS);
}
