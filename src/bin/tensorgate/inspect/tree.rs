//! How a model's bytes are shared out among its modules.

use std::collections::HashMap;
use std::io::{self, Write};

use super::human::{NAME, cut};
use super::tensor::Tensor;
use super::totals::Totals;
use crate::output::{FAINT, STRONG};
use crate::text;

/// Modules of one parent that are kept, and that are shown.
const KEPT: usize = 4096;
const SHOWN: usize = 12;
/// Columns of a whole bar.
const BAR: u64 = 24;

/// A module: what is in it, and the modules of it.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) totals: Totals,
    /// How many numbered modules stand behind a `*`.
    count: u64,
    last: String,
    children: Vec<(String, Node)>,
    places: HashMap<String, usize>,
}

/// The parts of a tensor's name, without its last: the modules that it is in.
pub(super) fn parts(name: &str) -> impl Iterator<Item = &str> {
    let module = name.rfind(['.', '/']).and_then(|end| name.get(..end)).unwrap_or_default();
    module.split(['.', '/']).filter(|_| !module.is_empty())
}

/// A part as it is grouped: all that are numbers are one.
pub(super) fn group(part: &str) -> &str {
    if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) { "*" } else { part }
}

impl Node {
    /// The modules of all tensors, no more than `depth` below each other.
    pub(super) fn new<'a>(tensors: impl Iterator<Item = Tensor<'a>>, depth: usize) -> Self {
        let mut root = Self::default();
        for tensor in tensors {
            let name = tensor.name.to_cow();
            root.totals.add(&tensor);
            let mut node = &mut root;
            for part in parts(&name).take(depth) {
                // It was found, or added.
                let Some(child) = node.child(part) else { break };
                child.totals.add(&tensor);
                node = child;
            }
        }
        root.sort(depth);
        root
    }

    fn child(&mut self, part: &str) -> Option<&mut Self> {
        let name = group(part);
        let name = if self.places.contains_key(name) || self.places.len() < KEPT { name } else { "..." };
        let end = self.children.len();
        let place = *self.places.entry(name.to_owned()).or_insert(end);
        if place == end {
            self.children.push((name.to_owned(), Self::default()));
        }
        let (_, child) = self.children.get_mut(place)?;
        if name == "*" && child.last != part {
            child.count = child.count.saturating_add(1);
            part.clone_into(&mut child.last);
        }
        Some(child)
    }

    /// The largest first.
    fn sort(&mut self, depth: usize) {
        self.children.sort_by_key(|(_, child)| std::cmp::Reverse(child.totals.bytes));
        if let Some(depth) = depth.checked_sub(1) {
            self.children.iter_mut().for_each(|(_, child)| child.sort(depth));
        }
    }
}

/// The tree, a line a module.
pub(super) fn print(out: &mut impl Write, root: &Node) -> io::Result<()> {
    if root.children.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{STRONG}modules{STRONG:#}{FAINT}  by size; numbers are counted as one, *{FAINT:#}")?;
    let mut lines = Vec::new();
    collect(root, 0, &mut lines);
    let columns = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let sizes: Vec<String> = lines.iter().map(|(_, totals)| text::rough(totals.bytes)).collect();
    let width = sizes.iter().map(String::len).max().unwrap_or_default();
    for ((name, totals), size) in lines.iter().zip(&sizes) {
        let (share, bar) = (share(totals.bytes, root.totals.bytes), bar(totals.bytes, root.totals.bytes));
        writeln!(out, "  {name:columns$}  {size:>width$}  {share:>6}  {bar}")?;
    }
    Ok(())
}

fn collect(node: &Node, level: usize, lines: &mut Vec<(String, Totals)>) {
    let indent = level.saturating_mul(2);
    let shown = if node.children.len() > SHOWN { SHOWN.saturating_sub(1) } else { SHOWN };
    for (name, child) in node.children.iter().take(shown) {
        let count = if child.count > 0 { format!(" ({})", child.count) } else { String::new() };
        let name = if name.is_empty() { "\"\"".to_owned() } else { cut(name, NAME / 2, false) };
        lines.push((format!("{:indent$}{name}{count}", ""), child.totals));
        collect(child, level.saturating_add(1), lines);
    }
    let rest = node.children.get(shown..).unwrap_or_default();
    if !rest.is_empty() {
        let mut sum = Totals::default();
        for (_, child) in rest {
            sum.merge(&child.totals);
        }
        lines.push((format!("{:indent$}({} more)", "", rest.len()), sum));
    }
}

/// A share in percent, to a tenth.
pub(super) fn share(part: u64, whole: u64) -> String {
    let thousandths = u128::from(part).saturating_mul(1000).saturating_add(u128::from(whole / 2));
    let thousandths = thousandths.checked_div(u128::from(whole)).unwrap_or_default();
    format!("{}.{}%", thousandths / 10, thousandths % 10)
}

/// A share as a bar; one of something is never empty.
pub(super) fn bar(part: u64, whole: u64) -> String {
    let columns = u128::from(part).saturating_mul(BAR.into()).saturating_add(u128::from(whole / 2));
    let columns = columns.checked_div(u128::from(whole)).unwrap_or_default();
    let columns = usize::try_from(columns).unwrap_or_default();
    "#".repeat(if part > 0 { columns.max(1) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!((share(1, 3), bar(1, 3).len()), ("33.3%".into(), 8));
        assert_eq!((share(2, 3), bar(2, 3).len()), ("66.7%".into(), 16));
        assert_eq!((share(1, 1 << 40), bar(1, 1 << 40).len()), ("0.0%".into(), 1));
        assert_eq!((share(u64::MAX, u64::MAX), bar(u64::MAX, u64::MAX).len()), ("100.0%".into(), 24));
        assert_eq!((share(0, 0), bar(0, 0).len()), ("0.0%".into(), 0));
    }

    #[test]
    fn modules_of_names() {
        let of = |name| parts(name).collect::<Vec<_>>();
        assert_eq!(of("h.0.attn.weight"), ["h", "0", "attn"]);
        assert_eq!(of("wte.weight"), ["wte"]);
        assert_eq!(of("wte"), [""; 0]);
        assert_eq!(of(""), [""; 0]);
        assert_eq!(of("a/b.c"), ["a", "b"]);
        assert_eq!((group("12"), group("h12"), group("")), ("*", "h12", ""));
    }
}
