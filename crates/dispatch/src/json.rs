//! Reads JSON from bytes.

use serde::de::{DeserializeOwned, Error};

/// Reads a value as `serde_json::from_slice` does, by way of text: a type that is read from texts and from bytes is compiled
/// for one reader.
///
/// # Errors
/// If the bytes are not UTF-8, or the text is no such value.
pub(crate) fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let text = std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}
