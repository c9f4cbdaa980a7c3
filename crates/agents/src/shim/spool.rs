//! Raw output in segments, each named by the position of its first byte; beyond the cap, the oldest are deleted.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use switchboard_protocol::spool::{SPOOL_FOLDER, SegmentName};

use crate::{Error, Result};

/// Minimum size of a segment in bytes.
const SEGMENT: u64 = 64 << 10;

/// Number of segments in a full spool.
const SEGMENTS: u64 = 8;

/// The spool of a worker.
pub(super) struct Spool {
    folder: PathBuf,
    epoch: u32,
    cap: u64,
    segments: VecDeque<(PathBuf, u64)>,
    open: Option<File>,
    /// Position of the next byte.
    next: u64,
    kept: u64,
    dropped: u64,
}

/// Content of a sealed spool.
pub(super) struct Seal {
    pub(super) bytes: u64,
    pub(super) dropped: u64,
    pub(super) digest: String,
}

// === impl Spool ===

impl Spool {
    /// Opens the spool after the segments of earlier incarnations of the shim.
    pub(super) fn open(folder: &Path, epoch: u32, cap: u64) -> Result<Self> {
        let folder = folder.join(SPOOL_FOLDER);
        fs::create_dir_all(&folder).map_err(Error::io(format!("make {}", folder.display())))?;
        let segments = kept(&folder).map_err(Error::io(format!("list {}", folder.display())))?;
        let next = segments.last().map_or(0, |(name, _, size)| name.offset.unwrap_or_default().saturating_add(*size));
        let segments: VecDeque<_> = segments.into_iter().map(|(_, path, size)| (path, size)).collect();
        let kept: u64 = segments.iter().map(|(_, size)| size).sum();
        Ok(Self { folder, epoch, cap, segments, open: None, next, kept, dropped: next.saturating_sub(kept) })
    }

    /// Appends bytes. On a full disk output is lost, but the worker goes on.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let size = bytes.len() as u64;
        if let Err(error) = self.append(bytes) {
            tracing::warn!(%error, "output is not kept");
            self.dropped += size;
            self.open = None;
        }
        // Bytes that are not kept count as well: a reader sees how much is missing.
        self.next += size;
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

    /// Closes the spool and returns the digest of all kept segments, one after the other.
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
                let name = SegmentName { epoch: self.epoch, offset: Some(self.next) };
                let path = self.folder.join(name.to_string());
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

/// Returns the segments of a folder whose names hold a position, in order, with their sizes.
fn kept(folder: &Path) -> std::io::Result<Vec<(SegmentName, PathBuf, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_str().and_then(SegmentName::parse).filter(|name| name.offset.is_some());
        if let Some(name) = name {
            found.push((name, entry.path(), entry.metadata()?.len()));
        }
    }
    found.sort();
    Ok(found)
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

    fn bytes(spool: &Spool) -> Vec<u8> {
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

        let bytes = bytes(&spool);
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
        assert!(bytes(&spool).ends_with(b"line 99999\n"));
    }

    #[test]
    fn each_segment_is_named_by_the_place_of_its_first_byte() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), 1, 128 << 10).unwrap();
        for _ in 0..40 {
            spool.write(&[b'x'; 8 << 10]);
        }

        let found = kept(&folder.path().join("spool")).unwrap();

        let mut end = spool.dropped;
        for (name, _, size) in &found {
            assert_eq!(name.offset, Some(end));
            end += size;
        }
        assert_eq!((end, spool.next), (40 * (8 << 10), 40 * (8 << 10)));
        assert!(spool.dropped > 0 && found.len() > 1);
    }

    #[test]
    fn a_later_incarnation_goes_on_where_the_one_before_ended() {
        let folder = tempfile::tempdir().unwrap();
        Spool::open(folder.path(), 1, 1 << 20).unwrap().write(b"first ");

        let mut spool = Spool::open(folder.path(), 2, 1 << 20).unwrap();
        spool.write(b"second");

        assert_eq!(bytes(&spool), b"first second");
        assert_eq!((spool.next, spool.kept, spool.dropped), (12, 12, 0));
        let names: Vec<_> = spool.segments.iter().map(|(path, _)| path.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["001-00000000000000000000.raw", "002-00000000000000000006.raw"]);
    }

    #[test]
    fn what_a_full_disk_swallows_keeps_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), 1, 1 << 20).unwrap();
        spool.write(b"before");
        let real = std::mem::replace(&mut spool.folder, folder.path().join("missing"));
        spool.open = None;
        spool.write(b"lost");
        spool.folder = real;
        spool.write(b"after");

        let seal = spool.seal().unwrap();

        assert_eq!((seal.bytes, seal.dropped), (11, 4));
        let last = spool.segments.back().unwrap().0.file_name().unwrap().to_owned();
        assert_eq!(last, "001-00000000000000000010.raw");
    }
}
