//! `tensorgate check`: a verdict for each file.

mod deep;

use std::io::{self, Write};

pub(crate) use deep::Tap;

use crate::args::{Check, Format};
use crate::judge::{Options, judge};
use crate::report::{Report, Summary, Verdict, human, json};
use crate::walk::Source;
use crate::work::Work;
use crate::{Exit, complain, output, walk};
use deep::Deep;

/// Judges every file and reports it as soon as it is judged.
pub(crate) fn run(args: &Check) -> io::Result<Exit> {
    let work = if args.deep { Some(Work::new(args.effort, args.quiet, &args.paths)?) } else { None };
    let mut judge = judge_with(args, work.as_ref());
    let found = walk::find(&args.paths);
    let mut summary = Summary { skipped: found.skipped, ..Summary::default() };
    let mut out = output::stdout();
    if args.format == Format::Json {
        out.write_all(b"{\"files\":[")?;
    }
    for (place, source) in found.sources.iter().enumerate() {
        let report = judge(source);
        if let Some(exit) = work.as_ref().and_then(Work::exit) {
            complain("interrupted");
            return Ok(exit);
        }
        summary.add(report.verdict);
        print(&mut out, args, &report, place == 0)?;
        out.flush()?;
    }
    match args.format {
        Format::Human if args.quiet => {}
        Format::Human => human::end(&mut out, &summary)?,
        Format::Jsonl => {}
        Format::Json => {
            out.write_all(b"\n],\"summary\":")?;
            output::json(&mut out, &json::summary(&summary))?;
            out.write_all(b"}\n")?;
        }
    }
    out.flush()?;
    if found.sources.is_empty() {
        complain("no model files were found (*.safetensors, *.gguf, *.index.json)");
    }
    Ok(summary.exit())
}

/// How each file is judged: by its header, or by its data too.
fn judge_with<'w>(args: &Check, work: Option<&'w Work>) -> Box<dyn FnMut(&Source) -> Report + 'w> {
    let options = Options { readers: args.readers, ..args.reading.options() };
    let Some(work) = work else { return Box::new(move |source| judge(source, &options, None, &mut |_, _, _| ())) };
    let mut deep = Deep::new(work, options);
    Box::new(move |source| {
        let tap = Tap::new(work.stop());
        let report =
            judge(source, &options, Some(&tap), &mut |report, model, head| deep.look(report, &model, head));
        deep.finish(report, tap)
    })
}

fn print(out: &mut impl Write, args: &Check, report: &Report, first: bool) -> io::Result<()> {
    match args.format {
        Format::Human if args.quiet && report.verdict == Verdict::Accepted => Ok(()),
        Format::Human => human::file(out, report, args.verbose),
        Format::Jsonl => {
            output::json(out, &json::file(report))?;
            out.write_all(b"\n")
        }
        Format::Json => {
            out.write_all(if first { b"\n" } else { b",\n" })?;
            output::json(out, &json::file(report))
        }
    }
}
