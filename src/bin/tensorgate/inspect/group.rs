//! Tensors by the module they belong to.

use std::borrow::Cow;
use std::cmp::Ordering;

use tensorgate::safetensors::{Header, TensorInfo};

/// The tensors of one module, sorted as people count (`h.2` before `h.10`).
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) module: String,
    pub(super) tensors: Vec<(Cow<'a, str>, TensorInfo<'a>)>,
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

/// Compares text, runs of digits by their value.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (digits_a, digits_b) = (leading(a, true), leading(b, true));
        let (value_a, value_b) = (digits_a.trim_start_matches('0'), digits_b.trim_start_matches('0'));
        let by_value = value_a.len().cmp(&value_b.len()).then_with(|| value_a.cmp(value_b));
        let order = if digits_a.is_empty() || digits_b.is_empty() {
            Ordering::Equal
        } else {
            by_value.then(digits_a.len().cmp(&digits_b.len()))
        };
        if order != Ordering::Equal {
            return order;
        }
        if digits_a.is_empty() != digits_b.is_empty() {
            return a.cmp(b);
        }
        (a, b) = (rest(a, digits_a), rest(b, digits_b));
        let (text_a, text_b) = (leading(a, false), leading(b, false));
        let order = text_a.cmp(text_b);
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (rest(a, text_a), rest(b, text_b));
        if a.is_empty() || b.is_empty() {
            return a.cmp(b);
        }
    }
}

/// The digits, or what is no digit, at the start of `text`.
fn leading(text: &str, digits: bool) -> &str {
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

fn rest<'t>(text: &'t str, head: &str) -> &'t str {
    text.get(head.len()..).unwrap_or_default()
}

/// The tensors of a file by module.
pub(super) fn groups<'a>(header: &Header<'a>) -> Vec<Group<'a>> {
    let mut named: Vec<(Cow<'a, str>, TensorInfo<'a>)> =
        header.tensors().map(|info| (info.name().to_cow(), info)).collect();
    named.sort_by(|(a, _), (b, _)| natural(module(a), module(b)).then_with(|| natural(a, b)).then(a.cmp(b)));
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (name, info) in named {
        let module = module(&name).to_owned();
        match groups.last_mut() {
            Some(group) if group.module == module => group.tensors.push((name, info)),
            _ => groups.push(Group { module, tensors: vec![(name, info)] }),
        }
    }
    groups
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
