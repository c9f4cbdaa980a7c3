//! Writes receipts to an agent's outbox: the newest as separate files, older ones as lines of one file, so that a
//! thousand messages don't leave a thousand files.

use std::collections::HashSet;

use switchboard_protocol::id::AgentName;
use switchboard_protocol::time::Millis;

use crate::writes::{New, write_all};
use crate::{Error, Folder, Receipt, Unusable};

/// Maximum number of an agent's receipts kept as separate files.
const MAX_RECEIPTS: usize = 100;

/// Number of separate files kept when there are more. The others become lines together, so that the file is not
/// rewritten for each of them.
const RECENT_RECEIPTS: usize = 50;

/// Name of the file of older receipts.
pub(super) const OLDER: &str = "receipts.jsonl";

/// Maximum size of the file of older receipts in bytes (4 MiB): some 16,000 of them. Beyond it the oldest half is
/// dropped.
const MAX_OLDER: usize = 4 << 20;

/// Maximum size of a receipt that is read back, in bytes.
const MAX_RECEIPT: usize = 64 << 10;

/// Writes receipts to the sender's outbox, oldest first.
pub(super) fn leave(root: &Folder, sender: &AgentName, receipts: &[Receipt]) -> Result<(), Error> {
    let outbox = root.make("outbox")?;
    let there = outbox.entries()?;
    let folders = there.iter().filter(|entry| entry.is_folder).map(|entry| entry.name.as_str());
    let folder = outbox.make(&crate::folder_for(sender, folders))?;
    let mut before = files(&folder, receipts)?;
    let mut whole = receipts;
    if before.len() + receipts.len() > MAX_RECEIPTS {
        let surplus = before.len() + receipts.len() - RECENT_RECEIPTS;
        let lines;
        (lines, whole) = receipts.split_at(surplus.saturating_sub(before.len()));
        before.sort_by_cached_key(|name| written_at(&folder, name));
        before.truncate(surplus);
        fold(&folder, &before, lines)?;
    }
    let mut written = Vec::with_capacity(whole.len());
    for receipt in whole {
        let (name, text) = receipt.to_file()?;
        written.push(New { folder: &folder, name: crate::temporary(&name), bytes: text.into_bytes() });
    }
    write_all(&written).into_iter().collect::<std::io::Result<()>>()?;
    for receipt in whole {
        let name = receipt.file_name();
        folder.rename(&crate::temporary(&name), &name)?;
    }
    Ok(())
}

/// Returns the names of receipts that are files, except those to be rewritten.
fn files(folder: &Folder, again: &[Receipt]) -> Result<Vec<String>, Error> {
    let again: HashSet<_> = again.iter().map(Receipt::file_name).collect();
    let entries = folder.entries()?.into_iter().filter(|entry| !entry.is_folder && is_receipt(&entry.name));
    Ok(entries.map(|entry| entry.name).filter(|name| !again.contains(name)).collect())
}

/// Returns the key by which receipts are ordered: their time. Files that are not receipts come first.
fn written_at(folder: &Folder, name: &str) -> String {
    read(folder, name).map_or_else(String::new, |receipt| receipt.processed_at)
}

/// Reads a receipt of a folder; `None` if the file is not a receipt any more.
fn read(folder: &Folder, name: &str) -> Option<Receipt> {
    serde_json::from_slice(&folder.read(name, MAX_RECEIPT).ok()?).ok()
}

/// Returns true if a file of an outbox is a separate receipt.
pub(super) fn is_receipt(name: &str) -> bool {
    name.starts_with("receipt_") && name.ends_with(".json")
}

/// Appends receipts as lines to the file of older ones. Their files are removed after that: a crash in between
/// duplicates a receipt, but never loses it.
fn fold(folder: &Folder, old: &[String], lines: &[Receipt]) -> Result<(), Error> {
    let mut text = older(folder);
    for name in old {
        // A file that is not a receipt any more was replaced by another program, and is removed like an old receipt.
        if let Some(receipt) = read(folder, name) {
            text += &(serde_json::to_string(&receipt)? + "\n");
        }
    }
    for receipt in lines {
        text += &(serde_json::to_string(receipt)? + "\n");
    }
    if text.len() > MAX_OLDER {
        let half = text.len() - MAX_OLDER / 2;
        let from =
            text.as_bytes()[half..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| half + at + 1);
        text.drain(..from);
    }
    folder.replace(OLDER, text.as_bytes())?;
    for name in old {
        folder.remove(name)?;
    }
    Ok(())
}

