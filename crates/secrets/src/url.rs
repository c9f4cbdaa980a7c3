//! Credentials in URLs: `scheme://user:password@host`.

use crate::candidate::Assigned;
use crate::name::Promise;
use crate::place::{Found, Place};
use crate::value::{is_credential, is_made_up, is_reference};
use crate::words::{classes, wordiness};

/// The longest user or password.
const PART: usize = 200;
const LOCAL_HOSTS: &[&[u8]] = &[
    b"localhost",
    b"127.",
    b"0.0.0.0",
    b"[::1]",
    b"example",
    b"host",
    b"server",
    b"hostname",
    b"some",
    b"foo",
    b"my",
    b"db",
    b"test",
    b"proxy",
];

/// Reads the password of a URL; the keyword is `://`.
pub(crate) fn password(place: &Place<'_>) -> Option<Found> {
    let text = place.text;
    let has_scheme = place.at > 0 && text[place.at - 1].is_ascii_alphanumeric();
    let rest = &text[place.keyword_end..text.len().min(place.keyword_end + 2 * PART)];
    let user = rest.iter().position(|byte| !is_user(*byte))?;
    if !has_scheme || rest[user] != b':' {
        return None;
    }
    let password_at = user + 1;
    // A password may hold `@` itself: the last one before the host's end counts.
    let authority = rest[password_at..].iter().take_while(|byte| is_password(**byte)).count();
    let at_sign = rest[password_at..password_at + authority].iter().rposition(|byte| *byte == b'@')?;
    let (name, password) = (&rest[..user], &rest[password_at..password_at + at_sign]);
    let host = &rest[password_at + at_sign + 1..];
    let range = place.keyword_end + password_at..place.keyword_end + password_at + at_sign;
    counts(name, password, host, place).then_some(Found { range })
}

fn is_user(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'%' | b'+' | b'~' | b'$' | b'{' | b'}')
}

fn is_password(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b')' | b',' | b' ')
}

/// Weighs a password: one that only shows the form of a URL is none.
fn counts(user: &[u8], password: &[u8], host: &[u8], place: &Place<'_>) -> bool {
    let begins_host = host.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'[');
    if password.len() < 3
        || !begins_host
        || is_made_up(password)
        || is_reference(password)
        || user.contains(&b'{')
        || user.eq_ignore_ascii_case(password)
    {
        return false;
    }
    let small = password.to_ascii_lowercase();
    let is_word_for_it =
        ["pass", "pwd", "secret", "token", "xxx", "key", "pw"].iter().any(|word| small.starts_with(word.as_bytes()));
    if is_word_for_it && wordiness(&small) > 0.5 && classes(password) < 3 {
        return false;
    }
    let host = host.to_ascii_lowercase();
    let is_local = LOCAL_HOSTS.iter().any(|local| host.starts_with(local))
        || host.windows(8).take(60).any(|part| part == b"example.");
    if place.kind.is_for_show() || is_local {
        let assigned = Assigned { name: b"url", value: password, kind: place.kind, is_compared: false };
        return is_credential(Promise::Password, &assigned);
    }
    password.len() >= 6 || classes(password) >= 2
}
