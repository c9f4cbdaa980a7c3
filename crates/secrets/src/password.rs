//! Whether a value that is called a password is one, and how weak.
//!
//! Sources of the limits. Lengths: a PIN has 4 to 12 digits (ISO 9564-1), 5 is the `PASS_MIN_LEN` of the login.defs
//! that Red Hat shipped before PAM took its place, 6 the `minlen` of pam_unix and the minimum of Windows' rule, 8 the
//! minimum that people may choose by NIST SP 800-63B, section 5.1.1 (third revision); 40 is the maximum that
//! pam_passwdqc allows. Windows' rule (*Password must meet complexity requirements*) asks for three of four classes of
//! characters. The other limits separate passwords that a program drew (4,000 of 8 letters and digits; in brackets of
//! 12 with marks) from the 75,172 identifiers that [`crate::key`] describes:
//!
//! | limit | drawn | identifiers |
//! |---|--:|--:|
//! | 3 classes, 3 changes, a digit | 71 % (83 %) | 6.3 % |
//! | 2 digits, 3 classes, 5 changes | 25 % (50 %) | 1.8 % |
//! | `wordiness < 0.75` | 95 % (97 %) | 19 % |
//! | `wordiness > 0.6`: a name | 8.6 % (7.1 %) | 94 % |
//! | `wordiness > 0.5`: a name in capitals | 12 % (10 %) | 97 % |
//! | letters alone, `wordiness < 0.4` | 71 % | 1.1 % |
//! | 12 letters, `wordiness < 0.45` | 84 % | 1.9 % |
//!
//! At least two letters and 2 digits separate names from ids (`a-12`) and versions.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::candidate::{Assigned, Strength};
use crate::file_kind::Form;
use crate::value::{automaton, count, is_app_password, is_made_of, is_made_up, is_placeholder};
use crate::words::{SHORT_BITS, changes, classes, entropy, wordiness};

/// Words that mark a dummy password.
const WEAK_WORDS: &[&str] = &[
    "pass", "secret", "test", "admin", "user", "root", "guest", "demo", "fake", "hello", "foo", "bar", "token", "key",
    "mock", "string", "value", "default", "hidden", "wrong", "invalid", "correct", "bad", "letmein", "temp", "login",
];
/// Passwords without a digit that people choose or that programs have by default. Source: the words among the hundred
/// most frequent ones of the lists that NCSC and SplashData published, and the manuals of databases and application
/// servers.
const CHOSEN: &[&str] = &[
    "admin",
    "administrator",
    "root",
    "toor",
    "letmein",
    "welcome",
    "monkey",
    "dragon",
    "master",
    "qwerty",
    "iloveyou",
    "sunshine",
    "princess",
    "football",
    "baseball",
    "shadow",
    "superman",
    "batman",
    "trustno",
    "starwars",
    "whatever",
    "hunter",
    "tiger",
    "changeit",
    "guest",
    "postgres",
    "mysql",
    "oracle",
    "manager",
    "tomcat",
    "jboss",
    "swordfish",
    "sesame",
    "opensesame",
    "abracadabra",
    "supersecret",
    "topsecret",
    "s3cret",
    "zabbix",
    "grafana",
    "rabbitmq",
    "minioadmin",
    "elastic",
    "wordpress",
    "nagios",
    "vagrant",
    "raspberry",
    "ubnt",
];
/// Values that stand for a password and are none: types, words for it, and names of form fields.
const NAMES: &[&str] = &[
    "string", "str", "text", "none", "null", "nil", "true", "false", "yes", "no", "value", "required", "optional",
    "hidden", "plain", "prompt", "default", "empty", "unset", "any", "varchar", "char", "basic", "form", "body",
    "query", "header", "field", "input", "type", "email", "id", "auto", "file", "env", "new", "old", "confirm",
    "current", "integer", "number", "boolean", "bool", "bytes", "byte", "object", "array", "list", "ask", "never",
    "always", "enabled", "disabled", "username", "user", "login", "name", "key",
];
/// Words for a password; only a file that configures something has them as values.
const WORDS_FOR_IT: &[&str] =
    &["password", "passwd", "pass", "passwort", "pwd", "passphrase", "secret", "token", "test", "testing"];

