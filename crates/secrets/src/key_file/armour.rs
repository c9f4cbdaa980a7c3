//! Private keys in blocks of base64 between two lines of dashes.

use base64::Engine as _;

use super::lock::Lock;
use super::{der, openssh, pgp};
use crate::candidate::Strength;
use crate::context::{Context, Found};
use crate::encoded::LENIENT_STANDARD;
use crate::value::is_made_up;
use crate::words::entropy;

/// Maximum distance of a key's body from its first line, in bytes.
const BODY: usize = 12_000;
/// Minimum length of a body of unknown format; the shortest real one, an Ed25519 key, has 64 characters.
const MIN_BODY: usize = 60;
/// Minimum entropy of such a body in bits a character: 64 random characters of base64 have 5.0 to 5.5, words and
/// patterns 4 and less.
const BITS: f64 = 4.2;

/// Reads a private key; the keyword is `-----begin `. Ignores headers without a body, and public keys.
pub(crate) fn private_key(place: &Context<'_>) -> Option<Found> {
    let block = Block::at(place, b"-----")?;
    if block.label == b"AGE ENCRYPTED FILE" {
        let file = decoded(&block.body)?;
        // age keeps its own keys in a file that is encrypted with a passphrase.
        let is_identity = memchr::memmem::find(&file[..file.len().min(100)], b"-> scrypt ").is_some();
        return is_identity.then(|| Lock::Passphrase.found(block.range));
    }
    if !(block.label.ends_with(b"PRIVATE KEY") || block.label.ends_with(b"PRIVATE KEY BLOCK")) {
        return None;
    }
    let bytes = decoded(&block.body);
    let read = |read: fn(&[u8]) -> Option<Lock>| bytes.as_deref().and_then(read);
    if let Some(lock) = read(der::private_key).or_else(|| read(openssh::lock)).or_else(|| read(pgp::lock)) {
        return Some(lock.found(block.range));
    }
    // The body is cut off, encrypted as a whole, or made up.
    let tail = &block.body[block.body.len() / 2..];
    let is_key =
        block.body.len() >= MIN_BODY && entropy(&block.body) >= BITS && !is_made_up(&tail[..tail.len().min(64)]);
    let is_locked = block.label.starts_with(b"ENCRYPTED") || block.names_cipher;
    is_key.then(
        || if is_locked { Lock::Passphrase.found(block.range) } else { Found::new(block.range, Strength::Strong) },
    )
}

/// Reads a key of SSH Communications Security, whose header says "encrypted" in either case; the keyword is
/// `---- begin ssh2 `.
pub(crate) fn ssh2_key(place: &Context<'_>) -> Option<Found> {
    let block = Block::at(place, b" ----")?;
    let bytes = decoded(&block.body)?;
    openssh::ssh2_lock(&bytes).map(|lock| lock.found(block.range))
}

/// The text between the two lines.
struct Block<'a> {
    label: &'a [u8],
    /// Characters of base64.
    body: Vec<u8>,
    /// True if a header names the cipher (RFC 1421).
    names_cipher: bool,
    range: std::ops::Range<usize>,
}

// === impl Block ===

impl<'a> Block<'a> {
    fn at(place: &Context<'a>, dashes: &[u8]) -> Option<Self> {
        let text = place.text;
        let rest = &text[place.keyword_end..text.len().min(place.keyword_end + 60)];
        let label_end = rest.windows(dashes.len()).position(|part| part == dashes)?;
        let label = &rest[..label_end];
        if !label.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b' ' | b'0'..=b'9')) {
            return None;
        }
        let body_at = place.keyword_end + label_end + dashes.len();
        let window = &text[body_at..text.len().min(body_at + BODY)];
        let end = window.windows(4).position(|part| part == b"----").unwrap_or(window.len());
        let close = if end == window.len() { end } else { (end + dashes.len() + label_end + 9).min(window.len()) };
        let names_cipher = memchr::memmem::find(&window[..end], b"ENCRYPTED").is_some();
        Some(Self { label, body: base64_of(&window[..end]), names_cipher, range: place.at..body_at + close })
    }
}

/// Returns the base64 characters of a body, without headers inside (`Proc-Type: …`), the checksum of OpenPGP, quotes,
/// line ends and `\n`.
fn base64_of(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body).replace("\\r", "").replace("\\n", "\n");
    let mut out = Vec::new();
    let mut ends_header = false;
    for line in text.lines() {
        // A header that ends with `\` continues on the next line.
        let is_continued = std::mem::replace(&mut ends_header, line.trim_end().ends_with('\\') && line.contains(": "));
        // `"MIIE…" +` of a split string, `+ MIIE…` of a patch: `+` is also a character of base64.
        let line = line.trim();
        let line = line.strip_suffix('+').filter(|rest| rest.ends_with([' ', '"', '\''])).unwrap_or(line);
        let line = line.strip_prefix("+ ").or_else(|| line.strip_prefix("- ")).unwrap_or(line);
        let line = line.trim_matches(|c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '\\' | '#' | '*' | '.' | ';' | '(' | ')' | '|' | '>')
        });
        let is_base64 = line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
        // The checksum is on a line of its own and begins with `=`.
        if !is_continued && is_base64 && !line.starts_with('=') {
            out.extend_from_slice(line.as_bytes());
        }
    }
    out
}

fn decoded(body: &[u8]) -> Option<Vec<u8>> {
    LENIENT_STANDARD.decode(body).ok()
}
