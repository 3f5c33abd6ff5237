//! Conversions: formats, names, types, byte order, alignment and files; what is lost is counted, what cannot be is listed.

#![cfg(feature = "std")]

#[path = "../common/mod.rs"]
mod common;

mod casts;
mod formats;
mod gpt2;
mod layout;
mod pairs;
mod saving;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use tensorgate::Dtype;
use tensorgate::file::Saver;
use tensorgate::gguf::{self, GgmlType, PairSpec, WriteOptions};
use tensorgate::model::convert::{Conversion, ConvertError, Problem, Report, Target};
use tensorgate::model::{Format, Model};
use tensorgate::safetensors::{self, NO_METADATA};

/// A folder, and paths in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A safetensors file of tensors.
    fn safetensors(&self, name: &str, tensors: &[(&str, Dtype, &[u64], &[u8])]) -> Model {
        let tensors = tensors.iter().map(|(name, dtype, shape, bytes)| {
            safetensors::TensorSpec::new(*name, *dtype, shape).with_bytes(bytes)
        });
        fs::write(self.at(name), safetensors::serialize(tensors, NO_METADATA).unwrap()).unwrap();
        Model::open(self.at(name)).unwrap()
    }

    /// A GGUF file of tensors.
    fn gguf(&self, name: &str, pairs: &[PairSpec<'_>], tensors: &[(&str, GgmlType, &[u64], &[u8])]) -> Model {
        let tensors = tensors
            .iter()
            .map(|(name, kind, shape, bytes)| gguf::TensorSpec::new(*name, *kind, shape).with_bytes(bytes));
        fs::write(self.at(name), gguf::serialize(pairs, tensors, &WriteOptions::default()).unwrap()).unwrap();
        Model::open(self.at(name)).unwrap()
    }

    /// Converts into one file.
    fn convert(&self, model: &Model, conversion: &Conversion<'_>, to: &str) -> Result<Report, ConvertError> {
        conversion.plan(model)?.save(Target::File(&self.at(to)), &Saver::new())
    }

    /// Converts, and opens what came of it.
    fn converted(&self, model: &Model, conversion: &Conversion<'_>, to: &str) -> Model {
        self.convert(model, conversion, to).unwrap();
        Model::open(self.at(to)).unwrap()
    }
}

fn to_gguf<'c>() -> Conversion<'c> {
    Conversion::to(Format::Gguf)
}

fn to_safetensors<'c>() -> Conversion<'c> {
    Conversion::to(Format::SafeTensors)
}

#[track_caller]
fn problems<T: std::fmt::Debug>(outcome: Result<T, ConvertError>) -> Vec<Problem> {
    match outcome {
        Err(ConvertError::Tensors(problems)) => problems,
        other => panic!("{other:?}"),
    }
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A file of the repository.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Names, types, shapes and bytes, by name.
fn tensors(model: &Model) -> Vec<(String, String, Vec<u64>, Vec<u8>)> {
    model
        .tensors()
        .map(|t| (t.name().to_owned(), t.element().to_string(), t.shape().to_vec(), t.bytes().to_vec()))
        .collect()
}
