//! Whether a value is a credential or only stands where one would.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::candidate::Assigned;
use crate::file_kind::Form;
use crate::name::Promise;
use crate::words::{changes, classes, entropy, wordiness};

/// Words that only stand in made-up values.
const MADE_UP: &[&str] = &[
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
    "undefined",
    "testtest",
    "secretsecret",
    "passwordpassword",
    "aaaaaa",
    "a1b2c3",
    "1a2b3c",
    "1q2w3e",
    "abc123",
    // The token of Telegram's own manual.
    "abc-def1234ghikl",
];
/// Words that a person puts into a password that is none.
const WEAK_WORDS: &[&str] = &[
    "pass", "secret", "test", "admin", "user", "root", "guest", "demo", "fake", "hello", "foo", "bar", "token", "key",
    "mock", "string", "value", "default", "hidden", "wrong", "invalid", "correct", "bad", "letmein", "temp", "login",
];
/// What a value begins with that refers to one elsewhere, or is a hash of one.
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

/// What only stands in a value that is filled in later, or in code.
const HELD_BY_REFERENCES: &[&str] = &[
    "${", "{{", "}}", "<%", "%(", "$(", "#{", "@{", "%{", "%s", "%d", "{}", "{0", "://", "()", "\\x", "\\u", "->",
    "=>", "::", "&&", "||", "</", "/>", "\\n", "getenv", "environ", "env(", ".env",
];
/// What only stands in patterns.
const PATTERN_PARTS: &[&str] =
    &["\\d", "\\w", "\\s", "[a-z", "[0-9", "[^", "(?", ".*", ".+", "{1,", "{8,", "$)", "\\b", "+$", "*$"];

/// Tells a made-up value from a possible one, whatever it is for.
pub(crate) fn is_made_up(value: &[u8]) -> bool {
    static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(MADE_UP));
    let small = value.to_ascii_lowercase();
    WORDS.is_match(&small) || repeats(&small) || runs(&small)
}

/// Makes an automaton that finds any of some words, small or capital.
fn automaton(words: &[&str]) -> AhoCorasick {
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("a few short words fit an automaton")
}

/// Tells whether one character makes up a third of a value, or five stand in a row.
fn repeats(value: &[u8]) -> bool {
    let five = value.windows(5).any(|window| window.iter().all(|byte| *byte == window[0]));
    let mut seen = [false; 256];
    value.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    five || distinct <= 4.min(value.len() / 3)
}

/// Tells whether eight characters in a row count up or down, as in `abcdefgh`.
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

/// Tells whether a value that is assigned to a credential's name is one.
pub(crate) fn is_credential(promise: Promise, assigned: &Assigned<'_>) -> bool {
    let value = assigned.value;
    if !is_possible(assigned) || is_reference(value) || is_pattern(value) || is_made_up(value) {
        return false;
    }
    match promise {
        Promise::Password => is_password(assigned),
        Promise::Key => is_key(assigned),
    }
}

/// Rules out what no credential looks like.
fn is_possible(assigned: &Assigned<'_>) -> bool {
    let value = assigned.value;
    (5..=512).contains(&value.len())
        && (value.iter().all(u8::is_ascii_graphic) || is_app_password(value))
        && !assigned.name.eq_ignore_ascii_case(value)
        && value.iter().any(u8::is_ascii_alphanumeric)
}

/// Four groups of four small letters, as mail providers give them to programs.
fn is_app_password(value: &[u8]) -> bool {
    let groups: Vec<&[u8]> = value.split(|byte| *byte == b' ').collect();
    let is_group = |group: &&[u8]| group.len() == 4 && group.iter().all(u8::is_ascii_lowercase);
    groups.len() == 4 && groups.iter().all(is_group) && wordiness(value) < 0.5
}

/// Tells whether a value consists of letters, digits and these other characters.
fn is_made_of(value: &[u8], others: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || others.contains(byte))
}

/// Tells whether a value names where the real one is, or is filled in later.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    static HELD: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(HELD_BY_REFERENCES));
    let small = value.to_ascii_lowercase();
    REFERENCES.iter().any(|word| small.starts_with(word.as_bytes()))
        || HELD.is_match(&small)
        || is_variable(&small)
        || is_bracketed(&small)
        || is_call(&small)
        || (small[0] == b'/' && wordiness(&small) > 0.5)
        || is_number_or_date(&small)
}

fn is_variable(value: &[u8]) -> bool {
    value[0] == b'$' && is_made_of(&value[1..], b"_{}:-.()>[]'")
}

fn is_bracketed(value: &[u8]) -> bool {
    let ends = [value[0], value[value.len() - 1]];
    [b"<>", b"[]", b"{}", b"%%", b"__", b"@@", b"()", b"##", b"&;"].contains(&&ends)
}

/// `name(…)` or `a.b[…]`.
fn is_call(value: &[u8]) -> bool {
    let opens = value.iter().position(|byte| b"([".contains(byte));
    opens.is_some_and(|at| at > 0 && is_made_of(&value[..at], b"_.$:") && value.iter().any(|byte| b")]".contains(byte)))
}

/// A number, a version, a date or an address.
fn is_number_or_date(value: &[u8]) -> bool {
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let joins = value.iter().filter(|byte| b".-:/".contains(byte)).count();
    value.iter().all(|byte| byte.is_ascii_digit() || b".,-:+".contains(byte)) || (letters <= 2 && joins >= 2)
}

