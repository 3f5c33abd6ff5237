//! Against serde_json, one way: a header that we accept is JSON to it, with the same values, and no key stands twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use tensorgate::SafeTensors;

use super::st_raw;

/// JSON as it stands, members in their order.
#[derive(Debug, PartialEq)]
enum Json {
    Null,
    Number(u64),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    fn get(&self, key: &str) -> &Json {
        let Json::Map(members) = self else { panic!("{self:?} is no object") };
        &members.iter().find(|(other, _)| other == key).unwrap_or_else(|| panic!("{key} is missing")).1
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        let Json::List(items) = self else { panic!("{self:?} is no array") };
        items.iter().map(|item| if let Json::Number(number) = item { *number } else { panic!("{item:?}") })
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Strict)
    }
}

/// Takes only what the strict subset has: anything else is a fault of ours.
struct Strict;

impl<'de> Visitor<'de> for Strict {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, a plain integer, a string, an array or an object with unique keys")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut map: Vec<(String, Json)> = Vec::new();
        let mut keys = std::collections::HashSet::new();
        while let Some((key, value)) = members.next_entry::<String, Json>()? {
            if !keys.insert(key.clone()) {
                return Err(serde::de::Error::custom(format!("{key:?} stands twice")));
            }
            map.push((key, value));
        }
        Ok(Json::Map(map))
    }
}

/// Compares the values of every header that we accept.
pub fn check(data: &[u8]) {
    let Some(file) = st_raw::frame(data) else { return };
    let Ok(ours) = SafeTensors::open(&file) else { return };
    let theirs: Json = serde_json::from_str(ours.header().json()).expect("what we accept is JSON with unique keys");
    let Json::Map(members) = &theirs else { panic!("{theirs:?} is no object") };
    let begins = ours.header().data().start();
    for tensor in ours.tensors() {
        let entry = theirs.get(&tensor.name().to_cow());
        assert_eq!(entry.get("dtype"), &Json::Text(tensor.dtype().tag().to_owned()));
        assert!(entry.get("shape").numbers().eq(tensor.shape()));
        let span = tensor.span();
        assert!(entry.get("data_offsets").numbers().eq([span.start() - begins, span.end() - begins]));
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
        assert_eq!(theirs.get("__metadata__"), &pairs.map_or(Json::Null, Json::Map));
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
    fn repeated_keys_are_seen() {
        assert!(serde_json::from_str::<Json>(r#"{"a":1,"\u0061":2}"#).is_err());
        assert!(serde_json::from_str::<Json>(r#"{"a":{"b":[1,"x",null]}}"#).is_ok());
        assert!(serde_json::from_str::<Json>("[1.0]").is_err());
        assert!(serde_json::from_str::<Json>("[true]").is_err());
    }

    #[test]
    fn smoke() {
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| seed(file)).collect();
        crate::smoke::mutants(check, 6, 12, &seeds);
    }
}
