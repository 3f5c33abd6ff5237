//! Which formats, types and architectures there may be.

use tensorgate::audit::Severity;
use tensorgate::file::Head;

use super::Demand;
use crate::judge::Model;
use crate::parts;
use crate::report::{Format, Note, Report};
use crate::text::quoted;

/// Lists of what is allowed; where there is none, all is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowlist {
    pub(super) formats: Option<Vec<Format>>,
    pub(super) dtypes: Option<Vec<String>>,
    pub(super) architectures: Option<Vec<String>>,
}

/// Tensors of types that are not allowed: how many, and where the first stands.
#[derive(Default)]
struct Tally {
    count: u64,
    first: Option<(u64, String, String)>,
}

impl Tally {
    fn add(&mut self, at: u64, name: impl FnOnce() -> String, kind: &str) {
        self.count = self.count.saturating_add(1);
        self.first.get_or_insert_with(|| (at, name(), kind.to_owned()));
    }
}

impl Demand {
    /// What an accepted file has that is not allowed. Of an index, or a split model, the files beside it count too.
    pub(crate) fn disallowed(&self, report: &Report, model: &Model<'_>, head: &Head) -> Vec<Note> {
        let allowed = &self.allowed;
        let mut notes = Vec::new();
        if let Some(formats) = allowed.formats.as_ref().filter(|formats| !formats.contains(&report.format)) {
            let names: Vec<&str> = formats.iter().map(|format| format.as_str()).collect();
            let message = format!("{} files are not allowed, only {}", report.format.as_str(), list(&names));
            notes.push(Note { severity: Severity::Error, code: "PO-FORMAT", offset: 0, message });
        }
        if let Some(dtypes) = &allowed.dtypes {
            notes.extend(self.dtypes(dtypes, report, model, head));
        }
        if let (Some(architectures), Model::Gguf(header)) = (&allowed.architectures, model) {
            let own = header.str("general.architecture").unwrap_or_default();
            if !architectures.iter().any(|name| name == own) {
                let shown = quoted(tensorgate::Name::from(own));
                let names: Vec<&str> = architectures.iter().map(String::as_str).collect();
                let message = format!("the architecture {shown} is not allowed, only {}", list(&names));
                notes.push(Note { severity: Severity::Error, code: "PO-ARCHITECTURE", offset: 0, message });
            }
        }
        notes
    }

    fn dtypes(&self, dtypes: &[String], report: &Report, model: &Model<'_>, head: &Head) -> Option<Note> {
        let fits = |kind: &str| dtypes.iter().any(|name| name.eq_ignore_ascii_case(kind));
        let mut tally = Tally::default();
        match model {
            Model::SafeTensors(header) => {
                for info in header.tensors().filter(|info| !fits(info.dtype().tag())) {
                    tally.add(info.entry_at(), || quoted(info.name()), info.dtype().tag());
                }
            }
            Model::Gguf(header) => {
                for info in header.tensors() {
                    // A type without a name is on no list.
                    let kind = info.kind().name().unwrap_or("unknown");
                    if !fits(kind) {
                        tally.add(info.span().start(), || quoted(info.name()), kind);
                    }
                }
            }
            Model::Index(..) => {}
        }
        if matches!(model, Model::Index(..)) || (head.file().is_some() && matches!(model, Model::Gguf(_))) {
            match parts::parts(report, model, head, &self.options) {
                Ok(parts) => {
                    for part in parts.iter().filter(|part| part.path != report.path) {
                        for tensor in part.tensors.iter().filter(|tensor| !fits(&plain(&tensor.kind.label()))) {
                            let name = || format!("{} in {}", quoted(tensor.name.as_str().into()), part.name());
                            tally.add(0, name, &tensor.kind.label());
                        }
                        (0..part.left_out).for_each(|_| tally.add(0, || part.name(), "unknown"));
                    }
                }
                Err(failed) => {
                    let what = failed.fault.map_or_else(String::new, |fault| fault.message);
                    let message = format!("the types of a file beside it are not known: {what}");
                    return Some(Note { severity: Severity::Error, code: "PO-DTYPE", offset: 0, message });
                }
            }
        }
        let (offset, name, kind) = tally.first?;
        let names: Vec<&str> = dtypes.iter().map(String::as_str).collect();
        let count = crate::text::count(tally.count, "tensor");
        let message =
            format!("{count} of dtypes that are not allowed, only {} (first: {name}, {kind})", list(&names));
        Some(Note { severity: Severity::Error, code: "PO-DTYPE", offset, message })
    }
}

/// A type's name whatever the order of its bytes.
fn plain(label: &str) -> String {
    label.strip_suffix("-BE").unwrap_or(label).to_owned()
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none at all".to_owned() } else { names.join(", ") }
}
