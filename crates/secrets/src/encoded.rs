//! Finds secrets inside one level of base64, as in Kubernetes manifests and pasted headers.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
/// Base64 decoder that accepts missing padding.
pub(crate) const LENIENT_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
/// Minimum length of a run that may hold a token: 16 characters, encoded with padding.
const MIN_RUN: usize = 24;
/// Maximum length of a run that is decoded.
const MAX_RUN: usize = 64 * 1024;
/// Maximum number of bytes of one file that are decoded.
const BUDGET: usize = 1024 * 1024;

/// A run of base64 and its decoded text.
pub(crate) struct Encoded {
    pub(crate) range: Range<usize>,
    pub(crate) text: Vec<u8>,
}

/// Decodes the base64 runs of a text whose content is printable text.
pub(crate) fn runs(text: &[u8]) -> Vec<Encoded> {
    let mut found = Vec::new();
    let (mut at, mut budget) = (0, BUDGET);
    while at + MIN_RUN <= text.len() && budget > 0 {
        // Searched from the end: a byte outside base64 rules out all positions before it.
        if let Some(other) = text[at..at + MIN_RUN].iter().rposition(|byte| !PART[usize::from(*byte)]) {
            at += other + 1;
            continue;
        }
        let length = MIN_RUN + text[at + MIN_RUN..].iter().take_while(|byte| PART[usize::from(**byte)]).count();
        let range = at..at + length;
        at = range.end + 1;
        if length > MAX_RUN || !looks_encoded(&text[range.clone()]) {
            continue;
        }
        budget = budget.saturating_sub(length);
        if let Some(text) = decode(&text[range.clone()]) {
            found.push(Encoded { range, text });
        }
    }
    found
}

/// Lookup table of the bytes of base64, in both alphabets.
static PART: [bool; 256] = {
    let mut part = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        part[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
        byte += 1;
    }
    part
};

/// Returns whether a run may be base64; excludes names and hexadecimal numbers, which most long runs are.
fn looks_encoded(run: &[u8]) -> bool {
    let has = |want: fn(&u8) -> bool| run.iter().any(want);
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && !run.iter().all(u8::is_ascii_hexdigit)
}

fn decode(run: &[u8]) -> Option<Vec<u8>> {
    let engine = if run.iter().any(|byte| matches!(byte, b'-' | b'_')) { URL_SAFE } else { LENIENT_STANDARD };
    let text = engine.decode(run).ok()?;
    let is_text = text.iter().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    is_text.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_with_text_behind_them_are_decoded() {
        let hidden = LENIENT_STANDARD.encode("a text that was hidden");
        let text = format!("SomeVeryLongIdentifierThatIsNoBase64 {hidden} 0123456789abcdef0123456789abcdef");

        let found = runs(text.as_bytes());

        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, b"a text that was hidden");
        assert_eq!(&text[found[0].range.clone()], hidden);
    }
}
