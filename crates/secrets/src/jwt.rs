//! JSON web tokens: three parts in base64, of which the first two are JSON.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::candidate::Strength;
use crate::context::{Context, Found};
use crate::words::entropy;

/// Maximum length of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 8_000;
/// Texts in the well-known sample token of jwt.io and its copies.
const SAMPLE_TEXTS: &[&str] = &["john doe", "jane doe", "1234567890", "example.com", "example.org"];

/// Reads a signed token; the keyword is `eyj`.
pub(crate) fn token(place: &Context<'_>) -> Option<Found> {
    if !place.begins_word() || !place.text[place.at..].starts_with(b"eyJ") {
        return None;
    }
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let length = place.text[place.at..].iter().take(MAX_TOKEN_BYTES).take_while(is_part).count();
    let token =
        place.text[place.at..place.at + length].strip_suffix(b".").unwrap_or(&place.text[place.at..place.at + length]);
    let parts: Vec<&[u8]> = token.split(|byte| *byte == b'.').collect();
    let [header, claims, signature] = parts[..] else {
        return None;
    };
    let header: serde_json::Value = json(header)?;
    let claims: serde_json::Value = json(claims)?;
    let is_signed = header.get("alg").and_then(|alg| alg.as_str()).is_some_and(|alg| !alg.eq_ignore_ascii_case("none"));
    let is_real = claims.is_object() && signature.len() >= 20 && entropy(signature) >= 3.5;
    let text = claims.to_string().to_ascii_lowercase();
    let is_shown =
        place.kind.is_for_show() && SAMPLE_TEXTS.iter().any(|name| text.contains(name)) || text.contains("john doe");
    let strength = if place.kind.is_for_show() { Strength::Fair } else { Strength::Strong };
    (is_signed && is_real && !is_shown).then(|| Found::new(place.at..place.at + token.len(), strength))
}

fn json(part: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}
