//! The files of a model, open, with the tensors in each: what commands that read the data work on.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tensorgate::file::{Head, ReadError};
use tensorgate::gguf::{self, Endian, GgmlType, ShardName, SplitKeys};
use tensorgate::model::ElementType;
use tensorgate::scan::Scan;
use tensorgate::{Dtype, Shape, Span, safetensors};

use crate::judge::{Model, Options};
use crate::report::{Fault, Format, Report};
use crate::text;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain(Dtype),
    Ggml(GgmlType, Endian),
}

impl Kind {
    /// Its name; one of GGUF that safetensors has too is called the same. Numbers whose highest byte comes first are
    /// of another type, as far as bytes go.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Plain(dtype) => dtype.tag().to_owned(),
            Self::Ggml(GgmlType::I8, _) => GgmlType::I8.to_string(),
            Self::Ggml(kind, Endian::Little) => kind.to_string(),
            Self::Ggml(kind, Endian::Big) => format!("{kind}-BE"),
        }
    }

    /// The same as the library has it.
    pub(crate) const fn element(self) -> ElementType {
        match self {
            Self::Plain(dtype) => ElementType::Dtype(dtype),
            Self::Ggml(kind, _) => ElementType::Ggml(kind),
        }
    }

    /// The order of the bytes in each number.
    pub(crate) const fn endian(self) -> Endian {
        match self {
            Self::Plain(_) => Endian::Little,
            Self::Ggml(_, endian) => endian,
        }
    }

    /// A pass over its elements.
    pub(crate) const fn scan(self) -> Scan {
        match self {
            Self::Plain(dtype) => Scan::new(dtype),
            Self::Ggml(kind, endian) => Scan::gguf(kind, endian),
        }
    }
}

/// A tensor, and where its bytes stand in its file.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) shape: Vec<u64>,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Tensor {
    fn new(name: tensorgate::Name<'_>, kind: Kind, shape: Shape<'_>, span: Span) -> Self {
        let (start, end) = (span.start(), span.end());
        Self { name: name.to_cow().into_owned(), kind, shape: shape.to_vec(), start, end }
    }

    /// How many elements it has.
    pub(crate) fn elements(&self) -> u64 {
        Shape::from(self.shape.as_slice()).elements().unwrap_or_default()
    }

    /// Bytes of its data.
    pub(crate) const fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// The tensors of a header in the order of their data.
///
/// # Errors
///
/// [`ReadError::Memory`].
pub(crate) fn safetensors_tensors(header: &safetensors::Header<'_>) -> Result<Vec<Tensor>, ReadError> {
    let tensors = header.tensors();
    let mut list = room(header.json().len(), tensors.len())?;
    list.extend(tensors.map(|info| Tensor::new(info.name(), Kind::Plain(info.dtype()), info.shape(), info.span())));
    Ok(list)
}

/// An empty list with room for `count` tensors, and memory seen to be there for the names and shapes of a header of so
/// many bytes, each of which is a small request that could only end the process.
fn room(header: usize, count: usize) -> Result<Vec<Tensor>, ReadError> {
    const SMALLEST: usize = 32;
    let texts = header.saturating_add(count.saturating_mul(2 * SMALLEST));
    let wanted = count.saturating_mul(size_of::<Tensor>()).saturating_add(texts);
    let memory = ReadError::Memory { wanted: u64::try_from(wanted).unwrap_or(u64::MAX) };
    let (mut list, mut probe) = (Vec::new(), Vec::<u8>::new());
    if list.try_reserve_exact(count).is_err() || probe.try_reserve_exact(texts).is_err() {
        return Err(memory);
    }
    Ok(list)
}

/// The same of a GGUF file, without those whose size is not known.
///
/// # Errors
///
/// [`ReadError::Memory`].
pub(crate) fn gguf_tensors(header: &gguf::Header<'_>) -> Result<Vec<Tensor>, ReadError> {
    let sized = header.tensors().filter(|info| info.size().is_some());
    let kind = |kind| Kind::Ggml(kind, header.endian());
    let mut list = room(header.head().len(), header.len())?;
    list.extend(sized.map(|info| Tensor::new(info.name(), kind(info.kind()), info.shape(), info.span())));
    Ok(list)
}

