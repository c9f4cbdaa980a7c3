//! Decides whether a value is a credential or a stand-in for one.
//!
//! The lists of words come from values in samples, manuals and settings of published packages; the words were not
//! counted one by one. Their cost is known: of 200,000 random strings of 40 letters and digits none holds one of
//! `TYPED` and 14 hold one of `PLACEHOLDERS`. The beginnings of hashes are those of crypt(5), PHC strings and the
//! frameworks that write them.
//!
//! The numbers: `repeats` and `runs` refuse none of 4,000 random strings of 10, 20 and 40 letters and digits and 0.1 %
//! of those of 32 hexadecimal digits. `wordiness > 0.5` holds for 97 % of identifiers in capitals and 12 % of drawn
//! passwords (the table of [`crate::password`]); `wordiness < 0.5` of four groups of four letters for 90 % of drawn
//! ones and 0.2 % of four English words. 512 is the maximum length of a value that is judged, a limit of work: a longer
//! one is a key file or a token, which have readers of their own.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::candidate::Assigned;
use crate::words::wordiness;

/// Words in placeholders that a user is to replace.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "changeme",
    "change_me",
    "change-me",
    "changethis",
    "placeholder",
    "redacted",
    "xxxx",
    "****",
    "....",
    "____",
    "todo",
    "fixme",
    "dummy",
    "sample",
    "notreal",
    "not-real",
    "not_real",
    "your-",
    "your_",
    "yourkey",
    "yoursecret",
    "yourtoken",
    "yourpass",
    "yourapi",
    "fakekey",
    "faketoken",
    "my-api-key",
    "replaceme",
    "replace_me",
    "replace-me",
    "insert",
    "goes-here",
    "goes_here",
    "-here",
    "_here",
    "lorem",
    "undefined",
    // The token in Telegram's own manual.
    "abc-def1234ghikl",
];
/// Sequences typed without meaning: no token holds one, and a password with one is weak.
const TYPED: &[&str] = &[
    "00000000",
    "11111111",
    "deadbeef",
    "abcdefgh",
    "12345678",
    "0123456",
    "87654321",
    "qwerty",
    "asdfgh",
    "fedcba98",
    "foobar",
    "testtest",
    "secretsecret",
    "passwordpassword",
    "aaaaaa",
    "a1b2c3",
    "1a2b3c",
    "1q2w3e",
    "abc123",
];
/// Beginnings of values that refer to a credential elsewhere, or that are its hash.
const REFERENCES: &[&str] = &[
    "env:",
    "env.",
    "env[",
    "vault:",
    "vault/",
    "vault.",
    "ssm:",
    "arn:",
    "op://",
    "kms:",
    "enc(",
    "enc[",
    "aqicah",
    "secret/",
    "secrets/",
    "secrets.",
    "secretref",
    "ref:",
    "ref+",
    "file:",
    "!",
    "keyvault",
    "config.",
    "process.",
    "os.",
    "self.",
    "this.",
    "$2a$",
    "$2b$",
    "$2y$",
    "$argon2",
    "$pbkdf2",
    "$scrypt",
    "$6$",
    "$5$",
    "$1$",
    "$apr1$",
    "$y$",
    "{ssha",
    "{sha",
    "{bcrypt",
    "{noop",
    "{cipher}",
    "{xor}",
    "{aes}",
    "{crypt}",
    "{md5",
    "pbkdf2:",
    "pbkdf2_",
    "scrypt:",
    "argon2",
    "bcrypt",
    "sha256:",
    "sha512:",
    "sha1:",
    "md5:",
    "sha256$",
    "sha1$",
    "md5$",
    "data:",
    "http:",
    "https:",
    "urn:",
    "urn-",
    "--",
    "ldap",
    "jdbc:",
    "mailto:",
    "./",
    "../",
    "~/",
];

