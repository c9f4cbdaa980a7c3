//! The private members of JSON web keys: `d` and the primes of RSA, `k` of a shared secret (RFC 7518, section 6).

use crate::candidate::Strength;
use crate::context::{Context, Found};
use crate::words::entropy;

/// Names of the members, in quotes.
pub(crate) const KEYWORDS: &[&str] = &[
    "\"d\"", "\"p\"", "\"q\"", "\"k\"", "\"dp\"", "\"dq\"", "\"qi\"", "'d'", "'p'", "'q'", "'k'", "\"d\\\"", "\"k\\\"",
];
/// Distance in bytes to either side in which the type of the key is searched: a key of 4,096 bits takes 4 kB.
const REACH: usize = 4_500;
/// Minimum length of a value: 128 bits in base64.
const MIN_VALUE: usize = 22;
/// Minimum entropy in bits a character: 22 random characters of base64 have 4.0 to 4.5.
const BITS: f64 = 3.5;

/// Reads a member that belongs to a key.
pub(crate) fn member(place: &Context<'_>) -> Option<Found> {
    let text = place.text;
    let marks = text[place.keyword_end..]
        .iter()
        .take(12)
        .take_while(|byte| matches!(byte, b' ' | b':' | b'\\' | b'\n' | b'"' | b'\''));
    let marks = marks.count();
    let between = &text[place.keyword_end..place.keyword_end + marks];
    let start = place.keyword_end + marks;
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=' | b'+' | b'/');
    let length = text[start..].iter().take(2_000).take_while(is_part).count();
    let value = &text[start..start + length];
    let ends = text.get(start + length).is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'\\'));
    if !between.contains(&b':') || !ends || length < MIN_VALUE || entropy(value) < BITS {
        return None;
    }
    let around = &text[place.at.saturating_sub(REACH)..text.len().min(start + length + REACH)];
    let has_type = [&b"\"kty"[..], b"'kty", b"kty:"].iter().any(|name| memchr::memmem::find(around, name).is_some());
    let strength = if place.kind.is_for_show() { Strength::Fair } else { Strength::Strong };
    has_type.then(|| Found::new(start..start + length, strength))
}