/// One file of a model.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    pub(crate) tensors: Vec<Tensor>,
    /// Tensors that are not among these, since nobody knows how long they are.
    pub(crate) left_out: usize,
    file: File,
    len: u64,
    modified: Option<SystemTime>,
}

impl Part {
    /// A file whose header was judged; only of a regular file.
    fn new(path: &Path, head: &Head, tensors: Vec<Tensor>, count: usize) -> Result<Self, ReadError> {
        let file = head.file().ok_or(ReadError::NotRegular)?.try_clone()?;
        let len = head.file_len().unwrap_or_default();
        let modified = file.metadata()?.modified().ok();
        let left_out = count.saturating_sub(tensors.len());
        Ok(Self { path: path.to_owned(), tensors, left_out, file, len, modified })
    }

    /// Opens a file beside one that was judged, of the same format.
    fn open(path: &Path, format: Format, options: &Options) -> Result<Self, Box<Report>> {
        let unread = |error: ReadError| Box::new(Report::unread(path, &error));
        let mut head = Head::open_regular(path).map_err(unread)?;
        let tensors = if format == Format::Gguf {
            let limits = &options.limits;
            head.load(|bytes, len| gguf::Header::open(bytes, len, limits).err()?.needs()).map_err(unread)?;
            let len = head.file_len().unwrap_or_default();
            gguf::Header::open(head.bytes(), len, limits).map(|header| (gguf_tensors(&header), header.len()))
        } else {
            let len = head.load_safetensors(&options.limits).map_err(unread)?;
            let header = safetensors::Header::open(head.bytes(), len, &options.limits);
            header.map(|header| (safetensors_tensors(&header), header.len()))
        };
        let (tensors, count) = tensors.map_err(|error| {
            let fault = Fault::bare(error.code(), error.at(), error.kind().what().to_owned());
            Box::new(Report::rejected(path, format, fault))
        })?;
        Self::new(path, &head, tensors.map_err(unread)?, count).map_err(unread)
    }

