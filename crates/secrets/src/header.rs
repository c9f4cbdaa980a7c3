//! Credentials in HTTP headers.

use crate::candidate::{Assigned, Strength};
use crate::context::{Context, Found};
use crate::judge::judge;
use crate::name::Promise;
use crate::value::{is_made_up, is_reference};
use crate::words::{classes, entropy, wordiness};

/// Reads the token of `Bearer TOKEN`; the keyword is `bearer `.
pub(crate) fn bearer(place: &Context<'_>) -> Option<Found> {
    let range = token_at(place, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
    })?;
    let token = &place.text[range.clone()];
    let is_random =
        token.len() >= 20 && entropy(token) >= 3.5 && wordiness(token) < 0.6 && token.iter().any(u8::is_ascii_digit);
    (is_random && !is_made_up(token) && !is_reference(token)).then_some(Found::new(range, Strength::Strong))
}

/// Reads the user and password of `Basic BASE64`; the keyword is `basic `.
pub(crate) fn basic(place: &Context<'_>) -> Option<Found> {
    if place.begins_word() { user_and_password(place, place.keyword_end) } else { None }
}

/// Reads base64 of a user and a password, at a place behind the keyword.
pub(super) fn user_and_password(place: &Context<'_>, start: usize) -> Option<Found> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let length = place.text[start..].iter().take(2_000).take_while(|byte| is_part(**byte)).count();
    let range = start..start + length;
    let token = &place.text[range.clone()];
    let decoded = decode(token).filter(|_| length >= 8)?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let (user, password) = (&decoded[..colon], &decoded[colon + 1..]);
    let is_text = decoded.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') && !user.is_empty();
    let is_sesame = decoded.to_ascii_lowercase().windows(10).any(|part| part == b"opensesame" || part == b"open sesam");
    // The client that the specifications of OAuth have as their example.
    let is_specified = user == b"s6BhdRkqt3";
    if !is_text || password.len() < 3 || is_sesame || is_specified || is_reference(password) {
        return None;
    }
    let is_weak = is_made_up(password)
        || user == password
        || (wordiness(password) > 0.6 && classes(password) < 2)
        || (place.kind.is_for_show() && classes(password) < 3);
    // Nobody reads what stands behind base64: a placeholder would be of no use there.
    Some(Found::new(range, if is_weak { Strength::Weak } else { Strength::Strong }))
}

/// Reads the token of `Authorization: token …` or of a scheme of somebody's own; the keyword is `authorization`.
pub(crate) fn authorization(place: &Context<'_>) -> Option<Found> {
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
    if length >= 20 { judge(Promise::Key, &assigned, range) } else { None }
}

fn token_at(place: &Context<'_>, is_part: impl Fn(u8) -> bool) -> Option<std::ops::Range<usize>> {
    if !place.begins_word() {
        return None;
    }
    let length = place.text[place.keyword_end..].iter().take(2_000).take_while(|byte| is_part(**byte)).count();
    (length >= 8).then_some(place.keyword_end..place.keyword_end + length)
}

fn decode(token: &[u8]) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let trimmed: Vec<u8> = token.iter().copied().filter(|byte| *byte != b'=').collect();
    base64::engine::general_purpose::STANDARD_NO_PAD.decode(trimmed).ok()
}