/// Returns how strong a password is; `None` if the value is no password.
pub(crate) fn strength(assigned: &Assigned<'_>) -> Option<Strength> {
    let (value, kind) = (assigned.value, assigned.kind);
    let small = value.to_ascii_lowercase();
    let stands_for_it = |words: &[&str]| words.iter().any(|word| word.as_bytes() == small);
    let is_none = is_colour(value) || is_in_name(&small, assigned.name);
    if kind.form == Form::Translation || is_none || is_placeholder(&small) || stands_for_it(NAMES) {
        return None;
    }
    if value.len() >= 5 && !is_made_up(value) && is_live(assigned) {
        return Some(Strength::Strong);
    }
    if kind.is_deployed && !assigned.is_compared {
        // Any value that configures a running system is its password, even a word for it.
        let is_name = is_made_of(value, b"./:,") && value.iter().any(|byte| b"./:,".contains(byte));
        let is_name = is_name || (value.contains(&b'_') && is_variable_name(value) && wordiness(value) > 0.5);
        let is_set = !stands_for_it(WORDS_FOR_IT) || is_variable_name(assigned.name);
        return (!is_name && is_set && value.len() >= 4).then_some(Strength::Fair);
    }
    if kind.is_test && assigned.is_quoted && !assigned.is_compared && is_plain_word(value) {
        return Some(Strength::Weak);
    }
    if stands_for_it(WORDS_FOR_IT) || looks_like_code(value) || !is_chosen(value) {
        return None;
    }
    let is_word_for_it = {
        let word = &small[..small.len() - small.iter().rev().take_while(|byte| !byte.is_ascii_alphabetic()).count()];
        [WORDS_FOR_IT, NAMES].iter().any(|words| words.iter().any(|known| known.as_bytes() == word))
    };
    let is_in_use = !is_word_for_it
        && !kind.is_for_show()
        && !assigned.is_compared
        && !is_made_up(value)
        && value.iter().any(u8::is_ascii_digit);
    Some(if is_in_use { Strength::Fair } else { Strength::Weak })
}

/// Returns whether a value is one lower-case word, as tests use for a password. The word `password` itself usually
/// names a field.
fn is_plain_word(value: &[u8]) -> bool {
    let is_word = (4..=20).contains(&value.len()) && value.iter().all(u8::is_ascii_lowercase);
    let is_field = [&b"password"[..], b"passwd", b"passwort", b"passphrase", b"token"].contains(&value);
    is_word && !is_field && !is_made_up_of_one(value)
}

/// Returns whether a value is a colour: `{ pass: "#5cb85c" }`.
fn is_colour(value: &[u8]) -> bool {
    value
        .strip_prefix(b"#")
        .is_some_and(|digits| [3, 4, 6, 8].contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit))
}

/// Returns whether a value only repeats words of its name: `ED25519_KEY_PASSPHRASE = "ed25519-key"`.
fn is_in_name(small: &[u8], name: &[u8]) -> bool {
    let plain = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
    };
    let value = plain(small);
    small.contains(&b'-') && value.len() >= 8 && memchr::memmem::find(&plain(name), &value).is_some()
}

/// Returns whether a value repeats one character: `xxxx`.
fn is_made_up_of_one(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == value[0])
}

/// Returns whether a value is the name of an environment variable: `DB_PASSWORD`.
fn is_variable_name(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Returns whether a person might choose the value: letters with a digit or a mark among them, a PIN, or one of the
/// known words.
fn is_chosen(value: &[u8]) -> bool {
    let small = value.to_ascii_lowercase();
    let word = small.strip_suffix(b"!").unwrap_or(&small);
    let letters = count(value, u8::is_ascii_alphabetic);
    let is_mixed = letters >= 2 && (value.iter().any(u8::is_ascii_digit) || has_symbol(value));
    let is_pin = letters == 0 && (4..=12).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    (4..=40).contains(&value.len()) && (is_mixed || is_pin || CHOSEN.iter().any(|chosen| chosen.as_bytes() == word))
}

/// Returns whether a password looks live: not made for a test, and not mostly a word of a language.
fn is_live(assigned: &Assigned<'_>) -> bool {
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
            // Three percent signs show a test of URL encoding.
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

/// Returns whether a value has a mark other than those that join words.
fn has_symbol(value: &[u8]) -> bool {
    value.iter().any(|byte| b"!@#$%^&*?+=~".contains(byte))
}

/// Returns whether letters form no word: the fewer there are, the less wordy they may be. Short upper-case values are
/// abbreviations.
pub(crate) fn is_random_letters(value: &[u8]) -> bool {
    let (letters, words) = (count(value, u8::is_ascii_alphabetic), wordiness(value));
    let is_long = letters >= 12 && words < 0.45 && entropy(value) >= SHORT_BITS;
    is_long || (letters >= 8 && letters == value.len() && words < 0.4 && value.iter().any(u8::is_ascii_lowercase))
}

/// Converts a value such as `p4ssw0rd` to the word that it stands for.
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

/// Returns whether a value is a name: `user.name`, `some_variable_2`, `Word-Word`.
pub(crate) fn looks_like_code(value: &[u8]) -> bool {
    let joins = value.iter().filter(|byte| b"_-./:,".contains(byte)).count();
    let is_name = is_made_of(value, b"_-./:,") && joins > 0;
    is_name && count(value, u8::is_ascii_digit) <= 2 && wordiness(value) > 0.6
}