    /// The file's name without its folder, which is what it is called in messages and manifests.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        String::from_utf8_lossy(name.as_encoded_bytes()).into_owned()
    }

    /// The file's length in bytes.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// When it was written, where the system tells it.
    pub(crate) const fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// Fills `buffer` from the bytes at `at`, by plain reads: where the file has become shorter that is an error.
    pub(crate) fn read(&self, buffer: &mut [u8], at: u64) -> Result<(), ReadError> {
        let mut at = at;
        let mut rest = buffer;
        while !rest.is_empty() {
            match read_at(&self.file, rest, at) {
                Ok(0) => return Err(ReadError::Changed { before: self.len, after: at }),
                Ok(count) => {
                    rest = rest.get_mut(count..).unwrap_or_default();
                    at = at.saturating_add(u64::try_from(count).unwrap_or_default());
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The file still has the length and the time that it had when it was opened.
    pub(crate) fn unchanged(&self) -> Result<(), ReadError> {
        let state = |metadata: &Metadata| (metadata.len(), metadata.modified().ok());
        let (len, modified) = state(&self.file.metadata()?);
        if (len, modified) == (self.len, self.modified) {
            Ok(())
        } else {
            Err(ReadError::Changed { before: self.len, after: len })
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

/// The files of a model that was accepted: itself, or the shards of it that are there.
///
/// # Errors
///
/// A report on the file that could not be opened.
pub(crate) fn parts(
    report: &Report,
    model: &Model<'_>,
    head: &Head,
    options: &Options,
) -> Result<Vec<Part>, Box<Report>> {
    let path = report.path.as_path();
    let own = |tensors: Result<Vec<Tensor>, ReadError>, count| {
        let part = tensors.and_then(|tensors| Part::new(path, head, tensors, count));
        part.map_err(|error| Box::new(Report::unread(path, &error)))
    };
    match model {
        Model::SafeTensors(header) => Ok(vec![own(safetensors_tensors(header), header.len())?]),
        Model::Gguf(header) => {
            let mut parts = vec![own(gguf_tensors(header), header.len())?];
            for shard in siblings(path, header) {
                if shard.is_file() {
                    parts.push(Part::open(&shard, Format::Gguf, options)?);
                }
            }
            Ok(parts)
        }
        Model::Index(_, shards) => {
            let folder = path.parent().unwrap_or(Path::new(""));
            let there = shards.iter().filter(|shard| shard.bytes.is_some());
            there.map(|shard| Part::open(&folder.join(&shard.name), Format::SafeTensors, options)).collect()
        }
    }
}

/// Which file of a model is not there, in a sentence.
pub(crate) fn gap(report: &Report, model: &Model<'_>) -> Option<String> {
    let path = text::path(&report.path);
    match model {
        Model::SafeTensors(_) => None,
        Model::Gguf(header) => {
            let lost = siblings(&report.path, header).into_iter().find(|shard| !shard.is_file())?;
            Some(format!("{path}: a shard is not there: {}", text::path(&lost)))
        }
        Model::Index(_, shards) => {
            let lost = shards.iter().find(|shard| shard.bytes.is_none())?;
            Some(format!("{path}: a shard is not there: {}", lost.name))
        }
    }
}

/// The other files of a split model of which this is the first.
pub(crate) fn siblings(path: &Path, header: &gguf::Header<'_>) -> Vec<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(ShardName::parse);
    let split = header.get("split.count").is_some();
    let first = name.filter(|name| split && name.number() == 1);
    let others = first.into_iter().flat_map(|name| (2..=name.count()).filter_map(move |n| name.sibling(n)));
    others.map(|name| path.with_file_name(name.to_string())).collect()
}

/// Where a file is a part of a model and is taken alone: which part, and what to name for the whole, in a sentence.
pub(crate) fn alone(path: &Path, model: &Model<'_>) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    // Both formats number their files in the same way.
    let as_gguf = name.strip_suffix(".safetensors").map(|stem| format!("{stem}.gguf"));
    let numbered = ShardName::parse(as_gguf.as_deref().unwrap_or(name));
    let (number, count, whole) = match model {
        Model::Index(..) => return None,
        Model::Gguf(header) => {
            let keys = SplitKeys::of(header).ok().flatten().filter(|keys| keys.count() > 1)?;
            if !siblings(path, header).is_empty() {
                return None;
            }
            let first = numbered.and_then(|name| name.sibling(1)).map(|first| first.to_string());
            (u32::from(keys.number()).saturating_add(1), u32::from(keys.count()), first)
        }
        Model::SafeTensors(_) => {
            let numbered = numbered.filter(|name| as_gguf.is_some() && name.count() > 1)?;
            (numbered.number(), numbered.count(), Some(format!("{}.safetensors.index.json", numbered.prefix())))
        }
    };
    let whole = match whole.filter(|_| number > 1 || matches!(model, Model::SafeTensors(_))) {
        Some(whole) => format!("name {} for all of it", text::ascii(&whole)),
        None => "its name does not tell theirs".to_owned(),
    };
    let path = text::path(path);
    Some(format!("note: {path} is file {number} of {count} of a model, and the others were not looked at: {whole}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_shrinks_or_changes_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        std::fs::write(&path, [0; 1000]).unwrap();
        let head = Head::open(&path).unwrap();
        let part = Part::new(&path, &head, Vec::new(), 3).unwrap();
        assert_eq!((part.name().as_str(), part.len(), part.left_out), ("m.safetensors", 1000, 3));
        let mut buffer = [1; 100];
        part.read(&mut buffer, 900).unwrap();
        assert_eq!(buffer, [0; 100]);
        part.unchanged().unwrap();
        File::options().write(true).open(&path).unwrap().set_len(950).unwrap();
        assert_eq!(part.read(&mut buffer, 900).unwrap_err().code(), "IO-CHANGED");
        assert_eq!(part.unchanged().unwrap_err().code(), "IO-CHANGED");
    }
}
