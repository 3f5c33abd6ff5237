//! The others: candle's blocks, ggml's row functions, gguf-py in a process of its own.

use std::borrow::Cow;
use std::ffi::c_void;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use candle_core::Device;
use candle_core::quantized::{GgmlDType, GgmlType as Block, QStorage, QTensor, k_quants as k};
use libloading::Library;
use tensorgate::gguf::GgmlType;

type Call<'a> = Box<dyn FnMut(&mut [f32]) -> Option<f64> + 'a>;

/// Words as bytes.
pub(crate) fn bytes(words: &[u16]) -> &[u8] {
    // SAFETY: any bytes of a word are two bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), 2 * words.len()) }
}

fn to_float<'a, T: Block + 'a>(bytes: &'a [u8]) -> Call<'a> {
    assert!(bytes.as_ptr().cast::<T>().is_aligned());
    // SAFETY: candle's blocks are numbers of any bits, without padding, and the pointer is aligned for them.
    let blocks: &[T] = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) };
    Box::new(move |out| {
        T::to_float(blocks, out);
        None
    })
}

/// Candle's own function for blocks.
pub(crate) fn candle(kind: GgmlType, bytes: &[u8]) -> Call<'_> {
    match kind {
        GgmlType::Q4_0 => to_float::<k::BlockQ4_0>(bytes),
        GgmlType::Q4_1 => to_float::<k::BlockQ4_1>(bytes),
        GgmlType::Q5_0 => to_float::<k::BlockQ5_0>(bytes),
        GgmlType::Q5_1 => to_float::<k::BlockQ5_1>(bytes),
        GgmlType::Q8_0 => to_float::<k::BlockQ8_0>(bytes),
        GgmlType::Q2_K => to_float::<k::BlockQ2K>(bytes),
        GgmlType::Q3_K => to_float::<k::BlockQ3K>(bytes),
        GgmlType::Q4_K => to_float::<k::BlockQ4K>(bytes),
        GgmlType::Q5_K => to_float::<k::BlockQ5K>(bytes),
        GgmlType::Q6_K => to_float::<k::BlockQ6K>(bytes),
        other => panic!("candle has no {other}"),
    }
}

/// What candle's users call: a new tensor each time. Its elements are copied out only where there is something to compare.
pub(crate) fn candle_tensor(kind: GgmlType, bytes: &[u8], elements: usize) -> Call<'static> {
    let dtype = match kind {
        GgmlType::Q4_0 => GgmlDType::Q4_0,
        GgmlType::Q4_1 => GgmlDType::Q4_1,
        GgmlType::Q5_0 => GgmlDType::Q5_0,
        GgmlType::Q5_1 => GgmlDType::Q5_1,
        GgmlType::Q8_0 => GgmlDType::Q8_0,
        GgmlType::Q2_K => GgmlDType::Q2K,
        GgmlType::Q3_K => GgmlDType::Q3K,
        GgmlType::Q4_K => GgmlDType::Q4K,
        GgmlType::Q5_K => GgmlDType::Q5K,
        GgmlType::Q6_K => GgmlDType::Q6K,
        other => panic!("candle has no {other}"),
    };
    let storage = QStorage::from_data(Cow::Borrowed(bytes), &Device::Cpu, dtype).unwrap();
    let tensor = QTensor::new(storage, (elements / 4096, 4096)).unwrap();
    Box::new(move |out| {
        let made = tensor.dequantize(&Device::Cpu).unwrap();
        if out[0].is_nan() {
            out.copy_from_slice(&made.flatten_all().unwrap().to_vec1::<f32>().unwrap());
        }
        None
    })
}

type Row = unsafe extern "C" fn(*const c_void, *mut f32, i64);

/// ggml's library of formats. Source of the interface: `ggml-quants.h` of ggml 0.25.3.
pub(crate) struct Ggml {
    library: Library,
    path: PathBuf,
}

impl Ggml {
    pub(crate) fn open() -> Result<Self, String> {
        let path = std::env::var_os("GGML_BASE").map(PathBuf::from).or_else(in_python);
        let path = path.ok_or("Python has no llama-cpp-python")?;
        // SAFETY: the library's initialisers are those of ggml.
        let library = unsafe { Library::new(&path) }.map_err(|error| error.to_string())?;
        Ok(Self { library, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn reader<'a>(&self, kind: GgmlType, bytes: &'a [u8]) -> Call<'a> {
        let name = format!("dequantize_row_{}", kind.to_string().to_lowercase().replace("_k", "_K"));
        // SAFETY: `void dequantize_row_*(const block_* x, float * y, int64_t k)`, which are all alike.
        let found = unsafe { self.library.get::<Row>(name.as_bytes()) };
        let row: Row = *found.unwrap_or_else(|error| panic!("{error}"));
        Box::new(move |out| {
            let count = i64::try_from(out.len()).expect("small");
            // SAFETY: the blocks are those of `count` elements.
            unsafe { row(bytes.as_ptr().cast(), out.as_mut_ptr(), count) };
            None
        })
    }
}

fn in_python() -> Option<PathBuf> {
    let script =
        "import llama_cpp, os; print(os.path.join(os.path.dirname(llama_cpp.__file__), 'lib', 'libggml-base.so'))";
    let output = Command::new("python3").args(["-c", script]).output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(line.trim()))
}

/// `decode.py`, which decodes when told and says how long it took.
pub(crate) struct Python {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    version: String,
}

impl Python {
    pub(crate) fn open() -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("decode.py");
        let started = Command::new("python3")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process = started.map_err(|error| error.to_string())?;
        let (Some(to), Some(from)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no pipes".to_owned());
        };
        let mut python = Self { process, to, from: BufReader::new(from), version: String::new() };
        python.version = python.line();
        if python.version.is_empty() { Err("Python has no gguf".to_owned()) } else { Ok(python) }
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("the process is there");
        line.trim().to_owned()
    }

    /// Asked with a NaN in front it also sends its elements.
    pub(crate) fn reader<'a>(&'a mut self, kind: GgmlType, bytes: &'a [u8]) -> Call<'a> {
        writeln!(self.to, "{kind} {}", bytes.len()).expect("the process is there");
        self.to.write_all(bytes).expect("the process is there");
        Box::new(move |out| {
            let wanted = out[0].is_nan();
            self.to.write_all(if wanted { b"send\n" } else { b"time\n" }).expect("the process is there");
            self.to.flush().expect("the process is there");
            let seconds = self.line().parse().expect("a time");
            if wanted {
                let mut raw = vec![0; 4 * out.len()];
                self.from.read_exact(&mut raw).expect("all elements");
                for (out, bytes) in out.iter_mut().zip(raw.as_chunks::<4>().0) {
                    *out = f32::from_le_bytes(*bytes);
                }
            }
            Some(seconds)
        })
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"quit\n");
        let _ = self.process.wait();
    }
}
