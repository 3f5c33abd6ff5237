use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tensorgate::SafeTensors;
use tensorgate::gpt2::{
    CacheType, Finish, GenerateOptions, Gpt2, Overflow, Problem, RunError, RunOptions, Runner, SampleOptions,
    Session, SessionError,
};

use super::{argmax, difference, here, runner};

fn model(name: &str) -> Gpt2 {
    Gpt2::open(here("tests/data/tiny-gpt2").join(name)).unwrap()
}

fn tiny(options: RunOptions) -> Runner {
    runner(&model("tinyA-plain"), RunOptions { threads: 2, ..options })
}

/// Tokens without pattern.
fn text(count: u32) -> Vec<u32> {
    (0..count).map(|at| (at * 193 + 7) % 512).collect()
}

fn session(runner: &mut Runner, tokens: &[u32]) -> Session {
    let mut session = runner.session().unwrap();
    session.push(tokens).unwrap();
    session
}

fn logits(runner: &mut Runner, session: &mut Session) -> Vec<f32> {
    runner.logits(session).unwrap()
}

fn near(a: &[f32], b: &[f32]) {
    let b: Vec<f64> = b.iter().map(|x| f64::from(*x)).collect();
    let (most, _) = difference(a, &b);
    assert!(most < 2e-5, "{most}");
}

fn made(runner: &mut Runner, session: &mut Session, prompt: &[u32], options: &GenerateOptions) -> Vec<u32> {
    let run = runner.generate(session, prompt, options).unwrap();
    run.map(|choice| choice.unwrap().id).collect()
}

#[test]
fn a_text_has_the_same_logits_however_it_is_cut() {
    let whole = text(50);
    let expected = {
        let mut runner = tiny(RunOptions::default());
        let mut session = session(&mut runner, &whole);
        logits(&mut runner, &mut session)
    };
    for batch in [1, 7, 33, 64] {
        for cuts in [vec![50], vec![1, 49], vec![20, 1, 1, 28], vec![49, 1]] {
            let mut runner = tiny(RunOptions { batch, ..RunOptions::default() });
            let mut session = runner.session().unwrap();
            let mut rest = whole.as_slice();
            let mut last = Vec::new();
            for cut in cuts {
                let (part, after) = rest.split_at(cut);
                session.push(part).unwrap();
                last = logits(&mut runner, &mut session);
                rest = after;
            }
            near(&last, &expected);
        }
    }
}

#[test]
fn the_logits_do_not_depend_on_the_number_of_threads() {
    for name in ["tinyB-plain", "tinyA-bf16"] {
        let model = model(name);
        let of = |threads: usize, count: u32| {
            let mut runner = runner(&model, RunOptions { threads, ..RunOptions::default() });
            let mut session = session(&mut runner, &text(count));
            logits(&mut runner, &mut session)
        };
        // Few rows are cut by outputs and many by rows, each in the same way for every number of threads above one.
        for count in [1, 3, 20, 60] {
            let expected = of(2, count);
            for threads in [1, 3, 7] {
                near(&of(threads, count), &expected);
            }
            assert_eq!(of(2, count), expected, "{name}, {count} tokens");
        }
        assert_eq!(of(1, 1), of(3, 1));
    }
}

#[test]
fn sequences_that_share_a_prompt() {
    let mut runner = tiny(RunOptions::default());
    let mut first = session(&mut runner, &text(20));
    logits(&mut runner, &mut first);
    let mut second = first.fork().unwrap();
    let mut third = second.fork().unwrap();
    for (session, tokens) in [(&mut first, vec![1, 2]), (&mut second, vec![3]), (&mut third, vec![])] {
        session.push(&tokens).unwrap();
    }
    // All at once, and each alone.
    let mut found = vec![Vec::new(); 3];
    runner.step(&mut [&mut first, &mut second, &mut third], |at, logits| found[at] = logits.to_vec()).unwrap();
    for (session, found) in [&mut first, &mut second, &mut third].into_iter().zip(found) {
        assert_eq!(session.run_len(), session.tokens().len());
        let mut alone = runner.session().unwrap();
        alone.push(session.tokens()).unwrap();
        near(&found, &logits(&mut runner, &mut alone));
        // A fork goes on as if it had been alone.
        session.push(&[9, 8, 7]).unwrap();
        alone.push(&[9, 8, 7]).unwrap();
        near(&logits(&mut runner, session), &logits(&mut runner, &mut alone));
    }
    drop(first);
    second.truncate(5);
    let mut alone = session(&mut runner, &text(5));
    near(&logits(&mut runner, &mut second), &logits(&mut runner, &mut alone));
}

#[test]
fn many_sequences_in_batches() {
    let mut runner = tiny(RunOptions { batch: 3, ..RunOptions::default() });
    let mut all: Vec<Session> = (0..8).map(|at| session(&mut runner, &text(at + 1))).collect();
    let mut found = vec![Vec::new(); 8];
    let mut lent: Vec<&mut Session> = all.iter_mut().collect();
    runner.step(&mut lent, |at, logits| found[at] = logits.to_vec()).unwrap();
    for (at, found) in found.iter().enumerate() {
        let mut alone = session(&mut runner, &text(u32::try_from(at).unwrap() + 1));
        near(found, &logits(&mut runner, &mut alone));
    }
}

