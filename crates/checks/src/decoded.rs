//! Decodes the bytes of a file to text.

/// Number of bytes examined to detect the encoding; git examines as many for a NUL.
const HEAD: usize = 8_000;
/// Minimum share of zero bytes at every second position of UTF-16: nine of ten in mostly Latin text. Text with one byte
/// a character has none; machine code and pictures have them at even and odd positions alike.
const ZEROS: f64 = 0.9;

/// A UTF-16 encoding: the length of its byte order mark, and the function that reads two bytes.
type Wide = (usize, fn([u8; 2]) -> u16);

/// Returns a text as UTF-8 bytes, converting UTF-16 with or without a byte order mark. Returns `None` for a binary
/// file: one with a NUL, as git decides it, unless its name says that it is text.
pub(crate) fn decoded(bytes: Vec<u8>, is_text_type: bool) -> Option<Vec<u8>> {
    match wide(&bytes) {
        Some((skip, read)) => {
            let units: Vec<u16> = bytes[skip..].chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
            Some(String::from_utf16_lossy(&units).into_bytes())
        }
        None => (is_text_type || !is_binary(&bytes)).then_some(bytes),
    }
}

/// Returns whether a file is binary: it has a NUL byte near its beginning.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(HEAD)]).is_some()
}

/// Detects UTF-16. Returns the length of the byte order mark and how to read a unit; `None` for other encodings.
pub(crate) fn wide(bytes: &[u8]) -> Option<Wide> {
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => return Some((2, u16::from_le_bytes)),
        Some([0xfe, 0xff]) => return Some((2, u16::from_be_bytes)),
        _ => {}
    }
    let head = &bytes[..bytes.len().min(HEAD) & !1];
    let zeros = |first: usize| head.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), head.len() / 2);
    let most = |count: usize| pairs >= 4 && count as f64 >= ZEROS * pairs as f64;
    match (most(even), most(odd)) {
        (false, true) if even == 0 => Some((0, u16::from_le_bytes)),
        (true, false) if odd == 0 => Some((0, u16::from_be_bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_is_read_as_text_with_its_mark_and_without() {
        let wide = |order: fn(u16) -> [u8; 2]| "let key = 1;".encode_utf16().flat_map(order).collect::<Vec<u8>>();

        for bytes in
            [wide(u16::to_le_bytes), wide(u16::to_be_bytes), [&[0xff, 0xfe], &wide(u16::to_le_bytes)[..]].concat()]
        {
            assert_eq!(decoded(bytes, false), Some(b"let key = 1;".to_vec()));
        }
    }

    #[test]
    fn a_nul_is_binary_unless_the_name_says_text() {
        assert_eq!(decoded(b"a\0b".to_vec(), false), None);
        assert_eq!(decoded(b"a\0b".to_vec(), true), Some(b"a\0b".to_vec()));
        assert_eq!(decoded(b"caf\xe9".to_vec(), false), Some(b"caf\xe9".to_vec()));
        assert_eq!(decoded(vec![0; 64], false), None);
    }
}
