//! What is said of a file's data.

use std::io::{self, Write};

use serde_json::{Value, json};
use tensorgate::audit::{Rule, Severity};
use tensorgate::scan::{Census, Places};

use super::{Fault, Note, Report, Verdict};
use crate::excerpt::Excerpt;
use crate::output::FAINT;
use crate::text;

/// The data of a file, or of all shards of a model, as far as there is something to tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    /// Bytes that were looked at.
    pub(crate) bytes: u64,
    pub(crate) tensors: u64,
    /// The tensors of which there is something to tell.
    pub(crate) odd: Vec<Odd>,
}

/// A tensor with something odd in it.
#[derive(Clone, Debug)]
pub(crate) struct Odd {
    /// Which file of the model it is in.
    pub(crate) place: usize,
    /// That file's name, where the model has several.
    pub(crate) shard: Option<String>,
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Where its data begins in its file.
    pub(crate) start: u64,
    pub(crate) census: Census,
}

impl Data {
    /// Takes up the data of one more file.
    pub(crate) fn add(&mut self, place: usize, shard: Option<&str>, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.tensors = self.tensors.saturating_add(other.tensors);
        let shard = shard.map(str::to_owned);
        self.odd.extend(other.odd.into_iter().map(|odd| Odd { place, shard: shard.clone(), ..odd }));
    }
}

/// A rule that is about data, and what it counts in a tensor.
type Counted = (Rule, &'static str, fn(&Census) -> Places);

/// The rules in the order in which they are told. That of zeros is about whole tensors.
const RULES: [Counted; 4] = [
    (Rule::DataBool, "bools", Census::bools),
    (Rule::DataNan, "nan", Census::not_a_number),
    (Rule::DataInfinite, "infinite", Census::infinite),
    (Rule::DataScale, "scales", Census::scales),
];

const ADVICE: &str = "Readers see true, false or neither in it: write the tensor again as bool, or store it as U8.";

/// How many places, in how many tensors, and the first tensor with its first place.
struct Sum<'d> {
    count: u64,
    tensors: u64,
    first: &'d Odd,
    at: u64,
}

fn sum<'d>(data: &'d Data, places: impl Fn(&Census) -> (u64, Option<u64>)) -> Option<Sum<'d>> {
    let mut sum: Option<Sum<'d>> = None;
    for odd in &data.odd {
        let (count, Some(first)) = places(&odd.census) else { continue };
        let at = odd.start.saturating_add(first);
        let sum = sum.get_or_insert(Sum { count: 0, tensors: 0, first: odd, at });
        sum.count = sum.count.saturating_add(count);
        sum.tensors = sum.tensors.saturating_add(1);
    }
    sum
}

impl Report {
    /// The report of an accepted file with what was found in its data. `window` gives the bytes around a place of a
    /// file of the model, and how many of them stand before it.
    pub(crate) fn with_data(mut self, data: Data, window: impl Fn(usize, u64) -> Option<(Vec<u8>, usize)>) -> Self {
        for (rule, _, places) in RULES {
            let found = sum(&data, |census| (places(census).count(), places(census).first()));
            let Some(found) = found else { continue };
            let tensors = text::count(found.tensors, "tensor");
            let message = format!("{}: {} in {tensors} ({})", rule.what(), found.count, first(&found));
            if rule.severity() == Severity::Error {
                let excerpt = window(found.first.place, found.at)
                    .and_then(|(bytes, before)| Excerpt::binary(&bytes, before, 1));
                let offset = Some(found.at);
                self.verdict = Verdict::Rejected;
                self.fault =
                    Some(Fault { code: rule.code(), offset, message, expected: None, advice: ADVICE, excerpt });
            } else {
                self.note(rule, found.at, message);
            }
        }
        let zero = sum(&data, |census| (0, census.is_all_zero().then_some(0)));
        if let Some(found) = zero {
            let rule = Rule::DataZero;
            self.note(rule, found.at, format!("{}: {} ({})", rule.what(), found.tensors, first(&found)));
        }
        self.data = Some(data);
        self
    }

    fn note(&mut self, rule: Rule, offset: u64, message: String) {
        self.findings.push(Note { severity: rule.severity(), code: rule.code(), offset, message });
    }
}

fn first(sum: &Sum<'_>) -> String {
    let name = text::quoted(tensorgate::Name::from(sum.first.name.as_str()));
    match &sum.first.shard {
        Some(shard) => format!("first: {name} in {shard}"),
        None => format!("first: {name}"),
    }
}

/// The odd tensors, a line each.
pub(super) fn human(out: &mut impl Write, data: &Data) -> io::Result<()> {
    for odd in &data.odd {
        let name = text::short(&odd.name, 60);
        let shard = odd.shard.as_deref().map(|shard| format!(" in {}", text::ascii(shard))).unwrap_or_default();
        write!(out, "      {FAINT}{name}{shard}, {}:", odd.kind)?;
        for (_, what, places) in RULES {
            let places = places(&odd.census);
            if let Some(first) = places.first() {
                let at = odd.start.saturating_add(first);
                write!(out, " {what}: {} (first at byte {at})", places.count())?;
            }
        }
        let zero = if odd.census.is_all_zero() { " all zero" } else { "" };
        writeln!(out, "{zero}{FAINT:#}")?;
    }
    Ok(())
}

/// The same for programs.
pub(super) fn json(data: &Data) -> Value {
    let odd: Vec<Value> = data.odd.iter().map(tensor).collect();
    json!({"bytes": data.bytes, "tensors": data.tensors, "odd": odd})
}

fn tensor(odd: &Odd) -> Value {
    let mut value = json!({
        "shard": odd.shard,
        "name": odd.name,
        "dtype": odd.kind,
        "start": odd.start,
        "zero": odd.census.is_all_zero(),
    });
    for (_, what, places) in RULES {
        let places = places(&odd.census);
        let at = places.first().map(|first| odd.start.saturating_add(first));
        if let Value::Object(map) = &mut value {
            map.insert(what.to_owned(), json!({"count": places.count(), "first": at}));
        }
    }
    value
}
