//! The audit of a safetensors header that was accepted.

use alloc::vec::Vec;
use core::fmt;

use super::names;
use super::rules::{RULES, Rule, Severity};
use crate::json::lex::plain_len;
use crate::safetensors::{Header, TensorInfo};
use crate::{Dtype, Error, ErrorKind, Name, num};

/// Something worth knowing about a file that was accepted.
///
/// [`Display`](fmt::Display) is one line of printable ASCII, bounded whatever the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding<'a> {
    rule: Rule,
    at: u64,
    count: u64,
    name: Option<Name<'a>>,
}

impl<'a> Finding<'a> {
    /// The rule.
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// The rule's stable code.
    pub const fn code(&self) -> &'static str {
        self.rule.code()
    }

    /// How much it matters.
    pub const fn severity(&self) -> Severity {
        self.rule.severity()
    }

    /// Absolute offset in bytes of the first place; that of a tensor is the opening quote of its name, or in a GGUF file
    /// the length of its name.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// How many places there are, at least 1.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The tensor's name or the metadata's key at the first place, where it has one.
    pub const fn name(&self) -> Option<Name<'a>> {
        self.name
    }
}

/// Columns of a name that a message shows.
const NAME_COLUMNS: usize = 60;

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule.what())?;
        let Some(name) = self.name else {
            return if self.count > 1 { write!(f, ": {}", self.count) } else { Ok(()) };
        };
        write!(f, ": {} (first: \"", self.count)?;
        let mut columns = 0_usize;
        for c in name.chars() {
            let plain = matches!(c, ' '..='~') && !matches!(c, '\\' | '"');
            columns = columns.saturating_add(if plain { 1 } else { c.escape_default().len() });
            if columns > NAME_COLUMNS {
                f.write_str("...")?;
                break;
            }
            if plain { fmt::Write::write_char(f, c)? } else { write!(f, "{}", c.escape_default())? }
        }
        f.write_str("\")")
    }
}

/// Counts by rule, with the first place of each.
pub(super) struct Tally<'a> {
    found: Vec<Finding<'a>>,
}

impl<'a> Tally<'a> {
    /// A tally with room for every rule.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::StorageTooSmall`] at `at` when memory ran out.
    pub(super) fn new(at: u64) -> Result<Self, Error> {
        let mut found = Vec::new();
        found.try_reserve_exact(RULES.len()).map_err(|_| Error::new(ErrorKind::StorageTooSmall, at))?;
        Ok(Self { found })
    }

    /// What was found, in the order of [`RULES`].
    pub(super) fn finish(mut self) -> Vec<Finding<'a>> {
        self.found.sort_unstable_by_key(|finding| finding.rule);
        self.found
    }

    /// One more place. Never allocates: room for every rule was reserved.
    pub(super) fn add(&mut self, rule: Rule, at: u64, name: Option<Name<'a>>) {
        self.add_many(rule, at, 1, name);
    }

    /// So many more places, the first at `at`.
    pub(super) fn add_many(&mut self, rule: Rule, at: u64, count: u64, name: Option<Name<'a>>) {
        if let Some(finding) = self.found.iter_mut().find(|finding| finding.rule == rule) {
            finding.count = finding.count.saturating_add(count);
            if at < finding.at {
                (finding.at, finding.name) = (at, name);
            }
        } else if self.found.len() < self.found.capacity() {
            self.found.push(Finding { rule, at, count, name });
        }
    }
}

/// Looks at an accepted header for what is odd in it. Notes, then, and at most one a rule, in the order of [`RULES`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn core::error::Error>> {
/// use tensorgate::{Limits, audit, safetensors::Header};
/// let file = b"\x15\0\0\0\0\0\0\0{\"__metadata__\":null}";
/// let header = Header::open(file, 29, &Limits::default())?;
/// let findings = audit::safetensors(&header)?;
/// assert!(findings.iter().any(|finding| finding.code() == "ST-NOTE-META-NULL" && finding.at() == 24));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`ErrorKind::StorageTooSmall`] when memory ran out: it takes up to 16 bytes a tensor.
pub fn safetensors<'a>(header: &Header<'a>) -> Result<Vec<Finding<'a>>, Error> {
    let mut tally = Tally::new(header.data().start())?;
    frame(&mut tally, header);
    order(&mut tally, header);
    let mut fold = false;
    for info in header.tensors() {
        tensor(&mut tally, &info);
        fold |= names::look(&mut tally, &info);
    }
    if fold {
        names::same_but_for_case(&mut tally, header)?;
    }
    metadata(&mut tally, header);
    spelling(&mut tally, header);
    Ok(tally.finish())
}

