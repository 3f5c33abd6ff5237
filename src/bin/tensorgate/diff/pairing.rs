//! Which tensor of one model is which of the other.

use std::collections::BTreeSet;

use tensorgate::model::diff::alike;
use tensorgate::model::names::{gpt2_buffer, gpt2_to_gguf};

use super::tensors::Comparison;
use crate::parts::{Kind, Part, Tensor};
use crate::side::Side;

/// A tensor and its file.
#[derive(Clone, Copy)]
pub(super) struct Place<'s> {
    pub(super) tensor: &'s Tensor,
    pub(super) part: &'s Part,
    /// Whether its two dimensions have changed places in the other model.
    pub(super) turned: bool,
}

/// Two tensors that are the same one.
#[derive(Clone, Copy)]
pub(super) struct Pair<'s> {
    pub(super) a: Place<'s>,
    pub(super) b: Place<'s>,
}

impl Pair<'_> {
    pub(super) fn is_reshaped(&self) -> bool {
        let shape = |place: &Place<'_>| -> Vec<u64> {
            let dims = place.tensor.shape.iter().copied();
            if place.turned { dims.rev().collect() } else { dims.collect() }
        };
        shape(&self.a) != shape(&self.b)
    }

    pub(super) fn is_retyped(&self) -> bool {
        !alike(self.a.tensor.kind.element(), self.b.tensor.kind.element())
    }

    /// Whether there is something to tell.
    pub(super) fn differs(&self, found: &Comparison, types: bool) -> bool {
        let values = found.as_ref().map_or(true, |difference| difference.differ() > 0);
        self.is_reshaped() || types && self.is_retyped() || values
    }
}

/// The tensors of two models.
#[derive(Default)]
pub(super) struct Pairing<'s> {
    pub(super) added: Vec<Place<'s>>,
    pub(super) removed: Vec<Place<'s>>,
    pub(super) both: Vec<Pair<'s>>,
    /// Buffers that one format keeps and the other does not; they are no parameters.
    pub(super) buffers: usize,
}

/// A tensor with the name that it goes by.
type Named<'s> = (String, Place<'s>);

impl<'s> Pairing<'s> {
    /// Pairs tensors by name, in the order of their names; with `gpt2`, those of a GPT-2 by the names that the other
    /// format has for them, or with the prefix that the other file has or has not.
    pub(super) fn of(a: &'s Side, b: &'s Side, gpt2: bool) -> Self {
        let (mut a_named, mut b_named) = (sorted(a), sorted(b));
        let mut pairing = Self::default();
        if gpt2 && a.is_gguf != b.is_gguf {
            pairing.buffers =
                if a.is_gguf { rename(&mut b_named, &a_named) } else { rename(&mut a_named, &b_named) };
        }
        if gpt2 && !a.is_gguf && !b.is_gguf {
            reprefix(&mut b_named, &a_named);
        }
        let mut rest = b_named.into_iter().peekable();
        for (name, a) in a_named {
            while let Some((_, b)) = rest.next_if(|(other, _)| *other < name) {
                pairing.added.push(b);
            }
            match rest.next_if(|(other, _)| *other == name) {
                Some((_, b)) => pairing.both.push(Pair { a, b }),
                None => pairing.removed.push(a),
            }
        }
        pairing.added.extend(rest.map(|(_, place)| place));
        pairing
    }

    /// Whether each tensor has its like.
    pub(super) const fn is_complete(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

fn sorted(side: &Side) -> Vec<Named<'_>> {
    let places = side.parts.iter().flat_map(|part| part.tensors.iter().map(move |tensor| (tensor, part)));
    let named = places.map(|(tensor, part)| (tensor.name.clone(), Place { tensor, part, turned: false }));
    let mut all: Vec<Named<'_>> = named.collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// Gives tensors of a safetensors file the names of those of a GGUF file, where these are there; and leaves out buffers
/// where any was. Says how many that were.
fn rename(own: &mut Vec<Named<'_>>, other: &[Named<'_>]) -> usize {
    let there: BTreeSet<&str> = other.iter().map(|(name, _)| name.as_str()).collect();
    let mut taken: BTreeSet<String> = own.iter().map(|(name, _)| name.clone()).collect();
    let mut any = false;
    for (name, place) in own.iter_mut() {
        let renamed = gpt2_to_gguf(name).filter(|renamed| there.contains(renamed.name.as_str()));
        if let Some(renamed) = renamed.filter(|renamed| taken.insert(renamed.name.clone())) {
            any = true;
            *name = renamed.name;
            place.turned = renamed.transposed && can_turn(place.tensor);
        }
    }
    let before = own.len();
    if any {
        own.retain(|(name, _)| !gpt2_buffer(name) || there.contains(name.as_str()));
    }
    own.sort_by(|a, b| a.0.cmp(&b.0));
    before.saturating_sub(own.len())
}

/// Gives tensors of a GPT-2 in safetensors that have no like in the other file the names that these have there, with
/// `transformer.` in front or without.
fn reprefix(own: &mut [Named<'_>], other: &[Named<'_>]) {
    const PREFIX: &str = "transformer.";
    let there: BTreeSet<&str> = other.iter().map(|(name, _)| name.as_str()).collect();
    let mut taken: BTreeSet<String> = own.iter().map(|(name, _)| name.clone()).collect();
    for (name, _) in own.iter_mut() {
        if there.contains(name.as_str()) || (gpt2_to_gguf(name).is_none() && !gpt2_buffer(name)) {
            continue;
        }
        let renamed = name.strip_prefix(PREFIX).map_or_else(|| format!("{PREFIX}{name}"), str::to_owned);
        if there.contains(renamed.as_str()) && taken.insert(renamed.clone()) {
            *name = renamed;
        }
    }
    own.sort_by(|a, b| a.0.cmp(&b.0));
}

/// Whether a tensor is a table of elements of whole bytes.
fn can_turn(tensor: &Tensor) -> bool {
    matches!(tensor.kind, Kind::Plain(dtype) if dtype.bits() >= 8) && tensor.shape.len() == 2
}
