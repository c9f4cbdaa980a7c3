//! Makes and checks envelopes.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::Sha256;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;
use switchboard_protocol::secret;
use switchboard_protocol::time::Millis;

use super::{Key, Keys, canonical};

/// Older version: covers id, action, sender, recipient, time, nonce and payload.
pub const V1: &str = "hmac-sha256-v1";
/// Current version: covers every field.
pub const V2: &str = "hmac-sha256-v2";

/// Maximum age of a signed `execute`, in milliseconds: long enough to write and pick up a file, short enough that a
/// found file is useless.
const EXECUTE_AGE_MS: i64 = 5 * 60_000;
/// Maximum age of any other signed message, in milliseconds: the default of a dispatch file, 480 minutes.
const AGE_MS: i64 = 480 * 60_000;
/// Maximum by which the signer's clock may be ahead, in milliseconds.
const SKEW_MS: i64 = 30_000;
/// Maximum length of a nonce, in bytes; a UUID has 36.
const MAX_NONCE_BYTES: usize = 64;

/// Fields of a message file.
pub type Fields = Map<String, Value>;

/// Content of the `auth` field of a message file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// Version: [`V1`] or [`V2`].
    pub version: String,
    /// Nonce, used once: a UUID.
    pub nonce: String,
    /// SHA-256 of the payload, in hex.
    pub payload_hash: String,
    /// HMAC-SHA-256 of the covered bytes, in hex.
    pub signature: String,
    /// Id of the signing key; not in the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
}

/// Facts proven by a valid envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Id of the signing key.
    pub key_id: String,
    /// Half a digest of the nonce, which must not be used again.
    pub nonce: String,
    /// When the envelope expires; the nonce may be forgotten afterwards.
    pub until: Millis,
    /// True if the signature covers every field.
    pub is_whole: bool,
}

/// Returns the SHA-256 of a payload, in hex.
#[must_use]
pub fn payload_hash(payload: &str) -> String {
    Digest::of(payload.as_bytes()).hex()
}

/// Signs a message with the second version.
///
/// # Errors
/// `auth.bad-signature` if the message contains a number on which JSON readers disagree.
pub fn sign(message: &Fields, key: &Key, nonce: &str) -> Result<Envelope, Failure> {
    let bytes = canonical::v2(message, &key.id, nonce).ok_or_else(unsignable)?;
    let signature = mac(key, &bytes).finalize().into_bytes();
    Ok(Envelope {
        version: V2.to_owned(),
        nonce: nonce.to_owned(),
        payload_hash: payload_hash(text(message, "payload")),
        signature: Digest(signature.into()).hex(),
        key_id: Some(key.id.clone()),
    })
}

/// Checks an envelope: its form, the payload's hash, the signature, the key's life, the age. The caller checks whether
/// the nonce was used before, with a guard of its commit.
///
/// # Errors
/// `auth.bad-signature`, or `auth.stale` when it is too old or from the future.
pub fn verify(message: &Fields, envelope: &Envelope, keys: &Keys, now: Millis) -> Result<Proof, Failure> {
    let is_whole = match envelope.version.as_str() {
        V1 => false,
        V2 => true,
        _ => return Err(bad("its version is not known")),
    };
    check_form(envelope)?;
    if !secret::is_same(
        payload_hash(text(message, "payload")).as_bytes(),
        envelope.payload_hash.to_ascii_lowercase().as_bytes(),
    ) {
        return Err(bad("the payload is not the one that was signed"));
    }
    let signature = Digest::parse(&envelope.signature).ok_or_else(|| bad("its signature is not 64 hex digits"))?;
    let signed_by = |key: &&Key| {
        let bytes = if is_whole {
            canonical::v2(message, &key.id, &envelope.nonce)
        } else {
            Some(canonical::v1(message, &envelope.nonce, &envelope.payload_hash))
        };
        bytes.is_some_and(|bytes| mac(key, &bytes).verify_slice(&signature.0).is_ok())
    };
    let Some(key) = keys.candidates(envelope.key_id.as_deref()).find(signed_by) else {
        return Err(bad("no key of this repository has signed it"));
    };
    let until = check_age(message, key, now)?;
    let nonce = Digest::of(envelope.nonce.as_bytes()).hex()[..32].to_owned();
    Ok(Proof { key_id: key.id.clone(), nonce, until, is_whole })
}

fn check_form(envelope: &Envelope) -> Result<(), Failure> {
    let nonce = envelope.nonce.as_bytes();
    let is_plain = nonce.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    if nonce.len() < 16 || nonce.len() > MAX_NONCE_BYTES || !is_plain {
        return Err(bad("its nonce is not a UUID"));
    }
    Ok(())
}

/// Checks the time of signing; returns when the envelope expires.
fn check_age(message: &Fields, key: &Key, now: Millis) -> Result<Millis, Failure> {
    let at = Millis::parse(text(message, "createdAt")).ok_or_else(|| stale("it does not say when it was signed"))?;
    if at.since(now) > SKEW_MS {
        return Err(stale("it was signed in the future"));
    }
    let age = if text(message, "action") == "execute" { EXECUTE_AGE_MS } else { AGE_MS };
    if now.since(at) > age {
        return Err(stale(&format!("it was signed more than {} minutes ago", age / 60_000)));
    }
    if key.retired_at.is_some_and(|retired| at > retired) {
        return Err(bad("it was signed with a key after another took its place"));
    }
    Ok(at.plus(age).plus(SKEW_MS))
}

fn mac(key: &Key, bytes: &[u8]) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(key.secret()).expect("HMAC takes keys of any length");
    mac.chain_update(bytes)
}

fn text<'a>(message: &'a Fields, name: &str) -> &'a str {
    message.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn bad(why: &str) -> Failure {
    Failure::new("auth.bad-signature", format!("the envelope is not believed: {why}"))
}

fn stale(why: &str) -> Failure {
    Failure::new("auth.stale", format!("the envelope is not believed: {why}")).hint("sign the message again")
}

fn unsignable() -> Failure {
    Failure::new("auth.bad-signature", "the message holds a number that can't be signed")
        .hint("write fractions and numbers beyond 2^53 as text")
}
