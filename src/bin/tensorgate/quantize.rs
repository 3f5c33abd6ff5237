//! `tensorgate quantize`: a model in fewer bits.

mod report;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

use tensorgate::file::Saver;
use tensorgate::gguf::{GgmlType, PairSpec};
use tensorgate::model::convert::{Conversion, Draft, Output, Plan, Report, Target};
use tensorgate::model::mixture::{Choice, Facts, Recipe};
use tensorgate::model::{ElementType, Format, Model};
use tensorgate::quant::NonFinite;

use crate::args::{Names, Quantize};
use crate::convert::{companion, gpt2, is_folder, naming, refuse};
use crate::work::Work;
use crate::{Exit, complain, complain_of, open, output, text};

/// The version of ggml's block formats, `general.quantization_version`: that of its first K types, and of all since.
const VERSION: u32 = 2;

/// Quantises, and says what was lost.
pub(crate) fn run(args: &Quantize) -> io::Result<Exit> {
    let work = Work::new(args.effort, args.quiet, &[&args.from])?;
    if args.to.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("safetensors")) {
        complain("safetensors files have no blocks: quantize writes GGUF");
        return Ok(Exit::Trouble);
    }
    let model = match open::model(&args.from, &args.reading) {
        Ok(model) => model,
        Err(exit) => return Ok(exit),
    };
    let naming = naming(Names::Auto, &model, Format::Gguf);
    let companion = match companion(&args.from, &model, naming, Format::Gguf) {
        Ok(pairs) => pairs,
        Err(error) => {
            complain_of(&args.from, &error);
            return Ok(Exit::Rejected);
        }
    };
    let mut pairs = companion.as_ref().map(gpt2::Pairs::specs).unwrap_or_default();
    pairs.push(PairSpec::new("general.quantization_version", VERSION));
    pairs.push(PairSpec::new("general.file_type", args.mixture.file_type()));
    let mut notes = notes(&model, companion.as_ref());
    let bar = work.bar(0, &text::path(&args.to));
    let progress = |bytes| bar.inc(bytes);
    let mut conversion = Conversion::to(Format::Gguf)
        .with_progress(&progress)
        .with_naming(naming)
        .with_pairs(&pairs)
        .with_threads(work.jobs());
    if args.allow_non_finite {
        conversion = conversion.with_non_finite(NonFinite::Keep);
    }
    let choices = match conversion.plan(&model).map(|plan| choose(args, &model, &plan, &mut notes)) {
        Ok(Ok(choices)) => choices,
        Ok(Err(unmatched)) => {
            complain(&unmatched);
            return Ok(Exit::Trouble);
        }
        Err(error) => return Ok(refuse(&args.from, &error)),
    };
    let kind = |draft: Draft<'_>| Some(ElementType::Ggml(choices.get(draft.name)?.kind?));
    let plan = match conversion.with_types(&kind).plan(&model) {
        Ok(plan) => plan,
        Err(error) => return Ok(refuse(&args.from, &error)),
    };
    if let Some(fault) = again(args, &plan) {
        complain(&format!("{}: {fault}", text::path(&args.from)));
        complain("--allow-requantize quantises such tensors too");
        return Ok(Exit::Rejected);
    }
    bar.set_length(plan.byte_len());
    let saved = save(args, &work, &plan);
    bar.finish_and_clear();
    match saved? {
        Ok(saved) => {
            let done = report::Done { plan: &plan, report: &saved, choices: &choices, notes };
            output::told(report::print(&mut output::stdout(), args, &done)).map(|()| Exit::Accepted)
        }
        Err(exit) => Ok(exit),
    }
}

/// What whoever uses the file should know.
fn notes(model: &Model, companion: Option<&gpt2::Pairs>) -> Vec<String> {
    let none = model.metadata().get("general.architecture").is_none();
    let unknown = "nothing says which architecture it is: the file holds the tensors by their own names, for no program to run";
    match companion {
        Some(pairs) => pairs.notes.clone(),
        None => none.then(|| unknown.to_owned()).into_iter().collect(),
    }
}

/// Writes the file; where it cannot, says why, and how the program ends then.
fn save(args: &Quantize, work: &Work, plan: &Plan<'_>) -> io::Result<Result<Report, Exit>> {
    let _tidy = work.tidy();
    let path = target(&args.to)?;
    let stop = work.stop();
    let saved = plan.save(Target::File(&path), &Saver::new().with_watch(&*stop));
    if let Some(exit) = work.exit() {
        complain("interrupted; nothing was changed");
        return Ok(Err(exit));
    }
    Ok(saved.map_err(|error| refuse(&args.from, &error)))
}

/// Where the file goes; a folder is made where it is not there.
fn target(to: &Path) -> io::Result<Cow<'_, Path>> {
    if !is_folder(to) {
        return Ok(to.into());
    }
    std::fs::create_dir_all(to)?;
    Ok(to.join("model.gguf").into())
}

/// What becomes of each tensor, by its name in the new file; or which wish is for none of them.
fn choose(
    args: &Quantize,
    model: &Model,
    plan: &Plan<'_>,
    notes: &mut Vec<String>,
) -> Result<HashMap<String, Choice>, String> {
    let used = RefCell::new(BTreeSet::new());
    let overrides = |name: &str| -> Option<GgmlType> {
        let (index, wish) = args.wishes.iter().enumerate().find(|(_, wish)| wish.is_for(name))?;
        used.borrow_mut().insert(index);
        Some(wish.kind)
    };
    let mut recipe = Recipe::new(args.mixture).with_pure(args.pure).with_overrides(&overrides);
    if let Some(kind) = args.token_embedding_type {
        recipe = recipe.with_token_embedding(kind);
    }
    if let Some(kind) = args.output_type {
        recipe = recipe.with_output(kind);
    }
    let drafts: Vec<Draft<'_>> = plan.outputs().iter().map(Output::draft).collect();
    let choices = recipe.choose(&Facts::of(model), &drafts);
    let used = used.into_inner();
    for (_, wish) in args.wishes.iter().enumerate().filter(|(index, _)| !used.contains(index)) {
        if !drafts.iter().any(|draft| wish.is_for(draft.name)) {
            let parts = drafts.iter().flat_map(|draft| draft.name.split('.').chain([draft.name]));
            let meant = text::nearest(&wish.text, parts);
            let meant = meant.map_or_else(String::new, |name| format!("; did you mean \"{name}\"?"));
            return Err(format!("--tensor-type {}: no tensor of the new file is called so{meant}", wish.text));
        }
        notes.push(format!(
            "--tensor-type {}: no matrix whose type can change is called so, or another pattern came first",
            wish.text
        ));
    }
    Ok(drafts.iter().map(|draft| draft.name.to_owned()).zip(choices).collect())
}

/// Why not, where blocks would be quantised once more.
fn again(args: &Quantize, plan: &Plan<'_>) -> Option<String> {
    let is_block = |element: ElementType| element.block_elements().is_some_and(|elements| elements > 1);
    let blocks: Vec<&Output> = plan
        .outputs()
        .iter()
        .filter(|output| is_block(output.source().element()) && output.element() != output.source().element())
        .collect();
    let first = blocks.first().filter(|_| !args.allow_requantize)?;
    let count = text::count(u64::try_from(blocks.len()).unwrap_or(u64::MAX), "tensor");
    let are = if blocks.len() == 1 { "is" } else { "are" };
    let name = text::quoted(tensorgate::Name::from(first.source().name()));
    Some(format!(
        "{count} of it {are} quantised already, and would lose more than if the original was quantised (first: {name}, {})",
        first.source().element()
    ))
}
