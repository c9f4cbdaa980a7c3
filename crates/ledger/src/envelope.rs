//! DSSE envelopes (Dead Simple Signing Envelope, version 1): the signature covers the payload's type and its bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::key::KeyId;
use crate::{Error, Key, PublicKey, Statement};

/// Payload type of in-toto statements.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// Maximum size of a decoded payload, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// Maximum number of signatures that are checked.
const MAX_SIGNATURES: usize = 16;

/// Signed payload: `{payloadType, payload, signatures: [{keyid, sig}]}`, bytes in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    /// Type of the payload.
    pub payload_type: String,
    /// Payload in base64.
    pub payload: String,
    /// Signatures of the payload.
    pub signatures: Vec<Signature>,
}

/// Signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Id of the key.
    pub keyid: KeyId,
    /// 64 bytes of the signature in base64.
    pub sig: String,
}

/// Signs a statement.
///
/// # Errors
/// [`Error::Malformed`] if the predicate doesn't serialise or exceeds [`MAX_PAYLOAD_BYTES`].
pub fn sign<P: Serialize>(key: &Key, statement: &Statement<P>) -> Result<Envelope, Error> {
    let payload = serde_json::to_vec(statement).map_err(|error| Error::Malformed(error.to_string()))?;
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(Error::Malformed(format!("a payload of {} bytes is too large", payload.len())));
    }
    let sig = STANDARD.encode(key.sign(&pae(PAYLOAD_TYPE, &payload)));
    Ok(Envelope {
        payload_type: PAYLOAD_TYPE.to_owned(),
        payload: STANDARD.encode(&payload),
        signatures: vec![Signature { keyid: key.public().id(), sig }],
    })
}

/// Verifies that this key signed an envelope, and only then parses the statement in it.
///
/// # Errors
/// [`Error::OtherKey`], [`Error::BadSignature`], [`Error::Malformed`].
pub fn verify<P: DeserializeOwned>(envelope: &Envelope, key: &PublicKey) -> Result<Statement<P>, Error> {
    if envelope.payload.len() > MAX_PAYLOAD_BYTES * 4 / 3 + 4 || envelope.signatures.len() > MAX_SIGNATURES {
        return Err(Error::Malformed("it is too large".to_owned()));
    }
    let id = key.id();
    let decode = |what: &str, text: &str| {
        STANDARD.decode(text).map_err(|error| Error::Malformed(format!("{what} is not base64: {error}")))
    };
    let mine = envelope.signatures.iter().find(|signature| signature.keyid == id);
    let mine = mine.ok_or_else(|| Error::OtherKey(id.to_string()))?;
    let signature = <[u8; 64]>::try_from(decode("the signature", &mine.sig)?).map_err(|_| Error::BadSignature)?;
    let payload = decode("the payload", &envelope.payload)?;
    if !key.fits(&pae(&envelope.payload_type, &payload), &signature) {
        return Err(Error::BadSignature);
    }
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(Error::Malformed(format!("{:?} is not a statement", envelope.payload_type)));
    }
    let statement: Statement<P> =
        serde_json::from_slice(&payload).map_err(|error| Error::Malformed(error.to_string()))?;
    statement.check()?;
    Ok(statement)
}

/// Returns the pre-authentication encoding: `DSSEv1 LEN TYPE LEN PAYLOAD`, lengths in ASCII decimals.
fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn signed() -> (Key, Envelope) {
        let key = Key::from_seed(&[3; 32]);
        let statement = Statement::new("https://example.test/predicate/v1", json!({"verdict": "pass"}))
            .about("tree", switchboard_protocol::id::Digest::of(b"tree"));
        let envelope = sign(&key, &statement).unwrap();
        (key, envelope)
    }

    #[test]
    fn encodes_as_the_specification_does() {
        assert_eq!(pae("http://example.com/HelloWorld", b"hello world"), {
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world".to_vec()
        });
    }

    #[test]
    fn a_statement_comes_out_as_it_went_in() {
        let (key, envelope) = signed();
        let json = serde_json::to_string(&envelope).unwrap();

        let read: Envelope = serde_json::from_str(&json).unwrap();
        let statement: Statement<Value> = verify(&read, &key.public()).unwrap();

        assert_eq!(statement.predicate, json!({"verdict": "pass"}));
        assert!(json.starts_with(r#"{"payloadType":"application/vnd.in-toto+json","payload":""#), "{json}");
    }

    #[test]
    fn another_key_is_named_and_refused() {
        let (_, envelope) = signed();

        let refused = verify::<Value>(&envelope, &Key::from_seed(&[4; 32]).public()).unwrap_err();

        assert!(matches!(refused, Error::OtherKey(_)));
    }

    #[test]
    fn a_key_id_alone_proves_nothing() {
        let (_, mut envelope) = signed();
        let other = Key::from_seed(&[4; 32]);
        envelope.signatures[0].keyid = other.public().id();

        assert!(matches!(verify::<Value>(&envelope, &other.public()), Err(Error::BadSignature)));
    }

    #[test]
    fn a_signature_of_another_payload_type_is_refused() {
        let (key, mut envelope) = signed();
        envelope.payload_type = "text/plain".to_owned();

        assert!(matches!(verify::<Value>(&envelope, &key.public()), Err(Error::BadSignature)));
    }

    #[test]
    fn every_flipped_bit_of_payload_and_signature_is_found() {
        let (key, envelope) = signed();
        let flips = |text: &str| {
            let bytes = text.as_bytes().to_vec();
            (0..bytes.len() * 8).filter_map(move |bit| {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                String::from_utf8(flipped).ok()
            })
        };

        for payload in flips(&envelope.payload) {
            let flipped = Envelope { payload, ..envelope.clone() };
            assert!(verify::<Value>(&flipped, &key.public()).is_err(), "{}", flipped.payload);
        }
        for sig in flips(&envelope.signatures[0].sig) {
            let mut flipped = envelope.clone();
            flipped.signatures[0].sig = sig;
            assert!(verify::<Value>(&flipped, &key.public()).is_err());
        }
    }
}
