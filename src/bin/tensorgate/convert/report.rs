//! What a conversion did.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use tensorgate::model::convert::{Loss, Output, Plan, Report};

use crate::args::Convert;
use crate::output::{FAINT, ODD, STRONG, json as write_json};
use crate::text;

/// Tensors with losses that are listed for people.
const LISTED: usize = 20;

/// A conversion that was done.
pub(crate) struct Done<'d> {
    pub(crate) plan: &'d Plan<'d>,
    pub(crate) report: &'d Report,
    /// All files that were written.
    pub(crate) files: Vec<PathBuf>,
    /// Keys of the source that are in none of them.
    pub(crate) dropped: Vec<String>,
    /// What whoever uses them should know.
    pub(crate) notes: Vec<String>,
}

/// Prints it as was asked for.
pub(crate) fn print(out: &mut impl Write, args: &Convert, done: &Done<'_>) -> io::Result<()> {
    if args.json {
        write_json(out, &document(done))?;
        out.write_all(b"\n")?;
    } else if !args.quiet {
        human(out, done)?;
    }
    out.flush()
}

/// Tensors whose values changed, with what they lost.
pub(crate) fn changed<'r>(plan: &'r Plan<'_>, report: &'r Report) -> impl Iterator<Item = (&'r Output, &'r Loss)> {
    let losses = plan.outputs().iter().zip(report.losses());
    losses.filter_map(|(output, loss)| Some((output, loss.as_ref()?)))
}

fn human(out: &mut impl Write, done: &Done<'_>) -> io::Result<()> {
    let Done { plan, report, files, dropped, notes } = done;
    for file in files {
        writeln!(out, "{STRONG}{}{STRONG:#}", text::path(file))?;
    }
    let tensors = u64::try_from(plan.outputs().len()).unwrap_or(u64::MAX);
    writeln!(out, "{}, {}", text::count(tensors, "tensor"), text::size(plan.byte_len()))?;
    let sum = changed(plan, report).fold(Loss::default(), |sum, (_, loss)| sum.plus(loss));
    let cast = changed(plan, report).count();
    if cast > 0 {
        let cast = text::count(u64::try_from(cast).unwrap_or(u64::MAX), "tensor");
        writeln!(out, "{cast} of another type: {}", lost(&sum))?;
    }
    let lossy: Vec<_> = changed(plan, report)
        .filter(|(_, loss)| loss.overflowed > 0 || loss.vanished > 0 || loss.subnormal > 0)
        .collect();
    for (output, loss) in lossy.iter().take(LISTED) {
        let name = text::short(output.name(), 60);
        writeln!(
            out,
            "  {ODD}{name}{ODD:#}  {} to {}: {}",
            output.source().element(),
            output.element(),
            lost(loss)
        )?;
    }
    if let Some(more) = lossy.len().checked_sub(LISTED).filter(|more| *more > 0) {
        writeln!(out, "  {FAINT}and {more} more{FAINT:#}")?;
    }
    listed(out, "left out, since they are no parameters", plan.left_out())?;
    listed(out, "metadata that the format cannot have", dropped)?;
    for note in notes {
        writeln!(out, "{ODD}note{ODD:#} {}", text::ascii(note))?;
    }
    Ok(())
}

/// What was lost, in words.
fn lost(loss: &Loss) -> String {
    let mut words = Vec::new();
    for (count, what) in [
        (loss.overflowed, "became infinite"),
        (loss.subnormal, "became subnormal"),
        (loss.vanished, "became zero"),
        (loss.not_finite, "not finite before"),
    ] {
        if count > 0 {
            words.push(format!("{} {what}", text::count(count, "value")));
        }
    }
    if loss.is_exact() && words.is_empty() {
        return String::from("every value is what it was");
    }
    words.push(format!("largest difference {:.3e}", loss.max_error));
    words.push(format!("{:.3} % of the values' size on average", loss.relative() * 100.0));
    words.join(", ")
}

pub(crate) fn listed(out: &mut impl Write, what: &str, names: &[String]) -> io::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = names.iter().take(5).map(|name| text::short(name, 60)).collect();
    let more = names.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    writeln!(out, "{what}: {}{more}", shown.join(", "))
}

/// What one tensor lost, as JSON.
pub(crate) fn loss(loss: &Loss) -> Value {
    json!({
        "values": loss.values,
        "not_finite": loss.not_finite,
        "overflowed": loss.overflowed,
        "subnormal": loss.subnormal,
        "vanished": loss.vanished,
        "max_error": loss.max_error,
        "rmse": loss.rmse(),
        "relative_error": loss.relative(),
    })
}

/// A tensor of the new file, as JSON.
pub(crate) fn tensor(output: &Output, lost: Option<&Loss>) -> Value {
    json!({
        "name": output.name(),
        "source": output.source().name(),
        "dtype": output.element().to_string(),
        "source_dtype": output.source().element().to_string(),
        "shape": output.shape(),
        "transposed": output.is_transposed(),
        "bytes": output.byte_len(),
        "loss": lost.map(loss),
    })
}

fn document(done: &Done<'_>) -> Value {
    let Done { plan, report, files, dropped, notes } = done;
    let tensors: Vec<Value> =
        plan.outputs().iter().zip(report.losses()).map(|(output, lost)| tensor(output, lost.as_ref())).collect();
    json!({
        "files": files.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "bytes": plan.byte_len(),
        "tensors": tensors,
        "left_out": plan.left_out(),
        "dropped_metadata": dropped,
        "notes": notes,
    })
}
