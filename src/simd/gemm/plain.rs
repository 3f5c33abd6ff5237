//! Many tokens with 8-bit activations where there is no kernel for tiles: a row at a time.

use super::super::matrix::begin;
use super::super::{Act, Level, MatMut, Then, q8};
use super::Panel;

/// The product of a panel of blocks with `act`, and what `then` adds.
pub(super) fn q8(level: Level, panel: Panel<'_>, act: &Act, mut out: MatMut<'_>, then: Then<'_>) {
    begin(&mut out, then);
    for output in 0..out.columns() {
        let row = panel.row(output).get(..panel.stride).unwrap_or_default();
        for token in 0..act.rows() {
            let mut sum = [0.0];
            q8::matvec(level, panel.ty, row, panel.stride, act.q8(token), &mut sum);
            if let Some(out) = out.row(token).get_mut(output) {
                *out += sum[0];
            }
        }
    }
}
