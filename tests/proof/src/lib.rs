//! Every entry of the core as a function that `run` links alone: where it links, it cannot panic.
//!
//! The panic handler calls a function that does not exist. A program that keeps the handler, because some path of the
//! entry leads to it, does not link. The entries called `planted_…` have a fault each and must not link.
#![no_std]
#![expect(unsafe_code, reason = "exported symbols, and one that is missing on purpose")]
#![expect(clippy::missing_panics_doc, reason = "the planted faults are there to be found")]

use core::fmt::{self, Write};
use core::hint::black_box;
use core::panic::PanicInfo;

use tensorgate::detect::detect;
use tensorgate::gguf::GgmlType;
use tensorgate::safetensors::{Header, Slot};
use tensorgate::shards::{Finding, IndexSlot};
use tensorgate::typed::{Element, LeF32, LeU16};
use tensorgate::{Axis, Error, Gguf, Limits, Name, SafeTensors, ShardIndex, TensorView, gguf, quant};

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: there is no such function: a program that gets here does not link.
    unsafe { a_panic_is_reachable() }
}

/// The bytes, the length and the storage that an entry gets: nothing about them is known to the optimiser.
struct Input<'a> {
    bytes: &'a [u8],
    slots: &'a mut [Slot],
    limits: Limits,
}

static BYTES: [u8; 64] = [0; 64];

