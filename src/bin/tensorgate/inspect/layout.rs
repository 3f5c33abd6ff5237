//! A map of the file: which part of it lies where.

use std::collections::HashMap;
use std::io::{self, Write};

use super::tensor::Tensor;
use super::tree::{group, parts};
use crate::output::{FAINT, STRONG};
use crate::text;

/// Columns and rows of the map.
const COLUMNS: usize = 64;
const ROWS: usize = 2;
/// Parts that have a letter of their own; the others share one.
const LETTERS: [char; 12] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'];
const OTHER: char = '+';
const HEADER: char = 'H';
const NOTHING: char = '.';

/// The bytes of each part in a stretch of the file.
type Cell = HashMap<char, u64>;

/// Where the tensors of each part lie between the header, which ends at `start`, and the file's end.
pub(super) fn print<'a, I: Iterator<Item = Tensor<'a>>>(
    out: &mut impl Write,
    tensors: impl Fn() -> I,
    start: u64,
    size: Option<u64>,
) -> io::Result<()> {
    let last = tensors().map(|tensor| tensor.span.end()).max().unwrap_or(start);
    let size = size.unwrap_or(last).max(last);
    let common = common(tensors());
    let mut sizes: HashMap<String, u64> = HashMap::new();
    for tensor in tensors() {
        let class = class(&tensor.name.to_cow(), &common);
        // No more names are kept than a file of any kind has parts; what is not kept has no letter.
        if sizes.len() < 4096 || sizes.contains_key(&class) {
            let sum = sizes.entry(class).or_default();
            *sum = sum.saturating_add(tensor.span.len());
        }
    }
    let mut order: Vec<(String, u64)> = sizes.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
    order.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    if order.is_empty() {
        return Ok(());
    }
    let letters: HashMap<&str, char> = order.iter().map(|(name, _)| name.as_str()).zip(LETTERS).collect();
    let mut cells = vec![Cell::new(); COLUMNS.saturating_mul(ROWS)];
    add(&mut cells, size, 0, start, HEADER);
    for tensor in tensors() {
        let letter = letters.get(class(&tensor.name.to_cow(), &common).as_str()).copied().unwrap_or(OTHER);
        add(&mut cells, size, tensor.span.start(), tensor.span.end(), letter);
    }
    let each = size.div_ceil(u64::try_from(cells.len()).unwrap_or(1));
    writeln!(
        out,
        "\n{STRONG}layout{STRONG:#}{FAINT}  from the first byte to the last, {} a letter{FAINT:#}",
        text::rough(each)
    )?;
    for row in cells.chunks(COLUMNS) {
        writeln!(out, "  |{}|", row.iter().map(most).collect::<String>())?;
    }
    let mut legend = vec![format!("{HEADER} header"), format!("{NOTHING} padding")];
    legend.extend(order.iter().zip(LETTERS).map(|((name, _), letter)| format!("{letter} {}", shown(name))));
    if order.len() > LETTERS.len() {
        legend.push(format!("{OTHER} others"));
    }
    for line in wrapped(&legend) {
        writeln!(out, "  {FAINT}{line}{FAINT:#}")?;
    }
    Ok(())
}

fn shown(name: &str) -> String {
    if name.is_empty() { "(no module)".to_owned() } else { text::short(name, 24) }
}

/// The modules that all tensors are in, up to three below each other.
fn common<'a>(tensors: impl Iterator<Item = Tensor<'a>>) -> Vec<String> {
    let mut common: Option<Vec<String>> = None;
    for tensor in tensors {
        let name = tensor.name.to_cow();
        let own = parts(&name).take(3);
        match &mut common {
            None => common = Some(own.map(str::to_owned).collect()),
            Some(common) => {
                let same = common.iter().zip(own).take_while(|(a, b)| a == b).count();
                common.truncate(same);
                if same == 0 {
                    break;
                }
            }
        }
    }
    common.unwrap_or_default()
}

/// The part of the model that a tensor belongs to: the module below those that all have in common.
fn class(name: &str, common: &[String]) -> String {
    parts(name).nth(common.len()).map_or_else(String::new, |part| group(part).to_owned())
}

/// Counts the bytes from `start` to `end` in the cells that they lie in.
fn add(cells: &mut [Cell], size: u64, start: u64, end: u64, letter: char) {
    let count = u128::try_from(cells.len()).unwrap_or(1);
    let edge = |place: u128| {
        let at = place.saturating_mul(size.into()).checked_div(count).unwrap_or_default();
        u64::try_from(at).unwrap_or(u64::MAX)
    };
    let first = u128::from(start).saturating_mul(count).checked_div(size.into()).unwrap_or_default();
    for (place, cell) in (first..).zip(cells.iter_mut().skip(usize::try_from(first).unwrap_or(usize::MAX))) {
        let (from, to) = (edge(place).max(start), edge(place.saturating_add(1)).min(end));
        if edge(place) >= end {
            break;
        }
        let sum = cell.entry(letter).or_default();
        *sum = sum.saturating_add(to.saturating_sub(from));
    }
}

/// What most of a cell is; of two that are as large the first letter.
fn most(cell: &Cell) -> char {
    let best =
        cell.iter().filter(|(_, bytes)| **bytes > 0).max_by(|(a, x), (b, y)| x.cmp(y).then_with(|| b.cmp(a)));
    best.map_or(NOTHING, |(letter, _)| *letter)
}

/// The legend in lines that are not too long.
fn wrapped(words: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len().saturating_add(word.len()) < 90 => {
                line.push_str("   ");
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(count: usize, size: u64, spans: &[(u64, u64, char)]) -> String {
        let mut cells = vec![Cell::new(); count];
        for (start, end, letter) in spans {
            add(&mut cells, size, *start, *end, *letter);
        }
        cells.iter().map(most).collect()
    }

    #[test]
    fn each_cell_shows_most_of_its_bytes() {
        assert_eq!(map(4, 40, &[(0, 12, 'H'), (12, 29, 'a'), (30, 40, 'b')]), "Haab");
        assert_eq!(map(4, 40, &[(0, 6, 'H'), (6, 10, 'a'), (20, 40, 'b')]), "H.bb");
        assert_eq!(map(8, 3, &[(0, 3, 'a')]).replace('.', ""), "aaa");
        assert_eq!(map(2, u64::MAX, &[(0, 9, 'H'), (9, u64::MAX, 'a')]), "aa");
        assert_eq!(map(2, 0, &[(0, 0, 'H')]), "..");
    }

    #[test]
    fn the_part_below_what_all_have_in_common() {
        let common = ["transformer".to_owned()];
        assert_eq!(class("transformer.h.0.w", &common), "h");
        assert_eq!(class("transformer.ln_f", &common), "");
        assert_eq!(class("3.w", &[]), "*");
    }
}