/// Marks of other formats that a header's length (at most 4,294,967,040) can spell. Only those of four bytes: a length
/// such as 640 begins like a pickle by chance, and means nothing.
const MARKS: [&[u8; 4]; 11] = [
    b"PK\x03\x04",
    b"\x1f\x8b\x08\x00",
    b"\x1f\x8b\x08\x08",
    b"\x28\xb5\x2f\xfd",
    b"\xff\xd8\xff\xe0",
    b"\xff\xd8\xff\xe1",
    b"\x7fELF",
    b"%PDF",
    b"GGUF",
    // A PyTorch file of the old kind: PROTO 2, LONG1 of ten bytes.
    b"\x80\x02\x8a\x0a",
    // A pickle of protocol 2 that begins with a dictionary.
    b"\x80\x02}q",
];

fn frame(tally: &mut Tally<'_>, header: &Header<'_>) {
    let length = num::widen(header.json().len()).to_le_bytes();
    if MARKS.iter().any(|mark| length.starts_with(*mark)) {
        tally.add(Rule::Polyglot, 0, None);
    }
    if let Some(used) = header.relaxed() {
        tally.add(Rule::LeadingSpace, used.at(), None);
    }
    if !header.data().start().is_multiple_of(8) {
        tally.add(Rule::DataAlign, 0, None);
    }
    if header.is_empty() {
        tally.add(Rule::NoTensors, JSON_AT, None);
    }
}

/// Where the header's JSON begins.
const JSON_AT: u64 = 8;

/// Entries that stand before an entry whose data comes earlier.
fn order<'a>(tally: &mut Tally<'a>, header: &Header<'a>) {
    if header.is_in_data_order() {
        return;
    }
    let mut furthest = 0;
    for info in header.tensors() {
        if info.entry_at() < furthest {
            tally.add(Rule::Order, info.entry_at(), Some(info.name()));
        }
        furthest = furthest.max(info.entry_at());
    }
}

fn tensor<'a>(tally: &mut Tally<'a>, info: &TensorInfo<'a>) {
    let dtype = info.dtype();
    // No more than it takes to see that there are too many: a shape can be as long as the header.
    let (mut rank, mut large) = (0_usize, false);
    for dim in info.shape().iter().take(MOST_DIMS.saturating_add(1)) {
        rank = rank.saturating_add(1);
        large |= dim > MOST_I32;
    }
    let aligned = align(dtype).is_none_or(|align| info.span().start().is_multiple_of(align));
    let empty = info.span().is_empty();
    let half = dtype.bits() < 8 && !empty && {
        let row = info.shape().iter().last().unwrap_or(1);
        !row.wrapping_mul(dtype.bits()).is_multiple_of(8)
    };
    for (rule, yes) in [
        (Rule::TensorAlign, !aligned && !empty),
        (Rule::Scalar, rank == 0),
        (Rule::EmptyTensor, empty),
        (Rule::HalfRows, half),
        (Rule::DtypeNew, is_new(dtype)),
        (Rule::Rank, rank > MOST_DIMS),
        (Rule::LargeDim, large),
    ] {
        if yes {
            tally.add(rule, info.entry_at(), Some(info.name()));
        }
    }
}

/// The dimensions that an array of NumPy can have.
const MOST_DIMS: usize = 64;

/// The largest signed 32-bit integer.
const MOST_I32: u64 = 0x7FFF_FFFF;

/// The alignment in bytes of a dtype's elements; none where they have no address of their own.
const fn align(dtype: Dtype) -> Option<u64> {
    match dtype {
        // Two singles, which is how C, NumPy and PyTorch align it.
        Dtype::C64 => Some(4),
        _ if dtype.bits() >= 8 => Some(dtype.bits() / 8),
        _ => None,
    }
}

/// Dtypes that `safetensors` 0.5 does not read (0.6.2 brought F4, F6 and F8_E8M0, 0.7 C64, 0.8 the FNUZ types).
const fn is_new(dtype: Dtype) -> bool {
    matches!(
        dtype,
        Dtype::F4
            | Dtype::F6_E2M3
            | Dtype::F6_E3M2
            | Dtype::F8_E8M0
            | Dtype::C64
            | Dtype::F8_E4M3FNUZ
            | Dtype::F8_E5M2FNUZ
    )
}

/// Metadata values from which on a value is long, in bytes as they stand.
const LONG_VALUE: usize = 64 * 1024;

fn metadata<'a>(tally: &mut Tally<'a>, header: &Header<'a>) {
    let hidden = |text: Name<'_>| text.chars().any(|c| names::is_hidden(c) && !matches!(c, '\t' | '\n' | '\r'));
    for (key, value) in header.metadata().into_iter().flatten() {
        let at = place(header, key);
        if hidden(key) || hidden(value) {
            tally.add(Rule::MetaControl, at, Some(key));
        }
        if value.raw().len() > LONG_VALUE {
            tally.add(Rule::MetaLong, at, Some(key));
        }
    }
}

