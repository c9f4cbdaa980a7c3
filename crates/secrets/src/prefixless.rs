//! Tokens whose distinctive part is not at the beginning.
//!
//! Vendors seldom document the length of a token. Where a manual is silent, the form is the one on which several public
//! scanners and client libraries agree, and its comment says so.

use std::ops::Range;

use crate::candidate::Strength;
use crate::context::{Context, Found};
use crate::value::is_made_up;
use crate::words::entropy;

/// Reads `NNNNNNNNN:AA…`: the bot's number, a colon, 35 characters. Source: core.telegram.org/bots for the form; 8 to
/// 10 digits and 35 characters are what client libraries check, while the manual's own examples have 6. The manual does
/// not say that the 35 begin with `AA`; public scanners require it.
pub(crate) fn telegram(place: &Context<'_>) -> Option<Found> {
    let before = back(place, u8::is_ascii_digit, 10);
    let after = forward(place, place.at + 1, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'), 60);
    let fits = (8..=10).contains(&before) && after == 35 && place.text[place.at + 1..].starts_with(b"AA");
    whole(place, place.at - before..place.at + 1 + after, fits)
}

/// Reads 32 hexadecimal digits, `-us` and the number of a data centre. Source: mailchimp.com/developer for the suffix,
/// which client libraries cut off behind the hyphen; the numbers in use have one or two digits.
pub(crate) fn mailchimp(place: &Context<'_>) -> Option<Found> {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let before = back(place, is_hex, 33);
    let after = forward(place, place.keyword_end, u8::is_ascii_digit, 3);
    whole(place, place.at - before..place.keyword_end + after, before == 32 && (1..=2).contains(&after))
}

/// Reads 14 characters, `.atlasv1.`, 60 to 72 characters. Source: developer.hashicorp.com has examples and no form;
/// public scanners take 67, or 60 to 70.
pub(crate) fn terraform(place: &Context<'_>) -> Option<Found> {
    let before = back(place, u8::is_ascii_alphanumeric, 15);
    let after = forward(
        place,
        place.keyword_end,
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'='),
        80,
    );
    whole(place, place.at - before..place.keyword_end + after, before == 14 && (60..=72).contains(&after))
}

/// Reads 36 hexadecimal digits and `NRAL`. Source: docs.newrelic.com has 40 characters; the ending is that of the keys
/// that public scanners find. Keys of 40 hexadecimal digits are found by their names only.
pub(crate) fn newrelic(place: &Context<'_>) -> Option<Found> {
    let before = back(place, |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'), 37);
    let fits = before == 36 && place.text[place.at..].starts_with(b"NRAL");
    whole(place, place.at - before..place.keyword_end, fits)
}

fn back(place: &Context<'_>, is_part: impl Fn(&u8) -> bool, most: usize) -> usize {
    place.text[..place.at].iter().rev().take(most + 1).take_while(|byte| is_part(byte)).count()
}

fn forward(place: &Context<'_>, from: usize, is_part: impl Fn(&u8) -> bool, most: usize) -> usize {
    place.text[from..].iter().take(most + 1).take_while(|byte| is_part(byte)).count()
}

/// Minimum entropy in bits a character: each of 4,000 random tokens of every form above has more; the lowest drawn was
/// 3.04.
const BITS: f64 = 3.0;

/// Returns a token that fits and is not part of a longer word.
fn whole(place: &Context<'_>, range: Range<usize>, fits: bool) -> Option<Found> {
    let text = place.text;
    let is_word = |at: Option<usize>| {
        at.and_then(|at| text.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let is_alone = !is_word(range.start.checked_sub(1)) && !is_word(Some(range.end));
    let secret = &text[range.clone()];
    (fits && is_alone && entropy(secret) >= BITS && !is_made_up(secret)).then_some(Found::new(range, Strength::Strong))
}
