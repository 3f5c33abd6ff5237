//! Worker threads that are made once, and the handing out of disjoint parts of buffers to them.
//!
//! A phase of work is a number of parts, taken one by one from a counter by whoever is free. The caller takes part too,
//! and ends the phase when every part is done and nobody is left inside; a worker that the system has put aside and that
//! never came in is not waited for, so more threads than processors cost little. Nothing is locked and nothing is
//! allocated in a phase. What a part computes does not depend on who computes it, nor on how many threads there are.
#![allow(unsafe_code, reason = "parts of a buffer are handed to other threads; each block has its proof")]

use std::any::Any;
use std::io;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

mod parts;

pub(crate) use parts::{Chunks, Columns, Parts};

/// The phase is open: a worker may still come in.
const OPEN: u64 = 1;
/// One worker inside. There are fewer than 2^15 of them.
const INSIDE: u64 = 2;
const INSIDE_MASK: u64 = 0xFFFE;
/// One phase.
const PHASE: u64 = 1 << 16;
/// The most threads of a pool.
pub(crate) const MOST_THREADS: usize = 1024;

/// How long a worker looks for the next phase before it sleeps: longer than what lies between two tokens, since waking
/// takes tens of microseconds.
const PATIENCE: Duration = Duration::from_micros(300);

/// A value on a cache line of its own, and on its neighbour's, which processors fetch along.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Alone<T>(T);

/// One phase, on the caller's stack.
struct Phase<'a> {
    work: &'a (dyn Fn(usize) + Sync),
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// What the threads share.
#[derive(Debug)]
struct Shared {
    /// [`OPEN`], the number inside, and the number of the phase.
    state: Alone<AtomicU64>,
    /// The open phase. It is written before the state says open, and lives until nobody is inside.
    phase: AtomicPtr<Phase<'static>>,
    stop: AtomicBool,
    /// Whether each worker sleeps, or is about to.
    asleep: Vec<Alone<AtomicBool>>,
    patience: Duration,
}

impl Shared {
    /// Waits for an open phase after `seen`; `None` when the pool is given up.
    fn wait(&self, seen: u64, me: &AtomicBool) -> Option<u64> {
        let fresh = |state: u64| state & OPEN != 0 && state / PHASE != seen;
        let mut since = None;
        loop {
            for _ in 0..64 {
                let state = self.state.0.load(Ordering::Relaxed);
                if fresh(state) {
                    return Some(state);
                }
                std::hint::spin_loop();
            }
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if since.get_or_insert_with(Instant::now).elapsed() < self.patience {
                continue;
            }
            // Either this load sees the phase, or the caller's load sees that we sleep: both stores come before both
            // loads in the one order that sequential consistency gives.
            me.store(true, Ordering::SeqCst);
            if !fresh(self.state.0.load(Ordering::SeqCst)) && !self.stop.load(Ordering::SeqCst) {
                thread::park();
            }
            me.store(false, Ordering::SeqCst);
            since = None;
        }
    }

    /// A worker's life.
    fn serve(&self, worker: usize) {
        let Some(me) = self.asleep.get(worker.wrapping_sub(1)) else { return };
        let mut seen = 0;
        while let Some(state) = self.wait(seen, &me.0) {
            let entered = state.wrapping_add(INSIDE);
            if self.state.0.compare_exchange(state, entered, Ordering::Acquire, Ordering::Relaxed).is_err() {
                continue;
            }
            seen = state / PHASE;
            let phase = self.phase.load(Ordering::Relaxed);
            // SAFETY: the exchange saw the state as open and counted us as inside in one step, and acquired the store
            // that opened it, before which the pointer to this very phase was stored. The caller does not return from
            // `Pool::broadcast`, on whose stack the phase lives, before it has seen that nobody is inside.
            let phase = unsafe { &*phase };
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| (phase.work)(worker)));
            if let Err(payload) = outcome {
                *phase.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(payload);
            }
            self.state.0.fetch_sub(INSIDE, Ordering::Release);
        }
    }
}

