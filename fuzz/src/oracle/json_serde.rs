//! Against serde_json, one way: a header that we accept is JSON to it, with the same values, and no key stands twice.

use tensorgate::SafeTensors;

use super::st_raw;
use crate::naive_st::Json;

/// Compares the values of every header that we accept.
pub fn check(data: &[u8]) {
    let Some(file) = st_raw::frame(data) else { return };
    let Ok(ours) = SafeTensors::open(&file) else { return };
    let theirs: Json = serde_json::from_str(ours.header().json()).expect("what we accept is JSON with unique keys");
    let Json::Map(members) = &theirs else { panic!("{theirs:?} is no object") };
    let begins = ours.header().data().start();
    for tensor in ours.tensors() {
        let name = tensor.name().to_cow();
        let entry = theirs.get(&name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(entry.get("dtype").and_then(Json::text), Some(tensor.dtype().tag()));
        let numbers = |field| entry.get(field).and_then(Json::numbers);
        assert!(numbers("shape").is_some_and(|dims| tensor.shape().iter().eq(dims)));
        let span = tensor.span();
        assert_eq!(numbers("data_offsets"), Some(vec![span.start() - begins, span.end() - begins]));
        assert!(matches!(entry, Json::Map(fields) if fields.len() == 3));
    }
    let pairs = ours.metadata().map(|metadata| {
        metadata
            .iter()
            .map(|(key, value)| (key.to_cow().into_owned(), Json::Text(value.to_cow().into_owned())))
            .collect()
    });
    let named = usize::from(pairs.is_some() || ours.header().metadata_is_null());
    if named == 1 {
        assert_eq!(theirs.get("__metadata__"), Some(&pairs.map_or(Json::Null, Json::Map)));
    }
    assert_eq!(members.len(), ours.len() + named);
}

/// As for `st_raw`.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    st_raw::seed(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke() {
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| seed(file)).collect();
        crate::smoke::mutants(check, 6, 12, &seeds);
    }
}
