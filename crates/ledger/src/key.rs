//! Signing key: made once, in a file that only its owner can read.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use switchboard_protocol::id::Digest;

use crate::Error;

/// Name of the private key's file: 32 bytes in base64 on one line.
const PRIVATE: &str = "ed25519.key";

/// Name of the public key's file, which may be shared: 32 bytes in base64 on one line.
const PUBLIC: &str = "ed25519.pub";

/// Maximum size of a key file, in bytes.
const MAX_FILE_BYTES: u64 = 256;

/// Id of a key: SHA-256 of the public key, in hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Private key. `Debug` does not print it.
pub struct Key(SigningKey);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.public().id()).finish()
    }
}

// === impl Key ===

impl Key {
    /// Reads the key of a folder, or creates it: the folder accessible only to its owner, the file with mode 0600 and
    /// written atomically. If two processes create it at once, both get the first one.
    ///
    /// # Errors
    /// [`Error::KeyFile`] if the file can be read by others, belongs to another user, is a link, or holds no key;
    /// [`Error::File`]; [`Error::Random`].
    pub fn load_or_create(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(PRIVATE);
        match load(&path) {
            Err(Error::File { source, .. }) if source.kind() == ErrorKind::NotFound => create(folder, &path),
            other => other,
        }
    }

    /// Creates a key from its 32 secret bytes.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// Returns the public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs bytes as they are; statements are signed with [`crate::sign`].
    pub(crate) fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }
}

/// Public key, which verifies signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

// === impl PublicKey ===

impl PublicKey {
    /// Creates a key from its 32 bytes.
    ///
    /// # Errors
    /// [`Error::PublicKey`] if they are not a point of the curve, or a weak one that matches signatures of any key.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, Error> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| Error::PublicKey)?;
        if key.is_weak() { Err(Error::PublicKey) } else { Ok(Self(key)) }
    }

    /// Parses the content of the public key's file.
    ///
    /// # Errors
    /// [`Error::PublicKey`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| Error::PublicKey)?;
        Self::from_bytes(&bytes.try_into().map_err(|_| Error::PublicKey)?)
    }

    /// Returns the id of the key.
    #[must_use]
    pub fn id(&self) -> KeyId {
        KeyId(Digest::of(self.0.as_bytes()).hex())
    }

    /// Returns true if a signature matches; only its one canonical form does.
    pub(crate) fn fits(&self, bytes: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(bytes, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
    }
}

impl fmt::Display for PublicKey {
    /// Writes one line of base64, as in the public key's file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0.as_bytes()))
    }
}

fn load(path: &Path) -> Result<Key, Error> {
    let failed = |source| Error::File { what: "could not read", path: path.to_owned(), source };
    let wrong = |what| Error::KeyFile { path: path.to_owned(), what };
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(wrong("is a link, not a file"));
        }
        other => other.map_err(failed)?,
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(wrong("is not a file"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(wrong("belongs to somebody else"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(wrong("can be read by others"));
    }
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut text).map_err(failed)?;
    let seed = STANDARD.decode(text.trim_ascii()).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    seed.map(|seed| Key::from_seed(&seed)).ok_or_else(|| wrong("holds no Ed25519 key"))
}

fn create(folder: &Path, path: &Path) -> Result<Key, Error> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Error::Random(error.to_string()))?;
    let key = Key::from_seed(&seed);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| Error::File { what: "could not make", path: folder.to_owned(), source })?;
    if !place(folder, path, &STANDARD.encode(seed), 0o600)? {
        return load(path);
    }
    place(folder, &folder.join(PUBLIC), &key.public().to_string(), 0o644)?;
    Ok(key)
}

/// Writes a file atomically; returns false if it exists already.
fn place(folder: &Path, path: &Path, line: &str, mode: u32) -> Result<bool, Error> {
    let mut bits = [0; 8];
    getrandom::fill(&mut bits).map_err(|error| Error::Random(error.to_string()))?;
    let draft = folder.join(format!(".key-{:016x}", u64::from_le_bytes(bits)));
    let placed = write(&draft, line, mode).and_then(|()| match std::fs::hard_link(&draft, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    });
    let removed = std::fs::remove_file(&draft);
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    let failed = |path: PathBuf| move |source| Error::File { what: "could not write", path, source };
    let placed = placed.map_err(failed(path.to_owned()))?;
    removed.map_err(failed(draft))?;
    synced.map_err(failed(folder.to_owned()))?;
    Ok(placed)
}

fn write(path: &Path, line: &str, mode: u32) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(line.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn makes_a_key_once_and_keeps_it_private() {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("state/keys");

        let made = Key::load_or_create(&keys).unwrap();
        let loaded = Key::load_or_create(&keys).unwrap();

        assert_eq!(made.public(), loaded.public());
        assert_eq!((mode(&keys), mode(&keys.join(PRIVATE)), mode(&keys.join(PUBLIC))), (0o700, 0o600, 0o644));
        let public = std::fs::read_to_string(keys.join(PUBLIC)).unwrap();
        assert_eq!(PublicKey::parse(&public).unwrap(), made.public());
        assert_eq!(std::fs::read_dir(&keys).unwrap().count(), 2, "no draft stays behind");
    }

    #[test]
    fn makers_at_the_same_time_get_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let make = || Key::load_or_create(folder.path()).unwrap().public();

        let keys: Vec<PublicKey> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });

        assert!(keys.iter().all(|key| *key == keys[0]));
    }

    #[test]
    fn refuses_a_key_that_others_can_read_or_that_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PRIVATE);
        let refused = || match Key::load_or_create(folder.path()) {
            Err(Error::KeyFile { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        let permit = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();

        std::fs::write(&path, "bm90IGEga2V5\n").unwrap();
        permit(0o600);
        assert_eq!(refused(), "holds no Ed25519 key");
        permit(0o640);
        assert_eq!(refused(), "can be read by others");
        std::fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
        assert_eq!(refused(), "is a link, not a file");
    }

    #[test]
    fn never_shows_the_secret() {
        let seed = [7; 32];

        let shown = format!("{:?}", Key::from_seed(&seed));

        assert!(!shown.contains(&STANDARD.encode(seed)) && !shown.contains("0707") && !shown.contains("7, 7"));
        assert!(shown.contains(&Key::from_seed(&seed).public().id().to_string()));
    }

    #[test]
    fn refuses_public_keys_that_are_no_points_or_weak() {
        assert!(PublicKey::parse("AAAA").is_err());
        assert!(PublicKey::from_bytes(&[0; 32]).is_err());
        assert!(PublicKey::from_bytes(&Key::from_seed(&[1; 32]).0.verifying_key().to_bytes()).is_ok());
    }
}
