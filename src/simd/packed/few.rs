//! One token with a panel: 16 sums side by side, over the blocks as they follow one another in memory.

use super::super::WeightType;
use super::super::act::Row;
use super::super::ahead;
use super::lanes::Words;
use super::layout::Plan;

/// Low halves of bytes.
pub(super) const LOW: u32 = 0x0f0f_0f0f;
/// Six bits of each byte, and the upper two of them.
pub(super) const SIX: u32 = 0x3f3f_3f3f;
const TWO: u32 = 0x3030_3030;

/// `Σ weight × act` of each row of a panel; what lies ahead is asked for if `AHEAD`.
#[inline(always)]
pub(super) fn panel<L: Words, const AHEAD: bool>(l: L, plan: Plan, panel: &[u8], act: Row<'_>) -> [f32; 16] {
    let total = match plan.ty {
        WeightType::Q8_0 => q8_0::<L, AHEAD>(l, panel, act),
        WeightType::Q4_0 => q4_0::<L, AHEAD>(l, panel, act),
        WeightType::Q4_K => q4_k::<L, AHEAD>(l, panel, act),
        _ => q6_k::<L, AHEAD>(l, panel, act),
    };
    let mut out = [0.0; 16];
    l.store(&mut out, total);
    out
}

/// The blocks of a panel in the order in which they lie: a line of the scales of two blocks, then the two; a lonely last
/// block has room for as many scales. Not a function that is given another, which would not get its caller's instructions.
pub(super) struct Blocks<'a> {
    rest: &'a [u8],
    second: Option<&'a [u8; 32]>,
}

impl<'a> Blocks<'a> {
    #[inline(always)]
    pub(super) const fn new(panel: &'a [u8]) -> Self {
        Self { rest: panel, second: None }
    }

    /// The scales and the body of the next block.
    #[inline(always)]
    pub(super) fn next<const BODY: usize>(&mut self) -> Option<(&'a [u8; 32], &'a [u8; BODY])> {
        let head = if let Some(second) = self.second.take() {
            second
        } else {
            let (heads, rest) = self.rest.split_first_chunk::<64>()?;
            (self.rest, self.second) = (rest, heads.last_chunk());
            heads.first_chunk()?
        };
        let (body, rest) = self.rest.split_first_chunk::<BODY>()?;
        self.rest = rest;
        Some((head, body))
    }
}

/// Word `at` of a block; what lies ahead of it is asked for if `AHEAD`.
#[inline(always)]
pub(super) fn word<L: Words, const AHEAD: bool, const N: usize>(l: L, body: &[u8; N], at: usize) -> L::I {
    let word = &body.as_chunks::<64>().0[at];
    ahead::lines::<AHEAD>(word);
    l.load(word)
}

/// Four activations.
#[inline(always)]
fn four<const N: usize>(q: &[i8; N], at: usize) -> [i8; 4] {
    q.as_chunks::<4>().0[at]
}

#[inline(always)]
fn q8_0<L: Words, const AHEAD: bool>(l: L, panel: &[u8], act: Row<'_>) -> L::F {
    let (mut total, mut blocks) = (l.splat_f(0.0), Blocks::new(panel));
    let acts = act.q.as_chunks::<32>().0.iter().zip(act.scale).zip(act.whole.as_chunks::<2>().0);
    for ((q, scale), whole) in acts {
        let Some((d, body)) = blocks.next::<512>() else { break };
        let less = if L::RAISED { -128 * (whole[0] + whole[1]) } else { 0 };
        let (mut a, mut b) = (l.splat(less), l.splat(0));
        for at in 0..4 {
            a = l.dot8(a, word::<L, AHEAD, _>(l, body, 2 * at), four(q, 2 * at));
            b = l.dot8(b, word::<L, AHEAD, _>(l, body, 2 * at + 1), four(q, 2 * at + 1));
        }
        let scale = l.mul(l.halves(d), l.splat_f(*scale));
        total = l.fma(l.float(l.add(a, b)), scale, total);
    }
    total
}

