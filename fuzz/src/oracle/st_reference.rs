//! Against the `safetensors` crate, one way: what we accept it accepts, with the same views.

use std::collections::HashMap;

use tensorgate::SafeTensors;

use super::st_raw;

/// Judges `data` as a file and as a header's text.
pub fn check(data: &[u8]) {
    whole(data);
    if let Some(file) = st_raw::frame(data) {
        whole(&file);
    }
}

fn whole(file: &[u8]) {
    let Ok(ours) = SafeTensors::open(file) else { return };
    let theirs = safetensors::SafeTensors::deserialize(file).expect("the reference accepts what we accept");
    assert_eq!(ours.len(), theirs.len());
    for tensor in ours.tensors() {
        let name = tensor.name().to_cow();
        let other = theirs.tensor(&name).expect("the reference has this tensor");
        assert_eq!(tensor.dtype().tag(), other.dtype().to_string(), "{name}");
        assert!(tensor.shape().iter().eq(other.shape().iter().map(|dim| *dim as u64)), "{name}");
        assert!(std::ptr::eq(tensor.bytes(), other.data()), "{name}: other bytes");
    }
    let (header_len, metadata) = safetensors::SafeTensors::read_metadata(file).expect("accepted above");
    assert_eq!(ours.header().json().len(), header_len);
    let pairs: Option<HashMap<String, String>> = ours.metadata().map(|ours| {
        ours.iter().map(|(key, value)| (key.to_cow().into_owned(), value.to_cow().into_owned())).collect()
    });
    assert_eq!(pairs.as_ref(), metadata.metadata().as_ref());
    assert_eq!(ours.metadata().map_or(0, |ours| ours.iter().count()), pairs.map_or(0, |pairs| pairs.len()));
}

/// The file itself.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    Some(file.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorgate::Dtype;

    #[test]
    fn the_two_name_the_same_dtypes() {
        for dtype in Dtype::ALL {
            let elements = if dtype.bits() < 8 { 4 } else { 1 };
            let bytes = dtype.bytes_for(elements).unwrap();
            let json = format!(r#"{{"w":{{"dtype":"{dtype}","shape":[{elements}],"data_offsets":[0,{bytes}]}}}}"#);
            let mut file = (json.len() as u64).to_le_bytes().to_vec();
            file.extend_from_slice(json.as_bytes());
            file.resize(file.len() + usize::try_from(bytes).unwrap(), 1);
            assert!(SafeTensors::open(&file).is_ok());
            check(&file);
        }
    }

    #[test]
    fn smoke() {
        crate::smoke::files(check, 4);
        let headers: Vec<_> = crate::corpus::files().iter().filter_map(|file| st_raw::seed(file)).collect();
        crate::smoke::mutants(check, 5, 6, &headers);
    }
}
