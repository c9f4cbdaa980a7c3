//! Private keys introduced by a line of words: those of PuTTY, minisign, signify and GnuPG's agent.

use base64::Engine as _;

use super::lock::Lock;
use crate::context::{Context, Found};
use crate::encoded::LENIENT_STANDARD;

/// Number of bytes in which the lines of a key are searched.
const WINDOW: usize = 8_000;

/// Reads PuTTY's format; the keyword is `putty-user-key-file-`. Source: appendix C of PuTTY's manual.
pub(crate) fn putty(place: &Context<'_>) -> Option<Found> {
    let window = &place.text[place.at..place.text.len().min(place.at + WINDOW)];
    let text = String::from_utf8_lossy(window).replace("\\r", "").replace("\\n", "\n");
    let value = |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    let encryption = value("Encryption:")?;
    let has_body = value("Private-Lines:")?.trim_matches('"').parse::<usize>().is_ok_and(|lines| lines > 0);
    let end = window.windows(12).position(|part| part == b"Private-MAC:").unwrap_or(window.len());
    let lock = if encryption == "none" { Lock::Open } else { Lock::Passphrase };
    has_body.then(|| lock.found(place.at..place.at + end))
}

/// Reads the key of minisign or signify, on the line below its comment; the keyword is `untrusted comment:`.
/// Source: jedisct1.github.io/minisign and signify(1): the algorithm, the key derivation, a checksum's name, the rest.
pub(crate) fn signer(place: &Context<'_>) -> Option<Found> {
    let window = &place.text[place.at..place.text.len().min(place.at + 1_000)];
    let line = window.iter().position(|byte| *byte == b'\n')? + 1;
    let length = window[line..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    let bytes = LENIENT_STANDARD.decode(&window[line..line + length]).ok()?;
    let range = place.at + line..place.at + line + length;
    // A public key has 42 bytes, a signature 74, a secret key 104 (signify) or 158 (minisign).
    let lock = match (bytes.get(..4)?, bytes.len()) {
        ([b'E', b'd', 0, 0], 158) => Lock::Open,
        ([b'E', b'd', b'S', b'c'], 158) => Lock::Passphrase,
        ([b'E', b'd', b'B', b'K'], 104) if bytes[4..8] == [0; 4] => Lock::Open,
        ([b'E', b'd', b'B', b'K'], 104) => Lock::Passphrase,
        _ => return None,
    };
    Some(lock.found(range))
}

/// Keywords of [`agent`].
pub(crate) const AGENT: &[&str] =
    &["key: (private-key", "key: (protected-private-key", "(11:private-key", "(21:protected-private-key"];

/// Reads a key of GnuPG's agent, which stores each in a file; the keyword is the beginning of its expression.
pub(crate) fn agent(place: &Context<'_>) -> Option<Found> {
    let keyword = &place.text[place.at..place.keyword_end];
    let rest = &place.text[place.keyword_end..place.text.len().min(place.keyword_end + WINDOW)];
    let is_key =
        matches!(rest.first(), Some(b' ' | b'\n' | b'\r' | b'(')) && memchr::memmem::find(rest, b"(").is_some();
    let is_locked = keyword.to_ascii_lowercase().windows(9).any(|part| part == b"protected");
    let lock = if is_locked { Lock::Passphrase } else { Lock::Open };
    let end = place.text.len().min(place.keyword_end + 200);
    is_key.then(|| lock.found(place.at..end))
}
