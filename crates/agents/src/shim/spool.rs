//! Raw output, as it came, in segments; when it grows beyond its cap the oldest segments go.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// The smallest segment in bytes.
const SEGMENT: u64 = 64 << 10;

/// How many segments a full spool has.
const SEGMENTS: u64 = 8;

/// The spool of one incarnation.
pub(super) struct Spool {
    folder: PathBuf,
    epoch: u32,
    cap: u64,
    segments: VecDeque<(PathBuf, u64)>,
    open: Option<File>,
    made: u32,
    kept: u64,
    dropped: u64,
}

/// What a sealed spool holds.
pub(super) struct Seal {
    pub(super) bytes: u64,
    pub(super) dropped: u64,
    pub(super) digest: String,
}

// === impl Spool ===

impl Spool {
    pub(super) fn open(folder: &Path, epoch: u32, cap: u64) -> Result<Self> {
        let folder = folder.join("spool");
        fs::create_dir_all(&folder).map_err(Error::io(format!("make {}", folder.display())))?;
        let (segments, open) = (VecDeque::new(), None);
        Ok(Self { folder, epoch, cap, segments, open, made: 0, kept: 0, dropped: 0 })
    }

    /// Keeps bytes. A full disk costs output, never the worker.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let size = bytes.len() as u64;
        if let Err(error) = self.append(bytes) {
            tracing::warn!(%error, "output is not kept");
            self.dropped += size;
            self.open = None;
        }
        while self.kept > self.cap
            && let Some((oldest, size)) = self.segments.pop_front()
        {
            if self.segments.is_empty() {
                self.open = None;
            }
            if let Err(error) = fs::remove_file(&oldest) {
                tracing::warn!(%error, file = %oldest.display(), "a segment stays though the spool is full");
            }
            self.kept -= size;
            self.dropped += size;
        }
    }

    /// Closes it and returns the digest of all segments that are kept, one after the other.
    pub(super) fn seal(&mut self) -> Result<Seal> {
        self.open = None;
        let mut hasher = Sha256::new();
        for (path, _) in &self.segments {
            hash(path, &mut hasher).map_err(Error::io(format!("read {}", path.display())))?;
        }
        let digest = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Seal { bytes: self.kept, dropped: self.dropped, digest })
    }

    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let full = self.segments.back().is_none_or(|(_, size)| *size >= (self.cap / SEGMENTS).max(SEGMENT));
        let file = match &mut self.open {
            Some(file) if !full => file,
            Some(_) | None => {
                self.made += 1;
                let path = self.folder.join(format!("{:03}-{:06}.raw", self.epoch, self.made));
                let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
                self.segments.push_back((path, 0));
                self.open.insert(file)
            }
        };
        file.write_all(bytes)?;
        if let Some((_, size)) = self.segments.back_mut() {
            *size += bytes.len() as u64;
        }
        self.kept += bytes.len() as u64;
        Ok(())
    }
}

fn hash(path: &Path, hasher: &mut Sha256) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            n => hasher.update(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(spool: &Spool) -> Vec<u8> {
        spool.segments.iter().flat_map(|(path, _)| fs::read(path).unwrap()).collect()
    }

    #[test]
    fn a_seal_is_the_digest_of_what_lies_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), 1, 1 << 20).unwrap();
        spool.write(b"a\xff\x00");
        spool.write(&vec![b'x'; 300_000]);
        spool.write(b"end");

        let seal = spool.seal().unwrap();

        let bytes = kept(&spool);
        assert_eq!(seal.digest, switchboard_protocol::id::Digest::of(&bytes).hex());
        assert_eq!((seal.bytes, seal.dropped), (300_006, 0));
        assert!(bytes.starts_with(b"a\xff\x00") && bytes.ends_with(b"end"));
    }

    #[test]
    fn a_flood_keeps_the_end_and_counts_what_went() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), 1, 256 << 10).unwrap();
        for number in 0..100_000_u32 {
            spool.write(format!("line {number}\n").as_bytes());
        }

        let seal = spool.seal().unwrap();

        let on_disk: u64 =
            fs::read_dir(folder.path().join("spool")).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
        assert_eq!(on_disk, seal.bytes);
        assert!(seal.bytes <= 256 << 10);
        assert_eq!(seal.bytes + seal.dropped, (0..100_000).map(|n| format!("line {n}\n").len() as u64).sum::<u64>());
        assert!(kept(&spool).ends_with(b"line 99999\n"));
    }
}
