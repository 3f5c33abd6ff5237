//! The index's text, and reading one assignment again where it stands.

use super::IndexEntry;
use super::slot::IndexSlot;
use crate::error::ErrorKind;
use crate::json::lex::{Lexer, plain_len};
use crate::json::text::check_escape;
use crate::num;

/// The text of an index that was accepted, or is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a>(pub(super) &'a str);

impl<'a> Source<'a> {
    /// A lexer at a position of the text.
    #[inline]
    pub(super) fn lexer(self, at: u32) -> Lexer<'a> {
        Lexer::resume(self.0.as_bytes().get(num::widen32(at)..).unwrap_or_default(), u64::from(at))
    }

    /// The text from behind a name's opening quote.
    #[inline]
    pub(super) fn name_text(self, slot: IndexSlot) -> &'a [u8] {
        self.0.as_bytes().get(num::widen32(slot.name_at).saturating_add(1)..).unwrap_or_default()
    }

    /// The text from behind the opening quote of a name's shard.
    #[inline]
    pub(super) fn shard_text(self, slot: IndexSlot) -> &'a [u8] {
        let mut rest = self.name_text(slot);
        loop {
            rest = rest.get(plain_len(rest)..).unwrap_or_default();
            match rest.split_first() {
                Some((b'\\', after)) => rest = check_escape(after).unwrap_or_default(),
                Some((_, after)) => {
                    // Only white space and the colon stand between the two strings.
                    let quote = after.iter().position(|byte| *byte == b'"').unwrap_or(after.len());
                    return after.get(quote.saturating_add(1)..).unwrap_or_default();
                }
                None => return rest,
            }
        }
    }

    /// The assignment whose name stands at `at`.
    pub(super) fn entry(self, at: u32) -> Option<IndexEntry<'a>> {
        let mut lexer = self.lexer(at);
        let name = lexer.string(ErrorKind::JsonKey).ok()?;
        lexer.space();
        lexer.expect(b':', ErrorKind::JsonColon).ok()?;
        lexer.space();
        let shard_at = lexer.at();
        let shard = lexer.string(ErrorKind::IxShardType).ok()?;
        Some(IndexEntry { name, shard, name_at: u64::from(at), shard_at })
    }
}
