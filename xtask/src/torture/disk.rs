//! A disk that loses power: which contents of the files are legal after a point of the tape.
//!
//! Synced data is there. Of what was written since, every sector of 512 bytes holds what it held at some moment since
//! the last sync of its file, independent of the other sectors: writes are dropped, torn and reordered. The size of a
//! file is such a value, too.
//!
//! Truncating or deleting a file is not a write: a file system applies it as a whole, in the order of truncations, and
//! later writes use other space on the disk. So a sector that was cut off holds either its old content, with the whole
//! old file, or only later content, never a mixture.

use std::fs;
use std::path::Path;

use fastrand::Rng;
use switchboard_protocol::id::Digest;

use super::tape::{File, Op, after_boot};

/// Number of bytes that a disk writes atomically.
const SECTOR: usize = 512;

/// Number of bytes that a page cache writes as a unit.
const BLOCK: usize = 4096;

/// Effect of a power cut on data that was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// All of it is there: a kill rather than a power cut.
    Nothing,
    /// None of it is there.
    Everything,
    /// The last write is there up to a sector, or from one on.
    Torn {
        /// Sector number within the write.
        sector: usize,
        /// True if the front is there, else the back.
        has_front: bool,
    },
    /// All writes but this one are there.
    Without(usize),
    /// Only this write is there.
    Only(usize),
    /// Every sector holds what it held at some moment, by this seed.
    Shuffled(u64),
    /// Every block holds what it held at some moment, by this seed.
    Blocks(u64),
}

/// A file: its synced content, and the operations since.
#[derive(Debug, Default, Clone)]
struct Held {
    synced: Vec<u8>,
    /// Positions on the tape of the operations since the last sync.
    since: Vec<usize>,
}

/// The disk at a point of the tape.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// Files in the order of [`File::ALL`].
    files: [Held; 4],
    notes: Vec<usize>,
    point: usize,
}

/// The contents of the files after a cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    /// Contents in the order of [`File::ALL`].
    files: [Vec<u8>; 4],
    note: Option<Vec<u8>>,
}

// === impl Disk ===

impl Disk {
    /// Advances by one operation. The tape of a disk that ignores syncs has none.
    pub(super) fn step(&mut self, ops: &[Op], obeys_sync: bool) {
        let at = self.point;
        match ops.get(at) {
            Some(Op::Write { file, .. } | Op::Truncate { file, .. }) => self.held_mut(*file).since.push(at),
            Some(Op::Sync(file)) if obeys_sync => {
                let all = |_: usize| usize::MAX;
                let held = self.held_mut(*file);
                held.synced = held.image(ops, &all, usize::MAX, usize::MAX);
                held.since.clear();
            }
            Some(Op::Note(_)) => self.notes.push(at),
            Some(Op::Sync(_) | Op::Opened(_) | Op::Acked(_)) | None => {}
        }
        self.point += 1;
    }

    fn held_mut(&mut self, file: File) -> &mut Held {
        &mut self.files[file as usize]
    }

    /// Returns the writes that were not synced, as positions on the tape.
    pub(super) fn pending(&self) -> Vec<usize> {
        let mut pending = self.files.each_ref().map(|held| held.since.as_slice()).concat();
        pending.sort_unstable();
        pending
    }

    /// Returns the files after a cut at this point.
    pub(super) fn image(&self, ops: &[Op], cut: Cut) -> Image {
        Image { files: File::ALL.map(|file| self.file(ops, file, cut)), note: self.note(ops, cut) }
    }

