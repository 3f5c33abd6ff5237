//! Looks at everything that an accepted file shows, and holds one part against the other.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use tensorgate::gguf::{self, Endian, ValueType};
use tensorgate::{Dtype, Error, Gguf, Name, SafeTensors, Shape, ShardIndex};

/// A safetensors file.
pub(super) fn at_safetensors(file: &SafeTensors<'_>) {
    super::touch(file);
    assert_eq!((file.tensors().count(), file.is_empty()), (file.len(), file.tensors().next().is_none()));
    for tensor in file.tensors() {
        at_shape(tensor.shape());
        at_name(tensor.name());
        let dtype = tensor.dtype();
        assert!(dtype.to_string() == dtype.tag() && dtype.align().is_power_of_two());
        let bools = dtype == Dtype::BOOL && tensor.bytes().iter().all(|byte| *byte <= 1);
        assert_eq!(tensor.as_bool().is_ok(), bools);
        let (name, shape, span) = (tensor.name(), tensor.shape(), tensor.span());
        assert_eq!(format!("{tensor:?}"), format!("{name:?}: {dtype}{shape} at {}..{}", span.start(), span.end()));
    }
    let header = file.header();
    assert_eq!(header.is_in_data_order(), header.tensors().is_sorted_by_key(|tensor| tensor.entry_at()));
    assert_eq!((header.relaxed(), header.len()), (None, file.len()));
    assert!(!header.metadata_is_null() || file.metadata().is_none());
    #[cfg(feature = "alloc")]
    {
        let owned = header.clone().into_owned().unwrap();
        let again = owned.header();
        assert_eq!((again.json(), again.len(), again.data()), (header.json(), header.len(), header.data()));
        assert!(header.tensors().all(|tensor| again.tensor(&text(tensor.name())).unwrap().span() == tensor.span()));
    }
    let Some(metadata) = file.metadata() else { return };
    // The header's text begins at byte 8.
    assert_eq!(header.json().as_bytes()[usize::try_from(metadata.at()).unwrap() - 8], b'{');
    assert!((&metadata).into_iter().eq(metadata));
    for (key, value) in &metadata {
        at_name(key);
        at_name(value);
        assert!(metadata.get(&text(key)).is_some_and(|again| again.raw() == value.raw()));
    }
    assert_eq!(metadata.get("there is no such key"), None);
    assert!(format!("{metadata:?}").is_ascii());
}

/// A sharded index.
pub(super) fn at_index(index: &ShardIndex<'_>) {
    super::touch_index(index);
    assert_eq!(index.is_empty(), index.tensors().next().is_none());
    for (entry, filed) in index.tensors().zip(index.in_file_order()) {
        at_name(entry.name());
        at_name(entry.shard());
        let quotes = [filed.name_at(), filed.shard_at()];
        assert!(quotes.iter().all(|at| index.json().as_bytes()[usize::try_from(*at).unwrap()] == b'"'));
    }
    assert!(index.shards().is_sorted_by(|a, b| a.name() < b.name()));
    for shard in index.shards() {
        assert_eq!(index.shard(&text(shard.name())).unwrap().len(), shard.len());
        assert!(shard.tensors().all(|entry| entry.shard() == shard.name()));
    }
    let Some(metadata) = index.metadata() else { return };
    let (before, from) = index.json().split_at(usize::try_from(metadata.at()).unwrap());
    assert!(before.trim_end().ends_with(':') && from.starts_with('{'));
    for (key, value) in metadata {
        at_name(key);
        assert_eq!(metadata.get(&text(key)), Some(value));
    }
    for (key, _) in &metadata {
        assert!(format!("{metadata:?}").contains(&format!("{key:?}")));
    }
}

