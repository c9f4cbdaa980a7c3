//! Finds credentials in URLs: `scheme://user:password@host`, as in RFC 3986, section 3.2.1.
//!
//! Sources of the limits: a port has five digits at most (65,535, RFC 793), so that five or fewer in front of `@` may
//! be one whose host follows. Six characters are the minimum of `pam_unix` and of Windows' rule, see
//! [`crate::password`]; a shorter one has to mix two classes. A value with `wordiness > 0.5` and fewer than three
//! classes, behind a word for it (`pass…`), is the word itself or made of it: 86 % of the identifiers that
//! [`crate::key`] describes are so wordy, and 3 % of random strings of eight letters and digits (11 % without
//! capitals). The sample users, passwords and hosts were seen in manuals and published packages; how often each is
//! right was not counted.

use crate::candidate::{Assigned, Strength};
use crate::context::{Context, Found};
use crate::file_kind::Form;
use crate::judge::judge;
use crate::name::Promise;
use crate::value::{is_made_up, is_placeholder, is_reference};
use crate::words::{classes, wordiness};

/// Maximum length of a user or password. Chosen as a limit of work.
const PART: usize = 200;
/// Minimum length of a password: `user:pw@` and shorter ones only show the form.
const PASSWORD: usize = 3;
/// Number of bytes of a host searched for `example.`: a host has at most 253 (RFC 1035), the names in manuals are
/// short.
const HOST: usize = 60;

/// Beginnings of hosts in manuals and of the local machine: RFC 2606 and RFC 6761 for the reserved ones.
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

/// Users and passwords in manuals: if both are listed, the URL only shows the form.
const USERS: &[&str] = &[
    "user", "username", "usr", "u", "name", "login", "me", "foo", "someuser", "myuser", "a", "user1", "joe", "john",
    "bob",
];
const PASSWORDS: &[&str] = &[
    "pass",
    "password",
    "passwd",
    "passwort",
    "pwd",
    "pw",
    "p",
    "bar",
    "secret",
    "mypass",
    "mypassword",
    "somepass",
    "b",
    "pass1",
];

/// Reads the password of a URL; the keyword is `://`.
pub(crate) fn password(place: &Context<'_>) -> Option<Found> {
    let text = place.text;
    let has_scheme = place.at > 0 && text[place.at - 1].is_ascii_alphanumeric();
    let rest = &text[place.keyword_end..text.len().min(place.keyword_end + 2 * PART)];
    let user = rest.iter().position(|byte| !is_user(*byte))?;
    if !has_scheme || rest[user] != b':' {
        return None;
    }
    let password_at = user + 1;
    // A password may contain `@`: the last one before the end of the host counts.
    let authority = rest[password_at..].iter().take_while(|byte| is_password(**byte)).count();
    let at_sign = rest[password_at..password_at + authority].iter().rposition(|byte| *byte == b'@')?;
    let (name, password) = (&rest[..user], &rest[password_at..password_at + at_sign]);
    let host = &rest[password_at + at_sign + 1..];
    let range = place.keyword_end + password_at..place.keyword_end + password_at + at_sign;
    strength(name, password, host, place).map(|strength| Found::new(range, strength))
}

fn is_user(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'%' | b'+' | b'~' | b'$' | b'{' | b'}')
}

fn is_password(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b')' | b',' | b' ')
}

/// Returns how strong a password is; `None` if it only shows the form of a URL.
fn strength(user: &[u8], password: &[u8], host: &[u8], place: &Context<'_>) -> Option<Strength> {
    // The host may be filled in later, but the password is literal.
    let begins_host = host.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"[%{$<".contains(byte));
    let is_port = password.len() <= 5 && password.iter().all(u8::is_ascii_digit) && place.kind.form != Form::Config;
    let small = password.to_ascii_lowercase();
    let is_shown = is_one_of(user, USERS) && (is_one_of(password, PASSWORDS) || user.eq_ignore_ascii_case(password));
    if password.len() < PASSWORD
        || !begins_host
        || is_port
        || is_shown
        || is_placeholder(&small)
        || is_reference(password)
        || (is_word_in_capitals(user) && is_word_in_capitals(password))
        || user.iter().any(|byte| b"{$%".contains(byte))
    {
        return None;
    }
    let host = host.to_ascii_lowercase();
    let is_local = LOCAL_HOSTS.iter().any(|local| host.starts_with(local))
        || host.windows(8).take(HOST).any(|part| part == b"example.")
        || !host[0].is_ascii_alphanumeric();
    if place.kind.is_for_show() || is_local || is_made_up(password) {
        let assigned =
            Assigned { name: b"url", value: password, kind: place.kind, is_compared: false, is_quoted: false };
        let judged = judge(Promise::Password, &assigned, 0..0).map(|found| found.strength);
        return Some(judged.unwrap_or(Strength::Weak));
    }
    let is_word_for_it =
        ["pass", "pwd", "secret", "token", "xxx", "key", "pw"].iter().any(|word| small.starts_with(word.as_bytes()));
    let is_word = is_word_for_it && wordiness(&small) > 0.5 && classes(password) < 3;
    let is_strong = !is_word && !user.eq_ignore_ascii_case(password) && (password.len() >= 6 || classes(password) >= 2);
    Some(if is_strong { Strength::Strong } else { Strength::Fair })
}

/// Returns whether a value is a word in capitals that the reader is to replace: `APIUSER:APIPASS@`.
fn is_word_in_capitals(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_')
}

fn is_one_of(value: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}
