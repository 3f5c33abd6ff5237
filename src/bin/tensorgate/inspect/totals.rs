//! Sums over a file's tensors.

use super::tensor::Tensor;

/// Tensors, their elements and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) tensors: u64,
    pub(super) parameters: u64,
    pub(super) bytes: u64,
}

impl Totals {
    pub(super) fn add(&mut self, tensor: &Tensor<'_>) {
        self.tensors = self.tensors.saturating_add(1);
        self.parameters = self.parameters.saturating_add(tensor.parameters());
        self.bytes = self.bytes.saturating_add(tensor.span.len());
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.tensors = self.tensors.saturating_add(other.tensors);
        self.parameters = self.parameters.saturating_add(other.parameters);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Bits that an element takes on average, to a hundredth, rounded; none without elements.
    pub(super) fn bits(&self) -> Option<String> {
        let hundredths = u128::from(self.bytes).saturating_mul(800);
        let parameters = u128::from(self.parameters);
        let rounded = hundredths.saturating_add(parameters / 2).checked_div(parameters)?;
        Some(format!("{}.{:02}", rounded / 100, rounded % 100))
    }
}

/// The sum, and one for each type that there is, in the order of `kinds`.
pub(super) fn totals<'a>(
    tensors: impl Iterator<Item = Tensor<'a>>,
    kinds: impl Iterator<Item = &'static str>,
) -> (Totals, Vec<(&'static str, Totals)>) {
    let mut all = Totals::default();
    let mut each: Vec<(&'static str, Totals)> = kinds.map(|kind| (kind, Totals::default())).collect();
    for tensor in tensors {
        all.add(&tensor);
        if let Some((_, totals)) = each.iter_mut().find(|(kind, _)| *kind == tensor.kind) {
            totals.add(&tensor);
        }
    }
    each.retain(|(_, totals)| totals.tensors > 0);
    (all, each)
}

/// The largest power of two that divides an offset; 2^63 for 0.
pub(super) fn alignment(offset: u64) -> u64 {
    1_u64.checked_shl(offset.trailing_zeros()).unwrap_or(1 << 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_rounded() {
        let bits = |parameters, bytes| Totals { tensors: 1, parameters, bytes }.bits();
        assert_eq!(bits(32, 18), Some("4.50".into()));
        assert_eq!(bits(256, 210), Some("6.56".into()));
        assert_eq!(bits(u64::MAX, u64::MAX), Some("8.00".into()));
        assert_eq!(bits(0, 0), None);
    }
}
