//! Every kind of error is reached: the verdicts by a file of the corpus, the caller's own here.

mod common;

use std::collections::BTreeMap;

use common::{corpus, file};
use tensorgate::safetensors::{Header, Slot};
use tensorgate::{ErrorKind, Limits, SafeTensors};

#[test]
fn every_verdict_has_a_file() {
    let mut reached: BTreeMap<ErrorKind, usize> = BTreeMap::new();
    for row in corpus::rows().iter().filter(|row| row.rejected.is_some()) {
        let bytes = std::fs::read(corpus::folder().join(&row.path)).unwrap();
        let (_, outcome) = corpus::judge(&row.path, &bytes, &row.terms)[0];
        let kind = outcome.unwrap_err().kind();
        assert!(row.path.starts_with(&format!("reject/{}/", kind.code())), "{} says {}", row.path, kind.code());
        *reached.entry(kind).or_default() += 1;
    }
    for row in corpus::sets().iter().filter(|row| row.rejected.is_some()) {
        for error in corpus::judge_set(&corpus::folder().join(&row.path)) {
            *reached.entry(error.kind()).or_default() += 1;
        }
    }
    for kind in ErrorKind::ALL.iter().filter(|kind| !kind.is_callers()) {
        assert!(reached.contains_key(kind), "{} has no file", kind.code());
    }
}

#[cfg(feature = "alloc")]
#[test]
fn every_rule_about_data_has_a_file() {
    let rows = corpus::deep();
    let rules: Vec<&str> =
        tensorgate::audit::RULES.iter().map(|rule| rule.code()).filter(|code| code.starts_with("DT-")).collect();
    for row in &rows {
        assert!(rules.iter().any(|code| row.path.starts_with(&format!("deep/{code}/"))), "{}", row.path);
    }
    for code in rules {
        assert!(rows.iter().any(|row| row.rejected.as_ref().unwrap().0 == code), "{code} has no file");
    }
}

#[test]
fn need_more_says_exactly_how_much() {
    let whole = file(r#"{"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#, &[1, 2, 3]);
    let header_end = whole.len() - 3;
    let open = |have: usize| {
        let mut slots = [Slot::EMPTY; 1];
        Header::open_in(&whole[..have], whole.len() as u64, &mut slots, &Limits::default()).map(|_| ())
    };
    for have in 0..header_end {
        let error = open(have).unwrap_err();
        assert_eq!((error.kind(), error.at()), (ErrorKind::NeedMore, have as u64));
        assert_eq!(error.needs(), Some(if have < 8 { 8 } else { header_end as u64 }));
        assert_eq!((error.want(), error.needs_slots()), (error.needs(), None));
    }
    for have in header_end..=whole.len() {
        assert_eq!(open(have), Ok(()));
    }
}

#[test]
fn storage_says_exactly_how_many_slots() {
    let mut members: Vec<String> =
        (0..5).map(|i| format!("\"t{i}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}")).collect();
    check_slots(&members, 5);
    // 65 keys in no order are told apart in slots besides those of the tensors; 64 are not.
    for (keys, at_most) in [(64, 5), (65, 5 + 65_u64.div_ceil(7))] {
        let keys: Vec<String> = (0..keys).map(|i| format!("\"{:02}\":\"\"", (i * 7) % keys)).collect();
        let metadata = format!("\"__metadata__\":{{{}}}", keys.join(","));
        members.push(metadata);
        check_slots(&members, at_most);
        members.pop();
    }
}

/// The file of these members needs at most so many slots; it passes with as many as it asks for, and with no fewer.
fn check_slots(members: &[String], at_most: u64) {
    let whole = file(&format!("{{{}}}", members.join(",")), &[]);
    let error = SafeTensors::open_in(&whole, &mut [], &Limits::default()).unwrap_err();
    assert_eq!((error.kind(), error.at()), (ErrorKind::StorageTooSmall, 8));
    assert_eq!((error.want(), error.needs()), (error.needs_slots(), None));
    let needed = error.needs_slots().unwrap();
    assert!(needed <= at_most, "{needed} slots");
    for count in 0..=needed + 1 {
        let mut slots = vec![Slot::EMPTY; usize::try_from(count).unwrap()];
        let outcome = SafeTensors::open_in(&whole, &mut slots, &Limits::default()).map(|_| ());
        let want = if count < needed { Some(needed) } else { None };
        assert_eq!(outcome.err().and_then(|error| error.needs_slots()), want, "{count} slots");
    }
}
