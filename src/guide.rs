//! Guides: what each kind of user needs, with a program that runs.
//!
//! | you | guide |
//! |---|---|
//! | load models that strangers made | `untrusted` (with `std`) |
//! | have no allocator, no operating system, or 32 bits | [`embedded`] |
//! | judge files in a sandbox: a web page, a worker, a confined process | [`sandbox`] |
//! | run GPT-2 | `gpt2` (with `std`) |
//! | fuzz, or test with random values | [`fuzzing`] |
//! | check files in continuous integration | the command line: `docs/cli.md` |
//!
//! This module has nothing but text: it is there where documentation is made.

#[cfg(feature = "std")]
pub mod untrusted {
    //! A program that loads models of strangers.
    //!
    //! Open a [`Model`](crate::Model) with limits of your own and, where others may write to the file, as a sealed copy.
    //! An error says whose fault it is: one that [lies](crate::model::ModelErrorKind::Invalid) is refused for good, one that
    //! could not be read may be tried again. Everything that comes out was proved: dimensions, types and offsets
    //! need no check of yours. The numbers themselves can still be anything, and names are a stranger's text: show them as
    //! [`Name`](crate::Name), which escapes, and never use one as a path.
    //!
    //! ```
    //! use tensorgate::file::Hold;
    //! use tensorgate::model::{Model, ModelErrorKind, Options};
    //! use tensorgate::{Limits, Name};
    //!
    //! # fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let limits = Limits::default().with_header_len(16 << 20).with_tensors(20_000).with_rank(8);
    //! let options = Options::default()
    //!     .with_limits(limits)
    //!     .with_hold(Hold::Snapshot) // nobody can change it while it is read; costs its size in memory
    //!     .with_memory_limit(8 << 30);
    //!
    //! let model = Model::open_with("models/austen", &options)?; // a file, an index, a split, or a folder
    //! for tensor in model.in_file_order() {
    //!     let Some(view) = tensor.view() else { continue }; // blocks: see `quant::Rows`
    //!     if view.iter_f32().is_ok_and(|mut values| values.any(|value| !value.is_finite())) {
    //!         println!("{} is not finite", Name::from(tensor.name()));
    //!     }
    //! }
    //!
    //! let error = Model::open_with("corpus/accept", &options).unwrap_err(); // a folder with many models
    //! assert!(!matches!(error.kind(), ModelErrorKind::Invalid { .. }));
    //! println!("{error} ({})", error.code());
    //! # Ok(())
    //! # }
    //! ```
    //!
    //! What a mapped file cannot promise stands in `SECURITY.md`, a whole program in `examples/untrusted.rs`, and one that may
    //! do nothing but read in `examples/confined.rs`.
}

pub mod embedded {
    //! No allocator, no operating system, 32 bits.
    //!
    //! Without features the crate is `core` alone. You lend a [`Slot`](crate::safetensors::Slot) of 40 bytes a tensor, and
    //! nothing else is used but a stack of a few kilobytes that does not depend on the file. The header suffices: with its
    //! bytes and the file's length the verdict is that on the whole file, before a byte of data has arrived.
    //!
    //! ```
    //! use tensorgate::safetensors::{Header, Slot};
    //! use tensorgate::{Error, Limits};
    //!
    //! /// What comes over the link so far, of a file that the sender says is so long.
    //! fn judge(received: &[u8], file_len: u64) -> Result<usize, Error> {
    //!     let mut slots = [Slot::EMPTY; 32];
    //!     let limits = Limits::DEFAULT.with_header_len(4096); // what there is room for
    //!     Ok(Header::open_in(received, file_len, &mut slots, &limits)?.len())
    //! }
    //!
    //! let mut file = [0; 62];
    //! file[0] = 54;
    //! file[8..].copy_from_slice(br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
    //! assert_eq!(judge(&file[..8], 70).unwrap_err().needs(), Some(62)); // so many bytes are needed
    //! assert_eq!(judge(&file, 70), Ok(1));
    //! let error = judge(&file, 69).unwrap_err(); // one byte of data is missing
    //! assert_eq!((error.code(), error.at()), ("ST-DATA-SHORT", 55)); // the offsets that claim it
    //! ```
    //!
    //! [`Error::needs_slots`](crate::Error::needs_slots) says how many slots there would have to be. GGUF is read the same way
    //! ([`gguf::Header::open_in`](crate::gguf::Header::open_in)), sharded indexes too
    //! ([`ShardIndex::open_in`](crate::ShardIndex::open_in)). `examples/embedded` is a gate for a Cortex-M4 in under 32 KiB of
    //! flash that takes a file in pieces, and `capi/` the interface for C.
}

