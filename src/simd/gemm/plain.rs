//! Many tokens with 8-bit activations where there is no kernel for tiles: a row at a time.

use super::super::{Act, Level, MatMut, q8};
use super::Panel;

/// Adds the product of a panel of blocks with `act`.
pub(super) fn q8(level: Level, panel: Panel<'_>, act: &Act, mut out: MatMut<'_>) {
    q8::matvec(level, panel.ty, panel.bytes, panel.stride, act, &mut out);
}