/// Drops the lines of receipts from before a time; the file is removed with the last of them.
pub(super) fn forget_older(folder: &Folder, before: Millis) -> Result<(), Error> {
    let text = older(folder);
    let before = before.to_string();
    let is_young = |line: &&str| {
        serde_json::from_str::<Receipt>(line).is_ok_and(|receipt| receipt.processed_at.as_str() >= before.as_str())
    };
    let kept: String = text.lines().filter(is_young).flat_map(|line| [line, "\n"]).collect();
    if kept.is_empty() {
        folder.remove(OLDER)?;
    } else if kept.len() < text.len() {
        folder.replace(OLDER, kept.as_bytes())?;
    }
    Ok(())
}

/// Returns the present lines; none if the file was replaced by something else.
fn older(folder: &Folder) -> String {
    let text = match folder.read(OLDER, 2 * MAX_OLDER) {
        Ok(bytes) => String::from_utf8(bytes).unwrap_or_default(),
        Err(Unusable::Gone) => String::new(),
        Err(Unusable::Refused(failure)) => {
            tracing::warn!(%failure, "the file of older receipts is written anew");
            String::new()
        }
        Err(Unusable::Io(error)) => {
            tracing::warn!(%error, "the file of older receipts is written anew");
            String::new()
        }
    };
    if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipts(numbers: std::ops::Range<usize>) -> Vec<Receipt> {
        numbers.map(|number| Receipt::delivered(&format!("msg_{number:05}"), "ben", Millis(number as i64))).collect()
    }

    fn all(folder: &Folder) -> (Vec<String>, Vec<String>) {
        let files = files(folder, &[]).unwrap();
        let lines = older(folder);
        let ids = lines.lines().map(|line| serde_json::from_str::<Receipt>(line).unwrap().in_reply_to);
        (files, ids.collect())
    }

    #[test]
    fn a_thousand_receipts_are_a_few_files_and_one_with_all_the_others() {
        let place = tempfile::tempdir().unwrap();
        let root = Folder::root(place.path()).unwrap();
        let ada = AgentName::new("ada").unwrap();

        leave(&root, &ada, &receipts(0..60)).unwrap();
        leave(&root, &ada, &receipts(60..1000)).unwrap();

        let folder = root.make_all(["outbox", "ada"]).unwrap();
        let (files, lines) = all(&folder);
        assert_eq!((files.len(), lines.len()), (RECENT_RECEIPTS, 1000 - RECENT_RECEIPTS));
        assert_eq!((files[0].as_str(), lines[0].as_str()), ("receipt_msg_00950.json", "msg_00000"));
        assert!(lines.is_sorted());
    }

    #[test]
    fn a_receipt_that_is_written_again_is_one_file() {
        let place = tempfile::tempdir().unwrap();
        let root = Folder::root(place.path()).unwrap();
        let ada = AgentName::new("ada").unwrap();

        for _ in 0..3 {
            leave(&root, &ada, &receipts(0..MAX_RECEIPTS)).unwrap();
        }

        assert_eq!(all(&root.make_all(["outbox", "ada"]).unwrap()).0.len(), MAX_RECEIPTS);
    }

    #[test]
    fn older_receipts_go_when_they_are_old_and_never_grow_beyond_a_size() {
        let place = tempfile::tempdir().unwrap();
        let root = Folder::root(place.path()).unwrap();
        let ada = AgentName::new("ada").unwrap();
        for start in (0..40_000).step_by(8000) {
            leave(&root, &ada, &receipts(start..start + 8000)).unwrap();
        }
        let folder = root.make_all(["outbox", "ada"]).unwrap();
        let (_, lines) = all(&folder);
        assert!(older(&folder).len() <= MAX_OLDER && lines.is_sorted());
        assert_eq!(lines.last().unwrap(), "msg_39949");

        forget_older(&folder, Millis(39_900)).unwrap();
        assert_eq!(all(&folder).1.len(), 50);
        forget_older(&folder, Millis(50_000)).unwrap();
        assert!(!folder.has(OLDER));
    }

    #[test]
    fn a_link_in_the_place_of_the_older_receipts_is_replaced_and_its_target_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let root = Folder::root(place.path()).unwrap();
        let target = place.path().join("mine");
        std::fs::write(&target, "mine").unwrap();
        let folder = root.make_all(["outbox", "ada"]).unwrap();
        std::os::unix::fs::symlink(&target, place.path().join("outbox/ada").join(OLDER)).unwrap();

        leave(&root, &AgentName::new("ada").unwrap(), &receipts(0..200)).unwrap();

        assert_eq!(all(&folder).1.len(), 150);
        assert_eq!(std::fs::read_to_string(target).unwrap(), "mine");
    }
}
