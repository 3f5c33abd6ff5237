//! Where text is written to be judged, without an allocation.

use std::fmt::{self, Display, Write};

/// Counts what is written and notices what is not printable ASCII.
#[derive(Debug, Default)]
pub struct Printable {
    /// Bytes written.
    pub len: usize,
    /// Whether all of them were printable ASCII.
    pub stained: bool,
}

impl Write for Printable {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.len += text.len();
        self.stained |= !text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        Ok(())
    }
}

/// The length of what `shown` shows, which must be printable ASCII.
pub fn printable(shown: &dyn Display) -> usize {
    let mut sink = Printable::default();
    write!(sink, "{shown}").expect("the sink takes everything");
    assert!(!sink.stained, "text that is not printable ASCII was shown");
    sink.len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_printable_is_noticed() {
        assert_eq!(printable(&"a ~"), 3);
        assert!(std::panic::catch_unwind(|| printable(&"\u{1b}[2J")).is_err());
        assert!(std::panic::catch_unwind(|| printable(&"é")).is_err());
    }
}
