//! A text as it comes: on a terminal, in a pipe, as a conversation, or as one document.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use tensorgate::gpt2::{Finish, GenerateOptions, Overflow, RunError, Runner, Session, StopStrings};
use tensorgate::tokenizer::{StreamDecoder, Tokenizer};

use super::prompt::{self, Line};
use super::{ended, rate};
use crate::terminal::Terminal;
use crate::{Exit, complain, output, refused};

/// What it took.
pub(super) struct Report {
    loading: Duration,
    threads: usize,
    level: &'static str,
    /// Tokens of the prompt that were run, and the seconds until the first token was chosen.
    prompt: usize,
    first: f64,
    /// Tokens that were chosen, and the seconds from the first on.
    made: usize,
    rest: f64,
    finish: Option<Finish>,
}

impl Report {
    pub(super) fn tell(&self) {
        let Self { threads, level, prompt, made, .. } = self;
        let load = self.loading.as_secs_f64() * 1e3;
        let (prefill, decode) = (rate(*prompt, self.first), rate(made.saturating_sub(1), self.rest));
        let plural = if *threads == 1 { "" } else { "s" };
        complain(&format!(
            "load {load:.0} ms; prompt {prompt} tokens, {prefill:.0} tokens/s; {made} tokens written, {decode:.0} tokens/s; \
             {threads} thread{plural}, {level}{}",
            match self.finish {
                Some(Finish::Context) => "; the context is full",
                _ => "",
            }
        ));
    }
}

/// That a text is too long, of which so many tokens were there before; and what can be done.
fn advised(tokens: usize, before: usize, session: &Session) -> io::Error {
    let (room, most) = (session.capacity(), session.model().config().n_positions());
    let error = RunError::ContextFull { tokens, room };
    let earlier = if before > 0 { format!(", {before} of them from before") } else { String::new() };
    let more = if room < most { format!(", give it more with --context (up to {most})") } else { String::new() };
    io::Error::other(format!("{error}{earlier}: shorten the text{more}, or let --slide drop the middle of it"))
}

/// A session and all that it takes to go on with it.
pub(super) struct Writer<'a> {
    pub(super) runner: &'a mut Runner,
    pub(super) session: Session,
    pub(super) tokenizer: &'a Tokenizer,
    pub(super) options: GenerateOptions,
    pub(super) stops: &'a [String],
    pub(super) loading: Duration,
}

