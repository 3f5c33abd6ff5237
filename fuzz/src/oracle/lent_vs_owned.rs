//! Storage that the caller lends: any number of slots in any state gives the verdict, or says how many are needed.

use tensorgate::safetensors::{Header, Slot};
use tensorgate::{ErrorKind, Limits, SafeTensors};

use super::{promises, st_raw};
use crate::heap;

/// Slots with the traces of another file in them.
fn used(count: usize) -> Vec<Slot> {
    const OTHER: &str = concat!(
        r#"{"__metadata__":{"z":"","y":""},"bb":{"dtype":"U8","shape":[0,7],"data_offsets":[2,2]},"#,
        r#""aa":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#
    );
    let mut two = [Slot::EMPTY; 2];
    let mut prefix = (OTHER.len() as u64).to_le_bytes().to_vec();
    prefix.extend_from_slice(OTHER.as_bytes());
    let header = Header::open_in(&prefix, prefix.len() as u64 + 2, &mut two, &Limits::DEFAULT);
    assert!(header.is_ok(), "{:?}", header.err());
    (0..count).map(|index| two[index % 2]).collect()
}

/// The first byte says how many slots are lent; the rest is as for `st_raw`.
pub fn check(data: &[u8]) {
    let Some((few, text)) = data.split_first() else { return };
    let Some(file) = st_raw::frame(text) else { return };
    let limits = Limits::DEFAULT;
    let owned = SafeTensors::open_with(&file, &limits).map(drop);
    let judge = |count: usize| {
        let mut slots = used(count);
        let lent = heap::none(|| SafeTensors::open_in(&file, &mut slots, &limits));
        if let Ok(opened) = &lent {
            promises::touch(opened, &file);
        }
        lent.map(drop)
    };
    let few = usize::from(*few);
    let lent = judge(few);
    match &lent {
        Err(error) if error.kind() == ErrorKind::StorageTooSmall => {
            promises::error(error, file.len() as u64);
            let needed = usize::try_from(error.needs_slots().expect("it says how many")).unwrap();
            assert!(needed > few, "{needed} slots are needed and {few} were too few");
            assert_eq!(judge(needed), owned, "with the {needed} slots that it asked for");
            let less = judge(needed - 1).unwrap_err();
            assert_eq!(less.needs_slots(), Some(needed as u64), "one slot fewer");
        }
        _ => assert_eq!(lent, owned, "with {few} slots"),
    }
}

/// No slots, then as for `st_raw`.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    let mut input = vec![0];
    input.extend(st_raw::seed(file)?);
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke() {
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| seed(file)).collect();
        crate::smoke::mutants(check, 9, 10, &seeds);
        for few in 1..=12 {
            let mut seeds = seeds.clone();
            for seed in &mut seeds {
                seed[0] = few;
            }
            crate::smoke::mutants(check, 10, 0, &seeds);
        }
    }
}