/// A GGUF file; into the strings of its arrays only where `array_text` is set.
pub(super) fn at_gguf(file: &Gguf<'_>, array_text: bool) -> Result<(), Error> {
    super::touch_gguf(file, array_text)?;
    super::asks::at_gguf(file);
    assert_eq!((file.tensors().count(), file.is_empty()), (file.len(), file.tensors().next().is_none()));
    assert_eq!(file.header().relaxed().count(), 0);
    assert_eq!(file.header().pair_count(), file.pairs().count());
    #[cfg(feature = "alloc")]
    {
        let owned = file.header().clone().into_owned().unwrap();
        let again = owned.header();
        assert_eq!(
            (again.head(), again.len(), again.data()),
            (file.header().head(), file.len(), file.header().data())
        );
        assert!(file.pairs().all(|pair| again.get(pair.key()).is_some()));
    }
    assert_eq!(u64::try_from(file.data().len()).unwrap(), file.header().data().len());
    for tensor in file.tensors() {
        at_shape(tensor.shape());
        at_name(tensor.name());
        let kind = tensor.kind();
        let (elements, bytes) = (kind.block_elements().unwrap(), kind.block_bytes().unwrap());
        assert_eq!(tensor.elements() / u64::from(elements) * u64::from(bytes), tensor.span().len());
        assert!(tensor.info().info_at() < file.data_offset());
        assert_eq!(kind.to_string(), kind.name().unwrap());
        let plain = kind.dtype().filter(|dtype| dtype.bits() == 8 || tensor.endian() == Endian::Little);
        assert_eq!(tensor.plain().map(|plain| plain.dtype()), plain);
    }
    for pair in file.pairs() {
        assert!(pair.type_at() == pair.key_at() + u64::try_from(pair.key().len()).unwrap());
        match pair.value().array() {
            Ok(array) => at_array(&array, &pair, file.endian()),
            Err(_) => at_value(&pair.value()),
        }
    }
    Ok(())
}

fn at_array(array: &gguf::Array<'_>, pair: &gguf::Pair<'_>, endian: Endian) {
    assert_eq!((array.iter().count(), array.is_empty()), (array.len(), array.iter().next().is_none()));
    assert_eq!((array.at(), array.endian()), (pair.value_at() + 12, endian));
    assert_eq!(array.iter().size_hint(), (array.len(), Some(array.len())));
    assert!(array.get(array.len()).is_none());
    if let Some(size) = array.kind().size() {
        assert_eq!(u64::try_from(array.bytes().len()).unwrap(), size * u64::try_from(array.len()).unwrap());
    }
    for (index, element) in array.into_iter().enumerate().take(9) {
        assert_eq!(element.kind(), array.kind());
        at_value(&element);
        // A float need not equal itself.
        let is_nan = element.f64().is_ok_and(f64::is_nan);
        assert!(array.get(index).is_some_and(|again| again == element || is_nan));
    }
}

/// A value is what its type says, and nothing else.
fn at_value(value: &gguf::Value<'_>) {
    let kind = value.kind();
    let narrow = matches!(kind, ValueType::U8 | ValueType::U16 | ValueType::U32);
    let signed = matches!(kind, ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64);
    assert_eq!(value.u64().is_ok(), narrow || kind == ValueType::U64);
    assert_eq!(value.i64().is_ok(), narrow || signed);
    assert!(!narrow || value.u64().ok() == value.i64().ok().and_then(|value| u64::try_from(value).ok()));
    assert_eq!(value.f64().is_ok(), matches!(kind, ValueType::F32 | ValueType::F64));
    assert_eq!(value.bool().is_ok(), kind == ValueType::Bool);
    assert!(value.str().is_err() || kind == ValueType::String);
    assert!(value.array().is_err());
}

fn at_shape(shape: Shape<'_>) {
    let dims: Vec<u64> = shape.iter().collect();
    assert!(shape == dims[..] && shape == Shape::from(&dims[..]) && (&shape).into_iter().eq(dims.iter().copied()));
    assert_eq!((shape.rank(), shape.dim(0), shape.dim(dims.len())), (dims.len(), dims.first().copied(), None));
    let more = [&dims[..], &[7]].concat();
    assert!(
        shape != more[..] && shape != Shape::from(&more[..]) && shape != dims[..dims.len() / 2] || dims.is_empty()
    );
    let text: Vec<String> = dims.iter().map(u64::to_string).collect();
    assert_eq!(shape.to_string(), format!("[{}]", text.join(", ")));
    assert_eq!((format!("{shape:?}"), format!("{:?}", shape.into_iter())), (shape.to_string(), shape.to_string()));
}

fn at_name(name: Name<'_>) {
    let more = text(name) + "x";
    assert!(name != *more && name != more.as_str());
    let same = text(name);
    #[cfg(feature = "alloc")]
    assert!(Name::from(&same) == name);
    assert!(Name::from(same.as_str()) == name && hash(Name::from(same.as_str())) == hash(name));
    assert!(name == *same && name.to_string().bytes().all(|byte| (b' '..=b'~').contains(&byte)));
}

fn hash(name: Name<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// What a name says.
fn text(name: Name<'_>) -> String {
    name.chars().collect()
}
