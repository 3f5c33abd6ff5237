//! Sharded indexes against serde_json, one way: what we accept is JSON to it, with the same map and no key twice.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use tensorgate::{Limits, ShardIndex};

use super::promises_index;

/// JSON of any kind, members in their order; an object with a key twice is none.
#[derive(Debug, PartialEq)]
pub enum Json {
    /// `null`, a bool, a number or a string.
    Plain(serde_json::Value),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Map(Vec<(String, Json)>),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Unique)
    }
}

struct Unique;

impl<'de> Visitor<'de> for Unique {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON with unique keys")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Plain(serde_json::Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Plain(value.into()))
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
        let mut keys = HashSet::new();
        while let Some((key, value)) = members.next_entry::<String, Json>()? {
            if !keys.insert(key.clone()) {
                return Err(serde::de::Error::custom(format!("{key:?} stands twice")));
            }
            map.push((key, value));
        }
        Ok(Json::Map(map))
    }
}

impl Json {
    fn get(&self, key: &str) -> Option<&Json> {
        let Json::Map(members) = self else { return None };
        members.iter().find(|(other, _)| other == key).map(|(_, value)| value)
    }
}

/// What serde_json makes of a text.
///
/// # Errors
///
/// Its own, and one where a key stands twice.
pub fn read(text: &[u8]) -> Result<Json, serde_json::Error> {
    serde_json::from_slice(text)
}

fn parse(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: we accept {text:?}"))
}

/// Judges the text as it is, and as the inside of a `weight_map` and of `metadata`.
pub fn check(data: &[u8]) {
    judge(data);
    if data.first() == Some(&b'"') {
        judge(&[br#"{"weight_map":{"#, data, b"}}"].concat());
        judge(&[br#"{"weight_map":{"a":"b"},"metadata":{"#, data, b"}}"].concat());
    }
}

fn judge(text: &[u8]) {
    if promises_index::index(text, &Limits::DEFAULT).is_err() {
        return;
    }
    let ours = ShardIndex::open(text).expect("accepted above");
    let theirs = parse(ours.json());
    let Some(Json::Map(map)) = theirs.get("weight_map") else { panic!("{theirs:?} has no map") };
    assert_eq!(map.len(), ours.len());
    for (entry, (name, shard)) in ours.in_file_order().zip(map) {
        assert!(entry.name() == name.as_str(), "{name:?}");
        assert_eq!(*shard, Json::Plain(entry.shard().to_cow().as_ref().into()));
    }
    let metadata = theirs.get("metadata");
    let expected = metadata.and_then(|metadata| metadata.get("total_size")).and_then(|value| match value {
        Json::Plain(value) => value.as_u64(),
        _ => None,
    });
    // What is no plain integer to us may be one to serde_json (it never is the other way round).
    assert!(ours.total_size().is_none() || ours.total_size() == expected);
    match (ours.metadata(), metadata) {
        (Some(shown), Some(Json::Map(members))) => {
            assert_eq!(shown.iter().count(), members.len());
            for ((key, value), (name, member)) in shown.iter().zip(members) {
                assert!(key == name.as_str());
                assert_eq!(parse(value), *member);
            }
        }
        (shown, member) => {
            assert!(shown.is_none());
            assert!(matches!(member, None | Some(Json::Plain(serde_json::Value::Null))), "{member:?}");
        }
    }
}

/// The text itself, if it is one; of a safetensors file the header, which is JSON too.
pub fn seed(file: &[u8]) -> Option<Vec<u8>> {
    let text = super::st_raw::unframe(file).map(|input| input[2..].to_vec());
    text.or_else(|| file.trim_ascii_start().starts_with(b"{").then(|| file.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_are_seen() {
        assert!(serde_json::from_str::<Json>(r#"{"a":1,"\u0061":2}"#).is_err());
        assert!(serde_json::from_str::<Json>(r#"{"a":[-1,2.5,true,null,"x",{"b":0}]}"#).is_ok());
    }

    #[test]
    fn smoke() {
        let texts: Vec<_> = crate::corpus::INDEXES.iter().map(|text| text.as_bytes().to_vec()).collect();
        crate::smoke::mutants(check, 22, 600, &texts);
        let seeds: Vec<_> = crate::corpus::files().iter().filter_map(|file| seed(file)).collect();
        crate::smoke::mutants(check, 23, 3, &seeds);
    }
}
