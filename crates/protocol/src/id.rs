//! Identifiers: one macro defines their types, each with a readable prefix and the same rule for valid text.

use std::fmt::{self, Display};

use serde::Deserializer;
use serde::de::Visitor;

/// Address of the coordinator. No agent may have this name.
pub const COORDINATOR: &str = "coordinator";

/// Maximum length of an id or name, in bytes; every id becomes a file name somewhere, so it must stay short.
pub const MAX_ID_BYTES: usize = 64;

/// Reason why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty.
    #[error("an empty text is not a valid {}", words(.0))]
    Empty(&'static str),
    /// The text is longer than [`MAX_ID_BYTES`].
    #[error("{} has at most 64 bytes", one(.0))]
    TooLong(&'static str),
    /// The text has a character that is unsafe in file names or ambiguous in a command line.
    #[error("{} may hold letters, digits, '-', '_', '.' and spaces inside, not {found:?}", one(.what))]
    BadCharacter {
        /// The kind of id.
        what: &'static str,
        /// The offending character.
        found: char,
    },
    /// The text is `.` or `..`, has a leading `-` or `.`, or a space at an end.
    #[error("{} must begin and end with a letter, a digit or '_'", one(.0))]
    BadEnds(&'static str),
}

/// Checks the rule that all ids share: safe as a file name on every system, and never an option or a path.
///
/// # Errors
/// The rule that the text breaks.
pub fn check(what: &'static str, text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty(what));
    }
    if text.len() > MAX_ID_BYTES {
        return Err(IdError::TooLong(what));
    }
    // Most ids are such that their characters need not be looked at again.
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(());
    }
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    if let Some(found) = text.chars().find(|c| !allowed(*c)) {
        return Err(IdError::BadCharacter { what, found });
    }
    let end = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if !end(text.chars().next()) || !end(text.chars().next_back()) || text.contains("..") {
        return Err(IdError::BadEnds(what));
    }
    Ok(())
}

/// Returns a kind of id in words: "AgentName" is "agent name".
fn words(what: &str) -> String {
    let mut words = String::new();
    for c in what.chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

/// Returns a kind of id in words, with its article.
fn one(what: &str) -> String {
    let words = words(what);
    let article = if words.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {words}")
}

/// Declares an id type: `id!(RunId, "run", "One execution of a plan.")`.
#[macro_export]
macro_rules! id {
    ($name:ident, $prefix:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, schemars::JsonSchema)]
        #[schemars(with = "String")]
        pub struct $name(std::sync::Arc<str>);

        $crate::text_serde!($name);

        impl $name {
            /// Readable prefix of this kind of id; empty for names that people choose.
            pub const PREFIX: &'static str = $prefix;

            /// Makes an id from a text that follows the rule of [`check`]($crate::id::check).
            ///
            /// # Errors
            /// The rule that the text breaks.
            pub fn new(text: impl Into<String>) -> Result<Self, $crate::id::IdError> {
                Self::parse(&text.into())
            }

            fn parse(text: &str) -> Result<Self, $crate::id::IdError> {
                $crate::id::check(stringify!($name), text)?;
                Ok(Self(text.into()))
            }

            /// Makes an id from 64 random bits of the caller: `run_7f3a90c1d2e4b5a6`.
            #[must_use]
            pub fn from_bits(bits: u64) -> Self {
                if Self::PREFIX.is_empty() {
                    return Self(format!("{bits:016x}").into());
                }
                Self(format!("{}_{bits:016x}", Self::PREFIX).into())
            }

            /// Returns the id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::id::IdError;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.to_string()
            }
        }
    };
}

/// Implements `Serialize` and `Deserialize` for a type that is one text, with its `as_str` and `parse`: without the copy
/// that `#[serde(into = "String")]` makes of each value.
#[macro_export]
macro_rules! text_serde {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::id::deserialize_text(deserializer, Self::parse)
            }
        }
    };
}

/// Reads a text and makes a value of it.
///
/// # Errors
/// If it is no text, or the reason why `parse` refuses it.
pub fn deserialize_text<'de, D: Deserializer<'de>, T, E: Display>(
    deserializer: D,
    parse: fn(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    struct Text<T, E>(fn(&str) -> Result<T, E>);

    impl<T, E: Display> Visitor<'_> for Text<T, E> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<F: serde::de::Error>(self, text: &str) -> Result<T, F> {
            (self.0)(text).map_err(F::custom)
        }
    }

    deserializer.deserialize_str(Text(parse))
}

