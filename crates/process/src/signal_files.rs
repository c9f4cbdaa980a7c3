//! Folders of numbered signal files: written once, never overwritten, read in order.
//!
//! Only files count that belong to our own user, that no other user may write, that are no links, and that are not longer than
//! [`MAX_BYTES`].

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::signal::{RunSignal, SignalDone, SignalKind};
use switchboard_protocol::time::Millis;

use crate::file;

/// Maximum size of a signal file that is read, in bytes.
pub const MAX_BYTES: u64 = 4 << 10;

/// Maximum number of signals that one read returns; the next read continues.
const MAX_SIGNALS: usize = 256;

/// Maximum number of names in a folder that are examined.
const MAX_NAMES: usize = 10_000;

/// A signal file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Number of the signal.
    pub n: u32,
    /// The signal, or the reason why the file doesn't count.
    pub signal: Result<RunSignal, String>,
}

/// Contents of a folder, from its file names.
#[derive(Debug, Default)]
struct Names {
    /// Numbers of signals, each with the names of those who have handled it.
    signals: BTreeMap<u32, Vec<String>>,
    /// Names that are neither signals nor marks.
    unknown: Vec<String>,
}

/// Writes a signal under the next number, and makes the folder if there is none. Returns the number.
///
/// # Errors
/// When the folder is not ours alone; the error of the system.
pub fn write(folder: &Path, kind: SignalKind, task: Option<&TaskId>, from: &str, at: Millis) -> io::Result<u32> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut n = last(folder)?;
    loop {
        n = n.checked_add(1).ok_or(io::ErrorKind::StorageFull)?;
        let signal = RunSignal { n, kind, task: task.cloned(), from: from.to_owned(), at };
        if file::create(&folder.join(format!("{n}.json")), &serde_json::to_vec(&signal)?)? {
            return Ok(n);
        }
    }
}

/// Returns the highest number in a folder; 0 if there is none.
///
/// # Errors
/// As [`read`].
pub fn last(folder: &Path) -> io::Result<u32> {
    Ok(names(folder)?.signals.into_keys().next_back().unwrap_or(0))
}

/// Returns the signals after a number that neither `by` nor the daemon has handled, in order; none if there is no folder.
///
/// # Errors
/// When the folder is not ours alone; the error of the system.
pub fn read(folder: &Path, after: u32, by: &str) -> io::Result<Vec<Found>> {
    let is_open = |done: &[String]| !done.iter().any(|who| who == by || who == DAEMON);
    let open = names(folder)?.signals.into_iter().filter(|(n, done)| *n > after && is_open(done));
    let found = open.take(MAX_SIGNALS).map(|(n, _)| {
        let text = content(&folder.join(format!("{n}.json")));
        Found { n, signal: text.and_then(|text| RunSignal::parse(n, &text)) }
    });
    Ok(found.collect())
}

/// Returns names in a folder that are no signals: these files are never read.
///
/// # Errors
/// As [`read`].
pub fn unknown_names(folder: &Path) -> io::Result<Vec<String>> {
    Ok(names(folder)?.unknown)
}

/// Returns the names of those who have handled a signal.
///
/// # Errors
/// As [`read`].
pub fn done_by(folder: &Path, n: u32) -> io::Result<Vec<String>> {
    Ok(names(folder)?.signals.remove(&n).unwrap_or_default())
}

/// Name of the daemon in a mark, which means that the signal is recorded.
pub const DAEMON: &str = "daemon";

/// Marks a signal as handled; an existing mark stays unchanged.
///
/// # Errors
/// The error of the system.
pub fn mark(folder: &Path, done: &SignalDone) -> io::Result<()> {
    let name = format!("{}.{}.done.json", done.n, done.by);
    file::create(&folder.join(name), &serde_json::to_vec(done)?).map(drop)
}

