//! Looks through the folders: who has joined, what is new, what is whole.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::{Folder, MAX_FILE_BYTES, Origin, Unusable, is_unfinished};
use switchboard_protocol::error::Failure;

use crate::Error;
use crate::archive::At;
use crate::deliver::Deliver;
use crate::intake;
use crate::service::Service;

/// How long a file that stops in the middle of its JSON is waited for, after its last change.
const UNFINISHED: Duration = Duration::from_secs(30);

/// How long one that is wrong otherwise is: its writer may be about to write it again.
const WRONG: Duration = Duration::from_secs(1);

/// Files that are waited for at once; more are judged as they are.
const MAX_WAITING: usize = 10_000;

/// Most files that one pass takes; the next pass follows at once.
const MAX_TAKEN: usize = 500;

/// What was seen before.
#[derive(Default)]
pub(super) struct Look {
    waiting: HashMap<String, (crate::Look, Instant)>,
    /// Files that could not even be set aside: they are skipped until they change.
    stuck: HashMap<String, crate::Look>,
    joined: BTreeSet<String>,
    /// Folders that can't be opened, which is logged once.
    closed: BTreeSet<String>,
    taken: usize,
}

// === impl Look ===

impl Look {
    /// Looks at everything once; returns whether to come back soon.
    pub(super) fn pass(&mut self, service: &Service, root: &Folder, deliver: &Deliver) -> Result<bool, Error> {
        self.taken = 0;
        let mut seen = BTreeSet::new();
        for (folder, name) in self.folders(root, "inbox")? {
            let path = ["inbox", name.as_str()];
            for file in names(&folder, ".json")? {
                let at = At { folder: &folder, path: &path, name: &file };
                if file.ends_with(".result.json") {
                    self.one(service, root, at, Kind::Result(&name), &mut seen)?;
                } else if !file.ends_with(".receipt.json") && !deliver.wrote(&name, &file) {
                    self.one(service, root, at, Kind::Message(Origin::Inbox(&name)), &mut seen)?;
                }
            }
        }
        for (folder, name) in self.folders(root, "outbox")? {
            self.join(service, &name);
            for file in names(&folder, ".result.json")? {
                let at = At { folder: &folder, path: &["outbox", &name], name: &file };
                self.one(service, root, at, Kind::Result(&name), &mut seen)?;
            }
            let Some(send) = folder.sub("send")? else { continue };
            for file in names(&send, ".json")? {
                let at = At { folder: &send, path: &["outbox", &name, "send"], name: &file };
                self.one(service, root, at, Kind::Message(Origin::Send(&name)), &mut seen)?;
            }
        }
        self.waiting.retain(|path, _| seen.contains(path));
        Ok(!self.waiting.is_empty() || self.taken >= MAX_TAKEN)
    }

    /// The folders in one of ours, with their names.
    fn folders(&mut self, root: &Folder, name: &str) -> Result<Vec<(Folder, String)>, Error> {
        let Some(parent) = root.sub(name)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for entry in parent.entries()?.into_iter().filter(|entry| entry.is_folder) {
            match parent.sub(&entry.name) {
                Ok(Some(folder)) => found.push((folder, entry.name)),
                Ok(None) => {}
                Err(error) if self.closed.insert(format!("{name}/{}", entry.name)) => {
                    tracing::warn!(folder = entry.name, %error, "a message folder can't be opened");
                }
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// Sends what a person has approved, and closes what nobody answered.
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

    /// An agent that keeps a folder in `outbox/` is one of the team.
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

    /// Looks after one file; what is wrong with it stops no other.
    fn one(
        &mut self,
        service: &Service,
        root: &Folder,
        at: At<'_>,
        kind: Kind<'_>,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        let path = at.text();
        let look = at.folder.look(at.name).ok();
        if look.is_some() && self.stuck.get(&path) == look.as_ref() {
            return Ok(());
        }
        match (self.judge(service, root, at, kind, seen), look) {
            (Err(Error::Io(error)), Some(look)) => {
                tracing::warn!(path, %error, "a message file can't be moved; it is let be");
                if self.stuck.len() < MAX_WAITING {
                    self.stuck.insert(path, look);
                }
                Ok(())
            }
            (judged, _) => judged,
        }
    }

    fn judge(
        &mut self,
        service: &Service,
        root: &Folder,
        at: At<'_>,
        kind: Kind<'_>,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        if self.taken >= MAX_TAKEN {
            return Ok(());
        }
        let path = at.text();
        let bytes = match at.folder.read(at.name, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(Unusable::Gone) => return Ok(()),
            Err(Unusable::Refused(failure)) => {
                self.taken += 1;
                return intake::refuse(service, root, at, kind.owner(), &failure);
            }
            Err(Unusable::Io(error)) => {
                let failure = Failure::new("io.denied", "the file can't be read").because(&error);
                return self.patiently(service, root, at, kind, (UNFINISHED, failure), seen);
            }
        };
        match kind.take(service, root, at, &bytes) {
            Ok(()) => {
                self.taken += 1;
                Ok(())
            }
            Err(intake::Not::Error(trouble)) => Err(*trouble),
            Err(intake::Not::Whole(failure)) => {
                let patience = if is_unfinished(&bytes) { UNFINISHED } else { WRONG };
                tracing::debug!(path, %failure, "a message file is not whole yet");
                self.patiently(service, root, at, kind, (patience, *failure), seen)
            }
        }
    }

    /// Refuses a file when it has not changed for long enough.
    fn patiently(
        &mut self,
        service: &Service,
        root: &Folder,
        at: At<'_>,
        kind: Kind<'_>,
        (patience, failure): (Duration, Failure),
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        let path = at.text();
        let Ok(look) = at.folder.look(at.name) else { return Ok(()) };
        let is_known = self.waiting.get(&path).filter(|(before, _)| *before == look);
        match is_known {
            Some((_, since)) if since.elapsed() < patience => {}
            None if self.waiting.len() < MAX_WAITING => {
                self.waiting.insert(path.clone(), (look, Instant::now()));
            }
            Some(_) | None => {
                self.waiting.remove(&path);
                self.taken += 1;
                return intake::refuse(service, root, at, kind.owner(), &failure);
            }
        }
        seen.insert(path);
        Ok(())
    }
}

/// What a file is by its name and place.
#[derive(Clone, Copy)]
enum Kind<'a> {
    Message(Origin<'a>),
    /// A result by the agent of this name.
    Result(&'a str),
}

// === impl Kind ===

impl Kind<'_> {
    /// Whose word it is by the folder alone.
    fn owner(&self) -> Option<&str> {
        match self {
            Self::Message(Origin::Inbox(_)) => None,
            Self::Message(Origin::Send(name)) | Self::Result(name) => Some(name),
        }
    }

    fn take(self, service: &Service, root: &Folder, at: At<'_>, bytes: &[u8]) -> Result<(), intake::Not> {
        match self {
            Self::Message(origin) => intake::message(service, root, at, bytes, origin),
            Self::Result(agent) => intake::result(service, root, at, bytes, agent),
        }
    }
}

/// Names of files in a folder that end so. Everything but a folder: what is no plain file is to be refused loudly.
fn names(folder: &Folder, end: &str) -> Result<Vec<String>, Error> {
    let entries = folder.entries()?;
    Ok(entries
        .into_iter()
        .filter(|entry| !entry.is_folder && entry.name.ends_with(end))
        .map(|entry| entry.name)
        .collect())
}
