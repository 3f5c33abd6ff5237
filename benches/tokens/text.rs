//! Mixed text, the same on every machine that has the same repository.

use std::path::{Path, PathBuf};

/// Numbers that look random (xorshift).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below `count`.
    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).expect("below a usize")
    }

    /// Below `count`, small numbers more often: as words are in a language.
    fn zipf(&mut self, count: usize) -> usize {
        let bits = usize::try_from(count.ilog2()).expect("small") + 1;
        let within = 1 << self.below(bits);
        (within - 1 + self.below(within)).min(count - 1)
    }
}

/// Random bytes.
pub(crate) fn random(count: usize) -> Vec<u8> {
    let mut dice = Dice(1);
    (0..count).map(|_| (dice.next() >> 30).to_le_bytes()[0]).collect()
}

/// Texts of the repository with this ending, in order of their names.
fn files(root: &Path, folder: &str, ending: &str) -> Vec<String> {
    let mut folders = vec![root.join(folder)];
    let mut found: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|is| is == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// Words of a script: `count` of them, of letters from a range, common letters more often.
fn words(dice: &mut Dice, count: usize, letters: std::ops::RangeInclusive<char>, len: usize) -> Vec<String> {
    let letters: Vec<char> = letters.collect();
    let mut word = || {
        let len = 1 + dice.below(len);
        (0..len).map(|_| letters[dice.zipf(letters.len())]).collect()
    };
    (0..count).map(|_| word()).collect()
}

/// Sentences of such words with what stands between and behind them, up to `size` bytes.
fn sentences(dice: &mut Dice, words: &[String], (between, comma, stop): (&str, &str, &str), size: usize) -> String {
    let mut text = String::new();
    while text.len() < size {
        for _ in 0..4 + dice.below(16) {
            text.push_str(&words[dice.zipf(words.len())]);
            text.push_str(if dice.below(9) == 0 { comma } else { between });
        }
        text.push_str(stop);
        if dice.below(5) == 0 {
            text.push('\n');
        }
    }
    text
}

/// Real texts, with words put in so that they are not one text again and again, up to `size` bytes.
fn varied(dice: &mut Dice, texts: &[String], words: &[String], size: usize) -> String {
    let mut text = String::new();
    let lines: Vec<&str> = texts.iter().flat_map(|text| text.split_inclusive('\n')).collect();
    let mut at = 0;
    while text.len() < size && !lines.is_empty() {
        let line = lines[at % lines.len()];
        at += 1;
        // From the second time round on.
        match line.split_once(' ').filter(|_| at > lines.len() && dice.below(2) == 0) {
            Some((head, tail)) => text.extend([head, " ", &words[dice.zipf(words.len())], " ", tail]),
            None => text.push_str(line),
        }
    }
    text
}

fn html(dice: &mut Dice, words: &[String], size: usize) -> String {
    let mut text = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<body>\n");
    while text.len() < size {
        let (class, id) = (&words[dice.zipf(words.len())], dice.below(5000));
        text.extend(["  <div class=\"", class, "\" id=\"s", &id.to_string(), "\">\n    <p>"]);
        for _ in 0..5 + dice.below(20) {
            let word = &words[dice.zipf(words.len())];
            match dice.below(14) {
                0 => text.extend(["<a href=\"/", word, "/", class, ".html\">", word, "</a> "]),
                1 => text.extend(["<em>", word, "</em> &amp; "]),
                _ => text.extend([word, " "]),
            }
        }
        text.push_str("</p>\n  </div>\n");
    }
    text
}

fn json(dice: &mut Dice, words: &[String], size: usize) -> String {
    let mut text = String::from("[\n");
    while text.len() < size {
        let word = |dice: &mut Dice| words[dice.zipf(words.len())].clone();
        let (name, kind) = (word(dice), word(dice));
        let (id, score) = (dice.below(1 << 30), dice.below(1 << 20) as f64 / 1024.0);
        let line = format!(
            "  {{\"id\": {id}, \"name\": \"{name}\", \"{kind}\": [{score:.4}, null, true], \"hash\": \"{:016x}\"}},\n",
            dice.next()
        );
        text.push_str(&line);
    }
    text
}

/// The six kinds, from the repository at `root`.
pub(crate) fn parts(root: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let latin = words(&mut dice, 8000, 'a'..='z', 9);
    let cyrillic = words(&mut dice, 12_000, 'а'..='я', 11);
    let chinese = words(&mut dice, 20_000, '\u{4E00}'..='\u{5FFF}', 4);
    let kana = words(&mut dice, 8000, 'ぁ'..='ん', 5);
    let mut prose = files(root, "tests/data", "md");
    prose.extend(files(root, "docs", "md"));
    prose.extend(files(root, "models", "md"));
    let code = files(root, "src", "rs");
    let cjk = [
        sentences(&mut dice, &chinese, ("", "，", "。"), 700_000),
        sentences(&mut dice, &kana, ("", "、", "。"), 500_000),
    ];
    [
        ("prose", varied(&mut dice, &prose, &latin, 3_000_000)),
        ("code", varied(&mut dice, &code, &latin, 3_000_000)),
        ("cjk", cjk.concat()),
        ("cyrillic", sentences(&mut dice, &cyrillic, (" ", ", ", ". "), 1_200_000)),
        ("html", html(&mut dice, &latin, 800_000)),
        ("json", json(&mut dice, &latin, 600_000)),
    ]
    .map(|(name, text)| (name, text.into_bytes()))
    .into()
}

/// All of them in turns of some 20 kB, each in proportion, cut at the ends of lines.
pub(crate) fn mixed(parts: &[(&str, Vec<u8>)]) -> Vec<u8> {
    const TURN: usize = 20_000;
    let mut rests: Vec<&[u8]> = parts.iter().map(|(_, text)| text.as_slice()).collect();
    let mut mixed = Vec::new();
    while rests.iter().any(|rest| !rest.is_empty()) {
        for rest in &mut rests {
            let end = rest.iter().skip(TURN).position(|byte| *byte == b'\n').map_or(rest.len(), |at| TURN + at + 1);
            let (turn, after) = rest.split_at(end);
            mixed.extend_from_slice(turn);
            *rest = after;
        }
    }
    mixed
}
