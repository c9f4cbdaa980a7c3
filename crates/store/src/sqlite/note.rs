//! The recorded head, in `<db>.head`: what a later opening must find, whatever happened to the logs.
//!
//! A truncated log looks like one that a power cut has torn, and a deleted log like one that never existed. In both
//! cases, answered commits would be missing silently. The file records how far the log must reach: always up to
//! `synced`, because it is written after the sync; up to `written` within one boot of the machine, because only the end
//! of a boot loses the page cache. The file itself is never synced: an old one requires less.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _};
use switchboard_process::fingerprint::boot_id;
use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;

use super::redo::{self, RedoRecord};
use super::sql;
use crate::log::{DamageSite, Finding};
use crate::record::Tip;
use crate::{Durability, Error};

/// First line of the file.
const FORMAT: &str = "switchboard-head/1";

/// Maximum size of the file in bytes; it fits into one sector, so that it is never torn.
const MAX_BYTES: u64 = 512;

/// The open file.
pub(super) struct Note {
    file: File,
    boot: String,
    synced: Mark,
    is_failing: bool,
}

/// An event that must exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    lsn: Lsn,
    hash: Digest,
}

/// Content of the file.
struct HeadRecord {
    boot: String,
    synced: Mark,
    written: Mark,
}

// === impl Note ===

impl Note {
    /// Opens or creates the file, and records the head, which the opening has synced.
    pub(super) fn begin(database: &Path, tip: &Tip) -> Result<Self, Error> {
        let path = path_of(database);
        let mut open = OpenOptions::new();
        open.write(true).create(true).truncate(false).mode(0o600);
        let failed = |error| Error::io(format!("could not open {}", path.display()), error);
        let file = open.open(&path).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        let mut note = Self { file, boot: boot_id(), synced: Mark::of(tip), is_failing: false };
        note.set(tip, Durability::Synced);
        Ok(note)
    }

    /// Records a new head, after the commit. An outdated record is still true: it only covers fewer events.
    pub(super) fn set(&mut self, tip: &Tip, durability: Durability) {
        let written = Mark::of(tip);
        if durability == Durability::Synced {
            self.synced = written;
        }
        let text = HeadRecord { boot: self.boot.clone(), synced: self.synced, written }.text();
        let failed = self.file.write_all_at(text.as_bytes(), 0).err();
        if let Some(error) = failed.as_ref().filter(|_| !self.is_failing) {
            tracing::warn!(%error, "the head could not be noted");
        }
        self.is_failing = failed.is_some();
    }
}

/// Returns what the log and the redo log behind it lack of the recorded head; nothing without a readable
/// record.
pub(super) fn missing(
    database: &Path,
    connection: &Connection,
    redo_records: &[RedoRecord],
) -> Result<Option<Finding>, Error> {
    let Some(head_record) = read(database) else { return Ok(None) };
    let is_this_boot = !head_record.boot.is_empty() && head_record.boot == boot_id();
    let marks = [Some(head_record.synced), is_this_boot.then_some(head_record.written)];
    for mark in marks.into_iter().flatten().filter(|mark| mark.lsn > 0) {
        let found = connection
            .query_row("SELECT hash FROM events WHERE lsn = ?1", sql::at(mark.lsn), |row| sql::digest(row, 0))
            .optional()
            .map_err(sql::db)?
            .or_else(|| redo::find(redo_records, mark.lsn).map(|record| record.hash));
        match found {
            Some(hash) if hash == mark.hash => {}
            Some(_) => return Ok(Some(finding(mark.lsn, "it is not the event that was committed there"))),
            None => {
                let end = redo::last(redo_records, super::file::head(connection)?.lsn);
                let what = format!("it is missing; the log was committed up to event {}", mark.lsn);
                return Ok(Some(finding(end + 1, what)));
            }
        }
    }
    Ok(None)
}

/// Returns the path `<db>.head`.
pub(super) fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".head");
    PathBuf::from(name)
}

fn finding(lsn: Lsn, what: impl Into<String>) -> Finding {
    Finding { place: DamageSite::at(lsn), what: what.into() }
}

fn read(database: &Path) -> Option<HeadRecord> {
    let mut text = String::new();
    File::open(path_of(database)).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let head_record = HeadRecord::parse(&text);
    if head_record.is_none() && !text.is_empty() {
        tracing::warn!("the note of the head can't be read; the log is taken as it is");
    }
    head_record
}

// === impl Mark ===

impl Mark {
    fn of(tip: &Tip) -> Self {
        Self { lsn: tip.lsn, hash: tip.hash }
    }

    fn parse(text: &str) -> Option<Self> {
        let (lsn, hash) = text.split_once(' ')?;
        Some(Self { lsn: lsn.parse().ok()?, hash: Digest::parse(hash)? })
    }
}

// === impl HeadRecord ===

impl HeadRecord {
    /// Returns the text of the file. Its length depends only on the boot id, so that it always overwrites the one
    /// before.
    fn text(&self) -> String {
        let line = |name: &str, mark: Mark| format!("{name} {:020} {}\n", mark.lsn, mark.hash);
        let said =
            format!("{FORMAT}\nboot {}\n{}", self.boot, line("synced", self.synced) + &line("written", self.written));
        let sum = Digest::of(said.as_bytes());
        format!("{said}sum {sum}\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let (said, sum) = text.strip_suffix('\n')?.rsplit_once("sum ")?;
        if Digest::parse(sum)? != Digest::of(said.as_bytes()) {
            return None;
        }
        let mut lines = said.strip_prefix(FORMAT)?.lines().skip(1);
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let boot = field("boot")?.to_owned();
        Some(Self { boot, synced: Mark::parse(field("synced")?)?, written: Mark::parse(field("written")?)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head_record() -> HeadRecord {
        let mark = |lsn, text: &[u8]| Mark { lsn, hash: Digest::of(text) };
        HeadRecord { boot: "b".to_owned(), synced: mark(7, b"seven"), written: mark(9, b"nine") }
    }

    #[test]
    fn a_note_reads_back_and_keeps_its_length() {
        let read = HeadRecord::parse(&head_record().text()).unwrap();

        assert_eq!((read.boot.as_str(), read.synced, read.written), ("b", head_record().synced, head_record().written));
        let longer = HeadRecord { written: Mark { lsn: u64::MAX, hash: Digest::ZERO }, ..head_record() };
        assert_eq!(longer.text().len(), head_record().text().len());
        assert!(u64::try_from(head_record().text().len()).unwrap() < MAX_BYTES);
    }

    #[test]
    fn a_note_with_a_changed_byte_says_nothing() {
        let text = head_record().text();
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            assert!(HeadRecord::parse(&String::from_utf8_lossy(&changed)).is_none(), "byte {at}");
        }
    }
}
