//! Looks through the folders: who has joined, what is new, what is whole.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use switchboard_bus::files::{Folder, MAX_FILE_BYTES, Origin, Unusable, is_unfinished};
use switchboard_protocol::error::Failure;

use super::archive::At;
use super::deliver::Deliver;
use super::{Desk, Trouble, intake};

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
    waiting: HashMap<String, (switchboard_bus::files::Look, Instant)>,
    /// Files that could not even be set aside: they are let be until they change.
    stuck: HashMap<String, switchboard_bus::files::Look>,
    joined: BTreeSet<String>,
    /// Folders that can't be opened, which is said once.
    closed: BTreeSet<String>,
    taken: usize,
}

// === impl Look ===

impl Look {
    /// Looks at everything once; says whether to come back soon.
    pub(super) fn pass(&mut self, desk: &Desk, root: &Folder, deliver: &Deliver) -> Result<bool, Trouble> {
        self.taken = 0;
        let mut seen = BTreeSet::new();
        for (folder, name) in self.folders(root, "inbox")? {
            let path = ["inbox", name.as_str()];
            for file in names(&folder, ".json")? {
                let at = At { folder: &folder, path: &path, name: &file };
                if file.ends_with(".result.json") {
                    self.one(desk, root, at, Kind::Result(&name), &mut seen)?;
                } else if !file.ends_with(".receipt.json") && !deliver.wrote(&name, &file) {
                    self.one(desk, root, at, Kind::Message(Origin::Inbox(&name)), &mut seen)?;
                }
            }
        }
        for (folder, name) in self.folders(root, "outbox")? {
            self.join(desk, &name);
            for file in names(&folder, ".result.json")? {
                let at = At { folder: &folder, path: &["outbox", &name], name: &file };
                self.one(desk, root, at, Kind::Result(&name), &mut seen)?;
            }
            let Some(send) = folder.sub("send")? else { continue };
            for file in names(&send, ".json")? {
                let at = At { folder: &send, path: &["outbox", &name, "send"], name: &file };
                self.one(desk, root, at, Kind::Message(Origin::Send(&name)), &mut seen)?;
            }
        }
        self.waiting.retain(|path, _| seen.contains(path));
        Ok(!self.waiting.is_empty() || self.taken >= MAX_TAKEN)
    }

    /// The folders in one of ours, with their names.
    fn folders(&mut self, root: &Folder, name: &str) -> Result<Vec<(Folder, String)>, Trouble> {
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
    pub(super) fn held(&self, desk: &Desk, root: &Folder) -> Result<(), Trouble> {
        let (approved, late) = switchboard_bus::files::due(&desk.verbs.store)?;
        for held in &approved {
            intake::send_held(desk, root, held)?;
        }
        for held in &late {
            desk.runtime.block_on(switchboard_bus::files::settle_held(
                &desk.verbs.store,
                held,
                "expired",
                "daemon",
                None,
            ))?;
        }
        Ok(())
    }

    /// An agent that keeps a folder in `outbox/` is one of the team.
    fn join(&mut self, desk: &Desk, name: &str) {
        if !self.joined.insert(name.to_owned()) {
            return;
        }
        if let Ok(name) = switchboard_protocol::id::AgentName::new(name)
            && let Err(failure) = intake::join(desk, &name)
        {
            tracing::warn!(agent = %name, %failure, "an agent that keeps a folder could not join");
        }
    }

    /// Looks after one file; what is wrong with it stops no other.
    fn one(
        &mut self,
        desk: &Desk,
        root: &Folder,
        at: At<'_>,
        kind: Kind<'_>,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Trouble> {
        let path = at.text();
        let look = at.folder.look(at.name).ok();
        if look.is_some() && self.stuck.get(&path) == look.as_ref() {
            return Ok(());
        }
        match (self.judge(desk, root, at, kind, seen), look) {
            (Err(Trouble::Io(error)), Some(look)) => {
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
        desk: &Desk,
        root: &Folder,
        at: At<'_>,
        kind: Kind<'_>,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Trouble> {
        if self.taken >= MAX_TAKEN {
            return Ok(());
        }
        let path = at.text();
        let bytes = match at.folder.read(at.name, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(Unusable::Gone) => return Ok(()),
            Err(Unusable::Refused(failure)) => {
                self.taken += 1;
                return intake::refuse(desk, root, at, kind.owner(), &failure);
            }
            Err(Unusable::Io(error)) => {
                let failure = Failure::new("io.denied", "the file can't be read").because(&error);
                return self.patiently(desk, root, at, kind, (UNFINISHED, failure), seen);
            }
        };
        match kind.take(desk, root, at, &bytes) {
            Ok(()) => {
                self.taken += 1;
                Ok(())
            }
            Err(intake::Not::Trouble(trouble)) => Err(*trouble),
            Err(intake::Not::Whole(failure)) => {
                let patience = if is_unfinished(&bytes) { UNFINISHED } else { WRONG };
                tracing::debug!(path, %failure, "a message file is not whole yet");
                self.patiently(desk, root, at, kind, (patience, *failure), seen)
            }
        }
    }

    /// Refuses a file when it has not changed for long enough.
    fn patiently(
        &mut self,
        desk: &Desk,
        root: &Folder,
        at: At<'_>,
        kind: Kind<'_>,
        (patience, failure): (Duration, Failure),
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Trouble> {
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
                return intake::refuse(desk, root, at, kind.owner(), &failure);
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

    fn take(self, desk: &Desk, root: &Folder, at: At<'_>, bytes: &[u8]) -> Result<(), intake::Not> {
        match self {
            Self::Message(origin) => intake::message(desk, root, at, bytes, origin),
            Self::Result(agent) => intake::result(desk, root, at, bytes, agent),
        }
    }
}

/// Names of files in a folder that end so. Everything but a folder: what is no plain file is to be refused loudly.
fn names(folder: &Folder, end: &str) -> Result<Vec<String>, Trouble> {
    let entries = folder.entries()?;
    Ok(entries
        .into_iter()
        .filter(|entry| !entry.is_folder && entry.name.ends_with(end))
        .map(|entry| entry.name)
        .collect())
}
