//! Checkpoints: what is loaded, and that a failed load changes nothing.

#![cfg(feature = "std")]
#![allow(clippy::float_cmp, reason = "values are copied, not computed")]

mod common;

use std::io::Cursor;

use tensorgate::model::{Checkpoint, LoadError, MismatchKind, ModelErrorKind, NewCheckpoint, Options, Target};
use tensorgate::{Dtype, safetensors};

const HEADER: &str = r#"{"__metadata__":{"step":"7"},
    "model.w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},
    "model.half":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},
    "model.n":{"dtype":"I64","shape":[],"data_offsets":[12,20]},
    "optim.w.exp_avg":{"dtype":"F32","shape":[2,1],"data_offsets":[20,28]}}"#;

fn checkpoint() -> Checkpoint {
    let mut data = Vec::new();
    data.extend_from_slice(&1.5_f32.to_le_bytes());
    data.extend_from_slice(&(-2.0_f32).to_le_bytes());
    data.extend_from_slice(&[0x80, 0x3f, 0, 0xc0]);
    data.extend_from_slice(&(-9_i64).to_le_bytes());
    data.extend_from_slice(&0.25_f32.to_le_bytes());
    data.extend_from_slice(&0.5_f32.to_le_bytes());
    Checkpoint::from_reader(Cursor::new(common::file(HEADER, &data)), &Options::default()).unwrap()
}

/// Everything that a run has, filled so that a change is seen.
struct State {
    w: [f32; 2],
    half: [u8; 4],
    n: [i64; 1],
    average: [f32; 2],
}

impl State {
    const UNTOUCHED: Self = Self { w: [9.0; 2], half: [9; 4], n: [9], average: [9.0; 2] };

    fn parameters(&mut self) -> [Target<'_>; 3] {
        let half = Target::bytes("half", Dtype::BF16, &[2], &mut self.half);
        [Target::new("w", &[2, 1], &mut self.w), half, Target::new("n", &[], &mut self.n)]
    }

    fn is_untouched(&self) -> bool {
        let Self { w, half, n, average } = Self::UNTOUCHED;
        self.w == w && self.half == half && self.n == n && self.average == average
    }
}

#[test]
fn both_parts_are_loaded() {
    let saved = checkpoint();
    let mut state = State::UNTOUCHED;
    let mut average = State::UNTOUCHED.average;
    saved.load(state.parameters(), [Target::new("w.exp_avg", &[2, 1], &mut average)]).unwrap();
    assert_eq!((state.w, state.half, state.n), ([1.5, -2.0], [0x80, 0x3f, 0, 0xc0], [-9]));
    assert_eq!(average, [0.25, 0.5]);
    assert_eq!(saved.metadata().get("step").unwrap().as_str(), Some("7"));
    assert!(saved.parameters().names().eq(["half", "n", "w"]));
    assert!(saved.optimizer().names().eq(["w.exp_avg"]));
    assert_eq!(saved.parameters().get("n").unwrap().bytes(), (-9_i64).to_le_bytes());
    assert!(saved.parameters().get("w.exp_avg").is_none());

    let mut state = State::UNTOUCHED;
    saved.parameters().load(state.parameters()).unwrap();
    assert_eq!((state.w, state.average), ([1.5, -2.0], [9.0; 2]));
}

fn refused(parameters: Vec<Target<'_>>, optimizer: Vec<Target<'_>>) -> LoadError {
    checkpoint().load(parameters, optimizer).unwrap_err()
}

