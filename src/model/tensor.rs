//! A tensor that owns its share of the file.

use std::fmt;
use std::sync::Arc;
use std::vec::Vec;

use super::table::{Entry, Table};
use super::{ElementType, ModelFile};
use crate::file::{Advice, FileBytes, Hold};
use crate::gguf::Endian;
use crate::{CastError, Dtype, Name, Shape, Span, TensorView, num};

/// A tensor of a model: proved, and with its file's bytes kept alive for as long as it is there. Cheap to clone, and can
/// be sent between threads.
///
/// Its shape is row-major, the outermost dimension first, whatever the format: GGUF files have theirs the other way round.
#[derive(Clone)]
pub struct Tensor {
    table: Arc<Table>,
    entry: Entry,
    bytes: FileBytes,
}

impl Tensor {
    /// The tensor at `index`, where its size is known.
    pub(super) fn new(table: &Arc<Table>, index: usize, files: &[ModelFile]) -> Option<Self> {
        let entry = *table.entry(index)?;
        entry.element.block_elements()?;
        let bytes = files.get(entry.file)?.bytes().clone();
        Some(Self { table: Arc::clone(table), entry, bytes })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.table.name(&self.entry)
    }

    /// The type of its elements.
    pub const fn element(&self) -> ElementType {
        self.entry.element
    }

    /// Its dimensions, outermost first; none for a scalar.
    pub fn shape(&self) -> &[u64] {
        self.table.dims(&self.entry)
    }

    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        Shape::from(self.shape()).elements().unwrap_or(0)
    }

    /// The order of the bytes in each number, also inside blocks.
    pub const fn endian(&self) -> Endian {
        self.entry.endian
    }

    /// Its bytes, row-major, at whatever alignment the file gives them.
    pub fn bytes(&self) -> &[u8] {
        self.entry.span.of(&self.bytes).unwrap_or_default()
    }

    /// It as the core's view, with typed access and slices: `None` for blocks, and for numbers of more than a byte in a
    /// big-endian file. Its [`as_bool`](TensorView::as_bool) refuses a mapped file; see [`to_bools`](Self::to_bools).
    ///
    /// ```
    /// # use tensorgate::model::{Model, Options};
    /// # let mut file = 54_u64.to_le_bytes().to_vec();
    /// # file.extend_from_slice(br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
    /// # file.extend_from_slice(&[0, 0, 128, 63, 0, 0, 0, 64]);
    /// # let model = Model::from_reader(std::io::Cursor::new(file), &Options::default())?;
    /// let w = model.tensor("w")?;
    /// let view = w.view().unwrap();
    /// assert_eq!(view.to_cow::<f32>().unwrap().as_ref(), [1.0, 2.0]);
    /// # Ok::<(), tensorgate::model::ModelError>(())
    /// ```
    pub fn view(&self) -> Option<TensorView<'_>> {
        let dtype = self.entry.element.dtype()?;
        if self.entry.endian == Endian::Big && dtype.bits() > 8 {
            return None;
        }
        let (name, shape) = (Name::from(self.name()), Shape::from(self.shape()));
        let view = TensorView::new(name, dtype, shape, self.entry.span, self.bytes());
        Some(if self.bytes.hold() == Hold::Map { view.shared() } else { view })
    }

    /// A copy of the elements of a `BOOL` tensor, each looked at once: the way to them where the file is mapped, so that
    /// what was checked could change behind the check.
    ///
    /// # Errors
    ///
    /// [`CastError::Dtype`] for another dtype (blocks count as bytes, `U8`), [`CastError::NotBool`] with the first byte that is neither 0 nor 1,
    /// [`CastError::Alloc`].
    pub fn to_bools(&self) -> Result<Vec<bool>, CastError> {
        let expected = Dtype::BOOL;
        match self.entry.element.dtype() {
            Some(found) if found != expected => return Err(CastError::Dtype { expected, found }),
            None => return Err(CastError::Dtype { expected, found: Dtype::U8 }),
            Some(_) => {}
        }
        let bytes = self.bytes();
        let mut bools = Vec::new();
        let out_of_memory = CastError::Alloc { bytes: num::widen(bytes.len()) };
        bools.try_reserve_exact(bytes.len()).map_err(|_| out_of_memory)?;
        for (index, byte) in bytes.iter().enumerate() {
            bools.push(match *byte {
                0 => false,
                1 => true,
                byte => return Err(CastError::NotBool { index: num::widen(index), byte }),
            });
        }
        Ok(bools)
    }

    /// Which of the model's [`files`](super::Model::files) it is in.
    pub const fn file(&self) -> usize {
        self.entry.file
    }

    /// Where its bytes stand in that file, absolute; without the padding behind them.
    pub const fn span(&self) -> Span {
        self.entry.span
    }

    /// The bytes of its whole file, which it keeps alive.
    pub const fn file_bytes(&self) -> &FileBytes {
        &self.bytes
    }

    /// Tells the kernel what is to become of its bytes: see [`FileBytes::advise`].
    pub fn advise(&self, advice: Advice) {
        self.bytes.advise(self.entry.span, advice);
    }

    /// Tells the kernel what is to become of some of its bytes, counted from its first.
    pub fn advise_range(&self, start: u64, len: u64, advice: Advice) {
        let start = self.entry.span.start().saturating_add(start).min(self.entry.span.end());
        let end = num::add(start, len).unwrap_or(u64::MAX).min(self.entry.span.end());
        if let Some(span) = Span::new(start, end) {
            self.bytes.advise(span, advice);
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (span, name) = (self.span(), Name::from(self.name()));
        write!(f, "{name:?}: {}{:?} at {}..{}", self.element(), self.shape(), span.start(), span.end())
    }
}
