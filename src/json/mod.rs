//! A strict subset of JSON, read where it stands: no allocation, no recursion, constant stack.
//!
//! The whole text is checked to be UTF-8 before anything else is read. Then:
//!
//! ```text
//! text    = object *ws                      ; nothing but white space may follow, nothing may precede
//! object  = "{" ws [ member *( ws "," ws member ) ] ws "}"
//! member  = string ws ":" ws value
//! array   = "[" ws [ integer *( ws "," ws integer ) ] ws "]"
//! integer = "0" / ( %x31-39 *DIGIT )        ; at most 2^64 - 1; no sign, fraction or exponent
//! string  = %x22 *( char / escape ) %x22
//! char    = any Unicode scalar value but %x00-1F, %x22, %x5C
//! escape  = "\" ( %x22 / "\" / "/" / "b" / "f" / "n" / "r" / "t" / "u" 4HEXDIG )
//!                                           ; an escaped surrogate only as a high one followed by a low one
//! ws      = *( %x20 / %x09 / %x0A / %x0D )
//! ```
//!
//! Which values may stand where is the caller's schema: `safetensors` and `shards` know theirs, and no value outside the
//! schema is ever skipped over, so there is nothing to nest. (An index's metadata may hold any JSON; `shards` steps over
//! it to a limited depth, with one bit of state a level.) Within one object no two keys are equal after unescaping;
//! the schema's owner sees to that, since only it knows what storage there is.
//!
//! The subset is what `serde_json`, the reference's reader, accepts, less what it lets through by accident.

pub(crate) mod lex;
pub(crate) mod object;
pub(crate) mod text;
#[cfg(feature = "alloc")]
pub(crate) mod write;
