//! What values the tensors hold: `inspect --deep`.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use tensorgate::file::ReadError;
use tensorgate::gguf::{Endian, GgmlType};
use tensorgate::quant;

use crate::parts::{Kind, Part, Tensor};
use crate::work::Work;

/// Steps of a histogram.
const BINS: usize = 48;
/// Elements that are decoded at a time, a multiple of every block's.
const ELEMENTS: usize = 64 * 1024;

/// Statistics of every tensor, in the order of `part`'s; null where its type has no values that `f32` could stand for.
/// Each value is looked at as the `f32` that it decodes to.
pub(super) fn values(work: &Work, part: &Part) -> Result<Vec<Value>, ReadError> {
    let found = Mutex::new(vec![Value::Null; part.tensors.len()]);
    let bytes = part.tensors.iter().map(Tensor::len).fold(0, u64::saturating_add);
    let bar = work.bar(bytes, &crate::text::path(&part.path));
    work.spread(part.tensors.iter().enumerate(), Vec::new, |buffer: &mut Vec<u8>, (place, tensor)| {
        let value = one(part, tensor, buffer, &|| work.is_stopped())?;
        bar.inc(tensor.len());
        if let Some(slot) = found.lock().unwrap_or_else(PoisonError::into_inner).get_mut(place) {
            *slot = value;
        }
        Ok(())
    })?;
    part.unchanged()?;
    bar.finish_and_clear();
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn one(part: &Part, tensor: &Tensor, buffer: &mut Vec<u8>, stopped: &dyn Fn() -> bool) -> Result<Value, ReadError> {
    let Some((kind, order)) = decodable(tensor.kind) else { return Ok(Value::Null) };
    let mut sums = Sums::default();
    let mut each = |take: &mut dyn FnMut(&[f32])| -> Result<(), ReadError> {
        let Some(step) = kind.bytes_for(u64::try_from(ELEMENTS).unwrap_or_default()) else { return Ok(()) };
        let mut floats = vec![0.0; ELEMENTS];
        let mut at = tensor.start;
        while at < tensor.end && !stopped() {
            let len = step.min(tensor.end.saturating_sub(at));
            buffer.resize(usize::try_from(len).unwrap_or_default(), 0);
            part.read(buffer, at)?;
            at = at.saturating_add(len);
            let count = elements(kind, len);
            let Some(out) = floats.get_mut(..count) else { break };
            if quant::decode_from(kind, order, buffer, out).is_err() {
                break;
            }
            take(out);
        }
        Ok(())
    };
    each(&mut |floats| floats.iter().for_each(|value| sums.add(*value)))?;
    let mut bins = [0_u64; BINS];
    if sums.finite > 0 {
        let (low, width) = (f64::from(sums.min), f64::from(sums.max) - f64::from(sums.min));
        each(&mut |floats| {
            for value in floats.iter().filter(|value| value.is_finite()) {
                let place = bin((f64::from(*value) - low) / width);
                if let Some(count) = bins.get_mut(place) {
                    *count = count.saturating_add(1);
                }
            }
        })?;
    }
    Ok(sums.json(&bins))
}

/// Which step a place between 0 and 1 belongs to; the first where all values are one.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a float's cast saturates, and the result is bounded"
)]
fn bin(place: f64) -> usize {
    ((place * BINS as f64) as usize).min(BINS - 1)
}

/// How many elements so many bytes of whole blocks hold.
fn elements(kind: GgmlType, bytes: u64) -> usize {
    let block = kind.block_bytes().map_or(0, u64::from);
    let each = kind.block().map_or(0, |block| u64::from(block.elements()));
    let count = bytes.checked_div(block).unwrap_or(0).saturating_mul(each);
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The type under which the elements are decoded.
fn decodable(kind: Kind) -> Option<(GgmlType, Endian)> {
    let decoded = kind.element().ggml().filter(|kind| quant::is_decodable(*kind))?;
    Some((decoded, kind.endian()))
}

/// What is summed up in one pass.
#[derive(Debug)]
struct Sums {
    finite: u64,
    nan: u64,
    infinite: u64,
    zeros: u64,
    min: f32,
    max: f32,
    /// Of the differences from the first finite value, so that a large mean does not hide a small deviation.
    first: Option<f64>,
    sum: f64,
    squares: f64,
}

impl Default for Sums {
    fn default() -> Self {
        let (min, max) = (f32::INFINITY, f32::NEG_INFINITY);
        Self { finite: 0, nan: 0, infinite: 0, zeros: 0, min, max, first: None, sum: 0.0, squares: 0.0 }
    }
}

impl Sums {
    fn add(&mut self, value: f32) {
        if value.is_nan() {
            self.nan = self.nan.saturating_add(1);
        } else if value.is_infinite() {
            self.infinite = self.infinite.saturating_add(1);
        } else {
            self.finite = self.finite.saturating_add(1);
            self.zeros = self.zeros.saturating_add(u64::from(value == 0.0));
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            let away = f64::from(value) - *self.first.get_or_insert(f64::from(value));
            self.sum += away;
            self.squares += away * away;
        }
    }

    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "a mean of so many has no more digits")]
    fn json(&self, bins: &[u64]) -> Value {
        let counts = json!({"zeros": self.zeros, "nan": self.nan, "infinite": self.infinite});
        let Some(first) = self.first else { return counts };
        let count = self.finite as f64;
        let away = self.sum / count;
        let deviation = (self.squares / count - away * away).max(0.0).sqrt();
        json!({
            "min": self.min, "max": self.max, "mean": first + away, "deviation": deviation,
            "zeros": self.zeros, "nan": self.nan, "infinite": self.infinite, "bins": bins,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_definition() {
        let mut sums = Sums::default();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0, f32::NAN, f32::INFINITY] {
            sums.add(value);
        }
        let value = sums.json(&[8]);
        let wanted = json!({"min": 2.0, "max": 9.0, "mean": 5.0, "deviation": 2.0, "zeros": 0, "nan": 1, "infinite": 1, "bins": [8]});
        assert_eq!(value, wanted);
        let mut none = Sums::default();
        none.add(f32::NAN);
        assert_eq!(none.json(&[]), json!({"zeros": 0, "nan": 1, "infinite": 0}));
    }

    #[test]
    fn bins_take_their_edges_in() {
        assert_eq!((bin(0.0), bin(0.5), bin(1.0), bin(f64::NAN)), (0, BINS / 2, BINS - 1, 0));
    }
}