id!(AgentName, "", "The name of an agent or a person; `Coder` and `coder` are the same agent.");
id!(MessageId, "msg", "One message.");
id!(RunId, "run", "One execution of a plan, a unit of it, or an inline job.");
id!(WorkerId, "wrk", "One agent process in one run, under its shim.");
id!(NeedId, "need", "One question to a person.");

impl AgentName {
    /// Returns the name of the [`COORDINATOR`].
    #[must_use]
    pub fn coordinator() -> Self {
        Self(COORDINATOR.into())
    }

    /// Returns the form in which names are compared: lower case, runs of spaces and `_` as one `-`.
    #[must_use]
    pub fn folded(&self) -> String {
        fold(self.as_str())
    }
}

/// Folds a name so that spellings that differ in case, spaces or `_` are equal (`Coder 1` and `coder_1`).
#[must_use]
pub fn fold(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.trim().chars() {
        if c.is_whitespace() || c == '_' || c == '-' {
            if !out.ends_with('-') {
                out.push('-');
            }
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out
}

/// A SHA-256 digest, shown as `sha256:…` in 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Digest before the first event of a chain.
    pub const ZERO: Self = Self([0; 32]);

    /// Hashes parts with each part's length before it, so that no two lists of parts collide.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        use sha2::Digest as _;
        let mut hasher = sha2::Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Hashes bytes as they are: the plain SHA-256 that other tools print.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Returns the 64 hex digits without the prefix.
    #[must_use]
    pub fn hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |half: u8| DIGITS[usize::from(half)];
        let mut text = vec![0; 2 * self.0.len()];
        for (digits, byte) in text.chunks_exact_mut(2).zip(self.0) {
            (digits[0], digits[1]) = (digit(byte >> 4), digit(byte & 15));
        }
        String::from_utf8(text).expect("hex digits are ASCII")
    }

    /// Reads 64 hex digits, with or without the `sha256:` prefix.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        if hex.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            *byte = (value(digits[0])? << 4) | value(digits[1])?;
        }
        Some(Self(bytes))
    }
}

/// Returns the value of a hex digit.
const fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}…", &self.hex()[..12])
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("sha256:{}", self.hex()))
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("expected sha256: and 64 hex digits"))
    }
}

#[cfg(feature = "schemas")]
impl schemars::JsonSchema for Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_names_that_could_be_paths_or_options() {
        for bad in ["", "..", "a/b", "a\\b", "-x", ".hidden", "a..b", "nul\0", " a", "a ", &"x".repeat(65)] {
            assert!(AgentName::new(bad).is_err(), "{bad:?}");
        }
        for good in ["coder", "Coder 1", "claude-3.5", "ü_agent", "1.2"] {
            assert!(AgentName::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_kind_of_id_in_words() {
        let told = |bad: &str| AgentName::new(bad).unwrap_err().to_string();

        assert_eq!(told(""), "an empty text is not a valid agent name");
        assert!(told("a/b").starts_with("an agent name may hold letters"), "{}", told("a/b"));
        assert!(told("-x").starts_with("an agent name must begin"), "{}", told("-x"));
        assert_eq!(told(&"x".repeat(65)), "an agent name has at most 64 bytes");
        assert!(RunId::new("a/b").unwrap_err().to_string().starts_with("a run id may hold"));
    }

    #[test]
    fn the_coordinator_has_a_name_that_others_could_have() {
        assert_eq!(AgentName::new(COORDINATOR).ok(), Some(AgentName::coordinator()));
    }

    #[test]
    fn spellings_of_one_name_meet() {
        assert_eq!(fold("Coder 1"), fold("coder__1"));
        assert_eq!(fold("Coder-1"), "coder-1");
    }

    #[test]
    fn digests_survive_a_round_trip_and_parts_do_not_collide() {
        let digest = Digest::of_parts(&[b"ab", b"c"]);

        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_ne!(digest, Digest::of_parts(&[b"a", b"bc"]));
        assert_eq!(Digest::parse("sha256:zz"), None);
        assert_eq!(Digest::parse(&digest.hex().to_uppercase()), Some(digest));
        for bad in ["+f", "g0", "0:", "é"] {
            assert_eq!(Digest::parse(&format!("{bad}{}", &digest.hex()[bad.len()..])), None, "{bad}");
        }
    }
}
