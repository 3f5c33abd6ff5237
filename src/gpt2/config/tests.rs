use super::*;

const TINY: &str = r#"{"model_type":"gpt2","n_layer":2,"n_head":2,"n_embd":32,"n_positions":64,"vocab_size":512}"#;

fn whole(text: &str) -> Result<Config, Problems> {
    Fields::from_json(text.as_bytes())?.resolve(&Seen::default()).map(|(config, _)| config)
}

/// The tiny config with more members in front.
fn with(members: &str) -> String {
    TINY.replacen('{', &format!("{{{members},"), 1)
}

fn problems(text: &str) -> Vec<String> {
    whole(text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn defaults_are_the_librarys() {
    let config = whole(TINY).unwrap();
    assert_eq!((config.n_inner(), config.head_dim(), config.activation()), (128, 16, Activation::GeluNew));
    assert_eq!((config.epsilon(), config.tied(), config.eos()), (1e-5, None, &[][..]));
    assert_eq!([0, 1].map(|layer| config.attention_scale(layer).to_bits()), [0.25_f32.to_bits(); 2]);
}

#[test]
fn every_choice_is_read() {
    let text = with(
        r#""n_inner":96,"layer_norm_epsilon":1e-06,"activation_function":"gelu","scale_attn_weights":false,
        "scale_attn_by_inverse_layer_idx":true,"tie_word_embeddings":false,"eos_token_id":[7,511,512]"#,
    );
    let config = whole(&text).unwrap();
    assert_eq!((config.n_inner(), config.epsilon(), config.activation()), (96, 1e-6, Activation::Gelu));
    assert_eq!((config.tied(), config.eos()), (Some(false), &[7, 511][..]));
    assert_eq!((config.attention_scale(0), config.attention_scale(3)), (1.0, 0.25));
}

#[test]
fn unknown_fields_of_any_shape_are_stepped_over() {
    let text = with(
        r#""task_specific_params":{"text-generation":{"do_sample":true,"max_length":50}},"id2label":[{},[],null,-1.5e-3],
        "esc\"aped":"n_layer","a":{"n_layer":9}"#,
    );
    assert_eq!(whole(&text).unwrap().n_layer(), 2);
    let deep = with(&format!("\"x\":{}{}", "[".repeat(1_000_000 / 2 - 100), "]".repeat(1_000_000 / 2 - 100)));
    assert!(problems(&deep)[0].contains("nest too deep"), "{:?}", problems(&deep));
}

#[test]
fn duplicates_are_refused_however_spelt() {
    for (members, key) in [
        (r#""n_layer":2"#, "n_layer"),
        (r#""n_la\u0079er":2"#, "n_layer"),
        (r#""num_hidden_layers":2"#, "n_layer"),
        (r#""x":1,"x":1"#, "x"),
    ] {
        let found = problems(&with(members));
        assert_eq!(found.len(), 1, "{members}");
        assert!(found[0].ends_with(&format!("\"{key}\" stands twice")), "{found:?}");
    }
}

#[test]
fn all_problems_are_listed_at_once() {
    let text = r#"{"model_type":"llama","n_layer":0,"n_head":"2","n_embd":1.5,"layer_norm_epsilon":0,
        "activation_function":"silu","eos_token_id":-1,"tie_word_embeddings":1,"add_cross_attention":true,"n_ctx":2147483649}"#;
    let found = problems(text);
    assert_eq!(found.len(), 10, "{found:#?}");
    assert_eq!(problems("{}").len(), 4, "{:?}", problems("{}"));
}

#[test]
fn odd_values_are_problems() {
    for members in [
        r#""layer_norm_epsilon":"1e-5""#,
        r#""layer_norm_epsilon":1e-60"#,
        r#""layer_norm_epsilon":2"#,
        r#""n_inner":0"#,
        r#""n_inner":1e3"#,
        r#""n_inner":18446744073709551616"#,
        r#""activation_function":3"#,
        r#""eos_token_id":4294967296"#,
        r#""eos_token_id":[1,"2"]"#,
        r#""is_encoder_decoder":1"#,
    ] {
        assert_eq!(problems(&with(members)).len(), 1, "{members}");
    }
    assert!(problems(&TINY.replace("\"n_head\":2", "\"n_head\":3"))[0].contains("divisor"));
    for text in ["", "[]", "null", "{\"n_layer\":2", "{\"n_layer\":02}", "{} {}", "\u{feff}{}", "{\"a\":NaN}"] {
        assert!(Fields::from_json(text.as_bytes()).is_err(), "{text}");
    }
    assert!(Fields::from_json(b"{\"a\":\"\xff\"}").is_err());
    let long = format!("{{}}{}", " ".repeat(1 << 20));
    assert!(Fields::from_json(long.as_bytes()).unwrap_err().to_string().contains("too long"));
}

#[test]
fn what_is_missing_comes_from_shapes_with_a_note() {
    let seen =
        Seen { n_layer: Some(3), n_embd: Some(128), n_inner: Some(256), n_positions: Some(32), n_vocab: Some(99) };
    let (config, notes) = Fields::default().resolve(&seen).unwrap();
    assert_eq!((config.n_layer(), config.n_head(), config.n_inner(), config.n_vocab()), (3, 2, 256, 99));
    assert_eq!(notes.len(), 5, "{notes:?}");
    let narrow = Seen { n_embd: Some(32), ..seen };
    assert_eq!(Fields::default().resolve(&narrow).unwrap_err().iter().count(), 1);
    let huge = Seen { n_vocab: Some(1 << 40), ..seen };
    assert_eq!(Fields::default().resolve(&huge).unwrap_err().iter().count(), 1);
}

/// A guess is the same whether a config is there that does not say it, or none; it is never called what the config says.
#[test]
fn heads_that_nothing_says_are_guessed_in_one_way() {
    let given = Fields::from_json(b"{}").unwrap();
    // The published sizes, one that only 12 divides, and two that neither divides.
    for (width, heads) in [
        (768, Some(12)),
        (1024, Some(16)),
        (1280, Some(20)),
        (1600, Some(25)),
        (36, Some(12)),
        (32, None),
        (100, None),
    ] {
        let seen = Seen {
            n_layer: Some(1),
            n_embd: Some(width),
            n_positions: Some(8),
            n_vocab: Some(9),
            ..Seen::default()
        };
        for fields in [&given, &Fields::default()] {
            match (fields.resolve(&seen), heads) {
                (Ok((config, notes)), Some(heads)) => {
                    assert_eq!(config.n_head(), heads, "{width}");
                    let note = format!("n_head is not given; {heads} is taken, ");
                    assert!(notes.iter().any(|found| found.starts_with(&note)), "{notes:?}");
                }
                (Err(problems), None) => {
                    assert_eq!(problems.iter().collect::<Vec<_>>(), [&Problem::MissingField("n_head")], "{width}");
                }
                (found, _) => panic!("{width}: {found:?}"),
            }
        }
    }
}

#[test]
fn positions_under_another_name_are_noted() {
    let fields = Fields::from_json(TINY.replace("n_positions", "n_ctx").as_bytes()).unwrap();
    let (config, notes) = fields.resolve(&Seen::default()).unwrap();
    assert_eq!((config.n_positions(), notes.len()), (64, 1));
    assert_eq!(notes[0], "n_positions is not given; n_ctx is, and 64 is taken from it");
    assert_eq!(Fields::from_json(TINY.as_bytes()).unwrap().resolve(&Seen::default()).unwrap().1.len(), 0);
}

#[test]
fn a_byte_order_mark_is_called_one() {
    assert_eq!(
        problems(&format!("\u{feff}{TINY}")),
        ["config.json is text behind a byte order mark (BOM), expected JSON without one"]
    );
}

#[test]
fn text_of_the_file_is_shown_escaped_and_cut() {
    let text = with(&format!("\"activation_function\":\"\u{202e}{}\"", "x".repeat(1000)));
    let found = problems(&text).remove(0);
    assert!(found.is_ascii() && found.len() < 200, "{found}");
}
