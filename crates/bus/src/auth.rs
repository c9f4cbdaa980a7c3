//! The auth envelope of message files: a signature with the root's key authorises actions.
//!
//! [`Keys`] is the root's key ring, a 0600 file. [`sign`] makes an [`Envelope`], [`verify`] checks one against a key,
//! the time and the nonces that were used before. `hmac-sha256-v1` is the signature of earlier tools of this file
//! protocol, byte for byte, and covers seven fields; `hmac-sha256-v2` covers every field of the message.

mod canonical;
mod envelope;
mod keyring;

pub use envelope::{Envelope, Fields, Proof, V1, V2, payload_hash, sign, verify};
pub use keyring::{Key, Keys};
