use super::*;

/// Logits without pattern, from the generator.
fn logits(count: usize, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..count).map(|_| single(random.unit() * 20.0 - 10.0)).collect()
}

fn sampler(options: SampleOptions) -> Sampler {
    Sampler::new(options).unwrap()
}

fn base() -> SampleOptions {
    SampleOptions { temperature: 1.0, ..SampleOptions::default() }
}

/// How often each of `count` throws falls on each token.
fn counts(options: SampleOptions, logits: &[f32], history: &[u32], count: usize) -> Vec<usize> {
    let mut sampler = sampler(options);
    let mut counts = vec![0; logits.len()];
    for _ in 0..count {
        let id = sampler.choose(&mut logits.to_vec(), history).unwrap().id;
        counts[usize::try_from(id).unwrap()] += 1;
    }
    counts
}

/// The definition, spelt out: every token weighed, all sorted.
fn plain(logits: &[f32], options: &SampleOptions) -> Vec<(u32, f64)> {
    let temperature = f64::from(options.temperature);
    let mut all: Vec<(u32, f64)> =
        logits.iter().zip(0..).map(|(l, id)| (id, (f64::from(*l) / temperature).exp())).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if options.top_k > 0 {
        all.truncate(options.top_k);
    }
    let total: f64 = all.iter().map(|(_, p)| p).sum();
    let mut sum = 0.0;
    let mut kept = Vec::new();
    for (id, p) in all {
        if sum / total < f64::from(options.top_p) {
            kept.push((id, p));
        }
        sum += p;
    }
    let most = kept[0].1;
    kept.retain(|(_, p)| *p >= most * f64::from(options.min_p));
    let total: f64 = kept.iter().map(|(_, p)| p).sum();
    kept.iter().map(|(id, p)| (*id, p / total)).collect()
}

#[test]
fn the_best_are_those_of_a_full_sort() {
    for count in [1_usize, 31, 32, 33, 1000, 50_257] {
        let mut values = logits(count, 7);
        // Ties, and tokens ruled out.
        for at in (0..count).step_by(3) {
            values[at] = (values[at] * 2.0).round();
        }
        for at in (0..count).step_by(11) {
            values[at] = f32::NEG_INFINITY;
        }
        let mut sorted: Vec<Candidate> =
            values.iter().copied().zip(0..).filter(|c| c.0 > f32::NEG_INFINITY).collect();
        sorted.sort_by(better);
        let mut found = Vec::new();
        for k in [1, 2, 40, 63, 64, 65, 1000, 60_000] {
            best(&values, k, &mut found);
            assert_eq!(found, sorted[..k.min(sorted.len())], "{count} {k}");
        }
    }
}

#[test]
fn the_chosen_follow_the_definition() {
    let values = logits(60, 3);
    for (top_k, top_p, min_p, temperature) in [
        (0, 1.0, 0.0, 1.0),
        (0, 1.0, 0.0, 3.0),
        (5, 1.0, 0.0, 2.0),
        (0, 0.9, 0.0, 2.0),
        (0, 1.0, 0.05, 2.0),
        (10, 0.8, 0.0, 4.0),
        (1, 1.0, 0.0, 1.0),
        (100, 1.0, 1.0, 1.0),
    ] {
        let options = SampleOptions { temperature, top_k, top_p, min_p, ..base() };
        let want = plain(&values, &options);
        let found = counts(options, &values, &[], 20_000);
        for (id, p) in &want {
            let share = f64::from(u32::try_from(found[usize::try_from(*id).unwrap()]).unwrap()) / 20_000.0;
            assert!((share - p).abs() < 0.015, "{top_k} {top_p} {min_p}: token {id} {share} for {p}");
        }
        let inside: usize = want.iter().map(|(id, _)| found[usize::try_from(*id).unwrap()]).sum();
        assert_eq!(inside, 20_000, "{top_k} {top_p} {min_p}");
    }
}

#[test]
fn greedy_takes_the_first_of_the_greatest() {
    let mut greedy = sampler(SampleOptions::default());
    assert_eq!(greedy.choose(&mut [1.0, 3.0, 3.0, -1.0], &[]).unwrap().id, 1);
    assert_eq!(greedy.choose(&mut [-0.0, 0.0], &[]).unwrap().id, 0);
}

