//! `tensorgate convert`: a model in another way.

mod beside;
pub(crate) mod gpt2;
pub(crate) mod report;

use std::io;
use std::path::{Path, PathBuf};

use tensorgate::file::Saver;
use tensorgate::gguf::Endian;
use tensorgate::model::convert::{Conversion, ConvertError, Draft, Naming, Plan, Report, Target};
use tensorgate::model::names::{gpt2_from_gguf, gpt2_to_gguf};
use tensorgate::model::{ElementType, Format, Model};
use tensorgate::quant::NonFinite;

use crate::args::{Convert, Names};
use crate::work::Work;
use crate::{Exit, complain, complain_of, open, output, text};
use beside::Beside;

/// Where it is not clear what is to be written.
const UNCLEAR: &str = "which format it is to be, neither the name nor --to says: end it with .safetensors or .gguf, or with / \
                       where it is to be a folder";

/// Converts, and says what changed.
pub(crate) fn run(args: &Convert) -> io::Result<Exit> {
    let work = Work::new(args.effort, args.quiet, &[&args.from])?;
    let model = match open::model(&args.from, &args.reading) {
        Ok(model) => model,
        Err(exit) => return Ok(exit),
    };
    let Some(format) = format(args) else {
        complain(&format!("{}: {UNCLEAR}", text::path(&args.to)));
        return Ok(Exit::Trouble);
    };
    if let Some(fault) = contradiction(args, format) {
        complain(fault);
        return Ok(Exit::Trouble);
    }
    let naming = naming(args.names, &model, format);
    let place = place(args, format);
    let companion = companion(&args.from, &model, naming, format);
    let beside = || Beside::of(&model, place.folder(), naming == Naming::Gpt2, format);
    let (companion, beside) = match companion.and_then(|pairs| Ok((pairs, beside()?))) {
        Ok(both) => both,
        Err(error) => {
            complain_of(&args.from, &error);
            return Ok(Exit::Rejected);
        }
    };
    let pairs = companion.as_ref().map(gpt2::Pairs::specs).unwrap_or_default();
    let stop = work.stop();
    let saver = Saver::new().with_watch(&*stop);
    let choose = |_: Draft<'_>| args.dtype.map(|cast| ElementType::Ggml(cast.into()));
    let endian = args.byte_order.map_or(Endian::Little, Endian::from);
    let bar = work.bar(0, &text::path(&args.to));
    let progress = |bytes| bar.inc(bytes);
    let mut conversion = Conversion::to(format)
        .with_progress(&progress)
        .with_naming(naming)
        .with_pairs(&pairs)
        .with_types(&choose)
        .with_endian(endian)
        .with_threads(work.jobs());
    if args.allow_non_finite {
        conversion = conversion.with_non_finite(NonFinite::Keep);
    }
    if let Some(alignment) = args.align {
        conversion = conversion.with_alignment(alignment);
    }
    let plan = match conversion.plan(&model) {
        Ok(plan) => plan,
        Err(error) => return Ok(refuse(&args.from, &error)),
    };
    bar.set_length(plan.byte_len());
    let _tidy = work.tidy();
    let outcome = write(&plan, &place, &saver)?;
    bar.finish_and_clear();
    match (outcome, work.exit()) {
        (Ok(report), _) => finish(args, &plan, &report, beside, companion.as_ref()),
        // A signal that came too late has changed nothing about the new files.
        (Err(_), Some(exit)) => {
            complain("interrupted; nothing was changed");
            Ok(exit)
        }
        (Err(error), None) => Ok(refuse(&args.from, &error)),
    }
}

/// Writes the new model, and the folder for it where there is none.
fn write(plan: &Plan<'_>, place: &Place<'_>, saver: &Saver<'_>) -> io::Result<Result<Report, ConvertError>> {
    let made = Made::folder(place.folder())?;
    let outcome = plan.save(place.target(), saver);
    if outcome.is_ok() {
        made.keep();
    }
    Ok(outcome)
}

/// Writes what goes with the tensors into their folder, and says what was done.
fn finish(
    args: &Convert,
    plan: &Plan<'_>,
    report: &Report,
    mut beside: Beside,
    companion: Option<&gpt2::Pairs>,
) -> io::Result<Exit> {
    let (mut files, mut dropped) = (report.files().to_vec(), report.dropped().to_vec());
    let mut exit = Exit::Accepted;
    match beside.write() {
        Ok(beside) => {
            // The vocabulary's arrays are files now.
            let kept = beside.iter().any(|path| path.ends_with("vocab.json"));
            dropped.retain(|key| !kept || !gpt2::VOCABULARY.contains(&key.as_str()));
            files.extend(beside);
        }
        Err(error) => {
            complain(&format!("the tensors are there, but not what goes with them: {error}"));
            exit = Exit::Trouble;
        }
    }
    let mut notes = companion.map(|pairs| pairs.notes.clone()).unwrap_or_default();
    notes.append(&mut beside.notes);
    let done = report::Done { plan, report, files, dropped, notes };
    output::told(report::print(&mut output::stdout(), args, &done)).map(|()| exit)
}

