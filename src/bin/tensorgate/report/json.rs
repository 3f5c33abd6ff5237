//! Reports for programs.

use serde_json::{Map, Value, json};

use super::{Report, Summary};
use crate::text;

/// The version of the form, which `docs/schema/check.schema.json` describes.
pub(crate) const VERSION: u32 = 1;

/// One file. Keys that do not apply are null, so that each object has the same ones.
pub(crate) fn file(report: &Report) -> Value {
    let fault = report.fault.as_ref();
    let findings: Vec<Value> = report
        .findings
        .iter()
        .enumerate()
        .map(|(place, note)| {
            let (severity, message, known) =
                (note.severity.as_str(), text::ascii(&note.message), report.known.finding(place));
            json!({"severity": severity, "code": note.code, "offset": note.offset, "message": message, "known": known})
        })
        .collect();
    let mut object = path(report);
    let excerpt = fault.and_then(|fault| fault.excerpt.as_ref());
    let rest = json!({
        "format": report.format.as_str(),
        "verdict": report.verdict.as_str(),
        "known": report.is_known(),
        "code": fault.map(|fault| fault.code),
        "offset": fault.and_then(|fault| fault.offset),
        "message": fault.map(|fault| text::ascii(&fault.message)),
        "expected": fault.and_then(|fault| fault.expected.as_deref()),
        "advice": fault.map(|fault| fault.advice),
        "excerpt": excerpt.map(|excerpt| {
            json!({"text": excerpt.text, "column": excerpt.column, "width": excerpt.width})
        }),
        "size": report.size,
        "tensors": report.tensors,
        "findings": findings,
        "data": report.data.as_ref().map(super::data::json),
        "readers": report.readers.as_ref().map(super::readers::json),
    });
    if let Value::Object(rest) = rest {
        object.extend(rest);
    }
    Value::Object(object)
}

/// The path as it is; where it is no UTF-8, escaped, with its bytes in hexadecimal beside it.
pub(crate) fn path(report: &Report) -> Map<String, Value> {
    let mut object = Map::new();
    if let Some(exact) = report.path.to_str() {
        object.insert("path".to_owned(), json!(exact));
    } else {
        let bytes = report.path.as_os_str().as_encoded_bytes();
        let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        object.insert("path".to_owned(), json!(text::path(&report.path)));
        object.insert("path_hex".to_owned(), json!(hex));
    }
    object
}

/// The counts.
pub(crate) fn summary(summary: &Summary) -> Value {
    let Summary { accepted, rejected, unreadable, skipped, known, unchecked, cached: _ } = summary;
    json!({
        "accepted": accepted,
        "rejected": rejected,
        "unreadable": unreadable,
        "skipped": skipped,
        "known": known,
        "unchecked": unchecked,
    })
}