#[test]
fn a_saved_session_goes_on_where_it_stood() {
    let options = GenerateOptions {
        sample: SampleOptions { temperature: 1.5, seed: 3, ..SampleOptions::default() },
        tokens: 6,
        stop: Some(Vec::new()),
        ..GenerateOptions::default()
    };
    for cache in [CacheType::F32, CacheType::F16] {
        let mut runner = tiny(RunOptions { cache, ..RunOptions::default() });
        let mut one = runner.session().unwrap();
        made(&mut runner, &mut one, &text(11), &options);
        let mut fork = one.fork().unwrap();
        made(&mut runner, &mut fork, &[], &options);
        let bytes = fork.save().unwrap();
        let mut restored = runner.restore(&bytes).unwrap();
        assert_eq!((restored.tokens(), restored.run_len()), (fork.tokens(), fork.run_len()));
        assert_eq!(restored.save().unwrap(), bytes);
        let expected = made(&mut runner, &mut fork, &[5], &options);
        assert_eq!(made(&mut runner, &mut restored, &[5], &options), expected);
    }
}

#[test]
fn saved_bytes_are_not_trusted() {
    let mut runner = tiny(RunOptions::default());
    let mut one = session(&mut runner, &text(4));
    logits(&mut runner, &mut one);
    let good = one.save().unwrap();
    let refused = |bytes: &[u8]| runner.restore(bytes).map(|session| session.run_len());
    assert_eq!(refused(&good), Ok(4));
    for len in 0..good.len().min(700) {
        assert!(matches!(refused(&good[..len]), Err(RunError::Session(SessionError::File(_)))), "{len}");
    }
    let header = usize::try_from(u64::from_le_bytes(*good.first_chunk().unwrap())).unwrap();
    let swap = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let text = String::from_utf8(good[8..8 + header].to_vec()).unwrap();
        assert!(text.contains(from), "{text}");
        [&good[..8], text.replacen(from, to, 1).as_bytes(), &good[8 + header..]].concat()
    };
    assert_eq!(refused(&swap("\"keys\"", "\"kezs\"")), Err(RunError::Session(SessionError::Field("keys"))));
    assert!(matches!(refused(&swap("[2,2,4,16]", "[2,2,8,08]")), Err(RunError::Session(SessionError::File(_)))));
    assert_eq!(refused(&swap("[2,2,4,16]", "[2,4,4, 8]")), Err(RunError::Session(SessionError::Field("keys"))));
    assert_eq!(refused(&swap("\"U32\"", "\"F32\"")), Err(RunError::Session(SessionError::Field("tokens"))));
    let version = refused(&swap("\"tensorgate.session\":\"1\"", "\"tensorgate.session\":\"2\""));
    assert_eq!(version, Err(RunError::Session(SessionError::Field("tensorgate.session"))));
    // A token outside the vocabulary, wherever the tokens lie.
    let ids: Vec<u8> = text(4).iter().flat_map(|id| id.to_le_bytes()).collect();
    let at = good.windows(ids.len()).position(|part| part == ids).unwrap();
    let mut wild = good.clone();
    wild[at + 3] = 0x7F;
    assert!(matches!(refused(&wild), Err(RunError::Token { vocabulary: 512, .. })));
    // More than the context has room for.
    let small = tiny(RunOptions { context: 3, ..RunOptions::default() });
    assert_eq!(small.restore(&good).map(drop), Err(RunError::ContextFull { tokens: 4, room: 3 }));
    let other = runner_of("tinyB-plain");
    assert_eq!(other.restore(&good).map(drop), Err(RunError::Session(SessionError::OtherModel)));
}

fn runner_of(name: &str) -> Runner {
    runner(&model(name), RunOptions::default())
}

#[test]
fn keys_that_are_no_numbers_are_an_error_that_names_the_layer() {
    let mut runner = tiny(RunOptions::default());
    let mut one = session(&mut runner, &text(4));
    logits(&mut runner, &mut one);
    let mut bytes = one.save().unwrap();
    let header = usize::try_from(u64::from_le_bytes(*bytes.first_chunk().unwrap())).unwrap();
    let keys = SafeTensors::open(&bytes).unwrap().tensor("keys").unwrap().bytes().to_vec();
    let start = (8 + header..bytes.len()).find(|at| bytes[*at..].starts_with(&keys)).unwrap();
    bytes[start..start + keys.len()].fill(0xFF);
    let mut broken = runner.restore(&bytes).unwrap();
    let error = runner.logits(&mut broken).unwrap_err();
    assert_eq!(error.to_string(), "what layer 0 gave is not a finite number");
    // What was run before is still there, and the error comes again.
    assert_eq!(broken.run_len(), 3);
    assert_eq!(runner.logits(&mut broken).unwrap_err(), error);
}

