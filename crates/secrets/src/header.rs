//! Credentials in HTTP headers.
//!
//! The characters of a bearer's token are those of RFC 6750, section 2.1; a user name holds no colon by RFC 7617,
//! section 2. Randomness was measured on the samples that [`crate::key`] describes. The share of random tokens, and of
//! the 75,179 identifiers, that pass:
//!
//! | limit of a bearer's token | letters and digits | hexadecimal | identifiers |
//! |---|--:|--:|--:|
//! | 20 characters | 94 % | 97 % | 1.5 % of those as long |
//! | 32 characters | 99 % | 98 % | |
//!
//! A decoded password counts as weak where `wordiness > 0.6` and it has one class of characters: that holds for 92 % of
//! the identifiers in lower case, for 3 % of random strings of eight letters and for none of eight letters and digits.
//! In manuals and tests a strong one needs three classes, which 88 % of passwords of twelve letters and digits have and
//! 11 % of identifiers.
//!
//! Chosen without a measurement, as limits of work: 2,000 characters of a token, 400 of a header, 20 of the name of a scheme.

use crate::candidate::{Assigned, Strength};
use crate::context::{Context, Found};
use crate::judge::judge;
use crate::name::Promise;
use crate::value::{is_made_up, is_reference};
use crate::words::{HEX_BITS, LONG_BITS, classes, entropy, wordiness};

/// Minimum length of a bearer's token: 80 bits in hexadecimal digits.
const TOKEN: usize = 20;
/// Maximum length of a token that is read.
const MAX_TOKEN_BYTES: usize = 2_000;
/// Minimum length of the base64 of user and password: one character, a colon and three more are five bytes.
const PAIR: usize = 8;
/// Minimum length of a decoded password. Shorter ones are flags and numbers.
const PASSWORD: usize = 3;

/// Reads the token of `Bearer TOKEN`; the keyword is `bearer `.
pub(crate) fn bearer(place: &Context<'_>) -> Option<Found> {
    let range = token_at(place, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
    })?;
    let token = &place.text[range.clone()];
    let bits = if token.iter().all(u8::is_ascii_hexdigit) { HEX_BITS } else { LONG_BITS };
    let is_random = token.len() >= TOKEN
        && entropy(token) >= bits
        && wordiness(token) < 0.6
        && token.iter().any(u8::is_ascii_digit);
    (is_random && !is_made_up(token) && !is_reference(token)).then_some(Found::new(range, Strength::Strong))
}

/// Reads the user and password of `Basic BASE64`; the keyword is `basic `.
pub(crate) fn basic(place: &Context<'_>) -> Option<Found> {
    if place.begins_word() { user_and_password(place, place.keyword_end) } else { None }
}

/// Reads the base64 of a user and a password, at a position behind the keyword.
pub(super) fn user_and_password(place: &Context<'_>, start: usize) -> Option<Found> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let length = place.text[start..].iter().take(MAX_TOKEN_BYTES).take_while(|byte| is_part(**byte)).count();
    let range = start..start + length;
    let token = &place.text[range.clone()];
    let decoded = decode(token).filter(|_| length >= PAIR)?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let (user, password) = (&decoded[..colon], &decoded[colon + 1..]);
    let is_text = decoded.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') && !user.is_empty();
    // The example of RFC 7617: `Aladdin`, `open sesame`.
    let is_sesame = decoded.to_ascii_lowercase().windows(10).any(|part| part == b"opensesame" || part == b"open sesam");
    // The client of the examples in RFC 6749 and OpenID Connect.
    let is_specified = user == b"s6BhdRkqt3";
    if !is_text || password.len() < PASSWORD || is_sesame || is_specified || is_reference(password) {
        return None;
    }
    let is_weak = is_made_up(password)
        || user == password
        || (wordiness(password) > 0.6 && classes(password) < 2)
        || (place.kind.is_for_show() && classes(password) < 3);
    // A placeholder is not expected here: nobody could read it in base64.
    Some(Found::new(range, if is_weak { Strength::Weak } else { Strength::Strong }))
}

/// Reads the token of `Authorization: token …` or of another scheme; the keyword is `authorization`.
pub(crate) fn authorization(place: &Context<'_>) -> Option<Found> {
    // The quotes, colons and blanks between the name and its value take less than twelve characters.
    let end = place.text.len().min(place.keyword_end + 400);
    let rest = &place.text[place.keyword_end..end];
    let marks = |byte: &u8| matches!(byte, b'"' | b'\'' | b'`' | b':' | b'=' | b',' | b' ' | b']' | b'\\');
    let mut start = rest.iter().take(12).take_while(|byte| marks(byte)).count();
    if !rest[..start].iter().any(|byte| matches!(byte, b':' | b'=' | b',')) {
        return None;
    }
    let scheme = rest[start..].iter().take(20).take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
    if ["bearer", "basic"].iter().any(|own| rest[start..start + scheme].eq_ignore_ascii_case(own.as_bytes())) {
        return None;
    }
    if matches!(rest.get(start + scheme), Some(b' ' | b'=')) {
        start += scheme + 1;
    }
    let is_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=');
    let length = rest[start..].iter().take_while(|byte| is_part(byte)).count();
    let range = place.keyword_end + start..place.keyword_end + start + length;
    let value = &place.text[range.clone()];
    let assigned = Assigned { name: b"authorization", value, kind: place.kind, is_compared: false, is_quoted: false };
    if length >= TOKEN { judge(Promise::Key, &assigned, range) } else { None }
}

fn token_at(place: &Context<'_>, is_part: impl Fn(u8) -> bool) -> Option<std::ops::Range<usize>> {
    if !place.begins_word() {
        return None;
    }
    let length =
        place.text[place.keyword_end..].iter().take(MAX_TOKEN_BYTES).take_while(|byte| is_part(**byte)).count();
    (length >= PAIR).then_some(place.keyword_end..place.keyword_end + length)
}

fn decode(token: &[u8]) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let trimmed: Vec<u8> = token.iter().copied().filter(|byte| *byte != b'=').collect();
    base64::engine::general_purpose::STANDARD_NO_PAD.decode(trimmed).ok()
}
