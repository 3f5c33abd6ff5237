//! Patterns of paths, matched part by part: a policy may come with the files that it speaks of, and so may their names.
//!
//! `glob` goes back to every star before where a part of a path ends, so that a few stars and a folder with a long name take
//! it for ever. Within one part, where there is no separator, it takes no more than the product of both lengths.

use std::iter::once;
use std::path::{Path, is_separator};

/// `a/**/b?.gguf`
#[derive(Clone, Debug)]
pub(crate) struct Pattern(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    /// `**`: any number of names.
    Any,
    One(glob::Pattern),
}

impl Pattern {
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn new(text: &str) -> Result<Self, glob::PatternError> {
        // As a whole first, for what it says of where the fault is.
        glob::Pattern::new(text)?;
        let part = |text| if text == "**" { Ok(Part::Any) } else { glob::Pattern::new(text).map(Part::One) };
        let mut parts = text.split('/').map(part).collect::<Result<Vec<Part>, _>>()?;
        // Behind a separator at the end there is at least one.
        if parts.len() > 1 && matches!(parts.last(), Some(Part::Any)) {
            parts.push(part("*")?);
        }
        Ok(Self(parts))
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        let names: Vec<&str> = text.split(is_separator).collect();
        // How many of the names the parts so far can be: at first none.
        let mut reached = vec![false; names.len()];
        reached.insert(0, true);
        for part in &self.0 {
            match part {
                Part::Any => {
                    let mut any = false;
                    for here in &mut reached {
                        any |= *here;
                        *here = any;
                    }
                }
                Part::One(one) => {
                    let next = reached.iter().zip(&names).map(|(here, name)| *here && one.matches(name));
                    reached = once(false).chain(next).collect();
                }
            }
            if !reached.contains(&true) {
                return false;
            }
        }
        reached.last().is_some_and(|whole| *whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glob::MatchOptions;

    #[test]
    fn they_mean_what_glob_means() {
        let patterns = [
            "a",
            "*",
            "**",
            "a/*",
            "*/b",
            "a/**",
            "**/b",
            "a/**/b",
            "**/*.gguf",
            "old/**",
            "*.gguf",
            "a?c",
            "[ab]/c",
            "[!a]*",
            "a/**/**/c",
            "**/a/**",
            "/a/*",
            "/**",
            "a//b",
            "*/*/*",
            "a/",
            "",
        ];
        let paths = [
            "a",
            "b",
            "a/b",
            "a/b/c",
            "a/c",
            "abc",
            "a/x/b",
            "a/x/y/b",
            "x.gguf",
            "d/x.gguf",
            "old/x/y.gguf",
            "older/x",
            "/a/b",
            "/a",
            "b/c",
            ".a/b",
            "a/b/a/c",
            "x/a/y",
            "a//b",
            "a/",
            "",
        ];
        let how = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        for text in patterns {
            let (ours, theirs) = (Pattern::new(text).unwrap(), glob::Pattern::new(text).unwrap());
            for path in paths {
                assert_eq!(ours.matches(Path::new(path)), theirs.matches_with(path, how), "{text} {path}");
            }
        }
        for wrong in ["a**", "***", "[a", "a/**b", "[a/b]"] {
            assert!(Pattern::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn stars_and_long_names_take_no_longer() {
        let pattern = Pattern::new(&format!("{}b/*", "*a".repeat(60))).unwrap();
        assert!(!pattern.matches(Path::new(&format!("{}/x.gguf", "a".repeat(255)))));
        let pattern = Pattern::new(&format!("{}b", "**/a/".repeat(60))).unwrap();
        assert!(!pattern.matches(Path::new(&"a/".repeat(2000))));
    }
}
