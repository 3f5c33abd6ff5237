//! One token with a panel: 16 sums side by side, over the blocks as they follow one another in memory.

use super::super::WeightType;
use super::super::act::Row;
use super::lanes::Words;
use super::layout::{Panel, Plan};

/// How far ahead memory is asked for, in bytes: past the end of a page, where the processor's own guesses end.
const AHEAD: usize = 4096;

/// Low halves of bytes.
pub(super) const LOW: u32 = 0x0f0f_0f0f;
/// Six bits of each byte, and the upper two of them.
pub(super) const SIX: u32 = 0x3f3f_3f3f;
const TWO: u32 = 0x3030_3030;

/// `Σ weight × act` of each row of a panel.
#[inline(always)]
pub(super) fn panel<L: Words>(l: L, plan: Plan, panel: Panel<'_>, act: Row<'_>) -> [f32; 16] {
    let total = match plan.ty {
        WeightType::Q8_0 => q8_0(l, panel, act),
        WeightType::Q4_0 => q4_0(l, panel, act),
        WeightType::Q4_K => q4_k(l, panel, act),
        _ => q6_k(l, panel, act),
    };
    let mut out = [0.0; 16];
    l.store(&mut out, total);
    out
}

/// Asks for the lines that lie as far behind a block as is looked ahead.
#[inline(always)]
fn ahead<L: Words, const N: usize>(l: L, body: &[u8; N]) {
    for line in (0..N).step_by(64) {
        l.prefetch(body.as_ptr().wrapping_add(AHEAD + line));
    }
}

/// Word `at` of a block.
#[inline(always)]
pub(super) fn word<L: Words, const N: usize>(l: L, body: &[u8; N], at: usize) -> L::I {
    l.load(&body.as_chunks::<64>().0[at])
}

/// Four activations.
#[inline(always)]
fn four<const N: usize>(q: &[i8; N], at: usize) -> [i8; 4] {
    q.as_chunks::<4>().0[at]
}

#[inline(always)]
fn q8_0<L: Words>(l: L, panel: Panel<'_>, act: Row<'_>) -> L::F {
    let mut total = l.splat_f(0.0);
    let blocks = panel.body.as_chunks::<512>().0.iter().zip(panel.head.as_chunks::<32>().0);
    let acts = act.q.as_chunks::<32>().0.iter().zip(act.scale).zip(act.whole.as_chunks::<2>().0);
    for ((body, d), ((q, scale), whole)) in blocks.zip(acts) {
        ahead(l, body);
        let less = if L::RAISED { -128 * (whole[0] + whole[1]) } else { 0 };
        let (mut a, mut b) = (l.splat(less), l.splat(0));
        for at in 0..4 {
            a = l.dot8(a, word(l, body, at), four(q, at));
            b = l.dot8(b, word(l, body, at + 4), four(q, at + 4));
        }
        let scale = l.mul(l.halves(d), l.splat_f(*scale));
        total = l.fma(l.float(l.add(a, b)), scale, total);
    }
    total
}

#[inline(always)]
fn q4_0<L: Words>(l: L, panel: Panel<'_>, act: Row<'_>) -> L::F {
    let mut total = l.splat_f(0.0);
    let blocks = panel.body.as_chunks::<256>().0.iter().zip(panel.head.as_chunks::<32>().0);
    let acts = act.q.as_chunks::<32>().0.iter().zip(act.scale).zip(act.whole.as_chunks::<2>().0);
    for ((body, d), ((q, scale), whole)) in blocks.zip(acts) {
        ahead(l, body);
        let (mut low, mut high) = (l.splat(-8 * (whole[0] + whole[1])), l.splat(0));
        for at in 0..4 {
            let both = word(l, body, at);
            low = l.dot(low, l.and(both, LOW), four(q, at));
            high = l.dot(high, l.and(l.right::<4>(both), LOW), four(q, at + 4));
        }
        let scale = l.mul(l.halves(d), l.splat_f(*scale));
        total = l.fma(l.float(l.add(low, high)), scale, total);
    }
    total
}

/// Eight scales and eight minima of 6 bits in three words, as two words of a byte each.
#[inline(always)]
pub(super) fn six_bits<L: Words, const N: usize>(l: L, body: &[u8; N]) -> ([L::I; 2], [L::I; 2]) {
    let (a, b, c) = (word(l, body, 0), word(l, body, 1), word(l, body, 2));
    let scale = l.select(LOW, c, l.and(l.right::<2>(a), TWO));
    let min = l.select(LOW, l.right::<4>(c), l.and(l.right::<2>(b), TWO));
    ([l.and(a, SIX), scale], [l.and(b, SIX), min])
}

