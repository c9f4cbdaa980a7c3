//! Signed statements about what happened: DSSE envelopes, Merkle heads, verification.
//!
//! A [`Statement`] is a claim about subjects. [`sign`] puts it into an [`Envelope`] with the key of the user's
//! keys folder ([`Key`]); [`verify`] takes it out again and needs only the public key. A [`SignedHead`] is such a
//! statement about the whole event log: [`HeadCheck`] checks the log's hashes against it.

mod envelope;
mod error;
mod head;
mod key;
mod merkle;
mod statement;

pub use envelope::{Envelope, MAX_PAYLOAD_BYTES, PAYLOAD_TYPE, Signature, sign, verify};
pub use error::Error;
pub use head::{HEAD_TYPE, HeadCheck, SignedHead, Verdict, sign_head, verify_head};
pub use key::{Key, KeyId, PublicKey};
pub use merkle::Frontier;
pub use statement::{STATEMENT_TYPE, Statement, Subject};