/// Texts that occur only in code, or in a value that is filled in later.
const HELD_BY_REFERENCES: &[&str] = &[
    "${", "{{", "}}", "<%", "%(", "$(", "#{", "@{", "%{", "%s", "%d", "{}", "{0", "://", "()", "\\x", "\\u", "->",
    "=>", "::", "&&", "||", "</", "/>", "\\n", "getenv", "environ", "env(", ".env",
];
/// Texts that occur only in patterns.
const PATTERN_PARTS: &[&str] =
    &["\\d", "\\w", "\\s", "[a-z", "[0-9", "[^", "(?", ".*", ".+", "{1,", "{8,", "$)", "\\b", "+$", "*$"];

/// Returns whether a value is made up, whatever its purpose.
pub(crate) fn is_made_up(value: &[u8]) -> bool {
    static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(TYPED));
    let small = value.to_ascii_lowercase();
    is_placeholder(&small) || WORDS.is_match(&small) || repeats(&small) || runs(&small) || is_cut_off(value)
}

/// Returns whether six letters are repeated, as when a person types at random: `sdlfkjabc+sdlfkj`. Of random values of
/// 128 letters and digits one in 300,000 has such a pair; longer ones are tokens with parts of text in them.
pub(crate) fn is_mashed(value: &[u8]) -> bool {
    const PIECE: usize = 6;
    let small = value.to_ascii_lowercase();
    small.len() <= 128
        && small.windows(PIECE).enumerate().any(|(at, piece)| {
            piece.iter().all(u8::is_ascii_lowercase) && memchr::memmem::find(&small[at + PIECE..], piece).is_some()
        })
}

/// Returns whether a value is shown only in part: `123456:ABC...`.
fn is_cut_off(value: &[u8]) -> bool {
    value.ends_with(b"...") || value.ends_with("\u{2026}".as_bytes())
}

/// Returns whether a value, in lower case, is a placeholder that a user is to replace.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(PLACEHOLDERS));
    WORDS.is_match(value)
}

/// Returns whether a value is the name of a constant: `PAGERDUTY_SERVICE_ID`.
pub(crate) fn is_constant(value: &[u8]) -> bool {
    value.contains(&b'_') && value.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_')
}

/// Builds an automaton that finds any of some words, in any case.
pub(crate) fn automaton(words: &[&str]) -> AhoCorasick {
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("a few short words fit an automaton")
}

/// Returns whether one character makes up a third of a value, or occurs five times in a row.
fn repeats(value: &[u8]) -> bool {
    let five = value.windows(5).any(|window| window.iter().all(|byte| *byte == window[0]));
    let mut seen = [false; 256];
    value.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    five || distinct <= 4.min(value.len() / 3)
}

/// Returns whether seven characters in a row count up or down, as in `abcdefg`.
fn runs(value: &[u8]) -> bool {
    let steps = |by: i16| {
        let mut run = 0;
        value.windows(2).any(|pair| {
            run = if i16::from(pair[1]) - i16::from(pair[0]) == by { run + 1 } else { 0 };
            run >= 6
        })
    };
    steps(1) || steps(-1)
}

/// Returns whether a value may be a credential at all.
pub(crate) fn is_possible(assigned: &Assigned<'_>) -> bool {
    let value = assigned.value;
    (3..=512).contains(&value.len())
        && (value.iter().all(u8::is_ascii_graphic) || is_app_password(value))
        && !names_itself(assigned.name, value)
        && value.iter().any(u8::is_ascii_alphanumeric)
}

/// Returns whether the value is the name or the end of it: `aux_number_token = "number_token"`.
fn names_itself(name: &[u8], value: &[u8]) -> bool {
    let is_one_word = value.iter().all(u8::is_ascii_alphabetic);
    name.len().checked_sub(value.len()).is_some_and(|at| {
        // `ROOT_PASSWORD=password` is still a setting.
        (at == 0 || !is_one_word) && name[at..].eq_ignore_ascii_case(value)
    })
}

/// Returns whether a value is four groups of four lower-case letters: 16 characters, as in Google's app passwords
/// (support.google.com/accounts/answer/185833).
pub(crate) fn is_app_password(value: &[u8]) -> bool {
    let groups: Vec<&[u8]> = value.split(|byte| *byte == b' ').collect();
    let is_group = |group: &&[u8]| group.len() == 4 && group.iter().all(u8::is_ascii_lowercase);
    groups.len() == 4 && groups.iter().all(is_group) && wordiness(value) < 0.5
}

