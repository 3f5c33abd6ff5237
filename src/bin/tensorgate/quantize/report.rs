//! What quantising did, tensor by tensor.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use serde_json::{Value, json};
use tensorgate::model::convert::{Loss, Output, Plan, Report};
use tensorgate::model::mixture::Choice;

use crate::args::Quantize;
use crate::convert::report::{changed, listed, loss, tensor};
use crate::output::{FAINT, ODD, STRONG, json as write_json};
use crate::text;

/// A model that was quantised.
pub(crate) struct Done<'d> {
    pub(crate) plan: &'d Plan<'d>,
    pub(crate) report: &'d Report,
    pub(crate) choices: &'d HashMap<String, Choice>,
    /// What whoever uses it should know.
    pub(crate) notes: Vec<String>,
}

/// Prints it as was asked for.
pub(crate) fn print(out: &mut impl Write, args: &Quantize, done: &Done<'_>) -> io::Result<()> {
    if args.json {
        write_json(out, &document(args, done))?;
        out.write_all(b"\n")?;
    } else if !args.quiet {
        human(out, args, done)?;
    }
    out.flush()
}

/// Bytes and elements of all tensors.
struct Totals {
    before: u64,
    after: u64,
    elements: u64,
    loss: Loss,
}

impl Totals {
    fn of(done: &Done<'_>) -> Self {
        let sum = |of: fn(&Output) -> u64| done.plan.outputs().iter().map(of).fold(0, u64::saturating_add);
        Self {
            before: sum(before),
            after: done.plan.byte_len(),
            elements: sum(|output| output.source().elements()),
            loss: changed(done.plan, done.report).fold(Loss::default(), |sum, (_, loss)| sum.plus(loss)),
        }
    }

    /// Bits a weight.
    fn bits(&self, bytes: u64) -> f64 {
        ratio(bytes, self.elements) * 8.0
    }
}

/// Bytes of a tensor in the source.
fn before(output: &Output) -> u64 {
    u64::try_from(output.source().bytes().len()).unwrap_or(u64::MAX)
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "shown to a few digits")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The longest name that is shown whole.
const NAME: usize = 48;

fn human(out: &mut impl Write, args: &Quantize, done: &Done<'_>) -> io::Result<()> {
    for file in done.report.files() {
        writeln!(out, "{STRONG}{}{STRONG:#}", text::path(file))?;
    }
    table(out, done)?;
    let totals = Totals::of(done);
    let count = |count: usize, what| text::count(u64::try_from(count).unwrap_or(u64::MAX), what);
    let outputs = done.plan.outputs();
    writeln!(
        out,
        "{STRONG}{}{STRONG:#} {}: {} to {}, {:.2} to {STRONG}{:.2}{STRONG:#} bits a weight ({:.1} %)",
        args.mixture,
        count(outputs.len(), "tensor"),
        text::size(totals.before),
        text::size(totals.after),
        totals.bits(totals.before),
        totals.bits(totals.after),
        ratio(totals.after, totals.before) * 100.0
    )?;
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for output in outputs {
        let count = kinds.entry(output.element().to_string()).or_default();
        *count = count.saturating_add(1);
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    writeln!(out, "types: {}", kinds.join(", "))?;
    if changed(done.plan, done.report).next().is_some() {
        let Loss { max_error, .. } = totals.loss;
        let (rmse, relative) = (totals.loss.rmse(), totals.loss.relative() * 100.0);
        writeln!(out, "error: rmse {rmse:.3e}, {relative:.3} % of the values' size, at the most {max_error:.3e}")?;
        for (count, what) in
            [(totals.loss.overflowed, "became infinite"), (totals.loss.not_finite, "not finite before")]
        {
            if count > 0 {
                writeln!(out, "{ODD}{} {what}{ODD:#}", text::count(count, "value"))?;
            }
        }
    }
    let odd = outputs.iter().filter(|output| instead(done, output).is_some()).count();
    if odd > 0 {
        let tensors = count(odd, "tensor");
        writeln!(out, "{FAINT}* {tensors} with rows that are no whole blocks of the mixture's type{FAINT:#}")?;
    }
    listed(out, "left out, since they are no parameters", done.plan.left_out())?;
    listed(out, "metadata that the format cannot have", done.report.dropped())?;
    for note in &done.notes {
        writeln!(out, "{ODD}note{ODD:#} {}", text::ascii(note))?;
    }
    Ok(())
}

/// The tensors whose types changed, a line each.
fn table(out: &mut impl Write, done: &Done<'_>) -> io::Result<()> {
    let names: Vec<String> =
        changed(done.plan, done.report).map(|(output, _)| text::short(output.name(), NAME)).collect();
    let Some(wide) = names.iter().map(String::len).max() else { return Ok(()) };
    let wide = wide.max("tensor".len());
    writeln!(
        out,
        "{FAINT}{:<wide$}  {:<6} {:<7} {:>13} {:>13} {:>10} {:>9} {:>10}{FAINT:#}",
        "tensor", "from", "to", "bytes", "now", "rmse", "relative", "most"
    )?;
    for ((output, loss), name) in changed(done.plan, done.report).zip(&names) {
        let mark = if instead(done, output).is_some() { "*" } else { "" };
        writeln!(
            out,
            "{name:<wide$}  {:<6} {:<7} {:>13} {:>13} {:>10.3e} {:>7.3} % {:>10.3e}",
            output.source().element().to_string(),
            format!("{}{mark}", output.element()),
            before(output),
            output.byte_len(),
            loss.rmse(),
            loss.relative() * 100.0,
            loss.max_error
        )?;
    }
    Ok(())
}

/// The type that a tensor would have got if its rows were whole blocks of it.
fn instead(done: &Done<'_>, output: &Output) -> Option<String> {
    Some(done.choices.get(output.name())?.instead_of?.to_string())
}

fn document(args: &Quantize, done: &Done<'_>) -> Value {
    let totals = Totals::of(done);
    let tensors: Vec<Value> = done
        .plan
        .outputs()
        .iter()
        .zip(done.report.losses())
        .map(|(output, lost)| {
            let mut value = tensor(output, lost.as_ref());
            if let Value::Object(map) = &mut value {
                map.insert("source_bytes".to_owned(), before(output).into());
                map.insert("instead_of".to_owned(), instead(done, output).into());
            }
            value
        })
        .collect();
    json!({
        "files": done.report.files().iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "type": args.mixture.name(),
        "file_type": args.mixture.file_type(),
        "source_bytes": totals.before,
        "bytes": totals.after,
        "weights": totals.elements,
        "source_bits_per_weight": totals.bits(totals.before),
        "bits_per_weight": totals.bits(totals.after),
        "loss": loss(&totals.loss),
        "tensors": tensors,
        "left_out": done.plan.left_out(),
        "dropped_metadata": done.report.dropped(),
        "notes": done.notes,
    })
}
