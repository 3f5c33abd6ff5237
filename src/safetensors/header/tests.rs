//! The one-step reading changes nothing: headers that mix both readings, with every byte changed, gone and doubled, come
//! out as they do where the careful reading takes every entry.

use std::vec::Vec;

use super::*;

/// What a pass leaves behind.
type Left = (Vec<Slot>, Option<Metadata>, bool, bool);

/// [`entries`] without the one-step reading.
fn careful_entries(text: Text<'_>) -> Result<Left, Error> {
    let mut lexer = Lexer::new(text.json, text.at);
    let mut slots: Vec<Slot> = Vec::new();
    let mut pass = Pass { count: 0, stored: true, metadata: None, ascending: true, tiled: true, relaxed: None };
    leading_space(&mut lexer, &Limits::DEFAULT)?;
    let mut members = Members::open(&mut lexer, ErrorKind::JsonNotObject)?;
    let mut trail = Trail { covered: Digits::ZERO, before: None };
    while members.step(&mut lexer)? {
        if let Some((name, slot)) = member(&mut lexer, text, &mut pass, &Limits::DEFAULT)? {
            pass.ascending &= !slot.escaped;
            slots.reserve(1);
            pass.keep(name.raw().as_bytes(), slot, &mut slots, &mut trail);
            trail.covered = Digits::unspelt(slot.end);
        }
    }
    lexer.finish()?;
    Ok((slots, pass.metadata, pass.ascending, pass.tiled))
}

fn quick_entries(text: Text<'_>) -> Result<Left, Error> {
    let mut slots = std::vec![Slot::EMPTY; 16];
    let mut lent = Lent { slots: &mut slots, used: 0 };
    let pass = entries(text, &mut lent, &Limits::DEFAULT)?;
    slots.truncate(pass.count);
    Ok((slots, pass.metadata, pass.ascending, pass.tiled))
}

/// Both, of a text that need not be UTF-8 (then there is nothing to compare); whether it was accepted.
fn compare(json: &[u8]) -> bool {
    let Ok(json) = core::str::from_utf8(json) else { return false };
    let text = Text { json, at: FRAME };
    let (quick, careful) = (quick_entries(text), careful_entries(text));
    match (&quick, &careful) {
        (Ok(quick), Ok(careful)) => {
            let shown = |left: &Left| std::format!("{left:?}");
            assert_eq!(shown(quick), shown(careful), "{json:?}");
        }
        _ => assert_eq!(quick.as_ref().err(), careful.as_ref().err(), "{json:?}"),
    }
    quick.is_ok()
}

const PLAIN: &str = r#""b":{"dtype":"U8","shape":[12],"data_offsets":[0,12]},"c":{"dtype":"F16","shape":[1,3],"data_offsets":[12,18]}"#;

/// An entry that only the careful reading takes, in each of the ways that there are.
const ODD: [&str; 6] = [
    r#""\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#,
    r#""a":{"dtype":"U8","data_offsets":[0,0],"shape":[0]}"#,
    r#""a" :{"dtype":"U8","shape":[ 0],"data_offsets":[0,0]}"#,
    r#""_a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#,
    r#""__metadata__":{"a":"b","\n":""}"#,
    r#""a":{"dtype":"\u00558","shape":[18446744073709551615,0],"data_offsets":[0,0]}"#,
];

#[test]
fn whatever_one_byte_is_changed_to() {
    for odd in ODD {
        for header in [std::format!("{{{odd},{PLAIN}}}"), std::format!("{{{PLAIN},{odd}}}")] {
            let mut text = header.into_bytes();
            assert!(compare(&text));
            for at in 0..text.len() {
                let kept = text[at];
                for byte in (0..=127).step_by(crate::sparse::step(9)) {
                    text[at] = byte;
                    compare(&text);
                    text.insert(at, kept);
                    compare(&text);
                    text.remove(at);
                }
                text[at] = kept;
                text.remove(at);
                compare(&text);
                text.insert(at, kept);
                compare(&text[..at]);
            }
        }
    }
}
