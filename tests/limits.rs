//! Every limit at n-1, n and n+1; and the largest files that the defaults allow.

mod common;

use common::file;
use tensorgate::safetensors::{Header, Slot};
use tensorgate::{ErrorKind, Limits, SafeTensors};

/// Accepted, perhaps with a rule relaxed; or refused, where, and what was wanted.
type Verdict = Result<Option<(ErrorKind, u64)>, (ErrorKind, u64, Option<u64>)>;

/// The verdict on a file, from lent storage.
fn judge(whole: &[u8], limits: &Limits) -> Verdict {
    let mut slots = vec![Slot::EMPTY; 64];
    SafeTensors::open_in(whole, &mut slots, limits)
        .map(|file| file.header().relaxed().map(|used| (used.kind(), used.at())))
        .map_err(|error| (error.kind(), error.at(), error.want()))
}

/// Where the verdict points.
#[derive(Clone, Copy)]
enum At {
    /// At one claim, which is a number.
    One(usize),
    /// At the first claim over the limit; the last of the claims stands here, and each this many bytes behind the one
    /// before.
    Last(usize, usize),
}

/// A file that claims `claim` of something is refused with every lower limit and accepted with every other.
fn check(whole: &[u8], set: impl Fn(Limits, u64) -> Limits, claim: usize, kind: ErrorKind, at: At) {
    let mut lower = vec![0, 1, claim - 1];
    lower.retain(|most| *most < claim);
    for most in lower {
        let at = match at {
            At::One(at) => at,
            At::Last(at, step) => at - step * (claim - most - 1),
        };
        let (at, most) = (at as u64, most as u64);
        assert_eq!(judge(whole, &set(Limits::default(), most)), Err((kind, at, Some(most))), "{kind:?} {most}");
    }
    let claim = claim as u64;
    for most in [claim, claim + 1, claim * 1000, u64::MAX - 1, u64::MAX] {
        assert_eq!(judge(whole, &set(Limits::default(), most)), Ok(None), "{kind:?} {most}");
    }
}

fn entry(name: &str) -> String {
    format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}")
}

#[test]
fn header_len() {
    let header = format!("{{{}}}", entry("w"));
    let whole = file(&header, &[]);
    check(&whole, Limits::with_header_len, header.len(), ErrorKind::StHeaderLimit, At::One(0));
}

#[test]
fn tensors() {
    for count in [1, 2, 3, 9] {
        let members: Vec<String> = (0..count).map(|i| entry(&i.to_string())).collect();
        let header = format!("{{\"__metadata__\":{{}},{}}}", members.join(","));
        let at = 8 + header.rfind(&members[count - 1]).unwrap();
        let step = members[0].len() + 1;
        let whole = file(&header, &[]);
        check(&whole, Limits::with_tensors, count, ErrorKind::StTensorLimit, At::Last(at, step));
    }
}

