//! Long work: the threads that share it, how far it is, and how it is stopped.

use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tensorgate::file::ReadError;

use crate::args::Effort;
use crate::{Exit, text};

/// The means for long work.
///
/// The first Ctrl-C, SIGTERM or SIGHUP asks the work to end, so that it tidies up and the program exits with 128 and the
/// signal's number (130, 143, 129); the second ends the program at once. So does the first while the program waits for a
/// stream, which may never come, and has nothing to tidy up.
#[derive(Debug)]
pub(crate) struct Work {
    jobs: NonZeroUsize,
    bars: bool,
    stop: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
    /// Whether a signal ends the program at once.
    at_once: Arc<AtomicBool>,
    /// Whether it does so until the work on files begins.
    streams: bool,
}

/// While there is something to tidy up.
#[must_use]
pub(crate) struct Tidy<'w>(&'w Work);

impl Drop for Tidy<'_> {
    fn drop(&mut self) {
        if self.0.streams {
            self.0.at_once.store(true, Ordering::SeqCst);
        }
    }
}

/// How long after the first signal another one counts: some programs send two, one to the process and one to its group.
const AGAIN: Duration = Duration::from_secs(1);
/// How often it is looked whether there was a first one.
const LOOK: Duration = Duration::from_millis(50);

impl Work {
    /// Listens for signals from now on; the paths are what will be read. Bars are only for terminals.
    pub(crate) fn new(effort: Effort, quiet: bool, from: &[impl AsRef<Path>]) -> io::Result<Self> {
        let streams = from.iter().any(|path| is_stream(path.as_ref()));
        let (stop, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let at_once = Arc::new(AtomicBool::new(streams));
        for number in [SIGTERM, SIGINT].into_iter().chain(hangup()) {
            flag::register_conditional_shutdown(number, number.saturating_add(128), Arc::clone(&at_once))?;
            flag::register_usize(number, Arc::clone(&signal), usize::try_from(number).unwrap_or_default())?;
            flag::register(number, Arc::clone(&stop))?;
        }
        let (stopped, armed) = (Arc::clone(&stop), Arc::clone(&at_once));
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                thread::sleep(LOOK);
            }
            thread::sleep(AGAIN);
            armed.store(true, Ordering::SeqCst);
        })?;
        let bars = !quiet && io::stderr().is_terminal();
        Ok(Self { jobs: effort.jobs(), bars, stop, signal, at_once, streams })
    }

    /// From now on, and as long as the answer lives, the first signal asks the work to end.
    pub(crate) fn tidy(&self) -> Tidy<'_> {
        if self.streams && !self.is_stopped() {
            self.at_once.store(false, Ordering::SeqCst);
        }
        Tidy(self)
    }

    /// How many threads there are.
    pub(crate) const fn jobs(&self) -> usize {
        self.jobs.get()
    }

    /// Whether the work is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What says so, for those who outlive a borrow.
    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// How the program ends where it was asked to.
    pub(crate) fn exit(&self) -> Option<Exit> {
        let number = u8::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or_default();
        self.is_stopped().then_some(Exit::Stopped(number))
    }

    /// A bar for so many bytes, which is drawn on standard error.
    pub(crate) fn bar(&self, bytes: u64, what: &str) -> ProgressBar {
        if !self.bars {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template(
            "{msg:.bold} [{bar:25}] {bytes}/{total_bytes} at {bytes_per_sec}, {eta} left",
        );
        let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr_with_hz(10));
        let bar = bar.with_message(text::short(what, 30));
        if let Ok(style) = style { bar.with_style(style.progress_chars("=> ")) } else { bar }
    }

    /// A bar for so many files.
    pub(crate) fn count(&self, files: u64) -> ProgressBar {
        if !self.bars {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("[{bar:25}] {pos}/{len} files, {per_sec}, {eta} left");
        let bar = ProgressBar::with_draw_target(Some(files), ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) = style { bar.with_style(style.progress_chars("=> ")) } else { bar }
    }

    /// Has `each` called with every item, by all threads, until there are no more, one fails or the work is to end.
    /// Every thread begins with a state of its own. Items are given out in their order.
    ///
    /// # Errors
    ///
    /// The first one of `each`.
    pub(crate) fn spread<I, S>(
        &self,
        items: impl Iterator<Item = I> + Send,
        state: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, I) -> Result<(), ReadError> + Sync,
    ) -> Result<(), ReadError> {
        let _tidy = self.tidy();
        let items = Mutex::new(items.fuse());
        let fault = Mutex::new(None);
        let failed = AtomicBool::new(false);
        let run = || {
            let mut own = state();
            while !self.is_stopped() && !failed.load(Ordering::Relaxed) {
                let item = items.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(item) = item else { break };
                if let Err(error) = each(&mut own, item) {
                    failed.store(true, Ordering::Relaxed);
                    fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.jobs.get() {
                // Where there is no room for another thread, these do it all.
                if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                    break;
                }
            }
            run();
        });
        fault.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Whether a path is standard input, a pipe or a device.
fn is_stream(path: &Path) -> bool {
    path == Path::new("-") || path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// SIGHUP, where it would end the program: under `nohup` it is ignored, and stays so. Only Linux tells.
fn hangup() -> Option<i32> {
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        let ignored = u64::from_str_radix(ignored.trim(), 16).ok()?;
        (ignored & 1 == 0).then_some(signal_hook::consts::SIGHUP)
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(jobs: usize) -> Work {
        let (stop, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let at_once = Arc::new(AtomicBool::new(false));
        Work { jobs: NonZeroUsize::new(jobs).unwrap(), bars: false, stop, signal, at_once, streams: false }
    }

    #[test]
    fn every_item_once_on_any_number_of_threads() {
        for jobs in [1, 2, 7] {
            let seen = Mutex::new(Vec::new());
            work(jobs)
                .spread(0..1000, Vec::new, |own: &mut Vec<u32>, item| {
                    own.push(item);
                    seen.lock().unwrap().push(item);
                    Ok(())
                })
                .unwrap();
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..1000));
        }
    }

    #[test]
    fn a_failure_or_a_signal_ends_it() {
        let work = work(3);
        let count = AtomicUsize::new(0);
        let outcome = work.spread(
            0..,
            || (),
            |(), item: u64| {
                count.fetch_add(1, Ordering::Relaxed);
                if item == 10 { Err(ReadError::NotRegular) } else { Ok(()) }
            },
        );
        assert!(matches!(outcome, Err(ReadError::NotRegular)));
        assert_eq!(work.exit(), None);
        work.signal.store(2, Ordering::Relaxed);
        let outcome = work.spread(
            0..,
            || (),
            |(), item: u64| {
                work.stop.store(item > 20, Ordering::Relaxed);
                Ok(())
            },
        );
        assert!(outcome.is_ok());
        assert_eq!(work.exit(), Some(Exit::Stopped(2)));
    }
}
