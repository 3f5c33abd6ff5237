//! Many files over all threads, told in the order of their paths.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::SystemTime;

use indicatif::ProgressBar;

use super::Tap;
use super::cache::{Cache, Entry, Identity};
use super::deep::Deep;
use super::policy::Policy;
use crate::args::Check;
use crate::judge::judge;
use crate::report::Report;
use crate::walk::Source;
use crate::work::Work;

/// How files are judged in this run.
pub(super) struct Checker<'c> {
    pub(super) args: &'c Check,
    pub(super) policy: &'c Policy,
    pub(super) cache: Option<&'c Cache>,
    pub(super) work: &'c Work,
}

/// A file that was judged, as the policy has it.
pub(super) struct Judged {
    pub(super) report: Report,
    /// What the cache is to keep.
    pub(super) keep: Option<Entry>,
}

impl Checker<'_> {
    /// Judges all sources; `each` is called in their order, until it says that it is enough.
    ///
    /// # Errors
    ///
    /// The first one of `each`.
    pub(super) fn all(
        &self,
        sources: &[Source],
        bar: &ProgressBar,
        mut each: impl FnMut(Judged) -> io::Result<bool>,
    ) -> io::Result<()> {
        if self.args.deep {
            return self.deep(sources, each);
        }
        let (next, enough) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (send, receive) = mpsc::channel();
        thread::scope(|scope| {
            for place in 0..self.work.jobs().min(sources.len()) {
                let (send, next, enough) = (send.clone(), &next, &enough);
                let started = thread::Builder::new().spawn_scoped(scope, move || {
                    while !enough.load(Ordering::Relaxed) && !self.work.is_stopped() {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(source) = sources.get(place) else { break };
                        if send.send((place, self.one(source, None))).is_err() {
                            break;
                        }
                    }
                });
                match started {
                    Ok(_) => {}
                    Err(error) if place == 0 => return Err(error),
                    // Where there is no room for another thread, these do it all.
                    Err(_) => break,
                }
            }
            drop(send);
            let outcome = in_order(receive, bar, &mut each);
            enough.store(true, Ordering::Relaxed);
            outcome
        })
    }

    /// One after the other: all threads read the data of each.
    fn deep(&self, sources: &[Source], mut each: impl FnMut(Judged) -> io::Result<bool>) -> io::Result<()> {
        let mut deep = Deep::new(self.work, *self.policy.base_options());
        for source in sources {
            let judged = self.one(source, Some(&mut deep));
            if self.work.is_stopped() || !each(judged)? {
                break;
            }
        }
        Ok(())
    }

    fn one(&self, source: &Source, deep: Option<&mut Deep<'_>>) -> Judged {
        let demand = self.policy.demand(source.path(), &self.args.reading);
        let identity = || match source {
            Source::Named(path) | Source::Found(path) => Identity::of(path),
            Source::Stdin | Source::Lost(..) | Source::Unclear(..) => None,
        };
        let begun = SystemTime::now();
        let before = self.cache.and_then(|_| identity());
        if let Some(report) = self.cache.and_then(|cache| cache.get(source, before.as_ref())) {
            return Judged { report: demand.levels.apply(report), keep: None };
        }
        let (mut disallowed, mut read) = (Vec::new(), None);
        let mut report = match deep {
            None => judge(source, &demand.options, None, &mut |report, model, head| {
                disallowed = demand.disallowed(report, &model, head);
                read = head.file().and_then(Identity::of_file);
            }),
            Some(deep) => {
                let tap = Tap::new(self.work.stop());
                deep.read_with(demand.options);
                let report = judge(source, &demand.options, Some(&tap), &mut |report, model, head| {
                    disallowed = demand.disallowed(report, &model, head);
                    read = head.file().and_then(Identity::of_file);
                    deep.look(report, &model, head);
                });
                deep.finish(report, tap)
            }
        };
        report.findings.append(&mut disallowed);
        // The file that was read is the one that is there, and nothing touched it meanwhile, or shortly before.
        let same = before.filter(|before| before.is_quiet(begun) && read.as_ref() == Some(before));
        let same = same.filter(|before| identity().as_ref() == Some(before));
        let keep = same.and_then(|identity| Entry::of(&report, identity));
        Judged { report: demand.levels.apply(report), keep }
    }
}

/// Hands on what comes in any order in that of the places.
fn in_order(
    receive: mpsc::Receiver<(usize, Judged)>,
    bar: &ProgressBar,
    each: &mut impl FnMut(Judged) -> io::Result<bool>,
) -> io::Result<()> {
    let (mut waiting, mut next) = (BTreeMap::new(), 0_usize);
    for (place, judged) in receive {
        bar.inc(1);
        waiting.insert(place, judged);
        while let Some(judged) = waiting.remove(&next) {
            next = next.saturating_add(1);
            if !each(judged)? {
                return Ok(());
            }
        }
    }
    Ok(())
}