/// Runs an entry with an input of which nothing is known.
fn with(entry: impl FnOnce(Input<'_>)) {
    let mut slots = [Slot::EMPTY; 8];
    let limits = Limits::DEFAULT
        .with_header_len(black_box(1))
        .with_tensors(black_box(1))
        .with_rank(black_box(1))
        .with_name_len(black_box(1))
        .with_metadata_keys(black_box(1))
        .with_leading_space(black_box(true));
    entry(Input { bytes: black_box(&BYTES), slots: black_box(&mut slots), limits });
}

/// Limits of the other formats, of which nothing is known.
fn other_limits() -> Limits {
    Limits::DEFAULT
        .with_tensors(black_box(1))
        .with_metadata_keys(black_box(1))
        .with_metadata_len(black_box(1))
        .with_key_len(black_box(1))
        .with_string_len(black_box(1))
        .with_array_len(black_box(1))
        .with_gguf_name_len(black_box(1))
        .with_gguf_rank(black_box(1))
        .with_name_len(black_box(1))
        .with_index_len(black_box(1))
        .with_shards(black_box(1))
        .with_index_metadata_len(black_box(1))
        .with_index_metadata_depth(black_box(1))
}

/// Runs an entry on an accepted file.
fn opened(entry: impl FnOnce(&SafeTensors<'_>)) {
    with(|input| {
        if let Ok(file) = SafeTensors::open_in(input.bytes, input.slots, &input.limits) {
            entry(&file);
        }
    });
}

/// Runs an entry on the views of an accepted file.
fn views(entry: impl Fn(TensorView<'_>)) {
    opened(|file| file.tensors().for_each(&entry));
}

/// Runs an entry on an accepted GGUF file.
fn gguf_opened(entry: impl FnOnce(&Gguf<'_>)) {
    let mut slots = [gguf::Slot::EMPTY; 8];
    let slots = black_box(&mut slots[..]);
    if let Ok(file) = Gguf::open_in(black_box(&BYTES), slots, &other_limits()) {
        entry(&file);
    }
}

/// Runs an entry on the arrays of an accepted GGUF file.
fn arrays(entry: impl Fn(gguf::Array<'_>)) {
    gguf_opened(|file| {
        if let Ok(array) = file.array(black_box("tokens")) {
            entry(array);
        }
    });
}

/// Reads an array as numbers of one type, in each way.
fn numbers<T: gguf::Element>(array: &gguf::Array<'_>) {
    if let Ok(elements) = array.elements::<T>() {
        black_box(elements.len());
        elements.for_each(|element| {
            black_box(element);
        });
    }
    black_box((array.le_slice::<T>().is_ok(), array.be_slice::<T>().is_ok()));
}

/// Runs an entry on an accepted index.
fn index_opened(entry: impl FnOnce(&ShardIndex<'_>)) {
    let mut slots = [IndexSlot::EMPTY; 8];
    let slots = black_box(&mut slots[..]);
    if let Ok(index) = ShardIndex::open_in(black_box(&BYTES), slots, &other_limits()) {
        entry(&index);
    }
}

/// Looks at a finding and shows it.
fn found(finding: &Finding<'_>) {
    black_box((finding.code(), finding.error(), finding.is_warning(), finding.entry_at()));
    black_box(write!(Sink, "{finding}").is_ok());
}

/// Reads a tensor's elements as one type, in each way that needs no allocator.
fn typed<T: Element>(view: &TensorView<'_>) {
    if let Ok(slice) = view.as_slice::<T>() {
        black_box(slice);
    }
    if let Ok(slice) = view.as_le::<T::Le>() {
        black_box(slice.len());
    }
}

/// Takes text and forgets it.
struct Sink;

impl Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        black_box(text);
        if black_box(true) { Ok(()) } else { Err(fmt::Error) }
    }
}

mod casts;

macro_rules! entries {
    ($($(#[$doc:meta])* $name:ident $body:block)*) => {
        $(
            $(#[$doc])*
            // SAFETY: the names of this package are its own.
            #[unsafe(no_mangle)]
            #[inline(never)]
            pub extern "C" fn $name() $body
        )*
    };
}

entries! {
    /// `SafeTensors::open_in`: the whole validator.
    entry_safetensors_open_in {
        with(|input| {
            black_box(SafeTensors::open_in(input.bytes, input.slots, &input.limits).is_ok());
        });
    }
    /// `Header::open_in`, with any file length.
    entry_header_open_in {
        with(|input| {
            black_box(Header::open_in(input.bytes, black_box(1), input.slots, &input.limits).is_ok());
        });
    }
    /// Walking the tensors from both ends, and their getters.
    entry_tensors {
        opened(|file| {
            let mut tensors = file.tensors();
            black_box((tensors.len(), file.len(), file.is_empty(), file.data()));
            black_box(tensors.next_back().map(|view| view.span().len()));
        });
        views(|view| {
            black_box((view.bytes(), view.dtype().bits(), view.elements(), view.span().start(), view.span().is_empty()));
        });
    }
    /// The header's own getters.
    entry_header {
        opened(|file| {
            let header = file.header();
            black_box((header.json(), header.data().end(), header.is_in_data_order(), header.metadata_is_null()));
            black_box(header.get(black_box(3)).map(|info| (info.entry_at(), info.span().end())));
            black_box(header.relaxed().map(|error| (error.at(), error.code())));
        });
    }
    /// Finding a tensor.
    entry_tensor {
        opened(|file| {
            black_box(file.tensor(black_box("weight")).map(|view| view.bytes()).ok());
        });
    }
    /// Dimensions.
    entry_shape {
        views(|view| {
            let shape = view.shape();
            black_box((shape.rank(), shape.dim(black_box(2)), shape.elements(), shape == view.shape()));
            shape.iter().for_each(|dim| {
                black_box(dim);
            });
            black_box(write!(Sink, "{shape}").is_ok());
        });
    }
    /// Names: decoded, compared, hashed by lookup, shown.
    entry_name {
        opened(|file| {
            let names = |view: TensorView<'_>| -> Option<()> {
                let name: Name<'_> = view.name();
                let other = file.tensors().next_back()?.name();
                black_box((name == other, name.cmp(&other), name == "w", name.as_str(), name.raw()));
                name.chars().for_each(|c| {
                    black_box(c);
                });
                Some(())
            };
            file.tensors().for_each(|view| {
                black_box(names(view));
            });
        });
    }
    /// Names shown.
    entry_name_display {
        views(|view| {
            black_box(write!(Sink, "{} {:?}", view.name(), view.name()).is_ok());
        });
    }
    /// Metadata.
    entry_metadata {
        opened(|file| {
            let Some(metadata) = file.metadata() else { return };
            metadata.iter().for_each(|(key, value)| {
                black_box((key.raw(), value.raw()));
            });
            black_box((metadata.get(black_box("format")).is_some(), metadata.at()));
        });
    }
    /// An error shown in both ways.
    entry_error_display {
        with(|input| {
            let Err(error) = Header::open_in(input.bytes, black_box(1), input.slots, &input.limits) else { return };
            let error: Error = error;
            black_box((error.at(), error.want(), error.needs(), error.needs_slots()));
            black_box(write!(Sink, "{error} {error:?}").is_ok());
        });
    }
    /// Dtypes.
    entry_dtype {
        views(|view| {
            let dtype = view.dtype();
            black_box((dtype.tag(), dtype.align(), dtype.bytes_for(black_box(3))));
            black_box(write!(Sink, "{dtype}").is_ok());
        });
    }
    /// `Gguf::open_in`: the whole validator.
    entry_gguf_open_in {
        gguf_opened(|file| {
            black_box((file.version(), file.endian(), file.alignment(), file.data_offset(), file.data()));
        });
    }
    /// `gguf::Header::open_in`, with any file length, and its padding.
    entry_gguf_header_open_in {
        let mut slots = [gguf::Slot::EMPTY; 8];
        let slots = black_box(&mut slots[..]);
        match gguf::Header::open_in(black_box(&BYTES), black_box(1), slots, &other_limits()) {
            Ok(header) => {
                header.padding().for_each(|span| {
                    black_box(span);
                });
                black_box((header.check_padding(black_box(&BYTES)).is_ok(), header.pair_count(), header.head()));
            }
            Err(error) => {
                black_box(write!(Sink, "{error} {error:?}").is_ok());
            }
        }
    }
    /// Pairs from both ends, and where they stand.
    entry_gguf_pairs {
        gguf_opened(|file| {
            black_box(file.pairs().next_back().map(|pair| pair.key_at()));
            file.pairs().for_each(|pair| {
                black_box((pair.key(), pair.value().kind(), pair.type_at(), pair.value_at()));
            });
        });
    }
    /// Values by key, in every type.
    entry_gguf_get {
        gguf_opened(|file| {
            let key = black_box("key");
            black_box(file.get(key).map(|value| value.kind().name()));
            black_box((file.u64(key).is_ok(), file.i64(key).is_ok(), file.f64(key).is_ok()));
            black_box((file.bool(key).is_ok(), file.str(key).is_ok()));
            if let Err(error) = file.array(key) {
                black_box(write!(Sink, "{error}").is_ok());
            }
        });
    }
    /// Elements of arrays, whatever their type.
    entry_gguf_array {
        arrays(|array| {
            black_box((array.len(), array.kind(), array.bytes(), array.at(), array.get(black_box(3))));
            array.iter().for_each(|element| {
                black_box(element);
            });
            black_box(array == black_box(array));
        });
    }
    /// Arrays of numbers.
    entry_gguf_numbers {
        arrays(|array| {
            numbers::<u8>(&array);
            numbers::<i8>(&array);
            numbers::<u16>(&array);
            numbers::<i16>(&array);
            numbers::<u32>(&array);
            numbers::<i32>(&array);
            numbers::<u64>(&array);
            numbers::<i64>(&array);
            numbers::<f32>(&array);
            numbers::<f64>(&array);
            numbers::<bool>(&array);
        });
    }
    /// Arrays of strings: walked, found by an index, checked.
    entry_gguf_strings {
        arrays(|array| {
            black_box(array.check_utf8().is_ok());
            let Ok(strings) = array.strings() else { return };
            strings.for_each(|text| {
                black_box((text.bytes(), text.as_str().is_ok()));
            });
            let mut words = [0_u32; 8];
            let Ok(index) = array.index_in(black_box(&mut words[..])) else { return };
            black_box((index.len(), index.get(black_box(3))));
        });
    }
    /// Strings shown.
    entry_gguf_string_display {
        arrays(|array| {
            let Ok(mut strings) = array.strings() else { return };
            if let Some(text) = strings.next() {
                black_box(write!(Sink, "{text} {text:?}").is_ok());
            }
        });
    }
    /// Tensors from both ends, by name and by index.
    entry_gguf_tensors {
        gguf_opened(|file| {
            black_box((file.len(), file.tensors().next_back().map(|tensor| tensor.span().end())));
            file.tensors().for_each(|tensor| {
                black_box((tensor.bytes(), tensor.kind().name(), tensor.elements(), tensor.shape().elements()));
                black_box((tensor.name(), tensor.info().info_at(), tensor.plain().map(|view| view.dtype())));
            });
            black_box(file.tensor(black_box("weight")).map(|tensor| tensor.bytes()).ok());
            black_box(file.header().tensor_at(black_box(3)).map(|info| info.span()));
        });
    }
    /// `ShardIndex::open_in`: the whole validator.
    entry_index_open_in {
        index_opened(|index| {
            black_box((index.len(), index.json(), index.total_size()));
        });
    }
    /// An index's tensors, its shards, and lookups in both.
    entry_index_walk {
        index_opened(|index| {
            let seen = |name: Name<'_>| {
                black_box(name.raw());
            };
            index.tensors().for_each(|entry| seen(entry.name()));
            index.in_file_order().for_each(|entry| seen(entry.shard()));
            index.shards().for_each(|shard| shard.tensors().for_each(|entry| seen(entry.name())));
            black_box(index.tensors().next_back().map(|entry| (entry.name_at(), entry.shard_at())));
            black_box(index.shard_of(black_box("weight")).map(|shard| shard.raw()).ok());
            black_box(index.shard(black_box("shard")).map(|shard| shard.len()).ok());
        });
    }
    /// An index's metadata.
    entry_index_metadata {
        index_opened(|index| {
            let Some(metadata) = index.metadata() else { return };
            metadata.iter().for_each(|(key, value)| {
                black_box((key.raw(), value));
            });
            black_box((metadata.get(black_box("key")), metadata.at()));
        });
    }
    /// A shard held against its index.
    entry_index_check_shard {
        opened(|file| index_opened(|index| index.check_shard(black_box("shard"), file.header()).for_each(|one| found(&one))));
    }
    /// Files held against an index, and its total.
    entry_index_check_files {
        index_opened(|index| {
            index.check_files(black_box(&["one", "two"][..])).for_each(|one| found(&one));
            index.check_total(black_box(1)).iter().for_each(found);
        });
    }
    /// What a file looks like.
    entry_detect {
        let guess = detect(black_box(&BYTES));
        black_box(write!(Sink, "{guess}").is_ok());
    }
    /// Elements in place.
    entry_typed {
        views(|view| {
            typed::<u8>(&view);
            typed::<i16>(&view);
            typed::<f32>(&view);
            typed::<f64>(&view);
            typed::<[f32; 2]>(&view);
            if let Err(error) = view.as_slice::<u64>() {
                black_box(write!(Sink, "{error}").is_ok());
            }
        });
    }
    /// Elements decoded and copied, and bools.
    entry_typed_copied {
        views(|view| {
            black_box(view.as_le::<LeF32>().ok().and_then(|slice| slice.first().map(|first| first.get())));
            black_box(view.as_le::<LeU16>().ok().and_then(|slice| slice.first().map(|first| first.get())));
            let mut out = [0_f32; 4];
            black_box(view.copy_to(black_box(&mut out[..])).is_ok());
            black_box(view.as_bool().is_ok());
        });
    }
    /// Floats of every format.
    entry_typed_iter_f32 {
        views(|view| {
            let Ok(mut floats) = view.iter_f32() else { return };
            black_box((floats.len(), floats.nth(black_box(3)), floats.next_back()));
            floats.clone().for_each(|value| {
                black_box(value);
            });
            for value in floats {
                black_box(value);
            }
        });
    }
    /// Sub-tensors: cut, their shape and their runs.
    entry_slice {
        views(|view| {
            let axes = [Axis::Full, Axis::from(black_box(3)), Axis::from(black_box(1)..black_box(5)).step_by(black_box(2))];
            match view.slice(black_box(&axes[..])) {
                Ok(part) => {
                    part.shape().for_each(|dim| {
                        black_box(dim);
                    });
                    part.runs().for_each(|run| {
                        black_box(run);
                    });
                    black_box((part.elements(), part.bytes_len(), part.contiguous(), part.runs().len()));
                    let mut out = [0; 8];
                    black_box(part.copy_to(black_box(&mut out[..])).is_ok());
                }
                Err(error) => {
                    black_box(write!(Sink, "{error}").is_ok());
                }
            }
        });
    }
    /// Blocks of any type, decoded in either byte order.
    entry_quant_decode {
        let mut out = [0.0; 64];
        let out = black_box(&mut out[..]);
        let (kind, order) = (GgmlType::from_id(black_box(1)), black_box(gguf::Endian::Big));
        black_box(quant::decode_from(kind, order, black_box(&BYTES), out).is_ok());
        if let Err(error) = quant::decode_block(kind, black_box(&BYTES), out) {
            black_box(write!(Sink, "{error}").is_ok());
        }
    }
    /// Tensors of a file row by row and element by element.
    entry_quant_views {
        gguf_opened(|file| {
            let Ok(tensor) = file.tensor(black_box("weight")) else { return };
            let Ok(rows) = quant::Rows::of(&tensor) else { return };
            let mut out = [0.0; 64];
            black_box((rows.len(), rows.row_elements(), rows.bytes(black_box(3))));
            black_box(rows.decode(black_box(1), black_box(&mut out[..])).is_ok());
            let mut values = rows.values();
            black_box((values.len(), values.next(), values.nth(black_box(70))));
            values.for_each(|value| {
                black_box(value);
            });
        });
    }
    /// Numbers that are not finite, found in blocks of any type; blocks in the other byte order.
    entry_quant_check {
        let kind = GgmlType::from_id(black_box(1));
        if let Err(error) = quant::check_row(kind, black_box(&BYTES)) {
            black_box(write!(Sink, "{error}").is_ok());
        }
        if let Ok(faults) = quant::faults(kind, black_box(gguf::Endian::Big), black_box(&BYTES)) {
            faults.for_each(|fault| {
                black_box((fault.block(), fault.at(), fault.what()));
            });
        }
        let mut bytes = [0; 64];
        black_box(quant::swap_order(kind, black_box(&mut bytes[..])).is_ok());
    }
    /// Values encoded as any type.
    entry_quant_encode {
        let mut out = [0; 64];
        let (kind, values) = (GgmlType::from_id(black_box(1)), [black_box(1.0); 64]);
        let non_finite = black_box(quant::NonFinite::Keep);
        black_box(quant::encode_with(kind, non_finite, black_box(&values[..]), black_box(&mut out[..])).is_ok());
    }
    /// An index past the end.
    planted_index {
        with(|input| {
            black_box(input.bytes[black_box(3)]);
        });
    }
    /// A sum that overflows.
    planted_overflow {
        with(|input| {
            black_box(black_box(1_u64) + input.limits.rank());
        });
    }
    /// An `unwrap` of what may not be there.
    planted_unwrap {
        opened(|file| {
            black_box(file.tensors().next().unwrap().bytes());
        });
    }
    /// A division by zero.
    planted_division {
        with(|input| {
            black_box(black_box(1_u64) / input.limits.rank());
        });
    }
}
