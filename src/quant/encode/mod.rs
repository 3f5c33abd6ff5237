//! From `f32` to blocks, as the reference's quantiser without an importance matrix.

mod four;
mod k;
mod legacy;
mod round;

use super::QuantError;
use super::half::{to_bf16, to_f16};
use crate::gguf::{Endian, GgmlType};

/// What [`encode_with`] does with values that are not finite, and with those too large for the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum NonFinite {
    /// They are errors.
    #[default]
    Refuse,
    /// They are encoded as well as may be. In F16 and BF16 they stay what they are; in a block they spoil the block,
    /// and which elements it then has is not said.
    Keep,
}

/// Encodes values as whole little-endian blocks.
///
/// To F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, IQ4_NL and MXFP4. The bytes are those of
/// `ggml_quantize_chunk` of ggml 0.25.3 without an importance matrix, where that is compiled without fused operations and
/// does what C defines; `docs/quant.md` says where that ends. Half-precision sources are decoded first, which loses
/// nothing.
///
/// # Errors
///
/// Where there is no encoder for the type, the values are no whole number of blocks, or `out` is not as long as they are;
/// [`QuantError::NotFinite`] where a value is a NaN or infinite, and nothing is written then; [`QuantError::Overflow`]
/// where a value is too large for the type (past 65,519.99 in F16) or makes a scale that is.
///
/// ```
/// # fn main() -> Result<(), tensorgate::quant::QuantError> {
/// use tensorgate::{gguf::GgmlType, quant};
///
/// let values: [f32; 32] = core::array::from_fn(|at| at as f32 - 16.0);
/// let mut block = [0; 18];
/// quant::encode(GgmlType::Q4_0, &values, &mut block)?;
/// let mut back = [0.0; 32];
/// quant::decode(GgmlType::Q4_0, &block, &mut back)?;
/// assert_eq!((back[0], back[16]), (-16.0, 0.0));
/// assert!(values.iter().zip(back).all(|(value, back)| (value - back).abs() <= 1.0));
///
/// let spoilt = [f32::NAN; 32];
/// let error = quant::encode(GgmlType::Q4_0, &spoilt, &mut block);
/// assert_eq!(error, Err(quant::QuantError::NotFinite { index: 0, is_nan: true }));
/// # Ok(())
/// # }
/// ```
pub fn encode(kind: GgmlType, values: &[f32], out: &mut [u8]) -> Result<(), QuantError> {
    encode_with(kind, NonFinite::Refuse, values, out)
}

/// As [`encode`], with values that are not finite refused or kept.
///
/// # Errors
///
/// As [`encode`]; with [`NonFinite::Keep`] not for what the values are.
pub fn encode_with(
    kind: GgmlType,
    non_finite: NonFinite,
    values: &[f32],
    out: &mut [u8],
) -> Result<(), QuantError> {
    if !is_encodable(kind) {
        return Err(if kind.is_known() { QuantError::NoEncoder(kind) } else { QuantError::UnknownType(kind) });
    }
    super::measure(kind, out, values.len())?;
    if non_finite == NonFinite::Refuse {
        all_fit(kind, values)?;
    }
    match kind {
        GgmlType::F32 => blocks(values, out, |[value], out| *out = value.to_le_bytes()),
        GgmlType::F16 => blocks(values, out, |[value], out| *out = to_f16(*value)),
        GgmlType::BF16 => blocks(values, out, |[value], out| *out = to_bf16(*value)),
        GgmlType::Q8_0 => blocks(values, out, legacy::q8_0),
        GgmlType::Q4_0 => blocks(values, out, legacy::q4_0),
        GgmlType::Q4_1 => blocks(values, out, legacy::q4_1),
        GgmlType::Q5_0 => blocks(values, out, legacy::q5_0),
        GgmlType::Q5_1 => blocks(values, out, legacy::q5_1),
        GgmlType::Q4_K => blocks(values, out, k::q4_k),
        GgmlType::Q5_K => blocks(values, out, k::q5_k),
        GgmlType::Q6_K => blocks(values, out, k::q6_k),
        GgmlType::IQ4_NL => blocks(values, out, four::iq4_nl),
        GgmlType::MXFP4 => blocks(values, out, four::mxfp4),
        _ => return Err(QuantError::NoEncoder(kind)),
    }
    if non_finite == NonFinite::Refuse
        && let Some(fault) = super::faults(kind, Endian::Little, out)?.next()
    {
        let elements = kind.block_elements().unwrap_or(1);
        return Err(QuantError::Overflow { index: fault.block().saturating_mul(u64::from(elements)) });
    }
    Ok(())
}

/// Whether [`encode`] writes a type.
///
/// ```
/// use tensorgate::{gguf::GgmlType, quant};
/// assert!(quant::is_encodable(GgmlType::Q4_K));
/// assert!(!quant::is_encodable(GgmlType::Q2_K));
/// ```
pub const fn is_encodable(kind: GgmlType) -> bool {
    matches!(
        kind,
        GgmlType::F32
            | GgmlType::F16
            | GgmlType::BF16
            | GgmlType::Q8_0
            | GgmlType::Q4_0
            | GgmlType::Q4_1
            | GgmlType::Q5_0
            | GgmlType::Q5_1
            | GgmlType::Q4_K
            | GgmlType::Q5_K
            | GgmlType::Q6_K
            | GgmlType::IQ4_NL
            | GgmlType::MXFP4
    )
}

/// Runs an encoder on each block's values.
#[inline]
fn blocks<const B: usize, const N: usize>(
    values: &[f32],
    out: &mut [u8],
    encoder: impl Fn(&[f32; N], &mut [u8; B]),
) {
    for (values, block) in values.as_chunks::<N>().0.iter().zip(out.as_chunks_mut::<B>().0) {
        encoder(values, block);
    }
}

/// The largest magnitude that a type can hold, where the search for a scale goes wrong far above it: the largest half times
/// the largest codes. Its sums overflow, and a block of zeros comes out.
const fn most(kind: GgmlType) -> f32 {
    match kind {
        GgmlType::Q4_K => 65_504.0 * 63.0 * 15.0,
        GgmlType::Q5_K => 65_504.0 * 63.0 * 31.0,
        GgmlType::Q6_K => 65_504.0 * 128.0 * 32.0,
        GgmlType::IQ4_NL => 65_504.0 * 127.0,
        _ => f32::MAX,
    }
}

/// Proves that no value is a NaN, infinite, or far too large.
fn all_fit(kind: GgmlType, values: &[f32]) -> Result<(), QuantError> {
    let most = most(kind);
    // A thousand at a time without a branch each; only one of those that hold such a value is looked through.
    let mut index: u64 = 0;
    for run in values.chunks(1024) {
        if run.iter().fold(true, |all, value| all & (value.abs() <= most)) {
            index = index.saturating_add(1024);
            continue;
        }
        for value in run {
            if !value.is_finite() {
                return Err(QuantError::NotFinite { index, is_nan: value.is_nan() });
            }
            if value.abs() > most {
                return Err(QuantError::Overflow { index });
            }
            index = index.saturating_add(1);
        }
    }
    Ok(())
}
