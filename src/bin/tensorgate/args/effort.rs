//! How much of the machine long work takes.

use std::num::NonZeroUsize;

/// How much of the machine is used.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Effort {
    /// Threads that read and compute; as many as there are processors unless given.
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,
}

fn threads(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "a number of threads from 1 on; leave --jobs out for as many as there are processors")
}

impl Effort {
    /// So many threads.
    pub(crate) fn jobs(self) -> NonZeroUsize {
        let processors = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.jobs.unwrap_or_else(processors).min(MOST)
    }
}

/// More threads than any machine has use for would only cost memory.
const MOST: NonZeroUsize = NonZeroUsize::new(256).unwrap();
