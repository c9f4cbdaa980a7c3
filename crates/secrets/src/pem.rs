//! Private keys in PEM armour, and what else comes in such blocks.

use crate::place::{Found, Place};
use crate::value::is_made_up;
use crate::words::entropy;

/// How far behind its first line a key's body is looked for.
const BODY: usize = 12_000;
/// The fewest characters of a body; the shortest real one, an Ed25519 key, has 64.
const LEAST: usize = 60;

/// Reads a private key; the keyword is `-----begin `. Headers without a body, and public keys, are none.
pub(crate) fn private_key(place: &Place<'_>) -> Option<Found> {
    let text = place.text;
    let rest = &text[place.keyword_end..text.len().min(place.keyword_end + 60)];
    let label_end = rest.windows(5).position(|part| part == b"-----")?;
    let label = &rest[..label_end];
    if !(label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK"))
        || !label.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b' ' | b'0'..=b'9'))
    {
        return None;
    }
    let body_at = place.keyword_end + label_end + 5;
    let window = &text[body_at..text.len().min(body_at + BODY)];
    let end = window.windows(5).position(|part| part == b"-----").unwrap_or(window.len());
    let body = base64_of(&window[..end]);
    let is_key = body.len() >= LEAST && entropy(&body) >= 4.2 && !is_made_up(&body[..body.len().min(64)]);
    let close = if end == window.len() { end } else { (end + 5 + label_end + 9).min(window.len()) };
    is_key.then(|| Found { range: place.at..body_at + close })
}

/// Gives the base64 characters of a body; headers inside (`Proc-Type: …`), quotes, line ends and `\n` are left out.
fn base64_of(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body).replace("\\r", "").replace("\\n", "\n");
    let mut out = Vec::new();
    for line in text.lines() {
        let line = line.trim_matches(|c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | '+' | ',' | '\\' | '#' | '*' | '/' | '.' | ';' | '(')
        });
        if line.len() >= 16
            && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
        {
            out.extend_from_slice(line.as_bytes());
        }
    }
    out
}
