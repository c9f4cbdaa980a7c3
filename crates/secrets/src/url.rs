//! Credentials in URLs: `scheme://user:password@host`, as RFC 3986, section 3.2.1, has them.
//!
//! Where the limits come from: a port has five digits at most (65,535, RFC 793), so that five or fewer in front of `@` may be one whose host follows. Six
//! characters are the least of `pam_unix` and of Windows' rule, see [`crate::password`]; a shorter one has to mix two classes. `wordiness > 0.5` with fewer
//! than three classes, behind a word for it (`pass…`), is the word itself or made of it: 86 % of the identifiers that [`crate::key`] speaks of are so wordy, and
//! 3 % of eight letters and digits that were drawn (11 % without capitals). The shown users, passwords and hosts are those that manuals and published packages were
//! seen to have; nobody counted how often each is right.

use crate::candidate::{Assigned, Strength};
use crate::context::{Context, Found};
use crate::file_kind::Form;
use crate::judge::judge;
use crate::name::Promise;
use crate::value::{is_made_up, is_placeholder, is_reference};
use crate::words::{classes, wordiness};

/// The longest user or password. Chosen as a limit of work.
const PART: usize = 200;
/// The shortest password: `user:pw@` and less shows the form.
const PASSWORD: usize = 3;
/// How much of a host is looked at for `example.`: its length is 253 at most (RFC 1035), the names of manuals are short.
const HOST: usize = 60;

/// What the hosts of manuals and of one's own machine begin with: RFC 2606 and RFC 6761 for the reserved ones.
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

/// The users and passwords of manuals: both together show the form.
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
    // A password may hold `@` itself: the last one before the host's end counts.
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
    // The host may be filled in later, the password is there now.
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

/// `APIUSER:APIPASS@`: words in capitals for what the reader puts there.
fn is_word_in_capitals(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_')
}

fn is_one_of(value: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}
