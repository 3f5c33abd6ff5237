//! `tensorgate check`: a verdict for each file.

use std::io::{self, Write};

use crate::args::{Check, Format};
use crate::judge::judge;
use crate::report::{Report, Summary, Verdict, human, json};
use crate::{Exit, complain, output, walk};

/// Judges every file and reports it as soon as it is judged.
pub(crate) fn run(args: &Check) -> io::Result<Exit> {
    let options = args.reading.options();
    let found = walk::find(&args.paths);
    let mut summary = Summary { skipped: found.skipped, ..Summary::default() };
    let mut out = output::stdout();
    if args.format == Format::Json {
        out.write_all(b"{\"files\":[")?;
    }
    for (place, source) in found.sources.iter().enumerate() {
        let report = judge(source, &options, &mut |_, _| ());
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
