//! Signing keys of the root: a file that only the user can read. A desktop's secret store would be no safer against
//! programs of the same user, and servers and containers have none.

use std::fmt;
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use switchboard_process::file::{self, Mode, Sync};
use switchboard_protocol::error::Failure;
use switchboard_protocol::time::Millis;

/// Minimum length of a secret, in bytes.
const MIN_SECRET_BYTES: usize = 32;

/// Maximum number of keys kept; the oldest are removed first.
const MAX_KEYS: usize = 16;

/// Maximum size of the key file, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// Signing key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Public id of the key, which envelopes carry.
    pub id: String,
    /// Secret; the bytes of its text are the key of the HMAC.
    secret: String,
    /// Time at which the key was made.
    pub made_at: Millis,
    /// Time at which another key replaced it: later signatures are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<Millis>,
}

/// All keys of a root, the newest last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    keys: Vec<Key>,
}

// === impl Key ===

impl Key {
    /// Creates a key from a given secret.
    ///
    /// # Errors
    /// `config.bad-value` if it has fewer than 32 bytes.
    pub fn new(id: impl Into<String>, secret: impl Into<String>, made_at: Millis) -> Result<Self, Failure> {
        let (id, secret) = (id.into(), secret.into());
        if secret.len() < MIN_SECRET_BYTES {
            let what = format!("a signing key has at least {MIN_SECRET_BYTES} bytes");
            return Err(Failure::new("config.bad-value", what));
        }
        Ok(Self { id, secret, made_at, retired_at: None })
    }

    fn fresh(now: Millis) -> Result<Self, Failure> {
        let mut bytes = [0_u8; 40];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::new("internal.bug", format!("no random numbers: {error}")))?;
        let (secret, id) = bytes.split_at(32);
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self::new(format!("key_{}", hex(id)), hex(secret), now)
    }

    pub(super) fn secret(&self) -> &[u8] {
        self.secret.as_bytes()
    }
}

impl fmt::Debug for Key {
    /// Formats the key without its secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).field("retired_at", &self.retired_at).finish_non_exhaustive()
    }
}

// === impl Keys ===

impl Keys {
    /// Creates a ring of one key.
    #[must_use]
    pub fn of(key: Key) -> Self {
        Self { keys: vec![key] }
    }

    /// Reads the file; an empty ring if there is none.
    ///
    /// # Errors
    /// `io.denied` if it can't be read, or if other users can read it; `config.syntax` if it does not parse.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        let denied = |error: &std::io::Error| {
            Failure::new("io.denied", "the signing keys can't be read").at(path.display().to_string()).because(error)
        };
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(denied(&error)),
        };
        if !found.is_file() || found.mode() & 0o077 != 0 || found.len() > MAX_FILE_BYTES {
            let failure = Failure::new("io.denied", "the signing keys are no plain file that only you can read");
            return Err(failure.at(path.display().to_string()).hint("chmod 600, or remove it to begin with a new key"));
        }
        let bytes = fs::read(path).map_err(|error| denied(&error))?;
        let keys: Self = serde_json::from_slice(&bytes).map_err(|_| {
            // The parser's message could quote part of a key.
            let failure = Failure::new("config.syntax", "the file of signing keys does not parse");
            failure.at(path.display().to_string()).hint("remove it to begin with a new key")
        })?;
        Ok(Self { keys: keys.keys.into_iter().filter(|key| key.secret.len() >= MIN_SECRET_BYTES).collect() })
    }

    /// Reads the file, or creates it with a new key if there is none. Programs that do so at the same time get the same
    /// key.
    ///
    /// # Errors
    /// Those of [`load`](Self::load), or that it can't be written.
    pub fn ensure(path: &Path, now: Millis) -> Result<Self, Failure> {
        let keys = Self::load(path)?;
        if keys.current().is_some() {
            return Ok(keys);
        }
        if !keys.keys.is_empty() {
            return keys.rotated(path, now);
        }
        let made = Self::of(Key::fresh(now)?);
        if made.write(path, |text| file::create(path, text))? {
            return Ok(made);
        }
        let others = Self::load(path)?;
        if others.current().is_some() { Ok(others) } else { others.rotated(path, now) }
    }

    /// Makes a new key the current one. Signatures that older keys made before now stay valid.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn rotated(mut self, path: &Path, now: Millis) -> Result<Self, Failure> {
        for key in &mut self.keys {
            key.retired_at.get_or_insert(now);
        }
        self.keys.push(Key::fresh(now)?);
        let surplus = self.keys.len().saturating_sub(MAX_KEYS);
        self.keys.drain(..surplus);
        self.save(path)?;
        Ok(self)
    }

    /// Removes every key but the current one: their signatures are no longer valid.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn without_old(mut self, path: &Path) -> Result<Self, Failure> {
        self.keys.retain(|key| key.retired_at.is_none());
        self.save(path)?;
        Ok(self)
    }

    /// Returns the key that signs.
    #[must_use]
    pub fn current(&self) -> Option<&Key> {
        self.keys.iter().rev().find(|key| key.retired_at.is_none())
    }

    /// Returns the keys that may have made a signature: the named one, or all if none is named.
    pub(super) fn candidates<'a>(&'a self, id: Option<&'a str>) -> impl Iterator<Item = &'a Key> {
        self.keys.iter().rev().filter(move |key| id.is_none_or(|id| id == key.id))
    }

    fn save(&self, path: &Path) -> Result<(), Failure> {
        self.write(path, |text| file::replace(path, text, Mode::Private, Sync::Yes))
    }

    fn write<T>(&self, path: &Path, put: impl Fn(&[u8]) -> std::io::Result<T>) -> Result<T, Failure> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| Failure::new("internal.bug", error.to_string()))?;
        let write = || -> std::io::Result<T> {
            if let Some(folder) = path.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            put(&text)
        };
        write().map_err(|error| {
            let failure = Failure::new("io.denied", "the signing keys can't be written");
            failure.at(path.display().to_string()).because(&error)
        })
    }
}