/// Returns whether a value consists of letters, digits and these other characters.
pub(crate) fn is_made_of(value: &[u8], others: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || others.contains(byte))
}

/// Returns whether a value refers to the real one, or is filled in later.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    static HELD: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(HELD_BY_REFERENCES));
    let small = value.to_ascii_lowercase();
    REFERENCES.iter().any(|word| small.starts_with(word.as_bytes()))
        || HELD.is_match(&small)
        || is_variable(&small)
        || is_bracketed(&small)
        || is_call(&small)
        // A path: words, or at least three parts; in base64 a slash is 1 of 64 characters.
        || (small[0] == b'/' && (wordiness(&small) > 0.5 || count(&small, |byte| *byte == b'/') >= 3))
        || is_number_or_date(&small)
        || is_image(&small)
        || is_setting_name(value)
        || is_numbered_name(&small)
}

/// Returns whether a value is the name of an environment variable: `WEBHOOK_URL`.
fn is_setting_name(value: &[u8]) -> bool {
    let is_part = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_uppercase);
    value.contains(&b'_') && value.split(|byte| *byte == b'_').all(is_part)
}

/// Returns whether a value is words and numbers joined by underscores: `0002_auto_20260101_1747`.
fn is_numbered_name(value: &[u8]) -> bool {
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let is_word = |part: &[u8]| part.iter().all(u8::is_ascii_alphabetic) && wordiness(part) > 0.5;
    let parts = || value.split(|byte| *byte == b'_');
    parts().count() >= 3
        && parts().all(|part| is_number(part) || is_word(part))
        && parts().any(is_number)
        && parts().any(is_word)
}

/// Returns whether a value is a container image with its tag: `name:1.2-alpine`, `registry/name:latest`.
fn is_image(value: &[u8]) -> bool {
    let mut parts = value.splitn(2, |byte| *byte == b':');
    let (Some(name), Some(tag)) = (parts.next(), parts.next()) else { return false };
    let is_name = !name.is_empty() && is_made_of(name, b"-_./") && wordiness(name) > 0.5;
    let is_tag = tag.starts_with(b"latest")
        || (tag.contains(&b'.') && tag.first().is_some_and(|b| b.is_ascii_digit() || *b == b'v'));
    is_name && is_tag && is_made_of(tag, b"-_.")
}

fn is_variable(value: &[u8]) -> bool {
    value[0] == b'$' && is_made_of(&value[1..], b"_{}:-.()>[]'")
}

fn is_bracketed(value: &[u8]) -> bool {
    let ends = [value[0], value[value.len() - 1]];
    [b"<>", b"[]", b"{}", b"%%", b"__", b"@@", b"()", b"##", b"&;"].contains(&&ends)
}

/// Returns whether a value is a call or an index: `name(…)` or `a.b[…]`.
fn is_call(value: &[u8]) -> bool {
    let opens = value.iter().position(|byte| b"([".contains(byte));
    opens.is_some_and(|at| at > 0 && is_made_of(&value[..at], b"_.$:") && value.iter().any(|byte| b")]".contains(byte)))
}

/// Returns whether a value is a number, a version, a date or an address. Two letters allow `1.2.3rc1` and a time zone;
/// a date has at least two marks.
fn is_number_or_date(value: &[u8]) -> bool {
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let joins = value.iter().filter(|byte| b".-:/".contains(byte)).count();
    value.iter().all(|byte| byte.is_ascii_digit() || b".,-:+".contains(byte)) || (letters <= 2 && joins >= 2)
}

/// Returns whether a value is a regular expression or a format.
pub(crate) fn is_pattern(value: &[u8]) -> bool {
    static PARTS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(PATTERN_PARTS));
    PARTS.is_match(value)
}

/// Counts the bytes of a kind.
pub(crate) fn count(value: &[u8], want: fn(&u8) -> bool) -> usize {
    value.iter().filter(|byte| want(byte)).count()
}