    fn file(&self, ops: &[Op], file: File, cut: Cut) -> Vec<u8> {
        let held = &self.files[file as usize];
        let last = self.files.iter().filter_map(|held| held.since.last()).max().copied().unwrap_or(0);
        let is_of = |at: usize| held.since.binary_search(&at).is_ok();
        let whole = |_: usize| usize::MAX;
        match cut {
            Cut::Nothing => held.image(ops, &whole, usize::MAX, usize::MAX),
            Cut::Everything => held.synced.clone(),
            Cut::Torn { sector, has_front } if is_of(last) => {
                let first = ops.get(last).and_then(range).map_or(0, |(from, _)| from / SECTOR);
                let is_there = |at: usize| (at >= first) && ((at - first < sector) == has_front);
                held.image(ops, &|at| if is_there(at) { usize::MAX } else { last }, usize::MAX, usize::MAX)
            }
            Cut::Torn { .. } => held.image(ops, &whole, usize::MAX, usize::MAX),
            Cut::Without(at) => {
                let touched = ops.get(at).filter(|_| is_of(at)).and_then(range);
                let is_cut = touched.is_some() && matches!(ops.get(at), Some(Op::Truncate { .. }));
                let cuts_until = if is_cut { at } else { usize::MAX };
                held.image(
                    ops,
                    &|sector| if touches(touched, sector) { at } else { usize::MAX },
                    usize::MAX,
                    cuts_until,
                )
            }
            Cut::Only(at) => {
                let touched = ops.get(at).filter(|_| is_of(at)).and_then(range);
                let until = if is_of(at) { at + 1 } else { 0 };
                held.image(ops, &|sector| if touches(touched, sector) { until } else { 0 }, until, until)
            }
            Cut::Shuffled(seed) => held.shuffled(ops, seed ^ file as u64, 1),
            Cut::Blocks(seed) => held.shuffled(ops, seed ^ file as u64, BLOCK / SECTOR),
        }
    }

    /// Returns the head record, which is never synced: any version ever written may be there, or none. After a kill it
    /// is the last one.
    fn note(&self, ops: &[Op], cut: Cut) -> Option<Vec<u8>> {
        let read = |at: &usize| match ops.get(*at) {
            Some(Op::Note(bytes)) => Some(bytes.clone()),
            _ => None,
        };
        let last = self.notes.last().and_then(read);
        match cut {
            Cut::Nothing => last,
            Cut::Everything | Cut::Torn { .. } | Cut::Without(_) | Cut::Only(_) => last.map(|note| after_boot(&note)),
            Cut::Shuffled(seed) | Cut::Blocks(seed) => {
                let chosen = Rng::with_seed(seed).usize(..self.notes.len() + 1);
                self.notes.get(chosen).and_then(read).map(|note| after_boot(&note))
            }
        }
    }
}

// === impl Held ===

impl Held {
    /// Returns the contents when each sector holds what it held before the operation that `until` returns for it, the
    /// size is what it was before `size_until`, and the truncations before `cuts_until` have happened.
    fn image(&self, ops: &[Op], until: &dyn Fn(usize) -> usize, size_until: usize, cuts_until: usize) -> Vec<u8> {
        let cuts = self.cuts(ops);
        // Limits the wanted position to between the last truncation that has happened and the first that has not, of
        // those that cut this sector.
        let legal = |sector: usize, wanted: usize| {
            let took = || cuts.iter().filter(|(_, size)| *size <= sector.saturating_mul(SECTOR));
            let first = took().map(|(at, _)| at + 1).filter(|at| *at <= cuts_until).max().unwrap_or(0);
            let end = took().map(|(at, _)| *at).find(|at| *at >= cuts_until).unwrap_or(usize::MAX);
            wanted.min(end).max(first)
        };
        let until = |sector: usize| legal(sector, until(sector));
        let size_until = legal(usize::MAX, size_until);
        let mut bytes = self.synced.clone();
        let mut size = bytes.len();
        for at in &self.since {
            match ops.get(*at) {
                Some(Op::Write { offset, data, .. }) => {
                    put(&mut bytes, *offset, data, |sector| *at < until(sector));
                    size = if *at < size_until { size.max(offset + data.len()) } else { size };
                }
                Some(Op::Truncate { size: to, .. }) => {
                    let nothing = vec![0; bytes.len().saturating_sub(*to)];
                    put(&mut bytes, *to, &nothing, |sector| *at < until(sector));
                    size = if *at < size_until { *to } else { size };
                }
                Some(Op::Sync(_) | Op::Note(_) | Op::Opened(_) | Op::Acked(_)) | None => {}
            }
        }
        bytes.resize(size, 0);
        bytes
    }