/// Closes a phase and waits until nobody is inside, also when the caller's own part panics.
struct Closing<'a>(&'a Shared);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.0.fetch_and(!OPEN, Ordering::AcqRel);
        let mut turns = 0_u32;
        while state & INSIDE_MASK != 0 {
            turns = turns.saturating_add(1);
            if turns < 10_000 {
                std::hint::spin_loop();
            } else {
                // Whoever is inside may wait for this very processor.
                thread::yield_now();
            }
            state = self.0.state.0.load(Ordering::Acquire);
        }
    }
}

/// Threads that wait for phases of work. The thread that calls is one of them.
#[derive(Debug)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of `threads` threads, the caller's among them; at least one, at most [`MOST_THREADS`].
    ///
    /// # Errors
    ///
    /// Where the system gives no more threads.
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        let others = threads.clamp(1, MOST_THREADS).saturating_sub(1);
        let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // Where threads outnumber processors, looking on would take the processor from those who work.
        let patience = if others < processors { PATIENCE } else { Duration::ZERO };
        let shared = Arc::new(Shared {
            state: Alone::default(),
            phase: AtomicPtr::default(),
            stop: AtomicBool::new(false),
            asleep: (0..others).map(|_| Alone::default()).collect(),
            patience,
        });
        let mut pool = Self { shared, workers: Vec::with_capacity(others) };
        for worker in 1..=others {
            let shared = Arc::clone(&pool.shared);
            let thread = thread::Builder::new().name(format!("tensorgate-{worker}"));
            pool.workers.push(thread.spawn(move || shared.serve(worker))?);
        }
        Ok(pool)
    }

    /// How many threads work, the caller's among them.
    pub(crate) const fn threads(&self) -> usize {
        self.workers.len().saturating_add(1)
    }

    /// Runs `work` with the number of each thread that comes in time, the caller's (0) always among them.
    fn broadcast(&mut self, work: &(dyn Fn(usize) + Sync)) {
        let phase = Phase { work, panic: Mutex::new(None) };
        let pointer: *const Phase<'_> = &raw const phase;
        self.shared.phase.store(pointer.cast_mut().cast(), Ordering::Relaxed);
        let last = self.shared.state.0.load(Ordering::Relaxed) & !(PHASE.wrapping_sub(1));
        {
            let closing = Closing(&self.shared);
            self.shared.state.0.store(last.wrapping_add(PHASE) | OPEN, Ordering::SeqCst);
            for (worker, asleep) in self.workers.iter().zip(&self.shared.asleep) {
                if asleep.0.load(Ordering::SeqCst) {
                    worker.thread().unpark();
                }
            }
            work(0);
            drop(closing);
        }
        let payload = phase.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = payload {
            panic::resume_unwind(payload);
        }
    }

    /// Gives every part to `work`, each once, with its number and the scratch of the thread that does it. `scratch` must
    /// have one value a thread; where it has fewer, fewer threads take part.
    pub(crate) fn run<P: Parts, S: Send>(
        &mut self,
        parts: P,
        scratch: &mut [S],
        work: impl Fn(&mut S, usize, P::Part) + Sync,
    ) {
        let count = parts.count();
        if count == 0 {
            return;
        }
        let next = Alone(AtomicUsize::new(0));
        let scratch = Chunks::new(scratch, 1);
        let job = |worker: usize| {
            if worker >= scratch.count() {
                return;
            }
            // SAFETY: a phase runs a worker's number once, so this element is lent once.
            let own = unsafe { scratch.part(worker) };
            let Some(own) = own.first_mut() else { return };
            loop {
                // No more than one past the end for each thread, so it does not wrap.
                let index = next.0.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return;
                }
                // SAFETY: the counter gives each number once, and it is below the count.
                let part = unsafe { parts.part(index) };
                work(own, index, part);
            }
        };
        if count == 1 || self.workers.is_empty() {
            job(0);
        } else {
            self.broadcast(&job);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for worker in mem::take(&mut self.workers) {
            worker.thread().unpark();
            // A worker's panic was caught and given to the caller of its phase.
            worker.join().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests;
