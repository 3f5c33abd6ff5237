//! The text of a policy, strictly: what is not known in it is an error, since a word that does nothing promises too much.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::Deserialize;
use tensorgate::gguf::GgmlType;
use tensorgate::{Dtype, Limits};

use super::{Demand, Level, Levels, Pattern};
use crate::args::Allowed;
use crate::report::Format;
use crate::text;

/// A policy as it is meant.
pub(super) struct File {
    pub(super) table: Table,
    pub(super) include: Vec<Pattern>,
    pub(super) exclude: Vec<Pattern>,
    pub(super) overrides: Vec<(Vec<Pattern>, Table)>,
}

/// A policy as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    #[serde(default)]
    files: Files,
    #[serde(default)]
    limits: BTreeMap<String, u64>,
    #[serde(default)]
    relax: Vec<String>,
    #[serde(default)]
    rules: BTreeMap<String, Level>,
    formats: Option<Vec<String>>,
    dtypes: Option<Vec<String>>,
    architectures: Option<Vec<String>>,
    #[serde(default, rename = "override")]
    overrides: Vec<Override>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Files {
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
}

/// What holds for some files besides.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Override {
    paths: Vec<String>,
    #[serde(default)]
    limits: BTreeMap<String, u64>,
    #[serde(default)]
    relax: Vec<String>,
    #[serde(default)]
    rules: BTreeMap<String, Level>,
    formats: Option<Vec<String>>,
    dtypes: Option<Vec<String>>,
    architectures: Option<Vec<String>>,
}

/// How a limit is set.
type Set = fn(Limits, u64) -> Limits;

/// What a policy says of all files, or of those of an override.
#[derive(Debug, Default)]
pub(super) struct Table {
    stream: Option<u64>,
    limits: Vec<(Set, u64)>,
    relax: Vec<Allowed>,
    rules: Vec<(String, Level)>,
    formats: Option<Vec<Format>>,
    dtypes: Option<Vec<String>>,
    architectures: Option<Vec<String>>,
}

impl Table {
    /// Adds what it says to what is asked already.
    pub(super) fn apply(&self, demand: &mut Demand) {
        let mut limits = demand.options.limits;
        for (set, most) in &self.limits {
            limits = set(limits, *most);
        }
        demand.options.limits = self.relax.iter().fold(limits, |limits, rule| rule.relax(limits));
        demand.options.stream_limit = self.stream.unwrap_or(demand.options.stream_limit);
        for (rule, level) in &self.rules {
            // It was tried when it was read.
            demand.levels.set(rule, *level).unwrap_or_default();
        }
        let allowed = &mut demand.allowed;
        if self.formats.is_some() {
            allowed.formats.clone_from(&self.formats);
        }
        if self.dtypes.is_some() {
            allowed.dtypes.clone_from(&self.dtypes);
        }
        if self.architectures.is_some() {
            allowed.architectures.clone_from(&self.architectures);
        }
    }

    fn read(written: Override) -> Result<Self, String> {
        let mut table = Self { architectures: written.architectures, ..Self::default() };
        for (name, most) in written.limits {
            if name == "stream" {
                table.stream = Some(most);
            } else {
                table.limits.push((word(&name, "limit", LIMITS)?, most));
            }
        }
        for name in written.relax {
            let rule = Allowed::from_str(&name, false);
            let names: Vec<_> = Allowed::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
            let names = names.iter().map(clap::builder::PossibleValue::get_name);
            table.relax.push(rule.map_err(|_| unknown(&name, "rule to relax", &names.collect::<Vec<_>>()))?);
        }
        // Each is tried, so that it cannot fail later.
        let mut levels = Levels::default();
        written.rules.iter().try_for_each(|(rule, level)| levels.set(rule, *level))?;
        table.rules = written.rules.into_iter().collect();
        let formats = written.formats.map(|all| all.iter().map(|name| word(name, "format", FORMATS)).collect());
        table.formats = formats.transpose()?;
        let dtypes: Option<Result<Vec<String>, String>> =
            written.dtypes.map(|all| all.into_iter().map(dtype).collect());
        table.dtypes = dtypes.transpose()?;
        Ok(table)
    }
}

/// Reads a policy.
///
/// # Errors
///
/// What is wrong, with the line where it is known.
pub(super) fn parse(text: &str) -> Result<File, String> {
    let whole: Whole = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let Whole { files, limits, relax, rules, formats, dtypes, architectures, overrides } = whole;
    let table = Table::read(Override { paths: Vec::new(), limits, relax, rules, formats, dtypes, architectures })?;
    let overrides: Result<_, String> = overrides
        .into_iter()
        .map(|mut one| Ok((patterns(&std::mem::take(&mut one.paths))?, Table::read(one)?)))
        .collect();
    let (include, exclude) = (patterns(&files.include)?, patterns(&files.exclude)?);
    Ok(File { table, include, exclude, overrides: overrides? })
}