/// Where the opening quote of a text borrowed from the header stands in the file.
fn place(header: &Header<'_>, text: Name<'_>) -> u64 {
    let inside = text.raw().as_ptr().addr().saturating_sub(header.json().as_ptr().addr());
    JSON_AT.saturating_add(num::widen(inside)).saturating_sub(1)
}

/// How the header is written: white space, escapes, null.
fn spelling(tally: &mut Tally<'_>, header: &Header<'_>) {
    let json = header.json().trim_ascii_start();
    let skipped = num::widen(header.json().len().saturating_sub(json.len()));
    let body_len = json.bytes().rposition(|byte| byte == b'}').map_or(0, |last| last.saturating_add(1));
    let Some((body, padding)) = json.as_bytes().split_at_checked(body_len) else { return };
    let start = JSON_AT.saturating_add(skipped);
    let end = start.saturating_add(num::widen(body.len()));
    if let Some(odd) = padding.iter().position(|byte| *byte != b' ') {
        tally.add(Rule::Padding, end.saturating_add(num::widen(odd)), None);
    }
    let mut rest = body;
    let mut inside = false;
    loop {
        if inside {
            rest = rest.get(plain_len(rest)..).unwrap_or_default();
        }
        let at = end.saturating_sub(num::widen(rest.len()));
        let Some((byte, after)) = rest.split_first() else { break };
        rest = after;
        match byte {
            b'"' => inside = !inside,
            b'\\' => {
                let (needless, len) = escape(after);
                if needless {
                    tally.add(Rule::Escape, at, None);
                }
                rest = after.get(len..).unwrap_or_default();
            }
            b' ' | b'\t' | b'\n' | b'\r' if !inside => tally.add(Rule::Space, at, None),
            // In an accepted header no other literal can stand.
            b'n' if !inside => tally.add(Rule::MetaNull, at, None),
            _ => {}
        }
    }
}

