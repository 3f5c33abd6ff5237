//! A checker that the kernel confines: before it looks at a single byte of a file it gives up every system call but
//! `read`, `write` and those that end it. Whatever a file does to the parser, it cannot open, start, send or map anything.
//!
//! That it works at all shows what the core promises: a verdict takes no allocation and no system call of its own.
//!
//! ```console
//! $ cargo run --example confined -- corpus/accept/*.safetensors corpus/reject/GG-VERSION/*
//! ```
//!
//! A line for each file: its verdict, the rule and the offset. Exits 1 where a file was refused, 2 where one could not be
//! read. With `--disobey` it tries to open a file once it is confined, and is killed for it (`SIGSYS`).

#[cfg(target_os = "linux")]
fn main() {
    let (options, paths): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument == "--disobey");
    let code = linux::check(&paths, !options.is_empty()).unwrap_or_else(|error| {
        eprintln!("{error}");
        2
    });
    std::process::exit(code)
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("seccomp is Linux's; elsewhere judge files in the WebAssembly module of examples/wasm");
    std::process::exit(2)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::error::Error;
    use std::fs::File;
    use std::io::{self, Read, Write};

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };
    use tensorgate::safetensors::{self, Slot};
    use tensorgate::shards::IndexSlot;
    use tensorgate::{Limits, ShardIndex, gguf};

    /// The longest header that is judged. Its pages come as they are written to, without a system call.
    const HEADER: usize = 128 << 20;
    /// Tensors that there is room for.
    const TENSORS: usize = 100_000;

    /// Judges the files at `paths`; what to exit with.
    pub(crate) fn check(paths: &[String], disobey: bool) -> Result<i32, Box<dyn Error>> {
        // All that judging takes is there before anything is read.
        let open = |path: &String| {
            let file = File::open(path)?;
            let len = file.metadata()?.len();
            Ok((file, len))
        };
        let mut files = paths.iter().map(open).collect::<io::Result<Vec<_>>>()?;
        let mut room = Room::new();
        let mut out = io::stdout().lock();
        confine()?;
        if disobey {
            File::open("/etc/passwd")?;
        }
        let mut code = 0;
        for (path, (file, len)) in paths.iter().zip(&mut files) {
            match room.judge(path, file, *len) {
                Ok(Ok(tensors)) => writeln!(out, "accepted\t{tensors}\t{path}")?,
                Ok(Err(error)) => {
                    writeln!(out, "{}\t{}\t{path}", error.code(), error.at())?;
                    code = code.max(1);
                }
                Err(error) => {
                    writeln!(out, "unreadable\t{error}\t{path}")?;
                    code = 2;
                }
            }
        }
        out.flush()?;
        // To close files takes another system call: the process ends with them in its hands.
        std::process::exit(code)
    }

    /// From here on the kernel kills the process for any other system call.
    fn confine() -> Result<(), Box<dyn Error>> {
        let to = |descriptor| {
            let is_it = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, descriptor)?;
            SeccompRule::new(vec![is_it])
        };
        let rules = BTreeMap::from([
            (libc::SYS_read, vec![]),
            (libc::SYS_write, vec![to(1)?, to(2)?]),
            // The way out: the standard library gives back the stack of its signal handlers, and the process ends.
            (libc::SYS_sigaltstack, vec![]),
            (libc::SYS_munmap, vec![]),
            (libc::SYS_exit_group, vec![]),
        ]);
        let arch = std::env::consts::ARCH.try_into()?;
        let filter = SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, arch)?;
        let program: BpfProgram = filter.try_into()?;
        seccompiler::apply_filter(&program)?;
        Ok(())
    }

    /// Where headers and what is found in them are kept.
    struct Room {
        header: Vec<u8>,
        safetensors: Vec<Slot>,
        index: Vec<IndexSlot>,
        gguf: Vec<gguf::Slot>,
    }

    impl Room {
        fn new() -> Self {
            Self {
                header: vec![0; HEADER],
                safetensors: vec![Slot::EMPTY; TENSORS],
                index: vec![IndexSlot::EMPTY; TENSORS],
                gguf: vec![gguf::Slot::EMPTY; TENSORS],
            }
        }

        /// Reads as much of a file of `len` bytes as its verdict takes: how many tensors it has, or what is wrong.
        fn judge(&mut self, path: &str, file: &mut File, len: u64) -> io::Result<Result<usize, tensorgate::Error>> {
            let (mut have, mut asked) = (0, 0);
            // An index has no data behind its header.
            let mut want = if path.rsplit_once('.').is_some_and(|(_, ending)| ending == "json") { len } else { 0 };
            loop {
                let most =
                    usize::try_from(want).ok().filter(|want| *want <= HEADER).ok_or(io::ErrorKind::FileTooLarge)?;
                if let Some(more) = self.header.get_mut(have..most) {
                    file.read_exact(more)?;
                    have = most;
                }
                let verdict = self.verdict(path, have, len);
                let Some(needs) = verdict.and_then(|error| error.err().and_then(|error| error.needs())) else {
                    return verdict.ok_or(io::ErrorKind::InvalidData.into());
                };
                // A GGUF header does not say how long it is: twice as much, rather than many small steps.
                asked += 1;
                want = if asked > 2 { needs.max(2 * want).min(len) } else { needs };
            }
        }

        /// The verdict on the first `have` bytes; `None` where the name promises no format.
        fn verdict(&mut self, path: &str, have: usize, len: u64) -> Option<Result<usize, tensorgate::Error>> {
            let (bytes, limits) = (self.header.get(..have)?, Limits::default());
            let (_, ending) = path.rsplit_once('.')?;
            Some(match ending {
                "safetensors" => {
                    safetensors::Header::open_in(bytes, len, &mut self.safetensors, &limits).map(|all| all.len())
                }
                "json" => ShardIndex::open_in(bytes, &mut self.index, &limits).map(|all| all.len()),
                "gguf" => gguf::Header::open_in(bytes, len, &mut self.gguf, &limits).map(|all| all.len()),
                _ => return None,
            })
        }
    }
}
