//! Walking an object's members, whatever their values are.

use crate::error::{Error, ErrorKind};
use crate::json::lex::Lexer;
use crate::name::Name;

/// Where the walk stands within an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Before,
    Within,
}

/// Steps through an object's members: [`key`](Members::key), then the caller reads the value, and again.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    stand: Stand,
}

impl Members {
    /// Begins at an object's `{`, or refuses with `kind`.
    #[inline]
    pub(crate) fn open(lexer: &mut Lexer<'_>, kind: ErrorKind) -> Result<Self, Error> {
        lexer.expect(b'{', kind)?;
        Ok(Self { stand: Stand::Before })
    }

    /// The next key and its absolute offset (that of its quote), with the lexer at its value; `None` behind the `}`.
    #[inline]
    pub(crate) fn key<'a>(&mut self, lexer: &mut Lexer<'a>) -> Result<Option<(Name<'a>, u64)>, Error> {
        if !self.step(lexer)? {
            return Ok(None);
        }
        let at = lexer.at();
        let key = lexer.string(ErrorKind::JsonKey)?;
        lexer.space();
        lexer.expect(b':', ErrorKind::JsonColon)?;
        lexer.space();
        Ok(Some((key, at)))
    }

    /// Goes to the next member's first byte; false behind the `}`.
    #[inline]
    pub(crate) fn step(&mut self, lexer: &mut Lexer<'_>) -> Result<bool, Error> {
        lexer.space();
        if lexer.accept(b'}') {
            return Ok(false);
        }
        if self.stand == Stand::Within {
            lexer.expect(b',', ErrorKind::JsonComma)?;
            lexer.space();
        }
        self.stand = Stand::Within;
        Ok(true)
    }
}

/// Reads an array of plain integers, giving each to `take`; `kind` where it is none.
#[inline]
pub(crate) fn integers(
    lexer: &mut Lexer<'_>,
    kind: ErrorKind,
    mut take: impl FnMut(u64, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    lexer.expect(b'[', kind)?;
    lexer.space();
    if lexer.accept(b']') {
        return Ok(());
    }
    loop {
        let at = lexer.at();
        take(lexer.integer(kind)?, at)?;
        lexer.space();
        if lexer.accept(b']') {
            return Ok(());
        }
        lexer.expect(b',', ErrorKind::JsonComma)?;
        lexer.space();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(text: &str) -> Result<usize, Error> {
        let mut lexer = Lexer::new(text, 0);
        let mut members = Members::open(&mut lexer, ErrorKind::JsonNotObject)?;
        let mut count = 0;
        while members.key(&mut lexer)?.is_some() {
            integers(&mut lexer, ErrorKind::StShapeType, |_, _| Ok(()))?;
            count += 1;
        }
        lexer.finish()?;
        Ok(count)
    }

    #[test]
    fn members_and_commas() {
        assert_eq!(walk("{}"), Ok(0));
        assert_eq!(walk("{ \"a\" : [ ] , \"b\":[1 , 2]\n}\t "), Ok(2));
        for (text, kind, at) in [
            ("{\"a\":[],}", ErrorKind::JsonKey, 8),
            ("{,\"a\":[]}", ErrorKind::JsonKey, 1),
            ("{\"a\":[] \"b\":[]}", ErrorKind::JsonComma, 8),
            ("{\"a\" []}", ErrorKind::JsonColon, 5),
            ("{\"a\":[1,]}", ErrorKind::StShapeType, 8),
            ("{\"a\":[1 2]}", ErrorKind::JsonComma, 8),
            ("{\"a\":1}", ErrorKind::StShapeType, 5),
            ("{\"a\":[[]]}", ErrorKind::StShapeType, 6),
            ("{}{}", ErrorKind::JsonTrailing, 2),
            ("{", ErrorKind::JsonEnd, 1),
            ("[]", ErrorKind::JsonNotObject, 0),
        ] {
            let error = walk(text).unwrap_err();
            assert_eq!((error.kind(), error.at()), (kind, at), "{text}");
        }
    }
}