fn names(folder: &Path) -> io::Result<Names> {
    let mut names = Names::default();
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
        Err(error) => return Err(error),
    };
    if !found.is_dir() || !is_ours(&found) {
        let what = format!("{} is no folder of ours alone", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    let mut marks = Vec::new();
    for entry in fs::read_dir(folder)?.take(MAX_NAMES) {
        let name = entry?.file_name().to_string_lossy().into_owned();
        match (numbered(&name), name.strip_suffix(".done.json").and_then(marked)) {
            (Some(n), _) => drop(names.signals.entry(n).or_default()),
            (None, Some(mark)) => marks.push(mark),
            // Drafts of files that are being written.
            (None, None) if name.starts_with('.') => {}
            (None, None) => names.unknown.push(name),
        }
    }
    for (n, by) in marks {
        if let Some(done) = names.signals.get_mut(&n) {
            done.push(by);
        }
    }
    names.unknown.sort();
    Ok(names)
}

/// Returns the number of `N.json`, if it is written in its canonical form.
fn numbered(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".json")?;
    let n: u32 = digits.parse().ok()?;
    (n > 0 && n.to_string() == digits).then_some(n)
}

/// Returns the number and the handler of `N.BY`.
fn marked(name: &str) -> Option<(u32, String)> {
    let (n, by) = name.split_once('.')?;
    Some((n.parse().ok()?, by.to_owned()))
}

fn content(path: &Path) -> Result<Vec<u8>, String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| format!("it can't be opened: {error}"))?;
    let file = fs::File::from(file);
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() || !is_ours(&found) {
        return Err("it is no file that only we may write".to_owned());
    }
    if found.len() > MAX_BYTES {
        return Err(format!("it has {} bytes, at most {MAX_BYTES} are read", found.len()));
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// Returns true if a file belongs to our user and no other user may write it.
fn is_ours(found: &fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn signal(folder: &Path, kind: SignalKind) -> u32 {
        write(folder, kind, None, "person", Millis(1)).unwrap()
    }

    fn done(n: u32, by: &str) -> SignalDone {
        SignalDone { n, by: by.to_owned(), refused: String::new(), at: Millis(2) }
    }

    #[test]
    fn signals_are_numbered_never_overwritten_and_read_once_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("signals");

        let numbers = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8).map(|_| scope.spawn(|| signal(&folder, SignalKind::Pause))).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect::<std::collections::BTreeSet<_>>()
        });
        assert_eq!(numbers, (1..=8).collect());
        assert_eq!(signal(&folder, SignalKind::Resume), 9);

        let read_by =
            |after, by| read(&folder, after, by).unwrap().into_iter().map(|found| found.n).collect::<Vec<_>>();
        assert_eq!(read_by(6, "wrk_1"), [7, 8, 9]);
        mark(&folder, &done(8, "wrk_1")).unwrap();
        mark(&folder, &done(9, DAEMON)).unwrap();
        assert_eq!(read_by(6, "wrk_1"), [7], "neither what it has done nor what the daemon has");
        assert_eq!(read_by(6, "wrk_2"), [7, 8]);
        assert_eq!(done_by(&folder, 8).unwrap(), ["wrk_1"]);
        assert_eq!(read(&folder.join("none"), 0, "wrk_1").unwrap(), []);
    }

    #[test]
    fn links_files_of_others_and_what_is_too_long_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let text = br#"{"n":1,"type":"stop","from":"x","at":1}"#;
        let elsewhere = folder.join("elsewhere");
        fs::write(&elsewhere, text).unwrap();
        symlink(&elsewhere, folder.join("1.json")).unwrap();
        fs::write(folder.join("2.json"), text).unwrap();
        fs::set_permissions(folder.join("2.json"), fs::Permissions::from_mode(0o620)).unwrap();
        fs::write(folder.join("3.json"), vec![b' '; 5000]).unwrap();
        fs::create_dir(folder.join("4.json")).unwrap();
        fs::write(folder.join("05.json"), text).unwrap();

        let found = read(folder, 0, "w").unwrap();

        assert!(found.iter().map(|found| found.n).eq(1..=4), "{found:?}");
        assert!(found.iter().all(|found| found.signal.is_err()), "{found:?}");
        assert!(found[2].signal.as_ref().unwrap_err().contains("5000 bytes"));
        assert_eq!(unknown_names(folder).unwrap(), ["05.json", "elsewhere"]);
    }

    #[test]
    fn a_folder_that_others_may_write_or_a_link_to_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (open, link) = (folder.path().join("open"), folder.path().join("link"));
        fs::create_dir(&open).unwrap();
        symlink(&open, &link).unwrap();

        assert!(read(&link, 0, "w").is_err(), "a link");
        assert!(read(&open, 0, "w").is_ok());
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(read(&open, 0, "w").is_err());
        assert!(write(&open, SignalKind::Stop, None, "p", Millis(1)).is_err());
    }
}
