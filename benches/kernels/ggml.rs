//! ggml's row functions through its shared library. Source of the interface: `ggml-cpu.h` of ggml 0.25.3.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;
use tensorgate::gguf::GgmlType;
use tensorgate::simd::WeightType;

type VecDot = unsafe extern "C" fn(c_int, *mut f32, usize, *const c_void, usize, *const c_void, usize, c_int);
type FromFloat = unsafe extern "C" fn(*const f32, *mut c_void, i64);

/// `struct ggml_type_traits_cpu`.
#[repr(C)]
struct Traits {
    from_float: Option<FromFloat>,
    vec_dot: Option<VecDot>,
    vec_dot_type: u32,
    nrows: i64,
}

/// The library, loaded.
pub(crate) struct Ggml {
    library: Library,
    path: PathBuf,
}

impl Ggml {
    /// The library that `GGML_CPU` names, or that of `llama-cpp-python`.
    pub(crate) fn open() -> Result<Self, String> {
        let path = std::env::var_os("GGML_CPU").map(PathBuf::from).or_else(in_python);
        let path = path.ok_or("Python has no llama-cpp-python")?;
        // SAFETY: the library's initialisers are those of ggml.
        let library = unsafe { Library::new(&path) }.map_err(|error| error.to_string())?;
        {
            // SAFETY: `void ggml_cpu_init(void)`.
            let init = unsafe { library.get::<unsafe extern "C" fn()>(b"ggml_cpu_init") };
            let init = init.map_err(|error| error.to_string())?;
            // SAFETY: it fills tables and may be called at any time.
            unsafe { init() };
        }
        Ok(Self { library, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn traits(&self, id: u32) -> &Traits {
        type Get = unsafe extern "C" fn(c_int) -> *const Traits;
        // SAFETY: `const struct ggml_type_traits_cpu * ggml_get_type_traits_cpu(enum ggml_type)`.
        let get = unsafe { self.library.get::<Get>(b"ggml_get_type_traits_cpu") }.expect("ggml has its traits");
        // SAFETY: the type is one of ggml's.
        let traits = unsafe { get(id.cast_signed()) };
        // SAFETY: it points into a table that lives as long as the library.
        unsafe { &*traits }
    }

    fn of(&self, ty: WeightType) -> &Traits {
        let id = GgmlType::ALL.iter().find(|id| WeightType::from_ggml(**id) == Some(ty));
        self.traits(id.expect("all are GGUF's").id())
    }

    /// Activations in the form that ggml multiplies with such rows.
    pub(crate) fn activations(&self, ty: WeightType, x: &[f32]) -> Vec<u8> {
        let form = self.of(ty).vec_dot_type;
        if form == GgmlType::F32.id() {
            return x.iter().flat_map(|value| value.to_le_bytes()).collect();
        }
        let mut out = vec![0_u8; x.len() * 4 + 1024];
        let convert = self.traits(form).from_float.expect("every form can be made");
        let count = i64::try_from(x.len()).expect("small");
        // SAFETY: `out` has room for more bytes than any form takes; `count` values are read.
        unsafe { convert(x.as_ptr(), out.as_mut_ptr().cast(), count) };
        out
    }

    /// A row's dot product with activations of [`Self::activations`].
    pub(crate) fn dot(&self, ty: WeightType, len: usize, row: &[u8], act: &[u8]) -> f32 {
        let dot = self.of(ty).vec_dot.expect("every such type has one");
        let (mut sum, count) = (0.0, c_int::try_from(len).expect("small"));
        // SAFETY: row and activations hold `count` elements, a multiple of every block.
        unsafe { dot(count, &raw mut sum, 0, row.as_ptr().cast(), 0, act.as_ptr().cast(), 0, 1) };
        sum
    }
}

fn in_python() -> Option<PathBuf> {
    let script =
        "import llama_cpp, os; print(os.path.join(os.path.dirname(llama_cpp.__file__), 'lib', 'libggml-cpu.so'))";
    let output = Command::new("python3").args(["-c", script]).output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(line.trim()))
}