    /// Returns the truncations since the last sync, with the new size in bytes.
    fn cuts(&self, ops: &[Op]) -> Vec<(usize, usize)> {
        let mut size = self.synced.len();
        let mut cuts = Vec::new();
        for at in &self.since {
            match ops.get(*at) {
                Some(Op::Write { offset, data, .. }) => size = size.max(offset + data.len()),
                Some(Op::Truncate { size: to, .. }) => {
                    if *to < size {
                        cuts.push((*at, *to));
                    }
                    size = *to;
                }
                Some(Op::Sync(_) | Op::Note(_) | Op::Opened(_) | Op::Acked(_)) | None => {}
            }
        }
        cuts
    }

    /// Returns contents in which every group of `run` sectors holds what it held at a random moment.
    fn shuffled(&self, ops: &[Op], seed: u64, run: usize) -> Vec<u8> {
        let moment = |number: u64| {
            let chosen = Rng::with_seed(seed.wrapping_add(number.wrapping_mul(0x5851_f42d_4c95_7f2d)))
                .usize(..self.since.len() + 1);
            chosen.checked_sub(1).and_then(|at| self.since.get(at)).map_or(0, |at| at + 1)
        };
        self.image(ops, &|sector| moment((sector / run) as u64), moment(u64::MAX), moment(u64::MAX - 1))
    }
}

/// Writes the chosen sectors of some bytes.
fn put(bytes: &mut Vec<u8>, offset: usize, data: &[u8], is_chosen: impl Fn(usize) -> bool) {
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    let mut from = offset;
    while from < end {
        let to = ((from / SECTOR + 1) * SECTOR).min(end);
        if is_chosen(from / SECTOR) {
            bytes[from..to].copy_from_slice(&data[from - offset..to - offset]);
        }
        from = to;
    }
}

/// Returns the byte range that an operation touches.
fn range(op: &Op) -> Option<(usize, usize)> {
    match op {
        Op::Write { offset, data, .. } => Some((*offset, offset + data.len())),
        Op::Truncate { size, .. } => Some((*size, usize::MAX)),
        Op::Sync(_) | Op::Note(_) | Op::Opened(_) | Op::Acked(_) => None,
    }
}

fn touches(range: Option<(usize, usize)>, sector: usize) -> bool {
    range.is_some_and(|(from, to)| from / SECTOR <= sector && sector * SECTOR < to)
}

/// Returns how many sectors an operation touches, if it can be torn.
pub(super) fn sectors(op: &Op) -> usize {
    match op {
        Op::Write { offset, data, .. } => (offset + data.len()).div_ceil(SECTOR) - offset / SECTOR,
        Op::Truncate { .. } | Op::Sync(_) | Op::Note(_) | Op::Opened(_) | Op::Acked(_) => 0,
    }
}

// === impl Image ===

impl Image {
    /// Returns a digest that identifies the image.
    pub(super) fn digest(&self) -> Digest {
        let [db, wal, journal, redo] = &self.files;
        Digest::of_parts(&[db, wal, journal, redo, self.note.as_deref().unwrap_or_default()])
    }

