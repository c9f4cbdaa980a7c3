//! Bytes that an envelope's signature covers.

use serde_json::{Map, Value};

use super::envelope::Fields;

/// First part of the bytes covered by a second-version signature, so that it can't be taken for a signature of anything
/// else.
const DOMAIN: &[u8] = b"switchboard message hmac-sha256-v2";

/// Largest whole number that every JSON reader keeps exact.
const MAX_SAFE: u64 = 1 << 53;

/// Maximum nesting depth of a signed value.
const MAX_DEPTH: usize = 32;

/// Returns the bytes of the first version: seven fields and the payload's hash, joined by `|`, an empty text for a
/// missing one.
pub(super) fn v1(message: &Fields, nonce: &str, payload_hash: &str) -> Vec<u8> {
    let field = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
    let fields = [
        super::V1,
        field("id"),
        field("action"),
        field("sender"),
        field("recipient"),
        field("createdAt"),
        nonce,
        payload_hash,
    ];
    fields.join("|").into_bytes()
}

/// Returns the bytes of the second version: parts, each preceded by its length (8 bytes, little endian). The parts are
/// the domain, the key's id, the nonce, and for every field but `auth`, ordered by the bytes of its name, the name and
/// the value as canonical JSON.
pub(super) fn v2(message: &Fields, key: &str, nonce: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for part in [DOMAIN, key.as_bytes(), nonce.as_bytes()] {
        push(&mut out, part);
    }
    for (name, value) in sorted(message) {
        if name == "auth" {
            continue;
        }
        let mut text = String::new();
        write(&mut text, value, MAX_DEPTH)?;
        push(&mut out, name.as_bytes());
        push(&mut out, text.as_bytes());
    }
    Some(out)
}

fn push(out: &mut Vec<u8>, part: &[u8]) {
    out.extend((part.len() as u64).to_le_bytes());
    out.extend(part);
}

fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = map.iter().collect();
    fields.sort_by_key(|(name, _)| name.as_bytes());
    fields
}

/// Writes compact JSON with sorted fields; `None` if it contains a number that parsers read differently.
fn write(out: &mut String, value: &Value, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs))?;
            (size <= MAX_SAFE).then(|| out.push_str(&value.to_string()))?;
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                write(out, item, depth)?;
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (name, value)) in sorted(fields).into_iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(out, value, depth)?;
            }
            out.push('}');
        }
    }
    Some(())
}