#[test]
fn everything_that_is_wrong_is_told_at_once_and_nothing_is_touched() {
    let mut state = State::UNTOUCHED;
    let (mut more, mut short) = ([9.0_f32; 2], [9_i64; 2]);
    {
        let State { w, half, average, .. } = &mut state;
        let error = refused(
            vec![
                Target::new("v", &[2], &mut more),
                Target::new("w", &[1, 2], w),
                Target::bytes("half", Dtype::F16, &[2], half),
                Target::new("n", &[], &mut short),
            ],
            vec![Target::new("w.exp_avg_sq", &[2, 1], average)],
        );
        assert_eq!(error.missing(), ["model.v", "optim.w.exp_avg_sq"]);
        assert_eq!(error.unexpected(), ["optim.w.exp_avg"]);
        let kinds: Vec<_> = error.mismatched().iter().map(|one| (one.name(), one.kind().clone())).collect();
        let shape = MismatchKind::Shape { expected: vec![1, 2], found: vec![2, 1] };
        let dtype = MismatchKind::Dtype { expected: Dtype::F16, found: Dtype::BF16 };
        let room = MismatchKind::Room { expected: Some(8), found: Some(16) };
        assert_eq!(kinds, [("model.w", shape), ("model.half", dtype), ("model.n", room)]);
        let shown = error.to_string();
        for part in [
            r#"missing (2): "model.v", "optim.w.exp_avg_sq""#,
            r#"not expected (1): "optim.w.exp_avg""#,
            r#"different (3): "model.w" is [2, 1], not [1, 2], "model.half" is BF16, not F16, "#,
            r#""model.n" takes 8 bytes, and its target has 16"#,
        ] {
            assert!(shown.contains(part), "{shown}");
        }
    }
    assert!(state.is_untouched() && more == [9.0; 2] && short == [9; 2]);
}

#[test]
fn one_fault_in_one_part_keeps_both_as_they_were() {
    let saved = checkpoint();
    let mut state = State::UNTOUCHED;
    let error = saved.load(state.parameters(), []).unwrap_err();
    assert_eq!(error.unexpected(), ["optim.w.exp_avg"]);
    assert!(state.is_untouched());

    let mut twice = [9.0_f32; 2];
    let again = Target::new("w", &[2, 1], &mut twice);
    let error = saved.parameters().load(state.parameters().into_iter().chain([again])).unwrap_err();
    assert_eq!(error.mismatched()[0].kind(), &MismatchKind::Twice);
    assert!(state.is_untouched() && twice == [9.0; 2]);
}

#[test]
fn what_is_saved_comes_back() {
    let mut new = NewCheckpoint::new();
    let weights: Vec<u8> = [1.0_f32, 2.0, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    new.parameter("layer.0.w", Dtype::F32, &[3], &weights).optimizer("step", Dtype::U8, &[1], &[5]);
    assert!(new.pairs().is_none());
    new.metadata("note", "a\nb");
    let bytes = safetensors::serialize(new.tensors(), new.pairs()).unwrap();
    // The reference sees the names that are documented.
    let reference = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(reference.tensor("model.layer.0.w").unwrap().data(), weights);
    assert_eq!(reference.tensor("optim.step").unwrap().data(), [5]);
    let saved = Checkpoint::from_reader(Cursor::new(bytes), &Options::default()).unwrap();
    let (mut w, mut step) = ([0_f32; 3], [0_u8]);
    saved.load([Target::new("layer.0.w", &[3], &mut w)], [Target::new("step", &[1], &mut step)]).unwrap();
    assert_eq!((w, step), ([1.0, 2.0, 3.0], [5]));
    assert_eq!(saved.metadata().get("note").unwrap().as_str(), None);
    assert_eq!(saved.model().len(), 2);
}

#[test]
fn other_models_are_no_checkpoints() {
    let file = |header: &str| Cursor::new(common::file(header, &[]));
    let open = |header: &str| Checkpoint::from_reader(file(header), &Options::default());
    assert!(open("{}").is_ok());
    let error = open(r#"{"model":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#).unwrap_err();
    assert_eq!(error.code(), "MO-NOT-CHECKPOINT");
    assert!(matches!(error.kind(), ModelErrorKind::NotCheckpoint { name: Some(name) } if name == "model"));
    let gguf = Cursor::new(common::gguf::Writer::new(0, 0).0);
    let error = Checkpoint::from_reader(gguf, &Options::default()).unwrap_err();
    assert!(matches!(error.kind(), ModelErrorKind::NotCheckpoint { name: None }));
}
