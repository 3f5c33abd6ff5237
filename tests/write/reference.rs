//! Owned tensors, and what the reference writer (`safetensors` 0.8) makes of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use tensorgate::safetensors::{TensorData, TensorSpec};
use tensorgate::{Dtype, SafeTensors};

pub(crate) type Pairs = BTreeMap<String, String>;

/// A tensor with its own bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
}

impl Tensor {
    /// A tensor with as many bytes as it needs, no two the same in a row.
    pub(crate) fn new(name: &str, dtype: Dtype, shape: &[u64]) -> Self {
        let len = dtype.bytes_for(shape.iter().product()).unwrap();
        let seed = name.bytes().fold(dtype as u8, u8::wrapping_add);
        let bytes = (0..len).map(|i| u8::try_from(i % 251).unwrap().wrapping_add(seed)).collect();
        Self { name: name.to_owned(), dtype, shape: shape.to_vec(), bytes }
    }

    pub(crate) fn data(&self) -> TensorData<'_> {
        TensorSpec::new(&self.name, self.dtype, &self.shape).with_bytes(&self.bytes)
    }
}

/// Tensors as our writer takes them.
pub(crate) fn data(tensors: &[Tensor]) -> impl Iterator<Item = TensorData<'_>> + Clone {
    tensors.iter().map(Tensor::data)
}

/// A dtype of ours as one of the reference's.
pub(crate) fn dtype(ours: Dtype) -> safetensors::Dtype {
    serde_json::from_value(Value::from(ours.tag())).unwrap()
}

struct View<'a> {
    tensor: &'a Tensor,
    shape: Vec<usize>,
}

impl safetensors::View for View<'_> {
    fn dtype(&self) -> safetensors::Dtype {
        dtype(self.tensor.dtype)
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.tensor.bytes)
    }

    fn data_len(&self) -> usize {
        self.tensor.bytes.len()
    }
}

/// The file that the reference writer makes, as it is.
pub(crate) fn serialize(tensors: &[Tensor], metadata: Option<&Pairs>) -> Vec<u8> {
    let views = tensors.iter().map(|tensor| {
        let shape = tensor.shape.iter().map(|dim| usize::try_from(*dim).unwrap()).collect();
        (tensor.name.as_str(), View { tensor, shape })
    });
    let metadata = metadata.map(|pairs| pairs.clone().into_iter().collect::<HashMap<_, _>>());
    safetensors::serialize(views, metadata).unwrap()
}

/// The same, with the metadata's keys put in order (the reference leaves their order to chance).
pub(crate) fn serialize_sorted(tensors: &[Tensor], metadata: Option<&Pairs>) -> Vec<u8> {
    let file = serialize(tensors, metadata);
    if metadata.is_none_or(|pairs| pairs.len() < 2) {
        return file;
    }
    let (text, data) = split(&file);
    let mut header: Value = serde_json::from_str(text).unwrap();
    let pairs = header["__metadata__"].as_object_mut().unwrap();
    pairs.sort_keys();
    let mut sorted = serde_json::to_string(&header).unwrap();
    while !sorted.len().is_multiple_of(8) {
        sorted.push(' ');
    }
    crate::common::file(&sorted, data)
}

/// A file's header text and its data.
pub(crate) fn split(file: &[u8]) -> (&str, &[u8]) {
    let (len, rest) = file.split_first_chunk::<8>().unwrap();
    let (header, data) = rest.split_at(usize::try_from(u64::from_le_bytes(*len)).unwrap());
    (std::str::from_utf8(header).unwrap(), data)
}

/// What our reader shows, as owned tensors in the order of their data.
pub(crate) fn shown(file: &SafeTensors<'_>) -> (Vec<Tensor>, Option<Pairs>) {
    let tensors = file.tensors().map(|view| Tensor {
        name: view.name().to_cow().into_owned(),
        dtype: view.dtype(),
        shape: view.shape().to_vec(),
        bytes: view.bytes().to_vec(),
    });
    let pair = |(key, value): (tensorgate::Name<'_>, tensorgate::Name<'_>)| {
        (key.to_cow().into_owned(), value.to_cow().into_owned())
    };
    (tensors.collect(), file.metadata().map(|metadata| metadata.iter().map(pair).collect()))
}

/// What the reference reader shows, sorted.
pub(crate) fn shown_by_reference(file: &[u8]) -> (Vec<Tensor>, Option<Pairs>) {
    let (_, header) = safetensors::SafeTensors::read_metadata(file).unwrap();
    let read = safetensors::SafeTensors::deserialize(file).unwrap();
    let mut tensors: Vec<Tensor> = read
        .iter()
        .map(|(name, view)| Tensor {
            name: name.to_owned(),
            dtype: Dtype::from_tag(serde_json::to_value(view.dtype()).unwrap().as_str().unwrap().as_bytes())
                .unwrap(),
            shape: view.shape().iter().map(|dim| *dim as u64).collect(),
            bytes: view.data().to_vec(),
        })
        .collect();
    tensors.sort();
    (tensors, header.metadata().clone().map(|pairs| pairs.into_iter().collect()))
}

/// The tensors in one order for all.
pub(crate) fn sorted(mut tensors: Vec<Tensor>) -> Vec<Tensor> {
    tensors.sort();
    tensors
}
