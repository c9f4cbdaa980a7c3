//! Caches the result of each check on a file, keyed by a hash of the check's inputs and of the rules.
//!
//! In memory the cache is bounded by two generations: the older one is dropped when the younger is full. On disk it is
//! one file ([`pack`]) in a folder that the caller names.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use switchboard_protocol::finding::{CheckName, Finding};

use switchboard_syntax::{Base, Source};

mod pack;

/// Version of all rules. Results of another version are not used.
pub(crate) const RULES: &str = env!("CHECK_RULES");
/// Maximum size of the cache in memory, in bytes.
const MEMORY_BYTES: usize = 64 << 20;
/// Approximate overhead of an entry besides its content, in bytes.
const ENTRY_BYTES: usize = 96;

/// Key of one cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(pub(crate) [u8; 32]);

/// Results of earlier runs.
#[derive(Debug)]
pub struct Cache {
    file: Option<PathBuf>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    young: HashMap<Key, Arc<[u8]>>,
    young_bytes: usize,
    old: HashMap<Key, Arc<[u8]>>,
    fresh: Vec<Key>,
    /// Length in bytes of the valid part of the file that this cache may append to; `None` if the file must be
    /// rewritten.
    whole: Option<u64>,
}

// === impl Cache ===

impl Cache {
    /// Makes a cache that keeps results in memory only, at most 64 MB.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { file: None, kept: Mutex::default() }
    }

    /// Makes a cache that keeps results in a file of `folder`, which only the user should be able to write. Content of
    /// another version and damaged content is ignored and removed by the next [`Cache::save`].
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        let file = folder.join("checks.cache");
        let (old, whole) = pack::read(&file);
        Self { file: Some(file), kept: Mutex::new(Kept { old, whole, ..Kept::default() }) }
    }

    /// Writes new results; does nothing for a cache in memory.
    ///
    /// # Errors
    /// When the file can't be written. The results of this run are right all the same.
    pub fn save(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut kept = self.kept();
        if kept.fresh.is_empty() {
            return Ok(());
        }
        let fresh = std::mem::take(&mut kept.fresh);
        let fresh = fresh.iter().filter_map(|key| Some((*key, kept.young.get(key).or(kept.old.get(key))?.as_ref())));
        match kept.whole {
            Some(whole) if pack::append(file, whole, fresh)? => {}
            Some(_) | None => pack::write(file, kept.young.iter().map(|(key, value)| (*key, value.as_ref())))?,
        }
        kept.whole = None;
        Ok(())
    }

    pub(crate) fn get(&self, key: Key) -> Option<Vec<Finding>> {
        let value = self.kept().get(key)?;
        serde_json::from_slice(&value).ok()
    }

    pub(crate) fn put(&self, key: Key, findings: &[Finding]) {
        if let Ok(value) = serde_json::to_vec(findings) {
            let mut kept = self.kept();
            kept.put(key, value.into());
            if self.file.is_some() {
                kept.fresh.push(key);
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Kept ===

impl Kept {
    fn get(&mut self, key: Key) -> Option<Arc<[u8]>> {
        if let Some(value) = self.young.get(&key) {
            return Some(Arc::clone(value));
        }
        let value = self.old.remove(&key)?;
        self.put(key, Arc::clone(&value));
        Some(value)
    }

    fn put(&mut self, key: Key, value: Arc<[u8]>) {
        self.young_bytes += value.len() + ENTRY_BYTES;
        self.young.insert(key, value);
        if self.young_bytes > MEMORY_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }
}

/// Hash of everything that the checks of one file depend on, except the check itself.
pub(crate) struct FileKey(Sha256);

// === impl FileKey ===

impl FileKey {
    pub(crate) fn new(source: &Source) -> Self {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(RULES.as_bytes());
        part(source.path.as_bytes());
        part(&source.text);
        match &source.base {
            Base::Nothing => part(b"nothing"),
            Base::Same => part(b"same"),
            Base::Other(before) => {
                part(b"other");
                part(before);
            }
        }
        part(&[u8::from(source.has_base)]);
        Self(hash)
    }

    /// Returns the key for one check and its settings.
    pub(crate) fn of(&self, check: CheckName, settings: &str) -> Key {
        let mut hash = self.0.clone();
        hash.update(check.as_str());
        hash.update([0]);
        hash.update(settings);
        Key(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str, base: Base) -> Key {
        FileKey::new(&Source::new("a.rs".into(), text.into(), base)).of(CheckName::Secretscan, "")
    }

    #[test]
    fn an_answer_is_for_one_text_one_base_and_one_check() {
        let source = Source::new("a.rs".into(), b"x".to_vec(), Base::Nothing);
        let file = FileKey::new(&source);

        assert_eq!(key("x", Base::Nothing), file.of(CheckName::Secretscan, ""));
        for other in [
            key("y", Base::Nothing),
            key("x", Base::Same),
            key("x", Base::Other(b"y".to_vec())),
            file.of(CheckName::SyntaxCheck, ""),
            file.of(CheckName::Secretscan, "*.env"),
        ] {
            assert_ne!(key("x", Base::Nothing), other);
        }
    }

    #[test]
    fn a_full_memory_forgets_what_was_not_used_for_long() {
        let mut kept = Kept::default();
        let name = |at: u8| Key([at; 32]);
        let large: Arc<[u8]> = vec![0; MEMORY_BYTES / 5].into();

        for at in 0..10 {
            kept.put(name(at), Arc::clone(&large));
            let used = kept.get(name(0));
            assert!(used.is_some());
        }

        assert!(kept.get(name(1)).is_none() && kept.get(name(9)).is_some());
        assert!(kept.young.len() + kept.old.len() <= 6);
    }

    #[test]
    fn what_was_saved_is_known_again_and_what_is_foreign_or_torn_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let names = [Key([1; 32]), Key([2; 32])];
        let first = Cache::in_folder(folder.path());
        first.put(names[0], &[]);
        first.save().unwrap();
        let second = Cache::in_folder(folder.path());
        second.put(names[1], &[]);
        second.save().unwrap();
        let known = |cache: &Cache| names.map(|name| cache.get(name).is_some());
        assert_eq!(known(&Cache::in_folder(folder.path())), [true, true]);

        let file = folder.path().join("checks.cache");
        let text = std::fs::read(&file).unwrap();
        std::fs::write(&file, &text[..text.len() - 1]).unwrap();
        assert_eq!(known(&Cache::in_folder(folder.path())), [true, false]);
        for at in 0..text.len() {
            let mut flipped = text.clone();
            flipped[at] ^= 1;
            std::fs::write(&file, flipped).unwrap();
            let cache = Cache::in_folder(folder.path());
            assert!(known(&cache) != [true, true], "byte {at}");
            cache.put(names[0], &[]);
            cache.save().unwrap();
            assert!(Cache::in_folder(folder.path()).get(names[0]).is_some());
        }
    }
}