impl Writer<'_> {
    /// Whether there is room for the tokens, which is asked before anything of them is shown or taken.
    pub(super) fn fits(&self, ids: &[u32]) -> io::Result<()> {
        let (before, room) = (self.session.tokens().len(), self.session.capacity());
        let tokens = before.saturating_add(ids.len());
        if tokens <= room || self.options.tokens == 0 || self.options.overflow != Overflow::Stop {
            return Ok(());
        }
        Err(advised(tokens, before, &self.session))
    }

    /// Goes on from the tokens, writes the text as it comes, and ends the line, whatever became of the text.
    pub(super) fn line(&mut self, ids: &[u32], out: &mut Terminal, name: &str) -> io::Result<Report> {
        let outcome = self.write(ids, out).map_err(|error| refused::before(name, error));
        out.write("\n")?;
        outcome
    }

    /// Goes on from the tokens, and writes the text as it comes.
    fn write(&mut self, ids: &[u32], out: &mut Terminal) -> io::Result<Report> {
        let mut text = StreamDecoder::new();
        let mut stops = StopStrings::new(self.stops);
        let report = self.each(ids, &mut stops, |_, _, bytes| out.write(text.push(bytes)))?;
        let rest = stops.finish();
        out.write(text.push(&rest))?;
        out.write(text.finish())?;
        Ok(report)
    }

    /// Goes on from the tokens; `take` gets each token, its log-probability, and the bytes that are sure to belong to the text.
    fn each(
        &mut self,
        ids: &[u32],
        stops: &mut StopStrings,
        mut take: impl FnMut(u32, Option<f32>, &[u8]) -> io::Result<()>,
    ) -> io::Result<Report> {
        let started = Instant::now();
        let (threads, level, loading) = (self.runner.threads(), self.runner.level().name(), self.loading);
        let whole = self.session.tokens().len().saturating_add(ids.len());
        let new = whole.saturating_sub(self.session.run_len());
        let mut report =
            Report { loading, threads, level, prompt: 0, first: 0.0, made: 0, rest: 0.0, finish: None };
        let mut run = self.runner.generate(&mut self.session, ids, &self.options).map_err(ended)?;
        let ends = run.session().model().config().eos().to_vec();
        let mut first = started;
        while let Some(choice) = run.next() {
            let choice = choice.map_err(ended)?;
            if report.made == 0 {
                first = Instant::now();
                report.first = first.duration_since(started).as_secs_f64();
                // Where the middle was dropped, what was left has been run again, and nothing else.
                let left = run.session().tokens().len().saturating_sub(1);
                report.prompt = if left < whole { left } else { new };
            }
            report.made = report.made.saturating_add(1);
            let bytes = self.tokenizer.token_bytes(choice.id).filter(|_| !ends.contains(&choice.id));
            let sure = stops.push(bytes.unwrap_or_default());
            take(choice.id, choice.log_probability, &sure)?;
            if stops.found() {
                break;
            }
        }
        report.rest = first.elapsed().as_secs_f64();
        report.finish = run.finish();
        Ok(report)
    }

    /// Asks for texts until there are none. What cannot be taken is told, and the conversation goes on without it.
    pub(super) fn interactive(&mut self, prompt: Option<&str>, name: &str) -> io::Result<Exit> {
        let mut out = Terminal::new();
        let (mut input, asks) = (io::stdin().lock(), io::stdin().is_terminal());
        let mut exit = Exit::Accepted;
        if let Some(prompt) = prompt.filter(|text| *text != "-") {
            exit = exit.or(self.answer(Line::Text(prompt.to_owned()), "the prompt", &mut out, (name, asks))?);
        }
        for number in 1_u64.. {
            if asks {
                out.write("> ")?;
            }
            match prompt::line(&mut input)? {
                Line::End => break,
                line => exit = exit.or(self.answer(line, &format!("line {number}"), &mut out, (name, asks))?),
            }
        }
        Ok(exit)
    }

    /// Goes on from a part of a conversation, or says why it does not.
    fn answer(&mut self, line: Line, what: &str, out: &mut Terminal, of: (&str, bool)) -> io::Result<Exit> {
        let (name, asks) = of;
        let taken = match line {
            Line::End => return Ok(Exit::Accepted),
            Line::Skipped(why) => Err(why),
            Line::Text(text) => {
                let ids = self.tokenizer.encode(text.as_bytes());
                if ids.is_empty() && self.session.tokens().is_empty() {
                    return Ok(Exit::Accepted);
                }
                self.fits(&ids).map(|()| ids).map_err(|error| error.to_string())
            }
        };
        match taken {
            Ok(ids) => {
                let report = self.line(&ids, out, name)?;
                if asks {
                    report.tell();
                }
                Ok(Exit::Accepted)
            }
            Err(why) => {
                complain(&format!("{what} is left out: {why}"));
                Ok(Exit::Trouble)
            }
        }
    }

    /// One JSON document.
    pub(super) fn document(&mut self, prompt: &str, ids: &[u32], name: &str) -> io::Result<Exit> {
        let mut stops = StopStrings::new(self.stops);
        let (mut text, mut tokens) = (Vec::new(), Vec::new());
        let report = self.each(ids, &mut stops, |id, log_probability, bytes| {
            text.extend_from_slice(bytes);
            tokens.push(json!({ "id": id, "log_probability": log_probability }));
            Ok(())
        })?;
        text.extend(stops.finish());
        let finish = match report.finish {
            _ if stops.found() => "stop_string",
            Some(Finish::Stop) => "stop_token",
            Some(Finish::Context) => "context",
            _ => "tokens",
        };
        let document = json!({
            "model": name,
            "prompt": prompt,
            "prompt_ids": ids,
            "text": String::from_utf8_lossy(&text),
            "tokens": tokens,
            "finish": finish,
            "seed": self.options.sample.seed,
            "threads": report.threads,
            "level": report.level,
            "load_ms": report.loading.as_secs_f64() * 1e3,
            "prompt_tokens_per_second": rate(report.prompt, report.first),
            "tokens_per_second": rate(report.made.saturating_sub(1), report.rest),
        });
        let mut out = output::stdout();
        output::json(&mut out, &document)?;
        writeln!(out)?;
        out.flush()?;
        Ok(Exit::Accepted)
    }
}