pub mod sandbox {
    //! A sandbox that judges files: WebAssembly, a worker, a process that may do nothing but read.
    //!
    //! Start with a few kilobytes, and read on as long as more is asked for: no file need be held as a whole, and none is
    //! read twice. [`Error`](crate::Error) is `Copy` and holds no text of the file, so that it can leave the sandbox as
    //! it is; its `Display` is printable ASCII.
    //!
    //! ```
    //! use tensorgate::safetensors::{Header, Slot};
    //! use tensorgate::{Error, Limits};
    //!
    //! /// Judges a file of `len` bytes; `read` fills its buffer from the file's beginning.
    //! fn judge(len: u64, mut read: impl FnMut(&mut [u8])) -> Result<usize, Error> {
    //!     let mut memory = [0; 16 << 10]; // what the sandbox has
    //!     let mut slots = [Slot::EMPTY; 200];
    //!     let mut have = memory.len().min(usize::try_from(len.min(64)).unwrap_or(64));
    //!     loop {
    //!         read(&mut memory[..have]);
    //!         match Header::open_in(&memory[..have], len, &mut slots, &Limits::DEFAULT) {
    //!             Ok(header) => return Ok(header.len()),
    //!             Err(error) => match error.needs().and_then(|needs| usize::try_from(needs).ok()) {
    //!                 Some(needs) if needs <= memory.len() => have = needs,
    //!                 _ => return Err(error), // the verdict; or a header that is too long for this sandbox
    //!             },
    //!         }
    //!     }
    //! }
    //!
    //! let file = include_bytes!("../corpus/accept/dtype-f32.safetensors");
    //! let read = |buffer: &mut [u8]| {
    //!     let len = buffer.len();
    //!     buffer.copy_from_slice(&file[..len]);
    //! };
    //! assert_eq!(judge(file.len() as u64, read), Ok(1));
    //! assert_eq!(judge(file.len() as u64 + 1, read).unwrap_err().code(), "ST-DATA-TRAILING");
    //! ```
    //!
    //! `examples/wasm` is this as a module without imports, whose verdicts are held against the native ones over the whole
    //! corpus; `examples/web` a page where files are dropped; `examples/confined.rs` a process under seccomp.
}

#[cfg(feature = "std")]
pub mod gpt2 {
    //! GPT-2 on the CPU.
    //!
    //! The weights are multiplied where they stand in the file; a hostile model, config or vocabulary is an error. Tokens come
    //! from an iterator, so that a program shows them as they are made and stops when it likes.
    //!
    //! ```
    //! use tensorgate::gpt2::{GenerateOptions, Gpt2, RunOptions, Runner};
    //! use tensorgate::tokenizer::Tokenizer;
    //!
    //! # fn main() -> Result<(), Box<dyn std::error::Error>> {
    //! let folder = std::path::Path::new("models/austen");
    //! let model = Gpt2::open(folder)?;
    //! let (vocab, merges) = (std::fs::read(folder.join("vocab.json"))?, std::fs::read(folder.join("merges.txt"))?);
    //! let tokenizer = Tokenizer::from_files(&vocab, &merges)?;
    //!
    //! let mut runner = Runner::new(&model, &RunOptions::default())?; // threads, and buffers of a fixed size
    //! let mut session = runner.session()?; // keys and values of one text
    //! let prompt = tokenizer.encode(b"It is a truth universally acknowledged, that");
    //! let options = GenerateOptions { tokens: 4, ..GenerateOptions::default() }; // the likeliest each time
    //! let mut text = Vec::new();
    //! for choice in runner.generate(&mut session, &prompt, &options)? {
    //!     text.extend(tokenizer.decode(&[choice?.id])?); // bytes: a character may come in two tokens
    //! }
    //! assert_eq!(text, b" I am sure you");
    //!
    //! let saved = session.save()?; // to go on another day; checked like any file
    //! let mut again = runner.restore(&saved)?;
    //! let more = runner.generate(&mut again, &[], &options)?.collect::<Result<Vec<_>, _>>()?;
    //! assert_eq!(more.len(), 4);
    //! # Ok(())
    //! # }
    //! ```
    //!
    //! A program of yours should set `codegen-units = 1` for its release build: with more, some kernels are not inlined.
    //! `docs/performance.md` has what was measured, `crate::gpt2` how exact it is.
}

pub mod fuzzing {
    //! Fuzzing this crate, or a program that uses it.
    //!
    //! Every public entry has a target with an oracle in `fuzz/`; `fuzz/run.sh 60` runs them all, `fuzz/README.md` names them.
    //! For a target of your own: whatever the bytes are, opening them is cheap and never panics, so that an oracle
    //! can say more than *it did not crash*.
    //!
    //! ```
    //! use tensorgate::safetensors::{Header, Slot};
    //! use tensorgate::Limits;
    //!
    //! /// What must hold of any bytes; a fuzz target is a call of this.
    //! fn oracle(bytes: &[u8]) {
    //!     let mut slots = [Slot::EMPTY; 64];
    //!     let len = bytes.len() as u64;
    //!     match Header::open_in(bytes, len, &mut slots, &Limits::DEFAULT) {
    //!         // Tensors tile the data, whose end is the file's.
    //!         Ok(header) => {
    //!             let mut end = header.data().start();
    //!             for tensor in header.tensors() {
    //!                 assert_eq!(tensor.span().start(), end);
    //!                 end = tensor.span().end();
    //!             }
    //!             assert_eq!(end, len);
    //!         }
    //!         // The offset of a fault lies in the file, or at its end where something is missing.
    //!         Err(error) => assert!(error.at() <= len),
    //!     }
    //! }
    //!
    //! oracle(b"");
    //! oracle(include_bytes!("../corpus/accept/dtype-f32.safetensors"));
    //! ```
    //!
    //! With the feature `arbitrary`, [`Dtype`](crate::Dtype), [`GgmlType`](crate::gguf::GgmlType),
    //! [`Endian`](crate::gguf::Endian), [`Axis`](crate::Axis) and [`ErrorKind`](crate::ErrorKind) implement
    //! `arbitrary::Arbitrary`:
    //!
    //! ```
    //! # #[cfg(feature = "arbitrary")]
    //! # fn main() -> arbitrary::Result<()> {
    //! use arbitrary::{Arbitrary, Unstructured};
    //! use tensorgate::{Dtype, gguf::GgmlType};
    //!
    //! let mut random = Unstructured::new(&[7; 32]);
    //! let (dtype, kind) = <(Dtype, GgmlType)>::arbitrary(&mut random)?;
    //! assert!(Dtype::ALL.contains(&dtype) && GgmlType::ALL.contains(&kind));
    //! # Ok(())
    //! # }
    //! # #[cfg(not(feature = "arbitrary"))]
    //! # fn main() {}
    //! ```
}
