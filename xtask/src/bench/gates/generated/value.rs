//! Values: credentials of several strengths, and stand-ins for credentials.

use super::super::mutate::Draw;

const ALNUM: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const HEX: &[u8] = b"0123456789abcdef";

/// Draws characters of an alphabet.
pub(super) fn random(alphabet: &[u8], length: usize, draw: &mut Draw) -> String {
    (0..length).map(|_| char::from(alphabet[draw.below(alphabet.len())])).collect()
}

/// Makes a password as a person chooses one: a word of the file with a digit or a mark, or random.
pub(super) fn password(words: &[String], draw: &mut Draw) -> String {
    let word = word(words, draw);
    let capital = || word[..1].to_ascii_uppercase() + &word[1..];
    match draw.below(5) {
        0 => format!("{}{}", capital(), 1 + draw.below(9_999)),
        1 => format!("{}{}!", word, draw.below(100)),
        2 => format!("{}@{}", capital(), 2_000 + draw.below(30)),
        _ => {
            let length = 9 + draw.below(8);
            random(ALNUM, length, draw) + ["7", "4!", "#2x"][draw.below(3)]
        }
    }
}

/// Makes a key as a machine does.
pub(super) fn key(draw: &mut Draw) -> String {
    match draw.below(4) {
        0 => random(HEX, [32, 40, 64][draw.below(3)], draw),
        1 => {
            let length = 24 + draw.below(20);
            random(ALNUM, length, draw) + "3"
        }
        2 => random(BASE64, 42, draw) + "8=",
        _ => random(BASE64_URL, 38, draw) + "k5",
    }
}

/// Makes a scalar of an elliptic curve, as in a JSON web key.
pub(super) fn scalar(draw: &mut Draw) -> String {
    random(BASE64_URL, 43, draw)
}

/// Makes a stand-in: what a person writes for a credential to be filled in, or for its location.
pub(super) fn none(words: &[String], draw: &mut Draw) -> String {
    let word = word(words, draw);
    match draw.below(8) {
        0 => format!("${{{}}}", word.to_ascii_uppercase()),
        1 => format!("<{word}>"),
        2 => format!("your-{word}-here"),
        3 => format!("{{{{ {word} }}}}"),
        4 => "changeme".to_owned(),
        5 => "********".to_owned(),
        6 => format!("vault:secret/data/{word}"),
        _ => format!("$({word})"),
    }
}

pub(super) fn word(words: &[String], draw: &mut Draw) -> String {
    words.get(draw.below(words.len())).cloned().unwrap_or_else(|| "server".to_owned())
}
