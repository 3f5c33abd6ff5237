//! Stepping over a metadata value of any kind: no recursion, one bit of state a level.

use crate::error::{Error, ErrorKind};
use crate::json::lex::Lexer;

/// The largest number of digits before the point, once the exponent is written out, that surely fits a 64-bit float
/// (the largest is 1.8e308). Readers refuse larger numbers or read infinity.
const MOST_DIGITS: i64 = 308;

/// The arrays and objects that are open: a bit each, the innermost lowest, 1 for an object.
#[derive(Clone, Copy, Debug)]
struct Open {
    kinds: u64,
    depth: u64,
    most: u64,
}

impl Open {
    /// Goes into an array or object at `at`.
    fn enter(&mut self, is_object: bool, at: u64) -> Result<(), Error> {
        if self.depth >= self.most {
            return Err(Error::wanting(ErrorKind::IxDepthLimit, at, self.most));
        }
        self.depth = self.depth.saturating_add(1);
        self.kinds = (self.kinds << 1) | u64::from(is_object);
        Ok(())
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.kinds >>= 1;
    }

    const fn is_object(self) -> bool {
        self.kinds & 1 == 1
    }
}

/// Consumes the value at the lexer, which may be `most` arrays and objects deep; `on_object` is called with the offset of each `{`.
pub(crate) fn skip(
    lexer: &mut Lexer<'_>,
    most: u64,
    mut on_object: impl FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut open = Open { kinds: 0, depth: 0, most };
    loop {
        let at = lexer.at();
        let mut entered = false;
        match lexer.peek() {
            Some(first @ (b'{' | b'[')) => {
                open.enter(first == b'{', at)?;
                lexer.accept(first);
                entered = true;
                if first == b'{' {
                    on_object(at)?;
                }
            }
            Some(b'"') => lexer.string(ErrorKind::JsonValue).map(|_| ())?,
            Some(b'-' | b'0'..=b'9') => number(lexer)?,
            _ => literal(lexer)?,
        }
        if !next(lexer, &mut open, entered)? {
            return Ok(());
        }
    }
}

/// Goes to the next value of what is open, leaving what ends here; false where nothing is open any more.
fn next(lexer: &mut Lexer<'_>, open: &mut Open, entered: bool) -> Result<bool, Error> {
    let mut first = entered;
    while open.depth > 0 {
        lexer.space();
        if lexer.accept(if open.is_object() { b'}' } else { b']' }) {
            open.leave();
            first = false;
            continue;
        }
        if !first {
            lexer.expect(b',', ErrorKind::JsonComma)?;
            lexer.space();
        }
        if open.is_object() {
            lexer.string(ErrorKind::JsonKey)?;
            lexer.space();
            lexer.expect(b':', ErrorKind::JsonColon)?;
            lexer.space();
        }
        return Ok(true);
    }
    Ok(false)
}

/// `true`, `false` or `null`.
fn literal(lexer: &mut Lexer<'_>) -> Result<(), Error> {
    let rest = lexer.rest();
    let after = [&b"true"[..], b"false", b"null"].iter().find_map(|word| rest.strip_prefix(*word));
    lexer.set_rest(after.ok_or(lexer.refuse(ErrorKind::JsonValue))?);
    Ok(())
}

/// A JSON number: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`, within a 64-bit float.
fn number(lexer: &mut Lexer<'_>) -> Result<(), Error> {
    let refused = Error::new(ErrorKind::IxMetadataNumber, lexer.at());
    lexer.accept(b'-');
    let leading_zero = lexer.peek() == Some(b'0');
    let whole = digits(lexer);
    if whole == 0 || (leading_zero && whole > 1) {
        return Err(refused);
    }
    if lexer.accept(b'.') && digits(lexer) == 0 {
        return Err(refused);
    }
    let mut exponent = 0_i64;
    if lexer.accept(b'e') || lexer.accept(b'E') {
        let negative = lexer.accept(b'-');
        if !negative {
            lexer.accept(b'+');
        }
        if !matches!(lexer.peek(), Some(b'0'..=b'9')) {
            return Err(refused);
        }
        while let Some(digit @ b'0'..=b'9') = lexer.peek() {
            exponent = exponent.saturating_mul(10).saturating_add(i64::from(digit & 0x0F));
            lexer.accept(digit);
        }
        exponent = if negative { exponent.saturating_neg() } else { exponent };
    }
    if whole.saturating_add(exponent) > MOST_DIGITS { Err(refused) } else { Ok(()) }
}

