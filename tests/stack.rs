//! The stack that the core takes does not depend on the file: every case is judged, and everything in it looked at, on a
//! thread with 32 KiB of stack, and so is a header made to take the longest ways.

#![cfg(feature = "std")]

mod common;

use core::fmt::{self, Write};

use common::{bytes, cases, file};
use tensorgate::safetensors::Slot;
use tensorgate::{Error, Limits, SafeTensors};

const STACK: usize = 32 * 1024;

/// Counts what is shown to it.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// Opens `file` in lent storage and looks at everything in it; how much there was to see.
fn look(file: &[u8], slots: &mut [Slot]) -> Result<usize, Error> {
    let mut seen = Length(0);
    let opened = SafeTensors::open_in(file, slots, &Limits::default()).inspect_err(|error| {
        let _ = write!(Length(0), "{error} {error:?}");
    })?;
    for tensor in opened.tensors() {
        let _ = write!(seen, "{tensor:?} {} {}", tensor.shape(), tensor.shape().rank());
        let _ = tensor.name().as_str().map(|name| opened.tensor(name).map(|same| seen.0 += same.bytes().len()));
    }
    for (key, value) in opened.metadata().into_iter().flatten() {
        let _ = write!(seen, "{key} {value:?}");
    }
    Ok(seen.0)
}

/// Names and metadata keys in no order, escaped, over two layouts: the ways that sort and hash.
fn long_ways() -> Vec<u8> {
    let mut header = String::from("{\"__metadata__\":{");
    for key in (0..300).rev() {
        let comma = if key == 0 { "" } else { "," };
        write!(header, "\"\\u006b{key}\":\"\\ud83d\\ude00\"{comma}").unwrap();
    }
    header.push('}');
    for tensor in (0..300).rev() {
        let end = tensor + 1;
        write!(
            header,
            ", \"\\u0074{tensor}\": {{\"data_offsets\":[{tensor},{end}],\"shape\":[1,1],\"dtype\":\"U8\"}}"
        )
        .unwrap();
    }
    header.push('}');
    file(&header, &[7; 300])
}

#[test]
fn a_small_stack_is_enough() {
    let mut files: Vec<Vec<u8>> = cases("safetensors.json").iter().map(bytes).collect();
    files.push(long_ways());
    let expected: Vec<bool> = files.iter().map(|file| SafeTensors::open(file).is_ok()).collect();
    let judge = move || {
        let mut slots = vec![Slot::EMPTY; 2048];
        files.iter().map(|file| look(file, &mut slots).is_ok()).collect::<Vec<bool>>()
    };
    // A file that takes more ends the process: there is no way to go on from there.
    let verdicts = std::thread::Builder::new().stack_size(STACK).spawn(judge).unwrap().join().unwrap();
    assert_eq!(verdicts, expected);
    assert_eq!(verdicts.last(), Some(&true));
}