/// A regular expression or a format.
fn is_pattern(value: &[u8]) -> bool {
    static PARTS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(PATTERN_PARTS));
    PARTS.is_match(value)
}

fn is_password(assigned: &Assigned<'_>) -> bool {
    static WEAK: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(WEAK_WORDS));
    let value = assigned.value;
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let has_digit = value.iter().any(u8::is_ascii_digit);
    if looks_like_code(value) || (letters < 2 && value.len() < 8) || (assigned.kind.form == Form::Translation) {
        return false;
    }
    let spelt = without_leet(value);
    let is_weak = WEAK.is_match(value) || WEAK.is_match(&spelt);
    let is_strong = value.len() >= 8 && classes(value) >= 3 && changes(value) >= 3 && has_digit;
    if assigned.kind.is_for_show() || assigned.is_compared {
        if value.iter().filter(|byte| **byte == b'%').count() >= 3 {
            // A test of how characters are written in URLs.
            return false;
        }
        let is_random =
            value.len() >= 8 && has_digit && letters >= 4 && wordiness(value) < 0.35 && wordiness(&spelt) < 0.6;
        let digits = count(value, u8::is_ascii_digit);
        let is_mixed = value.len() >= 8 && digits >= 2 && classes(value) >= 3 && changes(value) >= 5;
        return !is_weak && (is_random || is_mixed || (is_strong && value.len() >= 10 && wordiness(value) < 0.75));
    }
    if is_app_password(value) {
        return true;
    }
    if !has_digit {
        return is_random_letters(value) || (has_symbol(value) && !is_weak && classes(value) >= 3 && value.len() >= 8);
    }
    is_strong || (value.len() >= 6 && !is_weak) || (value.len() >= 8 && has_symbol(value))
}

/// Something other than the marks that join words.
fn has_symbol(value: &[u8]) -> bool {
    value.iter().any(|byte| b"!@#$%^&*?+=~".contains(byte))
}

fn count(value: &[u8], want: fn(&u8) -> bool) -> usize {
    value.iter().filter(|byte| want(byte)).count()
}

/// Letters that no word is made of: the shorter, the less of a word may be in them. Short capitals are an abbreviation.
fn is_random_letters(value: &[u8]) -> bool {
    let (letters, words) = (count(value, u8::is_ascii_alphabetic), wordiness(value));
    let is_long = letters >= 12 && words < 0.45 && entropy(value) >= 3.0;
    is_long || (letters >= 8 && letters == value.len() && words < 0.4 && value.iter().any(u8::is_ascii_lowercase))
}

/// Reads `p4ssw0rd` as the word it stands for.
fn without_leet(value: &[u8]) -> Vec<u8> {
    let letter = |byte: &u8| match byte {
        b'@' | b'4' => b'a',
        b'0' => b'o',
        b'1' | b'!' => b'i',
        b'3' => b'e',
        b'5' | b'$' => b's',
        b'7' => b't',
        other => other.to_ascii_lowercase(),
    };
    value.iter().map(letter).collect()
}

/// `user.name`, `some_variable_2`, `Word-Word`: names, not values.
fn looks_like_code(value: &[u8]) -> bool {
    let joins = value.iter().filter(|byte| b"_-./:,".contains(byte)).count();
    let is_name = is_made_of(value, b"_-./:,") && joins > 0;
    is_name && count(value, u8::is_ascii_digit) <= 2 && wordiness(value) > 0.6
}

/// A UUID where the name speaks of a token, or in a sample, is the id of something.
fn is_id(assigned: &Assigned<'_>) -> bool {
    let parts: Vec<usize> = assigned.value.split(|byte| *byte == b'-').map(<[u8]>::len).collect();
    let is_token = assigned.name.to_ascii_lowercase().ends_with(b"token");
    parts == [8, 4, 4, 4, 12] && (is_token || assigned.kind.is_for_show())
}

fn is_key(assigned: &Assigned<'_>) -> bool {
    let value = assigned.value;
    let core: Vec<u8> = value.iter().copied().filter(|byte| *byte != b'=').collect();
    let is_possible = is_made_of(&core, b"-_.+/~:!@#%^*$&") && !looks_like_code(value);
    if !is_possible || assigned.kind.form == Form::Translation {
        return false;
    }
    let is_hex = core.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let (length, bits) = match (assigned.kind.is_for_show() || assigned.is_compared, is_hex) {
        (true, true) => (20, 2.7),
        (true, false) => (20, 3.5),
        (false, true) => (16, 2.7),
        (false, false) => (10, 3.0),
    };
    let (digits, letters) = (count(&core, u8::is_ascii_digit), count(&core, u8::is_ascii_alphabetic));
    if core.len() < length || entropy(&core) < bits || is_id(assigned) {
        return false;
    }
    if digits == 0 {
        let is_short = core.len() >= 12 && !assigned.kind.is_for_show() && is_random_letters(&core);
        return (is_short && wordiness(&core) < 0.4)
            || (letters >= 20 && wordiness(&core) < 0.45 && entropy(&core) >= 3.5);
    }
    let is_mixed = digits >= 3 && changes(&core) >= 5 && core.iter().all(u8::is_ascii_alphanumeric);
    (wordiness(&core) < 0.62 || is_mixed) && letters >= 2 && (is_hex || digits >= 2 || classes(&core) >= 3)
}
