//! Valid indexes with one known fault, in the text or in the folder: what is said has its kind and its offset.

use arbitrary::{Arbitrary, Unstructured};
use tensorgate::safetensors::{Header, Slot};
use tensorgate::{ErrorKind, Limits, ShardIndex};

use super::promises_index;
use crate::r#gen::index::Built;
use crate::r#gen::index_lies::{FolderLie, IndexLie};
use crate::r#gen::lies::Lie;

/// Builds an index with a fault from `data` and compares what is said with what was predicted.
pub fn check(data: &[u8]) {
    // Without its fault it is accepted.
    if let Some(Ok(built)) = data.get(16..).map(|rest| Built::arbitrary(&mut Unstructured::new(rest))) {
        let text = built.text();
        let verdict = promises_index::index(&text, &Limits::DEFAULT);
        assert_eq!(verdict, Ok(()), "{}", text.escape_ascii());
    }
    match IndexLie::arbitrary(&mut Unstructured::new(data)) {
        Ok(IndexLie::Text(lie)) => hold(&lie),
        Ok(IndexLie::Folder(lie)) => compare(&lie),
        Err(_) => {}
    }
}

/// The lie is seen for what it is, however the index is opened.
fn hold(lie: &Lie) {
    let shown = || format!("{}: {}", lie.name, lie.file.escape_ascii());
    let error = promises_index::index(&lie.file, &lie.limits).expect_err(&shown());
    assert_eq!((error.kind(), error.at()), (lie.kind, lie.at), "{}", shown());
}

/// Of the folder that is found which was predicted, and nothing else.
fn compare(lie: &FolderLie) {
    let shown = || format!("{}: {:?}: {}", lie.name, lie.shards, lie.text.escape_ascii());
    let index = ShardIndex::open(&lie.text).unwrap_or_else(|error| panic!("{error}: {}", shown()));
    let files: Vec<&str> = lie.shards.iter().map(|shard| shard.name.as_str()).collect();
    let told = |finding: tensorgate::shards::Finding<'_>| (finding.kind(), finding.error().at());
    let mut found: Vec<(ErrorKind, u64)> = index.check_files(&files).map(told).collect();
    for shard in &lie.shards {
        let (file, len) = shard.file();
        let mut slots = vec![Slot::EMPTY; shard.tensors.len()];
        let header = Header::open_in(&file, len, &mut slots, &Limits::DEFAULT).expect("it is plain");
        // That it is not named was said of the folder already.
        found.extend(
            index
                .check_shard(&shard.name, &header)
                .filter(|finding| finding.kind() != ErrorKind::IxShardUnnamed)
                .map(told),
        );
    }
    found.extend(index.check_total(lie.total).map(told));
    assert_eq!(found, Vec::from_iter(lie.found), "{}", shown());
}

/// Any bytes build a lie: the cases' bytes are as good as others.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    (file.len() > 60).then(|| file.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r#gen::index_lies::LIES;
    use crate::smoke::{Lies, Rng, all_predicted};

    /// Kinds that no index reaches: its integers are read as any numbers are.
    const ELSEWHERE: [ErrorKind; 2] = [ErrorKind::JsonInteger, ErrorKind::JsonRange];

    #[test]
    fn every_lie_is_told_and_every_kind_predicted() {
        let mut rng = Rng::new(72);
        let lies = Lies {
            all: LIES,
            noise: (500, 60),
            tell: |tell, noise, choice| {
                tell(&Built::arbitrary(&mut Unstructured::new(noise))?, &mut Unstructured::new(choice))
            },
            hold,
        };
        let mut kinds = lies.tell_each(&mut rng);
        for _ in 0..6000 {
            match IndexLie::arbitrary(&mut Unstructured::new(&rng.bytes(500))) {
                Ok(IndexLie::Text(lie)) => {
                    kinds.insert(lie.kind);
                    hold(&lie);
                }
                Ok(IndexLie::Folder(lie)) => {
                    kinds.extend(lie.found.map(|(kind, _)| kind));
                    compare(&lie);
                }
                Err(_) => {}
            }
        }
        all_predicted(&kinds, &["IX-", "JS-"], &ELSEWHERE);
    }

    #[test]
    fn smoke() {
        crate::smoke::noise(check, 73, 3000);
    }
}
