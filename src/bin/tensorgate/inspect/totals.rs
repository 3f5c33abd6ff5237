//! Sums over a file's tensors.

use tensorgate::Dtype;
use tensorgate::safetensors::{Header, TensorInfo};

/// Tensors, their elements and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) tensors: u64,
    pub(super) parameters: u64,
    pub(super) bytes: u64,
}

impl Totals {
    pub(super) fn add(&mut self, info: &TensorInfo<'_>) {
        self.tensors = self.tensors.saturating_add(1);
        self.parameters = self.parameters.saturating_add(parameters(info));
        self.bytes = self.bytes.saturating_add(info.span().len());
    }
}

/// Elements of a tensor.
pub(super) fn parameters(info: &TensorInfo<'_>) -> u64 {
    info.shape().elements().unwrap_or_default()
}

/// The sum, and one for each dtype that there is, in the dtypes' order.
pub(super) fn totals(header: &Header<'_>) -> (Totals, Vec<(Dtype, Totals)>) {
    let mut all = Totals::default();
    let mut each: Vec<(Dtype, Totals)> = Dtype::ALL.iter().map(|dtype| (*dtype, Totals::default())).collect();
    for info in header.tensors() {
        all.add(&info);
        if let Some((_, totals)) = each.iter_mut().find(|(dtype, _)| *dtype == info.dtype()) {
            totals.add(&info);
        }
    }
    each.retain(|(_, totals)| totals.tensors > 0);
    (all, each)
}

/// The largest power of two that divides an offset; 2^63 for 0.
pub(super) fn alignment(offset: u64) -> u64 {
    1_u64.checked_shl(offset.trailing_zeros()).unwrap_or(1 << 63)
}
