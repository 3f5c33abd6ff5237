//! Tensors by the module they belong to.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::TryReserveError;

use super::tensor::Tensor;

/// A tensor with its decoded name.
#[derive(Clone, Debug)]
pub(super) struct Named<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) tensor: Tensor<'a>,
    /// Bytes of the name that are its module, which a sort asks for many times.
    module: usize,
}

impl<'a> Named<'a> {
    fn new(tensor: Tensor<'a>) -> Self {
        let name = tensor.name.to_cow();
        let module = module(&name).len();
        Self { name, tensor, module }
    }

    fn module(&self) -> &str {
        self.name.get(..self.module).unwrap_or_default()
    }
}

/// The part of a name that is its module: through the first number where more follows (`h.0` of `h.0.attn.bias`),
/// otherwise all but the last part (`wte` of `wte.weight`).
fn module(name: &str) -> &str {
    let mut start = 0_usize;
    let mut module = "";
    for (at, _) in name.match_indices(['.', '/']) {
        let before = name.get(..at).unwrap_or_default();
        let part = name.get(start..at).unwrap_or_default();
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            return before;
        }
        (start, module) = (at.saturating_add(1), before);
    }
    module
}

/// Compares text, runs of digits by their value, then by their length.
fn natural(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    // Most modules that are compared are one and the same.
    if a == b {
        return Ordering::Equal;
    }
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (head, tail_a) = a.split_at_checked(same).unwrap_or((a, &[]));
    let tail_b = b.get(same..).unwrap_or_default();
    // The difference may stand within a number: then the whole number counts.
    let run = head.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let start = same.saturating_sub(run);
    let (number_a, number_b) = (digits(a, start), digits(b, start));
    if number_a.is_empty() || number_b.is_empty() {
        return tail_a.cmp(tail_b);
    }
    let value = |digits: &[u8]| digits.iter().position(|byte| *byte != b'0').unwrap_or(digits.len());
    let (value_a, value_b) = (number_a.split_at(value(number_a)).1, number_b.split_at(value(number_b)).1);
    let by_value = value_a.len().cmp(&value_b.len()).then_with(|| value_a.cmp(value_b));
    by_value.then(number_a.len().cmp(&number_b.len())).then_with(|| tail_a.cmp(tail_b))
}

/// The digits from `start` on.
fn digits(text: &[u8], start: usize) -> &[u8] {
    let text = text.get(start..).unwrap_or_default();
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.get(..len).unwrap_or_default()
}

/// The tensors of a file with their names, module by module, sorted as people count (`h.2` before `h.10`).
///
/// # Errors
///
/// Where there is no memory for the list.
pub(super) fn sorted<'a>(tensors: impl Iterator<Item = Tensor<'a>>) -> Result<Vec<Named<'a>>, TryReserveError> {
    let mut named: Vec<Named<'a>> = Vec::new();
    named.try_reserve(tensors.size_hint().0)?;
    for tensor in tensors {
        named.try_reserve(1)?;
        named.push(Named::new(tensor));
    }
    named.sort_unstable_by(|a, b| {
        let by_module = natural(a.module(), b.module());
        by_module.then_with(|| natural(&a.name, &b.name)).then_with(|| a.name.cmp(&b.name))
    });
    Ok(named)
}

/// The tensors of each module, out of [`sorted`] ones.
pub(super) fn groups<'s, 'a>(sorted: &'s [Named<'a>]) -> impl Iterator<Item = (&'s str, &'s [Named<'a>])> {
    let groups = sorted.chunk_by(|a, b| a.module() == b.module());
    groups.map(|group| (group.first().map_or("", Named::module), group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules() {
        for (name, want) in [
            ("h.0.attn.c_attn.weight", "h.0"),
            ("model.layers.11.mlp.experts.3.w1.weight", "model.layers.11"),
            ("model.embed_tokens.weight", "model.embed_tokens"),
            ("wte", ""),
            ("layers.0", "layers"),
            ("encoder/layer/0/kernel", "encoder/layer/0"),
            ("", ""),
            (".x", ""),
            ("..", "."),
        ] {
            assert_eq!(module(name), want, "{name}");
        }
    }

    #[test]
    fn numbers_are_compared_by_value() {
        let sorted = ["", "a", "a.", "a.2", "a.02", "a.10", "a.10.b", "a.99999999999999999999999", "b", "b1", "ba"];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(natural(a, b), i.cmp(&j), "{a} {b}");
            }
        }
    }
}
