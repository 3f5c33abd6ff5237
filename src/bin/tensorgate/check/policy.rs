//! `tensorgate.toml`: what is read, what is allowed, and how much each rule counts.

mod allowed;
mod file;
mod level;
mod pattern;

use std::path::{Path, PathBuf};

pub(crate) use allowed::Allowlist;
pub(crate) use level::{Level, Levels};
pub(crate) use pattern::Pattern;

use crate::args::{Check, Reading};
use crate::judge::Options;
use crate::walk::{Found, Source};
use file::Table;

/// What the file is called.
const NAME: &str = "tensorgate.toml";
/// Bytes of a policy, at the most.
const MOST: u64 = 1024 * 1024;

/// What is asked of files: the same for all, and more or less for some of them.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    /// Where it stands; none where there is none.
    pub(crate) path: Option<PathBuf>,
    /// Its text, for the cache.
    pub(crate) text: String,
    /// The folder that its patterns speak of, absolute.
    folder: PathBuf,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    base: Demand,
    overrides: Vec<(Vec<Pattern>, Table)>,
}

/// What is asked of one file.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    pub(crate) options: Options,
    pub(crate) levels: Levels,
    pub(crate) allowed: Allowlist,
}

impl Default for Demand {
    fn default() -> Self {
        Self { options: Reading::DEFAULT, levels: Levels::default(), allowed: Allowlist::default() }
    }
}

impl Policy {
    /// The policy that was named, or the one that is found, or none.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words, with the line.
    pub(crate) fn find(args: &Check) -> Result<Self, String> {
        let path = match &args.policy {
            _ if args.no_policy => None,
            Some(path) => Some(path.clone()),
            None => search(),
        };
        let mut policy = match path {
            None => Self::default(),
            Some(path) => Self::read(path)?,
        };
        policy.base.options = Options { readers: args.readers, ..args.reading.over(policy.base.options) };
        Ok(policy)
    }

    fn read(path: PathBuf) -> Result<Self, String> {
        let shown = crate::text::path(&path);
        let told = |error| format!("the policy {shown} cannot be used: {error}");
        let text = read_small(&path).map_err(told)?;
        Self::parse(path, text).map_err(told)
    }

    /// The policy that stands at `path` and says `text`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words, with the line.
    pub(crate) fn parse(path: PathBuf, text: String) -> Result<Self, String> {
        let absolute = std::path::absolute(&path).map_err(|error| error.to_string())?;
        let folder = absolute.parent().unwrap_or(Path::new("/")).to_owned();
        let file = file::parse(&text)?;
        let mut base = Demand::default();
        file.table.apply(&mut base);
        Ok(Self {
            path: Some(path),
            text,
            folder,
            include: file.include,
            exclude: file.exclude,
            base,
            overrides: file.overrides,
        })
    }

    /// Takes out what a search found and the policy does not want; what was named stays. Says how
    /// many these are.
    pub(crate) fn filter(&self, found: &mut Found) -> u64 {
        if self.include.is_empty() && self.exclude.is_empty() {
            return 0;
        }
        let before = found.sources.len();
        found.sources.retain(|source| {
            let Source::Found(path) = source else { return true };
            let path = self.inside(path);
            let wanted = self.include.is_empty() || any(&self.include, &path);
            wanted && !any(&self.exclude, &path)
        });
        let out = u64::try_from(before.saturating_sub(found.sources.len())).unwrap_or(u64::MAX);
        found.skipped = found.skipped.saturating_add(out);
        out
    }

    /// What is asked of a file.
    pub(crate) fn demand(&self, path: &Path, reading: &Reading) -> Demand {
        let mut demand = self.base.clone();
        if !self.overrides.is_empty() {
            let inside = self.inside(path);
            for (_, table) in self.overrides.iter().filter(|(patterns, _)| any(patterns, &inside)) {
                table.apply(&mut demand);
            }
            demand.options = reading.over(demand.options);
        }
        demand
    }

    /// How files are read that no override speaks of.
    pub(crate) const fn base_options(&self) -> &Options {
        &self.base.options
    }

    /// The path as patterns see it: from the policy's folder on, or whole where it lies elsewhere.
    fn inside(&self, path: &Path) -> PathBuf {
        let absolute = absolute(path);
        absolute.strip_prefix(&self.folder).map_or_else(|_| absolute.clone(), Path::to_owned)
    }
}

/// The absolute path without `..`, as far as names say: links are not looked at.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The policy in the working directory, or in the first above it that has one.
fn search() -> Option<PathBuf> {
    let start = std::env::current_dir().ok()?;
    // Whatever is there by that name is the policy: one that cannot be used is told of, and not passed over.
    let there = |path: &PathBuf| path.symlink_metadata().is_ok();
    if there(&start.join(NAME)) {
        return Some(PathBuf::from(NAME));
    }
    start.ancestors().skip(1).map(|folder| folder.join(NAME)).find(there)
}

/// The text of a regular file that is not long.
pub(crate) fn read_small(path: &Path) -> Result<String, String> {
    use std::io::Read;
    // Looked at first: opening a pipe would wait for somebody to write to it.
    if !std::fs::metadata(path).map_err(|error| error.to_string())?.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.take(MOST.saturating_add(1)).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).is_ok_and(|len| len <= MOST) {
        Ok(text)
    } else {
        Err(format!("it is longer than {MOST} bytes"))
    }
}

fn any(patterns: &[Pattern], path: &Path) -> bool {
    patterns.iter().any(|pattern| pattern.matches(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Policy {
        let file = file::parse(text).unwrap();
        let mut base = Demand::default();
        file.table.apply(&mut base);
        let folder = std::path::absolute("here").unwrap();
        let (include, exclude, overrides) = (file.include, file.exclude, file.overrides);
        Policy { path: None, text: String::new(), folder, include, exclude, base, overrides }
    }

    #[test]
    fn patterns_are_of_paths_below_the_policy() {
        let policy = policy("[files]\nexclude = [\"old/**\", \"*.gguf\"]\n");
        let kept = |path: &str| {
            let mut found = Found { sources: vec![Source::Found(path.into())], skipped: 0 };
            policy.filter(&mut found);
            found.sources.len() == 1
        };
        assert!(!kept("here/old/a.safetensors") && !kept("here/old/b/a.gguf") && !kept("here/a.gguf"));
        assert!(kept("here/b/a.gguf") && kept("here/older/a.safetensors") && kept("old/a.safetensors"));
        assert!(!kept("here/b/../old/a.safetensors"));
    }

    #[test]
    fn what_is_named_is_judged_all_the_same() {
        let policy = policy("[files]\ninclude = [\"x/**\"]\n");
        let mut found = Found { sources: vec![Source::Named("here/a.gguf".into()), Source::Stdin], skipped: 0 };
        policy.filter(&mut found);
        assert_eq!((found.sources.len(), found.skipped), (2, 0));
    }
}