#[test]
fn a_full_context_ends_the_text_or_slides() {
    let mut runner = tiny(RunOptions { context: 16, ..RunOptions::default() });
    let stop = GenerateOptions { tokens: 30, stop: Some(Vec::new()), ..GenerateOptions::default() };
    let mut one = runner.session().unwrap();
    let mut run = runner.generate(&mut one, &text(10), &stop).unwrap();
    // The sixteenth token is run, and one is chosen after it.
    assert_eq!(run.by_ref().map(Result::unwrap).count(), 7);
    assert_eq!(run.finish(), Some(Finish::Context));
    let mut long = runner.session().unwrap();
    let mut run = runner.generate(&mut long, &text(17), &stop).unwrap();
    assert_eq!(run.next().unwrap().unwrap_err(), RunError::ContextFull { tokens: 17, room: 16 });
    assert!(run.next().is_none());

    let slide = GenerateOptions { overflow: Overflow::Slide { keep: 4 }, ..stop };
    let mut one = runner.session().unwrap();
    assert_eq!(made(&mut runner, &mut one, &text(10), &slide).len(), 30);
    assert_eq!(one.tokens()[..4], text(4));
    assert!(one.tokens().len() <= 17);
    // After a slide the text is that of its tokens alone.
    let tokens = one.tokens().to_vec();
    let mut alone = session(&mut runner, &tokens[..tokens.len() - 1]);
    assert_eq!(argmax(&logits(&mut runner, &mut alone)), *tokens.last().unwrap());
    let mut far = runner.session().unwrap();
    assert_eq!(made(&mut runner, &mut far, &text(100), &slide).len(), 30);
}

#[test]
fn cancelling_leaves_the_session_whole() {
    let mut runner = tiny(RunOptions::default());
    let cancel = Arc::new(AtomicBool::new(true));
    let options = GenerateOptions { cancel: Some(Arc::clone(&cancel)), tokens: 3, ..GenerateOptions::default() };
    let mut one = runner.session().unwrap();
    let mut run = runner.generate(&mut one, &text(9), &options).unwrap();
    assert_eq!(run.next().unwrap().unwrap_err(), RunError::Cancelled);
    assert!(run.next().is_none() && run.finish() == Some(Finish::Error));
    assert_eq!(one.run_len(), 0);
    cancel.store(false, Ordering::Relaxed);
    let mut other = runner.session().unwrap();
    let expected = made(&mut runner, &mut other, &text(9), &options);
    assert_eq!(made(&mut runner, &mut one, &[], &options), expected);
}

#[test]
fn the_dice_are_the_same_for_the_same_seed_and_go_on_in_a_session() {
    let mut runner = tiny(RunOptions::default());
    let with = |seed| GenerateOptions {
        sample: SampleOptions { temperature: 2.0, top_k: 40, seed, ..SampleOptions::default() },
        tokens: 20,
        stop: Some(Vec::new()),
        ..GenerateOptions::default()
    };
    let mut of = |seed| {
        let mut session = runner.session().unwrap();
        made(&mut runner, &mut session, &[1], &with(seed))
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn tokens_that_end_a_text() {
    let mut runner = tiny(RunOptions::default());
    let mut one = runner.session().unwrap();
    let free = GenerateOptions { tokens: 5, stop: Some(Vec::new()), ..GenerateOptions::default() };
    let all = made(&mut runner, &mut one, &text(3), &free);
    let last = *all.get(2).unwrap();
    let first = all.iter().position(|id| *id == last).unwrap();
    let mut other = runner.session().unwrap();
    let ends = GenerateOptions { stop: Some(vec![last]), ..free };
    let mut run = runner.generate(&mut other, &text(3), &ends).unwrap();
    assert_eq!(run.by_ref().count(), first + 1);
    assert_eq!(run.finish(), Some(Finish::Stop));
}

#[test]
fn what_cannot_be_run_is_an_error() {
    let mut runner = tiny(RunOptions::default());
    let mut one = runner.session().unwrap();
    assert_eq!(runner.logits(&mut one), Err(RunError::Empty));
    assert_eq!(one.push(&[1, 512]), Err(RunError::Token { id: 512, vocabulary: 512 }));
    assert!(one.tokens().is_empty());
    one.push(&text(65)).unwrap();
    assert_eq!(runner.logits(&mut one), Err(RunError::ContextFull { tokens: 65, room: 64 }));
    let model = Gpt2::open(here("models/austen")).unwrap();
    let small = RunOptions { memory_limit: 20_000, ..RunOptions::default() };
    assert!(matches!(Runner::new(&model, &small), Err(RunError::Memory(Problem::Memory { limit: 20_000, .. }))));
    let tight = RunOptions { batch: 1, threads: 1, memory_limit: 700_000, ..RunOptions::default() };
    let tight = Runner::new(&model, &tight);
    assert!(matches!(tight.unwrap().session(), Err(RunError::Memory(_))));
}
