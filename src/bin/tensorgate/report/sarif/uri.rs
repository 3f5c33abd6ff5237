//! A path as a URI.

use std::fmt::Write as _;
use std::path::Path;

/// The URI of a path, relative where it is; every byte that is not plain is written as `%` and its value.
pub(super) fn of(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut uri = String::new();
    let drive = bytes.get(1) == Some(&b':') && cfg!(windows);
    if path.is_absolute() {
        uri.push_str(if drive { "file:///" } else { "file://" });
    }
    for byte in bytes {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b':' if drive => uri.push(':'),
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => write!(uri, "%{byte:02X}").unwrap_or_default(),
        }
    }
    uri
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn nothing_in_a_path_means_anything() {
        let of = |bytes: &[u8]| of(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(of(b"a b/c.gguf"), "a%20b/c.gguf");
        assert_eq!(of(b"javascript:x?y#z%20"), "javascript%3Ax%3Fy%23z%2520");
        assert_eq!(of(b"/a/\xff\xc3\xa9"), "file:///a/%FF%C3%A9");
        // Two slashes at the beginning are no host.
        assert_eq!(of(b"//host/a"), "file:////host/a");
    }
}