#[test]
fn bias_and_penalty() {
    let options = SampleOptions { bias: vec![(1, f32::NEG_INFINITY), (2, 0.5)], ..SampleOptions::default() };
    assert_eq!(sampler(options.clone()).choose(&mut [2.0, 9.0, 1.6], &[]).unwrap().id, 2);
    assert_eq!(sampler(options).choose(&mut [2.0, 9.0], &[]), Err(SampleError::BiasToken(2)));
    let options = SampleOptions { repetition_penalty: 2.0, ..SampleOptions::default() };
    let mut values = [4.0, 3.0, -1.0];
    assert_eq!(sampler(options.clone()).choose(&mut values, &[0, 2, 0, 99]).unwrap().id, 1);
    assert_eq!(values.map(f32::to_bits), [2.0_f32, 3.0, -2.0].map(f32::to_bits));
    let options = SampleOptions { repetition_window: 1, ..options };
    assert_eq!(sampler(options).choose(&mut [4.0, 3.0, -1.0], &[0, 2]).unwrap().id, 0);
    let all = SampleOptions { bias: vec![(0, f32::NEG_INFINITY)], ..base() };
    assert_eq!(sampler(all).choose(&mut [1.0], &[]), Err(SampleError::Nothing));
}

#[test]
fn log_probabilities_are_the_models_own() {
    let options = SampleOptions {
        bias: vec![(0, 100.0)],
        repetition_penalty: 1.5,
        log_probability: true,
        alternatives: 2,
        ..SampleOptions::default()
    };
    let choice = sampler(options).choose(&mut [0.0, 3.0_f32.ln(), f32::MIN], &[0]).unwrap();
    assert_eq!(choice.id, 0);
    assert!((choice.log_probability.unwrap() - 0.25_f32.ln()).abs() < 1e-6);
    assert_eq!(choice.alternatives.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 0]);
    assert!((choice.alternatives[0].1 - 0.75_f32.ln()).abs() < 1e-6);
}

#[test]
fn what_is_no_number_is_an_error() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values = logits(100, 1);
        values[77] = bad;
        for options in [SampleOptions::default(), base()] {
            assert_eq!(sampler(options).choose(&mut values.clone(), &[]), Err(SampleError::NotFinite(77)));
        }
    }
    assert_eq!(sampler(base()).choose(&mut [], &[]), Err(SampleError::Nothing));
}

#[test]
fn options_outside_their_range_are_errors() {
    for options in [
        SampleOptions { temperature: -0.1, ..base() },
        SampleOptions { temperature: f32::NAN, ..base() },
        SampleOptions { temperature: f32::INFINITY, ..base() },
        SampleOptions { top_p: 0.0, ..base() },
        SampleOptions { top_p: 1.1, ..base() },
        SampleOptions { min_p: -0.1, ..base() },
        SampleOptions { min_p: f32::NAN, ..base() },
        SampleOptions { repetition_penalty: 0.0, ..base() },
        SampleOptions { bias: vec![(0, f32::INFINITY)], ..base() },
    ] {
        assert!(matches!(Sampler::new(options), Err(SampleError::Option(..))));
    }
}

#[test]
fn extremes_give_a_token() {
    let mut values = vec![f32::MIN; 300];
    values[7] = f32::MAX;
    for temperature in [f32::MIN_POSITIVE, 1e-45, f32::MAX] {
        for (top_k, top_p, min_p) in [(0, 1.0, 0.0), (3, 0.5, 0.0), (0, f32::MIN_POSITIVE, 0.0), (0, 1.0, 1e-30)] {
            let options = SampleOptions { temperature, top_k, top_p, min_p, ..base() };
            let id = sampler(options).choose(&mut values.clone(), &[]).unwrap().id;
            assert!(id < 300 && (temperature > 1.0 || id == 7));
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_tokens() {
    let values = logits(1000, 5);
    let run = |seed| {
        let mut sampler = sampler(SampleOptions { seed, temperature: 2.0, ..base() });
        (0..50).map(|_| sampler.choose(&mut values.clone(), &[]).unwrap().id).collect::<Vec<_>>()
    };
    assert_eq!(run(42), run(42));
    assert_ne!(run(42), run(43));
}
