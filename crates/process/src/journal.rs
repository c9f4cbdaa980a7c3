//! Append-only files of JSON lines that survive `kill -9` at any point: a torn last line is dropped, everything before it is kept.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::lines::{Line, Lines};
use crate::{Error, Result};

/// Durability of an append when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// In the kernel: survives the end of this process, not a power cut.
    Written,
    /// On the disk.
    Synced,
}

/// The writing end. Only one process at a time may hold it: its caller takes a [`crate::lock::Lock`] first.
#[derive(Debug)]
pub struct Journal<T> {
    file: File,
    path: PathBuf,
    max_line: usize,
    length: u64,
    of: PhantomData<fn(&T)>,
}

/// Result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<T> {
    /// The entries, in order.
    pub entries: Vec<T>,
    /// Offset at which the next read begins, in bytes.
    pub next: u64,
    /// Number of whole lines that were no entry, or too long; they are skipped.
    pub malformed: u64,
    /// True if the limit of entries was reached: read again.
    pub is_cut: bool,
}

// === impl Journal ===

impl<T: Serialize> Journal<T> {
    /// Opens or creates the file, and cuts off a last line that a kill tore.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path, max_line: usize) -> Result<Self> {
        let open = || {
            let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
            let length = end_of_last_line(&mut file)?;
            file.set_len(length)?;
            Ok((file, length))
        };
        let (file, length) = open().map_err(Error::io(format!("open {}", path.display())))?;
        Ok(Self { file, path: path.to_owned(), max_line, length, of: PhantomData })
    }

    /// Adds one entry as one line, in one write.
    ///
    /// # Errors
    /// [`Error::Io`] when the entry can't be written, or exceeds the maximum length of a line; the file is as before.
    pub fn append(&mut self, entry: &T, durability: Durability) -> Result<()> {
        let what = || Error::io(format!("write {}", self.path.display()));
        let mut line = serde_json::to_vec(entry).map_err(|e| what()(e.into()))?;
        if line.len() > self.max_line {
            return Err(what()(std::io::Error::new(std::io::ErrorKind::InvalidInput, "the entry is too long")));
        }
        line.push(b'\n');
        if let Err(e) = self.file.write_all(&line) {
            self.file.set_len(self.length).map_err(what())?;
            return Err(what()(e));
        }
        self.length += line.len() as u64;
        match durability {
            Durability::Written => Ok(()),
            Durability::Synced => self.file.sync_data().map_err(what()),
        }
    }

    /// Returns the size of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// Reads entries from byte `from` on, at most `limit` that `wanted` accepts. A missing file counts as empty; a torn last line is
/// left for the next read. Memory is bounded by `limit` entries of `max_line` bytes.
///
/// # Errors
/// [`Error::Io`].
pub fn read<T: DeserializeOwned>(
    path: &Path,
    from: u64,
    max_line: usize,
    limit: usize,
    mut wanted: impl FnMut(&T) -> bool,
) -> Result<Batch<T>> {
    let mut batch = Batch { entries: Vec::new(), next: from, malformed: 0, is_cut: false };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(batch),
        Err(e) => return Err(Error::io(format!("read {}", path.display()))(e)),
    };
    let scan = || -> std::io::Result<()> {
        file.seek(SeekFrom::Start(from))?;
        let mut from = BufReader::new(file);
        let mut lines = Lines::new(max_line);
        let mut length = 0;
        loop {
            let chunk = from.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            let (used, line) = lines.push(chunk);
            from.consume(used);
            length += used as u64;
            let Some(line) = line else { continue };
            if batch.entries.len() == limit {
                batch.is_cut = true;
                break;
            }
            batch.next += std::mem::take(&mut length);
            let Line::Whole(line) = line else {
                batch.malformed += 1;
                continue;
            };
            match serde_json::from_slice(&line) {
                Ok(entry) if wanted(&entry) => batch.entries.push(entry),
                Ok(_) => {}
                Err(_) => batch.malformed += 1,
            }
        }
        Ok(())
    };
    scan().map_err(Error::io(format!("read {}", path.display())))?;
    Ok(batch)
}

fn end_of_last_line(file: &mut File) -> std::io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut block = vec![0; 8 << 10];
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let piece = &mut block[..usize::try_from(end - start).unwrap_or(0)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(piece)?;
        if let Some(at) = piece.iter().rposition(|b| *b == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(path: &Path, from: u64) -> Batch<u32> {
        read(path, from, 16, 100, |_| true).unwrap()
    }

    #[test]
    fn entries_come_back_in_order_and_reading_goes_on_where_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let mut journal = Journal::open(&path, 16).unwrap();
        journal.append(&1, Durability::Synced).unwrap();

        let first = all(&path, 0);
        journal.append(&2, Durability::Written).unwrap();
        let second = all(&path, first.next);

        assert_eq!((first.entries, second.entries), (vec![1], vec![2]));
        assert_eq!(second.next, journal.length());
    }

    #[test]
    fn every_torn_tail_is_left_out_and_cut_off_before_the_next_append() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let whole = b"1\n22\n333\n";
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let before = all(&path, 0).entries;

            Journal::open(&path, 16).unwrap().append(&4, Durability::Written).unwrap();

            let mut expected = before.clone();
            expected.push(4);
            let after = all(&path, 0);
            assert_eq!((after.entries, after.malformed), (expected, 0), "cut at {cut}");
        }
    }

    #[test]
    fn garbage_and_overlong_lines_are_counted_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let long = "1".repeat(40_000);
        std::fs::write(&path, format!("1\n{{\n\u{fffd}\n{long}\n2\n")).unwrap();

        let batch = all(&path, 0);

        assert_eq!((batch.entries, batch.malformed), (vec![1, 2], 3));
        assert!(Journal::open(&path, 2).unwrap().append(&1234, Durability::Written).is_err());
    }

    #[test]
    fn a_read_is_bounded_and_says_that_there_is_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        std::fs::write(&path, "1\n2\n3\n4\n5\n").unwrap();

        let odd = read::<u32>(&path, 0, 16, 2, |n| n % 2 == 1).unwrap();
        let rest = read::<u32>(&path, odd.next, 16, 2, |n| n % 2 == 1).unwrap();

        assert_eq!((odd.entries, odd.is_cut), (vec![1, 3], true));
        assert_eq!((rest.entries, rest.is_cut), (vec![5], false));
        assert_eq!(read::<u32>(&folder.path().join("none"), 0, 16, 2, |_| true).unwrap().entries, [0; 0]);
    }
}