/// Folders that were made for the new model, and are removed where it does not come to be.
struct Made(Vec<PathBuf>);

impl Made {
    /// Makes the folder, and those that it is in.
    fn folder(folder: Option<&Path>) -> io::Result<Self> {
        let Some(folder) = folder else { return Ok(Self(Vec::new())) };
        let above = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let made = Self(above.take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect());
        std::fs::create_dir_all(folder)?;
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // What somebody has put there meanwhile keeps its folder.
        self.0.iter().all(|folder| std::fs::remove_dir(folder).is_ok());
    }
}

/// The format that the new model gets.
fn format(args: &Convert) -> Option<Format> {
    let by_name = || match args.to.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "safetensors" => Some(Format::SafeTensors),
        "gguf" => Some(Format::Gguf),
        _ => None,
    };
    let folder = || is_folder(&args.to).then_some(Format::SafeTensors);
    args.format.map(Format::from).or_else(folder).or_else(by_name).or_else(|| {
        // A folder for shards need not be there yet.
        args.max_shard_size.is_some().then_some(Format::SafeTensors)
    })
}

/// Whether a path is a folder, or is meant as one.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// What was asked for and cannot be.
fn contradiction(args: &Convert, format: Format) -> Option<&'static str> {
    if format == Format::SafeTensors && args.byte_order == Some(crate::args::ByteOrder::Big) {
        return Some("safetensors files are always little-endian: --byte-order big is for GGUF");
    }
    if format == Format::SafeTensors && args.max_shard_size.is_some() && args.align.is_some() {
        return Some("--align is for a single safetensors file, or for GGUF");
    }
    None
}

/// Whether the names are GPT-2's and change.
pub(crate) fn naming(names: Names, model: &Model, to: Format) -> Naming {
    let is_gpt2 = || match model.format() {
        Format::Gguf => {
            let architecture = model.metadata().get("general.architecture");
            architecture.is_some_and(|value| value.as_str() == Some("gpt2"))
                && model.names().all(|name| gpt2_from_gguf(name).is_some())
        }
        // The one projection that no other model calls so, and the two embeddings.
        _ => {
            ["h.0.attn.c_attn.weight", "wte.weight", "wpe.weight"]
                .iter()
                .all(|wanted| model.contains(wanted) || model.contains(&format!("transformer.{wanted}")))
                && model.names().any(|name| gpt2_to_gguf(name).is_some())
        }
    };
    match names {
        Names::Gpt2 => Naming::Gpt2,
        Names::Auto if model.format() != to && is_gpt2() => Naming::Gpt2,
        _ => Naming::Keep,
    }
}

/// What a GGUF file says of a GPT-2 besides its tensors.
pub(crate) fn companion(
    from: &Path,
    model: &Model,
    naming: Naming,
    format: Format,
) -> Result<Option<gpt2::Pairs>, String> {
    let wanted = naming == Naming::Gpt2 && format == Format::Gguf && model.format() == Format::SafeTensors;
    if wanted { gpt2::Pairs::of(model, from).map(Some) } else { Ok(None) }
}

/// Where the files go.
struct Place<'a> {
    path: std::borrow::Cow<'a, Path>,
    shards: Option<u64>,
    folder: Option<&'a Path>,
}

impl<'a> Place<'a> {
    fn target(&self) -> Target<'_> {
        match self.shards {
            Some(most) => Target::Shards(&self.path, most),
            None => Target::File(&self.path),
        }
    }

    /// The folder that is made where it is not there.
    fn folder(&self) -> Option<&'a Path> {
        self.folder
    }
}

fn place(args: &Convert, format: Format) -> Place<'_> {
    let folder = is_folder(&args.to) || (format == Format::SafeTensors && args.max_shard_size.is_some());
    let folder = folder.then_some(args.to.as_path());
    let path = match (format, folder) {
        // The same as with shards of any size: what is left of another model there is tidied up.
        (Format::SafeTensors, Some(folder)) => {
            let shards = Some(args.max_shard_size.unwrap_or(u64::MAX));
            return Place { path: folder.into(), shards, folder: Some(folder) };
        }
        (_, Some(folder)) => folder.join("model.gguf").into(),
        (_, None) => args.to.as_path().into(),
    };
    Place { path, shards: args.max_shard_size, folder }
}

/// Says why nothing was written.
pub(crate) fn refuse(from: &Path, error: &ConvertError) -> Exit {
    complain_of(from, error);
    if matches!(error, ConvertError::NotFinite { .. }) {
        complain("--allow-non-finite converts such values too");
    }
    match error {
        ConvertError::Save(_) | ConvertError::Memory | ConvertError::Read { .. } => Exit::Trouble,
        _ => Exit::Rejected,
    }
}