#[test]
fn rank() {
    // The second spelling is not the one that is read in one step.
    for (before, after) in [("\"dtype\":\"U8\",", ""), ("", ",\"dtype\":\"U8\"")] {
        for rank in [1_usize, 2, 9, 40] {
            let dims = vec!["1"; rank].join(",");
            let header = format!("{{\"w\":{{{before}\"shape\":[{dims}],\"data_offsets\":[0,1]{after}}}}}");
            let at = 8 + header.find(']').unwrap() - 1;
            let whole = file(&header, &[7]);
            check(&whole, Limits::with_rank, rank, ErrorKind::StRankLimit, At::Last(at, 2));
        }
    }
    let scalar = file(r#"{"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#, &[7]);
    assert_eq!(judge(&scalar, &Limits::default().with_rank(0)), Ok(None));
}

#[test]
fn name_len() {
    for name in ["a", "ab", "a name of no account", "\\u0061", "é", "_metadata__"] {
        let header = format!("{{\"__metadata__\":{{\"a key of another length\":\"\"}},{}}}", entry(name));
        let at = 8 + header.find(&entry(name)).unwrap();
        let whole = file(&header, &[]);
        check(&whole, Limits::with_name_len, name.len(), ErrorKind::StNameLimit, At::One(at));
    }
    let empty = file(&format!("{{{}}}", entry("")), &[]);
    assert_eq!(judge(&empty, &Limits::default().with_name_len(0)), Ok(None));
}

#[test]
fn metadata_keys() {
    for count in [1, 2, 9, 70, 200] {
        let keys: Vec<String> = (0..count).map(|i| format!("\"{:03}\":\"\"", (i * 11) % count)).collect();
        let header = format!("{{\"__metadata__\":{{{}}}}}", keys.join(","));
        let at = 8 + header.rfind(&keys[count - 1]).unwrap();
        let step = keys[0].len() + 1;
        let whole = file(&header, &[]);
        check(&whole, Limits::with_metadata_keys, count, ErrorKind::StMetadataLimit, At::Last(at, step));
    }
}

#[test]
fn leading_space() {
    let header = format!("{{{}}}", entry("w"));
    let tolerant = Limits::default().with_leading_space(true);
    assert!(tolerant.leading_space() && !Limits::default().leading_space());
    assert_eq!(judge(&file(&header, &[]), &tolerant), Ok(None));
    for space in [" ", "\t", "\r", "\n", "  \n ", &" ".repeat(5000)] {
        let whole = file(&format!("{space}{header}"), &[]);
        assert_eq!(judge(&whole, &Limits::default()), Err((ErrorKind::StLeadingSpace, 8, None)));
        assert_eq!(judge(&whole, &tolerant), Ok(Some((ErrorKind::StLeadingSpace, 8))));
    }
    // The option tolerates white space and nothing else.
    let tab = judge(&file(&format!("\u{b}{header}"), &[]), &tolerant);
    assert_eq!(tab, Err((ErrorKind::JsonNotObject, 8, None)));
    assert_eq!(judge(&file("   ", &[]), &tolerant), Err((ErrorKind::JsonEnd, 11, None)));
    assert_eq!(judge(&file("  []", &[]), &tolerant), Err((ErrorKind::JsonNotObject, 10, None)));
}

#[test]
fn a_limit_is_kept_as_it_was_set_up_to_its_ceiling() {
    for most in [0, 1, 100_000_000, 0xFFFF_FF00] {
        assert_eq!(Limits::default().with_header_len(most).header_len(), most);
    }
    for most in [0xFFFF_FF01, u64::MAX] {
        assert_eq!(Limits::default().with_header_len(most).header_len(), 0xFFFF_FF00);
    }
    let limits = Limits::DEFAULT;
    assert_eq!(limits.header_len(), 100_000_000);
    assert_eq!([limits.tensors(), limits.rank(), limits.name_len(), limits.metadata_keys()], [u64::MAX; 4]);
}

/// Raising a limit never turns accept into reject: all files and every step of each limit.
#[test]
fn raising_a_limit_never_refuses_more() {
    type Set = fn(Limits, u64) -> Limits;
    let each: [Set; 5] = [
        Limits::with_header_len,
        Limits::with_tensors,
        Limits::with_rank,
        Limits::with_name_len,
        Limits::with_metadata_keys,
    ];
    let mut slots = vec![Slot::EMPTY; 20_000];
    for row in common::corpus::rows().iter().filter(|row| row.path.ends_with(".safetensors")) {
        let whole = std::fs::read(common::corpus::folder().join(&row.path)).unwrap();
        for set in each {
            let mut accepted = false;
            for most in [0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 512, 4096, 1 << 20, u64::MAX] {
                let now = SafeTensors::open_in(&whole, &mut slots, &set(Limits::default(), most)).is_ok();
                assert!(now >= accepted, "{}: refused with the higher limit {most}", row.path);
                accepted = now;
            }
            let tolerant = set(Limits::default(), u64::MAX).with_leading_space(true);
            assert!(SafeTensors::open_in(&whole, &mut slots, &tolerant).is_ok() >= accepted, "{}", row.path);
        }
    }
}

/// The recipes of `tests/cases/safetensors_big.json`, by name.
mod big {
    use super::*;
    use std::fmt::Write as _;

    /// What the case of this name expects; the recipe itself is written out in each test.
    fn expected(name: &str) -> String {
        let all = common::cases("safetensors_big.json");
        let case = all.iter().find(|case| case["name"] == format!("big/{name}"));
        case.unwrap_or_else(|| panic!("no case {name}"))["strict_expected"].as_str().unwrap().to_owned()
    }

    fn open(header: Vec<u8>, data_len: u64, limits: &Limits, slots: usize) -> Result<usize, (ErrorKind, u64)> {
        let len = header.len() as u64;
        let mut whole = len.to_le_bytes().to_vec();
        whole.extend(header);
        let mut slots = vec![Slot::EMPTY; slots];
        Header::open_in(&whole, 8 + len + data_len, &mut slots, limits)
            .map(|header| header.len())
            .map_err(|error| (error.kind(), error.at()))
    }

    fn padded(len: usize) -> Vec<u8> {
        let mut header = br#"{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#.to_vec();
        header.resize(len, b' ');
        header
    }

    #[test]
    fn padding_up_to_the_default() {
        assert_eq!(expected("header_99_999_999_spaces"), "ok");
        assert_eq!(open(padded(99_999_999), 1, &Limits::default(), 1), Ok(1));
        assert_eq!(expected("header_100_000_000_spaces"), "ok");
        assert_eq!(open(padded(100_000_000), 1, &Limits::default(), 1), Ok(1));
        assert_eq!(expected("header_100_000_001_spaces"), "err");
        let over = padded(100_000_001);
        assert_eq!(open(over.clone(), 1, &Limits::default(), 1), Err((ErrorKind::StHeaderLimit, 0)));
        assert_eq!(open(over, 1, &Limits::default().with_header_len(100_000_001), 1), Ok(1));
    }

    #[test]
    fn metadata_up_to_the_default() {
        let header = |len: usize| {
            let text = format!("{{\"__metadata__\":{{\"k\":\"{}\"}}}}", "a".repeat(len - 25));
            let mut header = text.into_bytes();
            header.resize(header.len().next_multiple_of(8), b' ');
            header
        };
        assert_eq!(expected("writer_header_100_000_000"), "ok");
        assert_eq!(header(100_000_000).len(), 100_000_000);
        assert_eq!(open(header(100_000_000), 0, &Limits::default(), 0), Ok(0));
        // The writer's refusal is the writer's own test; its reader refuses what it would have written.
        assert_eq!(expected("writer_header_100_000_008"), "writer err");
        assert_eq!(open(header(100_000_008), 0, &Limits::default(), 0), Err((ErrorKind::StHeaderLimit, 0)));
    }

    #[test]
    fn a_shape_of_zeros() {
        assert_eq!(expected("shape_of_zeros_100MB"), "ok (bounded memory required)");
        let (before, after) = (r#"{"w":{"dtype":"U8","shape":[0"#, r#"],"data_offsets":[0,0]}}"#);
        let mut header = before.as_bytes().to_vec();
        header.extend(b",0".repeat((99_999_937 - before.len() - after.len()) / 2));
        header.extend_from_slice(after.as_bytes());
        header.resize(99_999_937, b' ');
        assert_eq!(open(header, 0, &Limits::default(), 1), Ok(1));
    }

    #[test]
    fn an_unknown_field() {
        assert_eq!(expected("unknown_field_array_of_[0]_100MB"), "err");
        let before = r#"{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":[[0]"#;
        let mut header = before.as_bytes().to_vec();
        header.extend(b",[0]".repeat((99_999_000 - before.len()) / 4));
        header.extend_from_slice(b"]}}");
        let at = 8 + before.find("\"x\"").unwrap() as u64;
        assert_eq!(open(header, 0, &Limits::default(), 1), Err((ErrorKind::StFieldUnknown, at)));
    }

    fn entries(len: usize) -> (Vec<u8>, usize) {
        let mut header = String::with_capacity(len);
        let mut count = 0;
        while header.len() < len - 100 {
            let before = if count == 0 { '{' } else { ',' };
            write!(header, "{before}\"{count}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}")
                .unwrap();
            count += 1;
        }
        header.push('}');
        (header.into_bytes(), count)
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "slow without optimisation: cargo test --release --test limits")]
    fn two_million_short_tensors() {
        assert_eq!(expected("zero_size_tensors_short_names_100MB"), "ok");
        let (header, count) = entries(100_000_000);
        assert!(count > 1_700_000);
        let limits = Limits::default().with_tensors(count as u64);
        assert_eq!(open(header.clone(), 0, &limits, count), Ok(count));
        let (kind, _) = open(header.clone(), 0, &limits.with_tensors(count as u64 - 1), count).unwrap_err();
        assert_eq!(kind, ErrorKind::StTensorLimit);
        assert_eq!(open(header, 0, &limits, count - 1), Err((ErrorKind::StorageTooSmall, 8)));
    }

    #[test]
    fn lengths_at_which_a_range_reader_once_cut() {
        assert_eq!(expected("range_boundary_headers"), "ok");
        for len in [99_993, 99_994, 100_000, 100_001] {
            let (mut header, count) = entries(len - 100);
            header.resize(len, b' ');
            let mut whole = (len as u64).to_le_bytes().to_vec();
            whole.extend(header);
            let mut slots = vec![Slot::EMPTY; count];
            let file_len = whole.len() as u64;
            for prefix in [0, 7, 8, 99_994, 100_000, 100_001, len + 7] {
                let part = &whole[..prefix.min(len + 7)];
                let error = Header::open_in(part, file_len, &mut slots, &Limits::default()).unwrap_err();
                assert_eq!(error.needs(), Some(if prefix < 8 { 8 } else { file_len }));
            }
            let opened = Header::open_in(&whole, file_len, &mut slots, &Limits::default());
            assert_eq!(opened.map(|header| header.len()), Ok(count));
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "slow without optimisation: cargo test --release --test limits")]
    fn a_million_tensors_want_a_higher_limit() {
        assert_eq!(expected("1_290_000_tensors"), "err by default; offer a caller-set cap");
        let count = 1_290_000;
        let mut header = String::from("{");
        for index in 0..count {
            let name = format!("model.layers.{index:07}.down_proj");
            let end = index + 1;
            write!(header, "\"{name}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{index},{end}]}},")
                .unwrap();
        }
        header.pop();
        header.push('}');
        let mut header = header.into_bytes();
        assert!(header.len() <= 132_095_296);
        header.resize(132_095_296, b' ');
        assert_eq!(open(header.clone(), count, &Limits::default(), 0), Err((ErrorKind::StHeaderLimit, 0)));
        let raised = Limits::default().with_header_len(132_095_296);
        assert_eq!(open(header, count, &raised, 1_290_000), Ok(1_290_000));
    }
}
