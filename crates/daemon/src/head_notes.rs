//! Notes of record heads outside the store, so that a lost or shortened record is detected: beside the state folders of all repositories,
//! and in git's own folder. `docs/decisions/0007-heads-are-noted-elsewhere.md` gives the reasons.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use switchboard_process::file::{self, Mode, Sync};
use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::RootPaths;

/// Maximum size of a notes file in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// Maximum number of remembered chains: one for each record; a new one begins only after a record was lost.
const MAX_CHAINS: usize = 32;

/// Newest known head of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotedHead {
    /// Id of the record's chain.
    pub(crate) chain_id: String,
    /// Number of events in the record.
    pub(crate) lsn: Lsn,
    /// Hash of the last event.
    pub(crate) hash: Digest,
    /// Time of the note.
    pub(crate) at: Millis,
    /// True if the head was signed.
    #[serde(default)]
    pub(crate) is_signed: bool,
}

/// Content of a notes file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notes {
    /// Id of the repository's record: a copy of the repository has another one, so these notes do not apply to it.
    root: String,
    heads: Vec<NotedHead>,
}

/// Notes a head in both places. The record must be durable up to there. A failure is logged: then a loss may go undetected.
pub(crate) fn note(place: &RootPaths, head: &NotedHead) {
    let mut heads = read(place);
    heads.retain(|other| other.chain_id != head.chain_id || other.lsn > head.lsn);
    if heads.iter().all(|other| other.chain_id != head.chain_id) {
        heads.push(head.clone());
    }
    heads.sort_by_key(|head| head.at);
    let surplus = heads.len().saturating_sub(MAX_CHAINS);
    write(place, heads.split_off(surplus));
}

/// Forgets all heads.
pub(crate) fn forget(place: &RootPaths) {
    write(place, Vec::new());
}

/// Compares a record with the notes and describes what is missing; `hash_of` returns the hash of one of its events, if known.
pub(crate) fn findings(
    place: &RootPaths,
    record: Option<(&str, Lsn)>,
    hash_of: impl Fn(Lsn) -> Option<Digest>,
) -> Vec<String> {
    read(place).iter().filter_map(|noted| finding(noted, record, &hash_of)).collect()
}

fn finding(noted: &NotedHead, record: Option<(&str, Lsn)>, hash_of: impl Fn(Lsn) -> Option<Digest>) -> Option<String> {
    let NotedHead { chain_id, lsn, at, .. } = noted;
    let word = if noted.is_signed { "signed" } else { "noted" };
    match record {
        Some((chain, events)) if chain == chain_id && *lsn <= events => {
            let differs = hash_of(*lsn).is_some_and(|hash| hash != noted.hash);
            differs.then(|| format!("event {lsn} is not the one that was {word} at {at}"))
        }
        Some((chain, events)) if chain == chain_id => {
            Some(format!("the record has {events} events, and {lsn} were {word} at {at}: its end is missing"))
        }
        Some(_) | None => Some(format!("a record of {lsn} events ({chain_id}) was {word} at {at} and is gone")),
    }
}

/// Returns the newest head of each record in either place.
fn read(place: &RootPaths) -> Vec<NotedHead> {
    let id = id(place);
    let mut heads: Vec<NotedHead> = Vec::new();
    for file in files(place) {
        for head in read_one(&file, &id) {
            match heads.iter_mut().find(|other| other.chain_id == head.chain_id) {
                Some(other) if other.lsn < head.lsn => *other = head,
                Some(_) => {}
                None => heads.push(head),
            }
        }
    }
    heads
}

fn read_one(file: &Path, id: &str) -> Vec<NotedHead> {
    let is_small = std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
    let bytes = if is_small { std::fs::read(file).unwrap_or_default() } else { Vec::new() };
    let notes: Notes = serde_json::from_slice(&bytes).unwrap_or_default();
    if notes.root == id { notes.heads } else { Vec::new() }
}

fn write(place: &RootPaths, heads: Vec<NotedHead>) {
    let notes = Notes { root: id(place), heads };
    let [beside, in_git] = files(place);
    // The git folder may have been moved away: it is not created again.
    if let Some(Err(error)) = beside.parent().map(std::fs::create_dir_all) {
        tracing::warn!(file = %beside.display(), %error, "the folder for heads can't be made");
    }
    for file in [beside, in_git] {
        let written = serde_json::to_vec(&notes)
            .map_err(std::io::Error::other)
            .and_then(|bytes| file::replace(&file, &bytes, Mode::Private, Sync::No));
        if let Err(error) = written {
            tracing::warn!(file = %file.display(), %error, "the record's head could not be noted");
        }
    }
}

fn id(place: &RootPaths) -> String {
    place.state.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn files(place: &RootPaths) -> [PathBuf; 2] {
    let beside = place.state.with_file_name("heads").join(format!("{}.json", id(place)));
    [beside, place.repo.common_dir().join("switchboard-heads.json")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(chain: &str, lsn: Lsn, hash: u8) -> NotedHead {
        NotedHead { chain_id: chain.to_owned(), lsn, hash: Digest([hash; 32]), at: Millis(0), is_signed: false }
    }

    #[test]
    fn a_record_is_held_against_what_was_noted_of_it() {
        let hash_of = |lsn| (lsn == 5).then_some(Digest([5; 32]));
        let found = |noted: &NotedHead, record| finding(noted, record, hash_of);

        assert_eq!(found(&noted("a", 5, 5), Some(("a", 9))), None);
        assert_eq!(found(&noted("a", 4, 9), Some(("a", 9))), None, "that hash is not known here");
        assert!(found(&noted("a", 5, 6), Some(("a", 9))).unwrap().contains("is not the one"));
        assert!(found(&noted("a", 5, 5), Some(("a", 4))).unwrap().contains("its end is missing"));
        assert!(found(&noted("a", 5, 5), Some(("b", 9))).unwrap().contains("is gone"));
        assert!(found(&noted("a", 5, 5), None).unwrap().contains("is gone"));
    }
}
