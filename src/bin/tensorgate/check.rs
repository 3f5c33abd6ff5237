//! `tensorgate check`: a verdict for each file.

pub(crate) mod baseline;
pub(crate) mod cache;
mod deep;
pub(crate) mod policy;
mod run;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

pub(crate) use deep::Tap;
pub(crate) use policy::read_small;

use crate::args::{Check, Format};
use crate::output::Sink;
use crate::report::{Printer, Summary, Verdict};
use crate::walk::{self, Found};
use crate::work::Work;
use crate::{Exit, complain, say, text};
use baseline::Baseline;
use cache::Cache;
use policy::Policy;
use run::Checker;

/// Judges every file and reports it as soon as it, and all before it, are judged.
pub(crate) fn run(args: &Check) -> io::Result<Exit> {
    match prepare(args) {
        Ok(prepared) => prepared.run(args),
        Err(error) => {
            say(&error);
            Ok(Exit::Trouble)
        }
    }
}

/// What is read before the first file.
struct Prepared {
    policy: Policy,
    baseline: Option<Baseline>,
    cache: Option<Cache>,
    found: Found,
    /// Files that the search found and the policy does not want.
    left_out: u64,
}

fn prepare(args: &Check) -> Result<Prepared, String> {
    if args.readers && matches!(args.format, Format::Sarif | Format::Junit | Format::Github) {
        return Err("--readers is told in the formats human, json and jsonl only".to_owned());
    }
    let policy = Policy::find(args)?;
    if let Some(path) = policy.path.as_ref().filter(|_| args.policy.is_none()) {
        // Whoever checks a folder of a stranger's should see that it brings its own rules.
        complain(&format!("the policy is {}", path.display()));
    }
    let baseline = args.baseline.as_deref().map(|path| Baseline::open(path, args.write_baseline)).transpose()?;
    let cache = args.cache.as_deref().map(|path| Cache::open(path, args, &policy)).transpose()?;
    let mut found = walk::find(&args.paths);
    let left_out = policy.filter(&mut found);
    let baseline_out = args.baseline.as_deref().filter(|_| args.write_baseline);
    let written = [args.cache.as_deref(), baseline_out, args.output.as_deref()];
    apart(&written.into_iter().flatten().collect::<Vec<_>>(), &found)?;
    Ok(Prepared { policy, baseline, cache, found, left_out })
}

/// Nothing is written over what is checked, or over another of the files that are written.
fn apart(written: &[&Path], found: &Found) -> Result<(), String> {
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let whole = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
        path.canonicalize().ok().or_else(whole).unwrap_or_else(|| path.to_owned())
    };
    let mut places: Vec<PathBuf> = Vec::new();
    for path in written {
        let own = place(path);
        let shown = text::path(path);
        if places.contains(&own) {
            return Err(format!("{shown} would be written twice: name different files"));
        }
        let named = |source: &crate::walk::Source| path.exists() && place(source.path()) == own;
        if found.sources.iter().any(named) {
            return Err(format!("{shown} is one of the files that are checked, and would be written over"));
        }
        places.push(own);
    }
    Ok(())
}

impl Prepared {
    fn run(mut self, args: &Check) -> io::Result<Exit> {
        let work = Work::new(args.effort, args.quiet, &args.paths)?;
        let sources = &self.found.sources;
        let mut summary = Summary { skipped: self.found.skipped, ..Summary::default() };
        let mut printer = Printer::new(Sink::new(args.output.as_deref())?, args);
        printer.begin(self.policy.path.as_deref())?;
        let bar = bar(args, &work, sources.len());
        let mut kept = Vec::new();
        let checker = Checker { args, policy: &self.policy, cache: self.cache.as_ref(), work: &work };
        let mut told = 0_usize;
        checker.all(sources, &bar, |judged| {
            let mut report = judged.report;
            if let Some(baseline) = &mut self.baseline {
                baseline.mark(&mut report);
            }
            kept.extend(judged.keep);
            summary.add(&report);
            told = told.saturating_add(1);
            suspended(&bar, args, || printer.file(&report))?;
            let good = report.verdict == Verdict::Accepted || report.is_known();
            Ok(good || !args.fail_fast)
        })?;
        bar.finish_and_clear();
        if let Some(exit) = work.exit() {
            complain("interrupted");
            return Ok(exit);
        }
        summary.unchecked = u64::try_from(sources.len().saturating_sub(told)).unwrap_or(u64::MAX);
        printer.end(&summary)?;
        if sources.is_empty() && self.left_out > 0 {
            let count = text::count(self.left_out, "model file");
            complain(&format!("nothing is left to check: the policy's [files] leave out all there is ({count})"));
        } else if sources.is_empty() {
            complain("no model files were found (*.safetensors, *.gguf, *.index.json)");
        }
        let saved = self.save(kept, args);
        Ok(saved
            .unwrap_or_else(|error| {
                say(&error);
                Exit::Trouble
            })
            .or(summary.exit()))
    }

    /// Writes the cache and the baseline.
    fn save(self, kept: Vec<cache::Entry>, args: &Check) -> Result<Exit, String> {
        if let Some(mut cache) = self.cache {
            for entry in kept {
                cache.put(entry);
            }
            cache.save()?;
        }
        let Some(baseline) = self.baseline else { return Ok(Exit::Accepted) };
        let lost = baseline.lost();
        match baseline.finish()? {
            Some(count) if !args.quiet => {
                complain(&format!(
                    "{} written to the baseline",
                    text::count(u64::try_from(count).unwrap_or(u64::MAX), "finding")
                ));
            }
            None if lost > 0 && !args.quiet => complain(&format!(
                "{} of the baseline not found again (the file changed, or is mended); \
                 --write-baseline drops them",
                text::count(lost, "finding")
            )),
            _ => {}
        }
        Ok(Exit::Accepted)
    }
}

/// A bar where there are many files; reading data has bars of its own.
fn bar(args: &Check, work: &Work, count: usize) -> ProgressBar {
    if args.deep || count < 20 {
        ProgressBar::hidden()
    } else {
        work.count(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

/// Prints without the bar in the way.
fn suspended<T>(bar: &ProgressBar, args: &Check, print: impl FnOnce() -> T) -> T {
    if !bar.is_hidden() && args.output.is_none() && io::stdout().is_terminal() {
        bar.suspend(print)
    } else {
        print()
    }
}