fn patterns(all: &[String]) -> Result<Vec<Pattern>, String> {
    let one = |text: &String| Pattern::new(text).map_err(|error| format!("the pattern \"{text}\": {error}"));
    all.iter().map(one).collect()
}

/// What a word means.
fn word<T: Copy>(given: &str, what: &str, all: &[(&'static str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == given).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| unknown(given, what, &all.iter().map(|(name, _)| *name).collect::<Vec<_>>()))
}

fn unknown(given: &str, what: &str, names: &[&str]) -> String {
    let meant = text::nearest(given, names.iter().copied()).map(|name| format!("; did you mean \"{name}\"?"));
    let meant = meant.unwrap_or_else(|| format!(" (there are {})", names.join(", ")));
    format!("there is no {what} \"{given}\"{meant}")
}

/// The name of a type, in either format.
fn dtype(given: String) -> Result<String, String> {
    let plain = Dtype::ALL.iter().map(|dtype| dtype.tag());
    let mut names: Vec<&str> = plain.collect();
    for name in GgmlType::ALL.iter().filter_map(|kind| kind.name()) {
        // Some are of both formats.
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.iter().any(|name| name.eq_ignore_ascii_case(&given)) {
        return Ok(given);
    }
    Err(unknown(&given, "dtype", &names))
}

const FORMATS: &[(&str, Format)] =
    &[("safetensors", Format::SafeTensors), ("gguf", Format::Gguf), ("index", Format::Index)];

const LIMITS: &[(&str, Set)] = &[
    ("header", Limits::with_header_len),
    ("gguf-header", Limits::with_metadata_len),
    ("tensors", Limits::with_tensors),
    ("rank", Limits::with_rank),
    ("name", Limits::with_name_len),
    ("metadata-keys", Limits::with_metadata_keys),
    ("gguf-key", Limits::with_key_len),
    ("gguf-string", Limits::with_string_len),
    ("gguf-array", Limits::with_array_len),
    ("gguf-name", Limits::with_gguf_name_len),
    ("gguf-rank", Limits::with_gguf_rank),
    ("index", Limits::with_index_len),
    ("shards", Limits::with_shards),
    ("stream", |limits, _| limits),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        parse(text).err().unwrap()
    }

    #[test]
    fn what_is_not_known_is_told_with_what_was_meant() {
        assert!(fault("[limit]\nheader = 1\n").contains("line 1"), "{}", fault("[limit]\nheader = 1\n"));
        assert!(fault("[limits]\nheadr = 1\n").contains("did you mean \"header\"?"));
        assert!(fault("[limits]\nheader = -1\n").contains("line 2"));
        assert!(fault("[rules]\n\"ST-NOTE-SPAC\" = \"off\"\n").contains("did you mean ST-NOTE-SPACE?"));
        assert!(fault("[rules]\n\"ST-NOTE-SPACE\" = \"fatal\"\n").contains("line 2"));
        assert!(fault("relax = [\"traling\"]\n").contains("did you mean \"trailing\"?"));
        assert!(fault("dtypes = [\"FP23\"]\n").contains("there is no dtype \"FP23\""));
        let types = fault("dtypes = [\"?\"]\n");
        assert_eq!(types.matches(" F32,").count(), 1, "{types}");
        assert!(fault("formats = [\"ggfu\"]\n").contains("did you mean \"gguf\"?"));
        assert!(fault("[files]\ninclude = [\"a[\"]\n").contains("\"a[\""));
        assert!(fault("[[override]]\nrelax = []\n").contains("paths"));
    }

    #[test]
    fn the_policy_of_the_manual_is_one() {
        let manual = include_str!("../../../../../docs/cli.md");
        let example = manual.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
        let file = parse(example).unwrap();
        assert_eq!((file.include.len(), file.exclude.len(), file.overrides.len()), (1, 1, 1));
        assert_eq!((file.table.rules.len(), file.table.relax.len()), (2, 1));
    }

    #[test]
    fn an_override_adds_to_what_holds_for_all() {
        let file = parse(
            "relax = [\"trailing\"]\ndtypes = [\"F32\", \"q8_0\"]\n[limits]\nheader = 10\nrank = 3\nstream = 7\n\
             [[override]]\npaths = [\"a/*\"]\ndtypes = []\n[override.limits]\nheader = 20\n",
        )
        .unwrap();
        let mut demand = Demand::default();
        file.table.apply(&mut demand);
        let limits = demand.options.limits;
        assert_eq!((limits.header_len(), limits.rank(), limits.gguf_trailing()), (10, 3, true));
        assert_eq!((demand.options.stream_limit, demand.allowed.dtypes.as_ref().map(Vec::len)), (7, Some(2)));
        file.overrides[0].1.apply(&mut demand);
        let limits = demand.options.limits;
        assert_eq!((limits.header_len(), limits.rank(), limits.gguf_trailing()), (20, 3, true));
        assert_eq!(demand.allowed.dtypes.as_ref().map(Vec::len), Some(0));
    }
}
