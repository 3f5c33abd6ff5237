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

use tensorgate::safetensors::{Header, Slot};
use tensorgate::{Error, Limits, Name, SafeTensors, TensorView};

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

/// Takes text and forgets it.
struct Sink;

impl Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        black_box(text);
        if black_box(true) { Ok(()) } else { Err(fmt::Error) }
    }
}

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
