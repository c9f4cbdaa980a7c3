//! Looks through the folders: finds agents that have joined, new files, and complete ones.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::{Folder, MAX_FILE_BYTES, Origin, Unusable, is_unfinished};
use switchboard_protocol::error::Failure;

use crate::Error;
use crate::archive::At;
use crate::deliver::Deliver;
use crate::gathered::{Content, Dropped, Gathered};
use crate::intake;
use crate::service::Service;

/// How long to wait for the rest of incomplete JSON, after the file's last change.
const UNFINISHED: Duration = Duration::from_secs(30);

/// How long to wait after the last change of a file with another fault: its writer may be about to rewrite it.
const WRONG: Duration = Duration::from_secs(1);

/// Maximum number of files waited for at once; further ones are judged as they are.
const MAX_WAITING: usize = 10_000;

/// Maximum number of files taken by one pass; the next pass follows at once.
const MAX_TAKEN: usize = 1024;

/// State of earlier passes.
#[derive(Default)]
pub(super) struct Look {
    waiting: HashMap<String, (crate::Look, Instant)>,
    /// Files that could not even be set aside: they are skipped until they change.
    stuck: HashMap<String, crate::Look>,
    joined: BTreeSet<String>,
    /// Folders that can't be opened; each is logged once.
    closed: BTreeSet<String>,
    taken: usize,
}

// === impl Look ===

impl Look {
    /// Looks at all folders once; returns true if the next pass should come soon.
    pub(super) fn pass(&mut self, service: &Service, root: &Folder, deliver: &Deliver) -> Result<bool, Error> {
        self.taken = 0;
        let mut seen = BTreeSet::new();
        self.inboxes(service, root, deliver, &mut seen)?;
        self.outboxes(service, root, &mut seen)?;
        self.waiting.retain(|path, _| seen.contains(path));
        Ok(!self.waiting.is_empty() || self.taken >= MAX_TAKEN)
    }

    fn inboxes(
        &mut self,
        service: &Service,
        root: &Folder,
        deliver: &Deliver,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        let inboxes = self.folders(root, "inbox")?;
        let (mut messages, mut results) = (Vec::new(), Vec::new());
        for Found { folder, path, owner } in &inboxes {
            for name in names(folder, ".json")? {
                if name.ends_with(".result.json") {
                    results.push(Seen { folder, path, name, kind: Kind::Result(owner) });
                } else if !name.ends_with(".receipt.json") && !deliver.wrote(owner, &name) {
                    messages.push(Seen { folder, path, name, kind: Kind::Message(Origin::Inbox(owner)) });
                }
            }
        }
        self.all(service, root, messages, seen)?;
        self.all(service, root, results, seen)
    }

    fn outboxes(&mut self, service: &Service, root: &Folder, seen: &mut BTreeSet<String>) -> Result<(), Error> {
        let outboxes = self.folders(root, "outbox")?;
        let (mut sends, mut results) = (Vec::new(), Vec::new());
        for Found { folder, path, owner } in &outboxes {
            self.join(service, owner);
            for name in names(folder, ".result.json")? {
                results.push(Seen { folder, path, name, kind: Kind::Result(owner) });
            }
            if let Some(folder) = folder.sub("send")? {
                sends.push(Found { folder, path: format!("{path}/send"), owner: owner.clone() });
            }
        }
        self.all(service, root, results, seen)?;
        let mut messages = Vec::new();
        for Found { folder, path, owner } in &sends {
            for name in names(folder, ".json")? {
                messages.push(Seen { folder, path, name, kind: Kind::Message(Origin::Send(owner)) });
            }
        }
        self.all(service, root, messages, seen)
    }

    /// Reads files and takes them, several at once; a fault of one does not affect the others.
    fn all(
        &mut self,
        service: &Service,
        root: &Folder,
        files: Vec<Seen<'_>>,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        let mut gathered = Gathered::default();
        for file in files {
            if self.taken >= MAX_TAKEN {
                break;
            }
            let Some(dropped) = self.one(service, root, file, seen)? else { continue };
            if !gathered.fits(&dropped) {
                self.take(service, root, std::mem::take(&mut gathered))?;
            }
            self.taken += 1;
            gathered.push(dropped);
        }
        self.take(service, root, gathered)
    }