#[inline(always)]
fn q4_k<L: Words>(l: L, panel: Panel<'_>, act: Row<'_>) -> L::F {
    let mut total = l.splat_f(0.0);
    let blocks = panel.body.as_chunks::<2240>().0.iter().zip(panel.head.as_chunks::<64>().0);
    let acts =
        act.q.as_chunks::<256>().0.iter().zip(act.scale.as_chunks::<8>().0).zip(act.sum32.as_chunks::<8>().0);
    for ((body, heads), ((q, scale), sum)) in blocks.zip(acts) {
        ahead(l, body);
        let (scales, minima) = six_bits(l, body);
        let (mut all, mut least) = (l.splat_f(0.0), l.splat_f(0.0));
        for pair in 0..4 {
            let (mut low, mut high) = (l.splat(0), l.splat(0));
            for at in 0..8 {
                let both = word(l, body, 3 + 8 * pair + at);
                low = l.dot(low, l.and(both, LOW), four(q, 16 * pair + at));
                high = l.dot(high, l.and(l.right::<4>(both), LOW), four(q, 16 * pair + 8 + at));
            }
            for (group, whole) in [(2 * pair, low), (2 * pair + 1, high)] {
                let (own, min) = (scales[group / 4], minima[group / 4]);
                let own = l.float(l.unsigned(own, group % 4));
                all = l.fma(l.float(whole), l.mul(own, l.splat_f(scale[group])), all);
                least = l.fma(l.float(l.unsigned(min, group % 4)), l.splat_f(-sum[group]), least);
            }
        }
        let (d, min) = heads.split_at(32);
        if let (Some(d), Some(min)) = (d.first_chunk(), min.first_chunk()) {
            total = l.fma(l.halves(d), all, total);
            total = l.fma(l.halves(min), least, total);
        }
    }
    total
}

/// The weights of four runs of 32 from two words of low bits and one of high ones: those of the first and the second
/// from the low halves, of the third and the fourth from the high ones.
#[inline(always)]
pub(super) fn sixes<L: Words>(l: L, a: L::I, b: L::I, high: L::I) -> [L::I; 4] {
    [
        l.and(l.select(LOW, a, l.left::<4>(high)), SIX),
        l.and(l.select(LOW, b, l.left::<2>(high)), SIX),
        l.and(l.select(LOW, l.right::<4>(a), high), SIX),
        l.and(l.select(LOW, l.right::<4>(b), l.right::<2>(high)), SIX),
    ]
}

#[inline(always)]
fn q6_k<L: Words>(l: L, panel: Panel<'_>, act: Row<'_>) -> L::F {
    let mut total = l.splat_f(0.0);
    let blocks = panel.body.as_chunks::<3328>().0.iter().zip(panel.head.as_chunks::<32>().0);
    let acts =
        act.q.as_chunks::<256>().0.iter().zip(act.scale.as_chunks::<8>().0).zip(act.whole.as_chunks::<16>().0);
    for ((body, d), ((q, scale), whole)) in blocks.zip(acts) {
        ahead(l, body);
        let mut all = l.splat_f(0.0);
        for half in 0..2 {
            for part in 0..2 {
                let group = |run: usize| 8 * half + 2 * run + part;
                let mut sums = [0, 1, 2, 3].map(|run| l.splat(-32 * whole[group(run)]));
                for at in 4 * part..4 * part + 4 {
                    let (a, b) = (word(l, body, 16 * half + at), word(l, body, 16 * half + 8 + at));
                    let words = sixes(l, a, b, word(l, body, 32 + 8 * half + at));
                    for run in 0..4 {
                        sums[run] = l.dot(sums[run], words[run], four(q, 32 * half + 8 * run + at));
                    }
                }
                for run in 0..4 {
                    let group = group(run);
                    let own = l.float(l.signed(word(l, body, 48 + group / 4), group % 4));
                    all = l.fma(l.float(sums[run]), l.mul(own, l.splat_f(scale[group / 2])), all);
                }
            }
        }
        total = l.fma(l.halves(d), all, total);
    }
    total
}
