//! Valid files, built: accepted by us and by the reference, and shown as they were planned.

use arbitrary::{Arbitrary, Unstructured};
use tensorgate::{Limits, SafeTensors};

use super::promises;
use crate::r#gen::model::{Metadata, Model, layout};
use crate::r#gen::render::Built;

/// Builds a file from `data` and compares what is shown with what was planned.
pub fn check(data: &[u8]) {
    let Ok(built) = Built::arbitrary(&mut Unstructured::new(data)) else { return };
    let file = built.file();
    let verdict = promises::safetensors(&file, &Limits::DEFAULT);
    assert_eq!(verdict, Ok(()), "{}", String::from_utf8_lossy(&built.tokens.text()));
    let opened = SafeTensors::open(&file).expect("accepted above");
    compare(&opened, &built.model);
    super::st_reference::check(&file);
}

/// Every tensor and every pair of the metadata is what was planned, in the right order.
fn compare(opened: &SafeTensors<'_>, model: &Model) {
    let extents: Vec<(u64, u64)> = model.tensors.iter().map(|tensor| (tensor.begin, tensor.end)).collect();
    assert_eq!(opened.len(), model.tensors.len());
    for (shown, index) in opened.tensors().zip(layout(&extents)) {
        let planned = &model.tensors[index];
        assert!(shown.name().chars().eq(planned.name.chars()), "{:?}, {:?}", shown.name(), planned.name);
        assert!(shown.name() == planned.name.as_str());
        assert_eq!(shown.dtype(), planned.dtype);
        assert!(shown.shape() == planned.shape[..]);
        let bytes = usize::try_from(planned.begin).unwrap()..usize::try_from(planned.end).unwrap();
        assert_eq!(shown.bytes(), &model.data[bytes]);
        assert_eq!(opened.tensor(&planned.name).unwrap().span(), shown.span());
    }
    match &model.metadata {
        Metadata::Map(pairs) => {
            let shown = opened.metadata().expect("there is metadata");
            let pair = |(key, value): (tensorgate::Name<'_>, tensorgate::Name<'_>)| {
                (key.to_cow().into_owned(), value.to_cow().into_owned())
            };
            assert!(shown.iter().map(pair).eq(pairs.iter().cloned()));
            for (key, value) in pairs {
                assert!(shown.get(key).is_some_and(|shown| shown == value.as_str()));
            }
        }
        other => {
            assert!(opened.metadata().is_none());
            assert_eq!(opened.header().metadata_is_null(), *other == Metadata::Null);
        }
    }
}

/// Any bytes build a file: the cases' bytes are as good as others.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    (file.len() > 40).then(|| file.to_vec())
}

#[cfg(test)]
mod tests {
    #[test]
    fn smoke() {
        crate::smoke::noise(super::check, 13, 4000);
        crate::smoke::mutants(super::check, 14, 4, &crate::corpus::files());
    }
}