    fn take(&mut self, service: &Service, root: &Folder, gathered: Gathered<'_>) -> Result<(), Error> {
        if gathered.is_empty() {
            return Ok(());
        }
        let mut failed = Ok(());
        for (dropped, taken) in gathered.take(service, root)? {
            match taken {
                Ok(()) => {}
                Err(Error::Io(error)) => self.skip_until_changed(dropped.at(), &error),
                Err(error) => failed = Err(error),
            }
        }
        failed
    }

    /// Skips a file that can't be moved until it changes.
    fn skip_until_changed(&mut self, at: At<'_>, error: &std::io::Error) {
        let path = at.text();
        tracing::warn!(path, %error, "a message file can't be moved; it is let be");
        if let Ok(look) = at.folder.look(at.name)
            && self.stuck.len() < MAX_WAITING
        {
            self.stuck.insert(path, look);
        }
    }

    /// Returns the folders in one of ours.
    fn folders(&mut self, root: &Folder, name: &str) -> Result<Vec<Found>, Error> {
        let Some(parent) = root.sub(name)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for entry in parent.entries()?.into_iter().filter(|entry| entry.is_folder) {
            match parent.sub(&entry.name) {
                Ok(Some(folder)) => {
                    found.push(Found { folder, path: format!("{name}/{}", entry.name), owner: entry.name })
                }
                Ok(None) => {}
                Err(error) if self.closed.insert(format!("{name}/{}", entry.name)) => {
                    tracing::warn!(folder = entry.name, %error, "a message folder can't be opened");
                }
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// Sends held messages that a person has approved, and closes expired ones.
    #[expect(clippy::unused_self, reason = "it belongs to the look")]
    pub(super) fn held(&self, service: &Service, root: &Folder) -> Result<(), Error> {
        let (approved, late) = crate::due(&service.store)?;
        for held in &approved {
            intake::send_held(service, root, held)?;
        }
        for held in &late {
            service.runtime.block_on(crate::settle_held(&service.store, held, "expired", "daemon", None))?;
        }
        Ok(())
    }

    /// Adds an agent with a folder in `outbox/` to the team.
    fn join(&mut self, service: &Service, name: &str) {
        if !self.joined.insert(name.to_owned()) {
            return;
        }
        if let Ok(name) = switchboard_protocol::id::AgentName::new(name)
            && let Err(failure) = intake::join(service, &name)
        {
            tracing::warn!(agent = %name, %failure, "an agent that keeps a folder could not join");
        }
    }

    /// Reads one file; `None` if there is nothing to take, or not yet.
    fn one<'a>(
        &mut self,
        service: &Service,
        root: &Folder,
        file: Seen<'a>,
        seen: &mut BTreeSet<String>,
    ) -> Result<Option<Dropped<'a>>, Error> {
        let path = file.at().text();
        if !self.stuck.is_empty() && file.folder.look(&file.name).is_ok_and(|look| self.stuck.get(&path) == Some(&look))
        {
            return Ok(None);
        }
        let bytes = match file.folder.read(&file.name, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(Unusable::Gone) => return Ok(None),
            Err(Unusable::Refused(failure)) => return Ok(Some(file.refused(failure))),
            Err(Unusable::Io(error)) => {
                let failure = Failure::new("io.denied", "the file can't be read").because(&error);
                return Ok(self.patiently(file, (UNFINISHED, failure), seen));
            }
        };
        match file.kind.read(service, root, file.at(), &bytes) {
            Ok(content) => Ok(content.map(|content| file.dropped(bytes, content))),
            Err(intake::NotTaken::Error(trouble)) => {
                let Error::Io(error) = *trouble else { return Err(*trouble) };
                self.skip_until_changed(file.at(), &error);
                Ok(None)
            }
            Err(intake::NotTaken::Whole(failure)) => {
                let patience = if is_unfinished(&bytes) { UNFINISHED } else { WRONG };
                tracing::debug!(path, %failure, "a message file is not whole yet");
                Ok(self.patiently(file, (patience, *failure), seen))
            }
        }
    }

    /// Refuses a file that has not changed for long enough; `None` while waiting.
    fn patiently<'a>(
        &mut self,
        file: Seen<'a>,
        (patience, failure): (Duration, Failure),
        seen: &mut BTreeSet<String>,
    ) -> Option<Dropped<'a>> {
        let path = file.at().text();
        let look = file.folder.look(&file.name).ok()?;
        let is_known = self.waiting.get(&path).filter(|(before, _)| *before == look);
        match is_known {
            Some((_, since)) if since.elapsed() < patience => {}
            None if self.waiting.len() < MAX_WAITING => {
                self.waiting.insert(path.clone(), (look, Instant::now()));
            }
            Some(_) | None => {
                self.waiting.remove(&path);
                return Some(file.refused(failure));
            }
        }
        seen.insert(path);
        None
    }
}