    /// Writes the files into an empty folder; a file without content is left out.
    ///
    /// # Errors
    /// When a file can't be written.
    pub(super) fn lay(&self, folder: &Path) -> std::io::Result<()> {
        for (file, bytes) in File::ALL.into_iter().zip(&self.files) {
            if !bytes.is_empty() {
                fs::write(folder.join(file.name()), bytes)?;
            }
        }
        if let Some(note) = &self.note {
            fs::write(folder.join("store.db.head"), note)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: usize, byte: u8, count: usize) -> Op {
        Op::Write { file: File::Db, offset, data: vec![byte; count] }
    }

    fn disk(ops: &[Op]) -> Disk {
        let mut disk = Disk::default();
        ops.iter().for_each(|_| disk.step(ops, true));
        disk
    }

    #[test]
    fn what_was_synced_stays_and_the_rest_may_go() {
        let ops = [write(0, 1, 1024), Op::Sync(File::Db), write(0, 2, 1024), write(1024, 3, 512)];
        let image = |cut| disk(&ops).image(&ops, cut).files[0].clone();

        assert_eq!(image(Cut::Everything), vec![1; 1024]);
        assert_eq!(image(Cut::Nothing), [vec![2; 1024], vec![3; 512]].concat());
        assert_eq!(image(Cut::Without(2)), [vec![1; 1024], vec![3; 512]].concat());
        assert_eq!(image(Cut::Only(3)), [vec![1; 1024], vec![3; 512]].concat());
        assert_eq!(image(Cut::Only(2)), vec![2; 1024]);
    }

    #[test]
    fn a_write_is_torn_between_sectors() {
        let ops = [write(0, 1, 1024), Op::Sync(File::Db), write(0, 2, 1024)];
        let image = |has_front| disk(&ops).image(&ops, Cut::Torn { sector: 1, has_front }).files[0].clone();

        assert_eq!(image(true), [vec![2; 512], vec![1; 512]].concat());
        assert_eq!(image(false), [vec![1; 512], vec![2; 512]].concat());
    }

    #[test]
    fn a_file_is_cut_as_a_whole() {
        let cut = |size| Op::Truncate { file: File::Db, size };
        let ops = [write(0, 1, 2048), Op::Sync(File::Db), cut(0), write(0, 2, 1024)];
        let image = |cut| disk(&ops).image(&ops, cut).files[0].clone();
        let mut seen = std::collections::BTreeSet::new();

        for seed in 0..200 {
            seen.insert(image(Cut::Shuffled(seed)));
        }

        let new = |sectors: [u8; 2]| sectors.map(|byte| vec![byte; 512]).concat();
        let legal = [vec![1; 2048], vec![], new([0, 0]), new([0, 2]), new([2, 0]), new([2, 2])];
        assert_eq!(seen, legal.into_iter().collect());
        assert_eq!(image(Cut::Without(2)), vec![1; 2048]);
        assert_eq!(image(Cut::Only(2)), Vec::<u8>::new());
        assert_eq!(image(Cut::Only(3)), vec![2; 1024]);
    }

    #[test]
    fn what_stays_of_a_file_that_is_cut_may_be_older_or_newer() {
        let cut = |size| Op::Truncate { file: File::Db, size };
        let ops = [write(0, 1, 2048), Op::Sync(File::Db), cut(1024), write(0, 2, 512)];
        let image = |cut| disk(&ops).image(&ops, cut).files[0].clone();

        assert_eq!(image(Cut::Without(2)), [vec![2; 512], vec![1; 1536]].concat());
        assert_eq!(image(Cut::Without(3)), vec![1; 1024]);
    }

    #[test]
    fn a_shuffled_sector_holds_what_it_held_at_some_moment() {
        let ops = [write(0, 1, 2048), Op::Sync(File::Db), write(0, 2, 2048), write(100, 3, 1000)];
        let mut seen = std::collections::BTreeSet::new();

        for seed in 0..200 {
            let image = disk(&ops).image(&ops, Cut::Shuffled(seed)).files[0].clone();
            assert_eq!(image.len(), 2048);
            assert!(image[..100].iter().all(|byte| *byte == image[0]) && [1, 2].contains(&image[0]));
            assert!(image[100] == 3 || image[100] == image[0]);
            seen.insert(image);
        }

        assert!(seen.len() > 10, "{}", seen.len());
    }
}
