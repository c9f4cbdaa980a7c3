//! Decides whether a value that is called a key, token or secret is one.
//!
//! The limits were set by what passes them of 4,000 random strings of letters and digits, and of the 75,172 identifiers
//! of at least eight characters in CPython 3.11's library (`grep -oE '\b[A-Za-z_]\w{7,}'`, each once). Of strings of 20
//! characters and of identifiers:
//!
//! | limit | strings | identifiers |
//! |---|--:|--:|
//! | `wordiness < 0.62` | 98 % | 6.7 % |
//! | `wordiness < 0.5` | 91 % | 2.4 % |
//! | letters alone, `wordiness < 0.45` | 94 % | 1.9 % |
//! | letters alone, `wordiness < 0.4` (of 12) | 84 % | 1.1 % |
//! | at least 3 digits and 5 changes | 66 % | 1.3 % |
//! | 3 classes or 2 digits | 97 % | 12 % |
//!
//! A value has to pass one of the rows on words and the last one. Lengths: 16 hexadecimal digits are 64 bits, 10
//! letters and digits 60; in files that only show keys, 20 are required, that is 80 and 119 bits.

use crate::candidate::{Assigned, Strength};
use crate::file_kind::Form;
use crate::password::{is_random_letters, looks_like_code};
use crate::value::{count, is_made_of, is_made_up, is_mashed};
use crate::words::{HEX_BITS, LONG_BITS, SHORT_BITS, changes, classes, entropy, wordiness};

/// Returns how strong a key is; `None` if the value is no key.
pub(crate) fn strength(assigned: &Assigned<'_>) -> Option<Strength> {
    let (value, kind) = (assigned.value, assigned.kind);
    if value.len() < 5 || kind.form == Form::Translation || is_made_up(value) || is_mashed(value) {
        return None;
    }
    if is_live(assigned) {
        return Some(Strength::Strong);
    }
    let is_word = looks_like_code(value) || !is_made_of(value, b"-_.+/~:!@#%^*$&=");
    let digits = count(value, u8::is_ascii_digit);
    let is_random = digits >= 2 && wordiness(value) < 0.5 && entropy(value) >= HEX_BITS && value.len() >= 8;
    match (is_word || is_id(assigned), is_random) {
        (true, _) => None,
        (false, true) if kind.is_for_show() || assigned.is_compared => (value.len() >= 12).then_some(Strength::Weak),
        (false, true) => Some(Strength::Fair),
        (false, false) => (kind.is_deployed && digits > 0 && value.len() >= 8).then_some(Strength::Fair),
    }
}

/// Returns whether a value is 16 hexadecimal digits with letters: 64 bits, the shortest key written in hexadecimal.
pub(crate) fn is_short_hex(value: &[u8]) -> bool {
    let digits = count(value, u8::is_ascii_digit);
    value.len() == 16 && value.iter().all(u8::is_ascii_hexdigit) && (2..=14).contains(&digits)
}

/// Returns whether a value is an id: a UUID whose name ends in `token`, or in a sample.
fn is_id(assigned: &Assigned<'_>) -> bool {
    let parts: Vec<usize> = assigned.value.split(|byte| *byte == b'-').map(<[u8]>::len).collect();
    let is_token = assigned.name.to_ascii_lowercase().ends_with(b"token");
    parts == [8, 4, 4, 4, 12] && (is_token || assigned.kind.is_for_show())
}

/// Returns whether a key is as random as live keys.
fn is_live(assigned: &Assigned<'_>) -> bool {
    let value = assigned.value;
    let core: Vec<u8> = value.iter().copied().filter(|byte| *byte != b'=').collect();
    let is_possible = is_made_of(&core, b"-_.+/~:!@#%^*$&") && !looks_like_code(value);
    if !is_possible || assigned.kind.form == Form::Translation {
        return false;
    }
    let is_hex = core.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let (length, bits) = match (assigned.kind.is_for_show() || assigned.is_compared, is_hex) {
        (true, true) => (20, HEX_BITS),
        (true, false) => (20, LONG_BITS),
        (false, true) => (16, HEX_BITS),
        (false, false) => (10, SHORT_BITS),
    };
    let (digits, letters) = (count(&core, u8::is_ascii_digit), count(&core, u8::is_ascii_alphabetic));
    if core.len() < length || entropy(&core) < bits || is_id(assigned) {
        return false;
    }
    if digits == 0 {
        let is_short = core.len() >= 12 && !assigned.kind.is_for_show() && is_random_letters(&core);
        return (is_short && wordiness(&core) < 0.4)
            || (letters >= 20 && wordiness(&core) < 0.45 && entropy(&core) >= LONG_BITS);
    }
    let is_mixed = digits >= 3 && changes(&core) >= 5 && core.iter().all(u8::is_ascii_alphanumeric);
    (wordiness(&core) < 0.62 || is_mixed) && letters >= 2 && (is_hex || digits >= 2 || classes(&core) >= 3)
}