/// Folder of the protocol.
struct Found {
    folder: Folder,
    /// Path below `.switchboard/`.
    path: String,
    /// Name of the agent that owns the folder.
    owner: String,
}

/// File listed by a folder.
struct Seen<'a> {
    folder: &'a Folder,
    path: &'a str,
    name: String,
    kind: Kind<'a>,
}

// === impl Seen ===

impl<'a> Seen<'a> {
    fn at(&self) -> At<'_> {
        At { folder: self.folder, path: self.path, name: &self.name }
    }

    fn dropped(self, bytes: Vec<u8>, content: Content) -> Dropped<'a> {
        Dropped { folder: self.folder, path: self.path, name: self.name, bytes, content }
    }

    fn refused(self, failure: Failure) -> Dropped<'a> {
        let owner = self.kind.owner().map(str::to_owned);
        self.dropped(Vec::new(), Content::Refused { owner, failure })
    }
}

/// Kind of a file, by its name and folder.
#[derive(Clone, Copy)]
enum Kind<'a> {
    Message(Origin<'a>),
    /// Result by the agent of this name.
    Result(&'a str),
}

// === impl Kind ===

impl Kind<'_> {
    /// Returns the author according to the folder alone.
    fn owner(&self) -> Option<&str> {
        match self {
            Self::Message(Origin::Inbox(_)) => None,
            Self::Message(Origin::Send(name)) | Self::Result(name) => Some(name),
        }
    }

    fn read(
        self,
        service: &Service,
        root: &Folder,
        at: At<'_>,
        bytes: &[u8],
    ) -> Result<Option<Content>, intake::NotTaken> {
        match self {
            Self::Message(origin) => intake::message(service, root, at, bytes, origin),
            Self::Result(agent) => intake::result(service, bytes, agent).map(Some),
        }
    }
}

/// Returns the names in a folder with this ending, sorted, except folders: an entry that is not a plain file must be
/// refused with a reason.
///
/// While files are added, one listing may miss a file and have one that was added after it. So there are two, and the
/// second one counts up to the last name of the first: what was added before a file of the first listing is there
/// throughout the second one. Later files are left to the next pass.
fn names(folder: &Folder, end: &str) -> Result<Vec<String>, Error> {
    let Some(last) = listed(folder, end)?.pop() else { return Ok(Vec::new()) };
    let mut names = listed(folder, end)?;
    names.retain(|name| *name <= last);
    Ok(names)
}

fn listed(folder: &Folder, end: &str) -> Result<Vec<String>, Error> {
    let entries = folder.entries()?;
    Ok(entries
        .into_iter()
        .filter(|entry| !entry.is_folder && entry.name.ends_with(end))
        .map(|entry| entry.name)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_written_to_lists_no_file_without_those_added_before_it() {
        const FILES: usize = 5000;
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::root(place.path()).unwrap();
        let writer = std::thread::spawn({
            let place = place.path().to_owned();
            move || {
                for n in 0..FILES {
                    let beside = place.join("next.writing");
                    std::fs::write(&beside, "{}").unwrap();
                    std::fs::rename(beside, place.join(format!("{n:04}.json"))).unwrap();
                }
            }
        });
        loop {
            let has_ended = writer.is_finished();
            let names = names(&folder, ".json").unwrap();
            let whole = (0..names.len()).map(|n| format!("{n:04}.json"));
            assert!(names.iter().cloned().eq(whole), "one of the first {} is missing", names.len());
            if has_ended {
                assert_eq!(names.len(), FILES);
                break;
            }
        }
        writer.join().unwrap();
    }
}