/// Whether the escape behind a backslash says a printable ASCII character that needs none, and how long it is.
fn escape(after: &[u8]) -> (bool, usize) {
    match after {
        [b'/', ..] => (true, 1),
        [b'u', b'0', b'0', high @ b'2'..=b'7', low, ..] => {
            let control = *high == b'7' && low.eq_ignore_ascii_case(&b'f');
            let quoted = (*high == b'2' && *low == b'2') || (*high == b'5' && low.eq_ignore_ascii_case(&b'c'));
            (!control && !quoted, 5)
        }
        _ => (false, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use std::format;
    use std::string::{String, ToString};
    use std::vec;

    fn audit(json: &str, data: u64) -> Vec<(&'static str, u64, u64)> {
        let mut file = num::widen(json.len()).to_le_bytes().to_vec();
        file.extend_from_slice(json.as_bytes());
        let limits = Limits::default().with_leading_space(true);
        let header = Header::open(&file, num::widen(file.len()) + data, &limits).unwrap();
        let found = safetensors(&header).unwrap();
        for finding in &found {
            let shown = finding.to_string();
            assert!(shown.len() < 200 && shown.bytes().all(|b| (b' '..=b'~').contains(&b)), "{shown}");
            let last = num::widen(file.len()) + data;
            assert!(finding.at() < last);
        }
        found.iter().map(|f| (f.code().trim_start_matches("ST-NOTE-"), f.at(), f.count())).collect()
    }

    /// Padded so that the data is aligned.
    fn padded(json: &str) -> String {
        let missing = json.len().next_multiple_of(8) - json.len();
        format!("{json}{}", " ".repeat(missing))
    }

    fn entry(name: &str, dtype: &str, shape: &str, begin: u64, end: u64) -> String {
        format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{begin},{end}]}}")
    }

    #[test]
    fn a_file_as_the_writer_writes_it_has_no_findings() {
        let json = format!(
            "{{\"__metadata__\":{{\"format\":\"pt\",\"x\":\"\\u00e9\\n\\\"\"}},{},{}}}",
            entry("model.layers.0.weight", "F32", "[2,2]", 0, 16),
            entry("Lm_head-1", "BF16", "[1]", 16, 18)
        );
        assert_eq!(audit(&padded(&json), 18), []);
    }

    #[test]
    fn frame_and_order() {
        assert_eq!(audit("{}  ", 0), [("DATA-ALIGN", 0, 1), ("NO-TENSORS", 8, 1)]);
        assert_eq!(audit(" {}", 0)[0], ("LEADING-SPACE", 8, 1));
        let json = format!("{{{},{}}}", entry("a", "U8", "[1]", 1, 2), entry("b", "U8", "[1]", 0, 1));
        let first = 8 + 1;
        assert_eq!(audit(&padded(&json), 2), [("ORDER", first, 1)]);
        let of_length = |width: usize| audit(&(String::from("{}") + &" ".repeat(width - 2)), 0);
        assert_eq!(of_length(0x0008_8B1F)[0], ("POLYGLOT", 0, 1));
        // 80 02, 80 04, MZ: two bytes are no mark.
        for length in [0x0280, 0x0480, 0x5A4D] {
            assert!(of_length(length).iter().all(|(code, ..)| *code != "POLYGLOT"), "{length}");
        }
    }

    #[test]
    fn tensors() {
        let one = |dtype: &str, shape: &str, end| {
            audit(&padded(&format!("{{{}}}", entry("a", dtype, shape, 0, end))), end)
        };
        assert_eq!(one("F32", "[]", 4), [("SCALAR", 9, 1)]);
        assert_eq!(one("F32", "[0,2147483647]", 0), [("EMPTY-TENSOR", 9, 1)]);
        assert_eq!(one("F32", "[0,2147483648]", 0), [("EMPTY-TENSOR", 9, 1), ("LARGE-DIM", 9, 1)]);
        assert_eq!(one("F4", "[2,3]", 3), [("HALF-ROWS", 9, 1), ("DTYPE-NEW", 9, 1)]);
        assert_eq!(one("F4", "[3,2]", 3), [("DTYPE-NEW", 9, 1)]);
        assert_eq!(one("U8", &format!("[1{}]", ",1".repeat(63)), 1), []);
        assert_eq!(one("U8", &format!("[1{}]", ",1".repeat(64)), 1), [("RANK", 9, 1)]);
        let second = entry("b", "U8", "[1]", 0, 1);
        let json = format!("{{{second},{},{}}}", entry("c", "F16", "[1]", 1, 3), entry("d", "F64", "[1]", 3, 11));
        assert_eq!(audit(&padded(&json), 11), [("TENSOR-ALIGN", 8 + 2 + num::widen(second.len()), 2)]);
    }

    #[test]
    fn names() {
        let odd = |name: &str| {
            let found = audit(&padded(&format!("{{{}}}", entry(name, "U8", "[1]", 0, 1))), 1);
            found.iter().map(|(code, ..)| *code).collect::<vec::Vec<_>>()
        };
        assert_eq!(odd(""), ["NAME-EMPTY"]);
        assert_eq!(odd("a\\u0000"), ["NAME-CONTROL"]);
        assert_eq!(odd("a\u{202e}b"), ["NAME-CONTROL"]);
        assert_eq!(odd("\u{430}b"), ["NAME-NON-ASCII"]);
        assert_eq!(odd(".."), ["NAME-PATH"]);
        assert_eq!(odd("../a"), ["NAME-PATH"]);
        assert_eq!(odd("a\\/b"), ["ESCAPE"]);
        assert_eq!(odd("\\u0061"), ["ESCAPE"]);
        assert_eq!(odd("\\u007f"), ["NAME-CONTROL"]);
        assert_eq!(odd("__Metadata__"), ["NAME-RESERVED"]);
        assert_eq!(odd("A.B-c_d"), [""; 0]);
        let three: vec::Vec<_> =
            ["Wte", "x", "wTE", "\u{c9}", "\u{e9}"].iter().map(|name| entry(name, "U8", "[0]", 0, 0)).collect();
        let found = audit(&padded(&format!("{{{}}}", three.join(","))), 0);
        assert!(found.contains(&("NAME-CASE", 9, 4)), "{found:?}");
    }

    #[test]
    fn metadata_and_spelling() {
        let with = |meta: &str| audit(&padded(&format!("{{\"__metadata__\":{meta}}}")), 0).split_off(1);
        assert_eq!(with("null"), [("META-NULL", 24, 1)]);
        assert_eq!(with("{\"null\":\"a b\\tc\\u00e9\"}"), []);
        assert_eq!(with("{\"a\":\"\\u001b[2J\"}"), [("META-CONTROL", 25, 1)]);
        assert_eq!(with(&format!("{{\"a\":\"b\",\"c\":\"{}\"}}", "x".repeat(65_537))), [("META-LONG", 33, 1)]);
        assert_eq!(with("{\"a\": \"b\" }"), [("SPACE", 29, 2)]);
        assert_eq!(audit("{}  \t \n ", 0).split_off(1), [("PADDING", 12, 1)]);
    }

    #[test]
    fn a_million_odd_names_are_one_finding() {
        let entries: vec::Vec<_> = (0..20_000).map(|i| entry(&format!("../{i}"), "U8", "[0]", 0, 0)).collect();
        let found = audit(&padded(&format!("{{{}}}", entries.join(","))), 0);
        assert_eq!(found, [("EMPTY-TENSOR", 9, 20_000), ("NAME-PATH", 9, 20_000)]);
    }
}