/// Consumes digits and counts them.
fn digits(lexer: &mut Lexer<'_>) -> i64 {
    let mut count = 0_i64;
    while let Some(digit @ b'0'..=b'9') = lexer.peek() {
        lexer.accept(digit);
        count = count.saturating_add(1);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    fn whole(text: &str, most: u64) -> Result<(), Error> {
        let mut lexer = Lexer::new(text, 0);
        skip(&mut lexer, most, |_| Ok(()))?;
        lexer.finish()
    }

    #[test]
    fn every_kind_of_value_is_stepped_over() {
        for text in [
            "null",
            "true",
            "false",
            "\"a\\u0000\"",
            "0",
            "-0",
            "12.50",
            "-1e-400",
            "1E+307",
            "{}",
            "[]",
            "[ ]",
            "{ }",
            "[1, [2, {\"a\": [null]}], \"x\"]",
            "{\"a\" : {\"b\":{}} , \"c\":[{}]}",
        ] {
            assert_eq!(whole(text, 4), Ok(()), "{text}");
            serde_json::from_str::<serde_json::Value>(text).unwrap();
        }
        for (text, kind, at) in [
            ("", ErrorKind::JsonEnd, 0),
            ("nul", ErrorKind::JsonValue, 0),
            ("True", ErrorKind::JsonValue, 0),
            ("NaN", ErrorKind::JsonValue, 0),
            ("+1", ErrorKind::JsonValue, 0),
            ("01", ErrorKind::IxMetadataNumber, 0),
            ("[1.]", ErrorKind::IxMetadataNumber, 1),
            ("-", ErrorKind::IxMetadataNumber, 0),
            ("-a", ErrorKind::IxMetadataNumber, 0),
            ("1e", ErrorKind::IxMetadataNumber, 0),
            ("1e+", ErrorKind::IxMetadataNumber, 0),
            ("1e309", ErrorKind::IxMetadataNumber, 0),
            ("1e99999999999999999999", ErrorKind::IxMetadataNumber, 0),
            ("[1,]", ErrorKind::JsonValue, 3),
            ("[1 2]", ErrorKind::JsonComma, 3),
            ("[1}", ErrorKind::JsonComma, 2),
            ("[", ErrorKind::JsonEnd, 1),
            ("{\"a\":1", ErrorKind::JsonEnd, 6),
            ("{\"a\" 1}", ErrorKind::JsonColon, 5),
            ("{\"a\":1,}", ErrorKind::JsonKey, 7),
            ("{1:2}", ErrorKind::JsonKey, 1),
            ("1 2", ErrorKind::JsonTrailing, 2),
        ] {
            let error = whole(text, 4).unwrap_err();
            assert_eq!((error.kind(), error.at()), (kind, at), "{text}");
        }
    }

    #[test]
    fn depth_is_counted_exactly() {
        for most in [0_usize, 1, 8, 32] {
            let limit = u64::try_from(most).unwrap();
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let nest = |levels: usize| format!("{}1{}", open.repeat(levels), close.repeat(levels));
                assert_eq!(whole(&nest(most), limit), Ok(()));
                let error = whole(&nest(most + 1), limit).unwrap_err();
                assert_eq!(error, Error::wanting(ErrorKind::IxDepthLimit, error.at(), limit));
                assert_eq!(error.at(), u64::try_from(open.len() * most).unwrap());
            }
        }
    }

    #[test]
    fn objects_are_told() {
        let mut at = std::vec::Vec::new();
        let mut lexer = Lexer::new("{\"a\":[{},{\"b\":{}}]}", 10);
        skip(&mut lexer, 8, |object| {
            at.push(object);
            Ok(())
        })
        .unwrap();
        assert_eq!(at, [10, 16, 19, 24]);
    }
}
