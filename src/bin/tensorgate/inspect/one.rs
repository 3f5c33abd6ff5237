//! A few tensors of a file, chosen by their names.

use std::io::{self, Write};

use super::tensor::Tensor;
use crate::output::{FAINT, STRONG};
use crate::{Exit, complain, text};

/// The tensors whose names are `wanted`, or match it as a pattern; says what was probably meant where there is none.
pub(super) fn show<'a>(
    out: &mut impl Write,
    wanted: &str,
    tensors: impl Iterator<Item = Tensor<'a>> + Clone,
) -> io::Result<Exit> {
    let pattern = glob::Pattern::new(wanted).ok();
    let mut count = 0_u64;
    for tensor in tensors.clone() {
        let name = tensor.name.to_cow();
        if name != wanted && !pattern.as_ref().is_some_and(|pattern| pattern.matches(&name)) {
            continue;
        }
        count = count.saturating_add(1);
        writeln!(out, "{STRONG}{}{STRONG:#}", text::ascii(&name))?;
        let (kind, shape, span) = (tensor.kind, tensor.shape, tensor.span);
        if let Some(file) = tensor.file {
            writeln!(out, "  {FAINT}file{FAINT:#}    {}", text::ascii(file))?;
        }
        writeln!(out, "  {FAINT}type{FAINT:#}    {kind}")?;
        writeln!(out, "  {FAINT}shape{FAINT:#}   {shape}, {}", text::count(tensor.parameters(), "element"))?;
        writeln!(out, "  {FAINT}bytes{FAINT:#}   {} to {}, {}", span.start(), span.end(), text::size(span.len()))?;
    }
    if count > 0 {
        return Ok(Exit::Accepted);
    }
    let what = if wanted.contains(['*', '?', '[']) { "tensor matches" } else { "tensor is called" };
    let names: Vec<_> = tensors.map(|tensor| tensor.name.to_cow()).collect();
    let meant = text::nearest(wanted, names.iter().map(AsRef::as_ref));
    let meant = meant.map_or_else(
        || "; without --tensor all are listed, and \"*\" stands for any letters".to_owned(),
        |name| format!("; did you mean \"{name}\"?"),
    );
    complain(&format!("no {what} \"{wanted}\"{meant}"));
    Ok(Exit::Trouble)
}