#[inline(always)]
fn q4_0<L: Words, const AHEAD: bool>(l: L, panel: &[u8], act: Row<'_>) -> L::F {
    let (mut total, mut blocks) = (l.splat_f(0.0), Blocks::new(panel));
    let acts = act.q.as_chunks::<32>().0.iter().zip(act.scale).zip(act.whole.as_chunks::<2>().0);
    for ((q, scale), whole) in acts {
        let Some((d, body)) = blocks.next::<256>() else { break };
        let (mut low, mut high) = (l.splat(-8 * (whole[0] + whole[1])), l.splat(0));
        for at in 0..4 {
            let both = word::<L, AHEAD, _>(l, body, at);
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
pub(super) fn six_bits<L: Words, const AHEAD: bool, const N: usize>(
    l: L,
    body: &[u8; N],
) -> ([L::I; 2], [L::I; 2]) {
    let (a, b, c) =
        (word::<L, AHEAD, _>(l, body, 0), word::<L, AHEAD, _>(l, body, 1), word::<L, AHEAD, _>(l, body, 2));
    let scale = l.select(LOW, c, l.and(l.right::<2>(a), TWO));
    let min = l.select(LOW, l.right::<4>(c), l.and(l.right::<2>(b), TWO));
    ([l.and(a, SIX), scale], [l.and(b, SIX), min])
}

#[inline(always)]
fn q4_k<L: Words, const AHEAD: bool>(l: L, panel: &[u8], act: Row<'_>) -> L::F {
    let mut total = l.splat_f(0.0);
    let acts =
        act.q.as_chunks::<256>().0.iter().zip(act.scale.as_chunks::<8>().0).zip(act.sum32.as_chunks::<8>().0);
    for (step, ((q, scale), sum)) in panel.as_chunks::<2304>().0.iter().zip(acts) {
        let (Some(heads), Some(body)) = (step.first_chunk::<64>(), step.last_chunk::<2240>()) else { break };
        let (scales, minima) = six_bits::<L, AHEAD, _>(l, body);
        let (mut all, mut least) = (l.splat_f(0.0), l.splat_f(0.0));
        for pair in 0..4 {
            let (mut low, mut high) = (l.splat(0), l.splat(0));
            for at in 0..8 {
                let both = word::<L, AHEAD, _>(l, body, 3 + 8 * pair + at);
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
        if let (Some(d), Some(min)) = (heads.first_chunk(), heads.last_chunk()) {
            total = l.fma(l.halves(d), all, total);
            total = l.fma(l.halves(min), least, total);
        }
    }
    total
}

/// Four inputs at the same place of each of the four runs of 32 in a half of a block of Q6_K, from two words of low bits
/// and one of high ones: those of the first and the second run from the low halves, of the others from the high ones.
#[inline(always)]
pub(super) fn sixes<L: Words, const AHEAD: bool, const N: usize>(
    l: L,
    body: &[u8; N],
    half: usize,
    at: usize,
) -> [L::I; 4] {
    let first = 4 + 3 * (8 * half + at);
    let (a, b, high) = (
        word::<L, AHEAD, _>(l, body, first),
        word::<L, AHEAD, _>(l, body, first + 1),
        word::<L, AHEAD, _>(l, body, first + 2),
    );
    [
        l.and(l.select(LOW, a, l.left::<4>(high)), SIX),
        l.and(l.select(LOW, b, l.left::<2>(high)), SIX),
        l.and(l.select(LOW, l.right::<4>(a), high), SIX),
        l.and(l.select(LOW, l.right::<4>(b), l.right::<2>(high)), SIX),
    ]
}

#[inline(always)]
fn q6_k<L: Words, const AHEAD: bool>(l: L, panel: &[u8], act: Row<'_>) -> L::F {
    let (mut total, mut blocks) = (l.splat_f(0.0), Blocks::new(panel));
    let acts =
        act.q.as_chunks::<256>().0.iter().zip(act.scale.as_chunks::<8>().0).zip(act.whole.as_chunks::<16>().0);
    for ((q, scale), whole) in acts {
        let Some((d, body)) = blocks.next::<3328>() else { break };
        let owns = [
            word::<L, AHEAD, _>(l, body, 0),
            word::<L, AHEAD, _>(l, body, 1),
            word::<L, AHEAD, _>(l, body, 2),
            word::<L, AHEAD, _>(l, body, 3),
        ];
        let mut all = l.splat_f(0.0);
        for (half, part) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let first = 8 * half + part;
            let less = |run: usize| -32 * whole[first + 2 * run];
            let mut sums = [l.splat(less(0)), l.splat(less(1)), l.splat(less(2)), l.splat(less(3))];
            for at in 4 * part..4 * part + 4 {
                let words = sixes::<L, AHEAD, _>(l, body, half, at);
                for (run, (sum, words)) in sums.iter_mut().zip(&words).enumerate() {
                    *sum = l.dot(*sum, *words, four(q, 32 * half + 8 * run + at));
                }
            }
            for (run, sum) in sums.into_iter().enumerate() {
                let group = first + 2 * run;
                let own = l.float(l.signed(owns[group / 4], group % 4));
                all = l.fma(l.float(sum), l.mul(own, l.splat_f(scale[group / 2])), all);
            }
        }
        total = l.fma(l.halves(d), all, total);
    }
    total
}
