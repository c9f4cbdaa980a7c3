//! Writes mail as files for agents that read them, and records which files they pick up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::{Folder, News, Out, Sent, canonical, folder_for, is_reached, temporary};
use switchboard_protocol::agent::Agent;
use switchboard_protocol::event::Lsn;
use switchboard_protocol::file::Gone;
use switchboard_protocol::id::MessageId;
use switchboard_protocol::message::DeliveryState;

use crate::Error;
use crate::archive::{At, archive};
use crate::intake;
use crate::service::Service;
use crate::writes::{New, write_all};

/// Maximum number of files staged under one commit.
const CHUNK: usize = 256;

/// Maximum number of news in one reading of the log.
const PAGE: usize = 256;

/// Maximum number of waiting messages written at once for an agent that begins to read files; the others follow as it
/// picks them up.
const CATCH_UP: usize = 1000;

/// How long a file must be missing to count as picked up: when a whole folder is removed, its files disappear first.
const CONFIRM: Duration = Duration::from_millis(400);

/// Pause after a folder could not be written to; mail of other readers goes on.
const PAUSE: Duration = Duration::from_secs(10);

/// Maximum number of events by which the durable cursor may lag when there is nothing to write.
const LAG: Lsn = 5000;

/// State of the delivery of mail as files.
#[derive(Default)]
pub(super) struct Deliver {
    position: Option<Lsn>,
    stored: Lsn,
    files: BTreeMap<MessageId, Out>,
    /// Files that a pass did not find, with the time since when, and the folder's inode.
    missing: HashMap<MessageId, (Instant, Option<u64>)>,
    reached: BTreeSet<String>,
    hungry: BTreeSet<String>,
    /// Readers whose folder could not be written to, with the time of the failure.
    troubled: BTreeMap<String, Instant>,
}

/// Reader's folder as found by one pass, with its inode.
struct Found {
    folder: Option<Folder>,
    inode: Option<u64>,
}

// === impl Deliver ===

impl Deliver {
    /// Loads the state left by the last daemon.
    pub(super) fn load(&mut self, service: &Service) -> Result<(), Error> {
        if self.position.is_some() {
            return Ok(());
        }
        let store = &service.store;
        self.files = crate::outstanding(store)?.into_iter().map(|file| (file.id.clone(), file)).collect();
        self.stored = crate::cursor(store)?;
        self.position = Some(self.stored);
        Ok(())
    }

    /// Returns true if a file was written by us.
    pub(super) fn wrote(&self, folder: &str, name: &str) -> bool {
        let id = name.strip_suffix(".json").and_then(|stem| MessageId::new(stem).ok());
        id.and_then(|id| self.files.get(&id)).is_some_and(|file| file.folder == folder)
    }

    /// Runs one pass; returns true if the next one should come soon.
    pub(super) fn pass(&mut self, service: &Service, root: &Folder) -> Result<bool, Error> {
        let inbox = root.make("inbox")?;
        self.settle_staged(service, &inbox)?;
        let folders = inbox.entries()?;
        let folders: Vec<_> = folders.iter().filter(|entry| entry.is_folder).map(|entry| entry.name.as_str()).collect();
        let readers = self.readers(service, &folders)?;
        self.catch_up(service, &inbox, &readers, &folders)?;
        self.follow(service, root, &inbox, &readers, &folders)?;
        self.see_pick_ups(service, &inbox)?;
        let is_hungry = self.hungry.iter().any(|name| !self.is_troubled(name));
        Ok(!self.missing.is_empty() || is_hungry)
    }

    /// Returns true if a reader's folder could not be written to, so that it is retried after a pause.
    pub(super) fn is_in_trouble(&self) -> bool {
        !self.hungry.is_empty()
    }

    fn is_troubled(&self, name: &str) -> bool {
        self.troubled.get(name).is_some_and(|since| since.elapsed() < PAUSE)
    }

    /// Returns the agents that read files, by the canonical form of their names.
    fn readers(&mut self, service: &Service, folders: &[&str]) -> Result<BTreeMap<String, Agent>, Error> {
        let has: BTreeSet<_> = folders.iter().map(|folder| canonical(folder)).collect();
        let mut readers = BTreeMap::new();
        for agent in switchboard_bus::roster(&service.store)? {
            let name = canonical(agent.name.as_str());
            if is_reached(&agent, has.contains(&name)) {
                readers.insert(name, agent);
            }
        }
        let now: BTreeSet<_> = readers.keys().cloned().collect();
        self.hungry.extend(now.difference(&self.reached).cloned());
        self.reached = now;
        Ok(readers)
    }

    /// Writes waiting messages for agents that have just begun to read files, have emptied their folder, or have lost
    /// it.
    fn catch_up(
        &mut self,
        service: &Service,
        inbox: &Folder,
        readers: &BTreeMap<String, Agent>,
        folders: &[&str],
    ) -> Result<(), Error> {
        for name in std::mem::take(&mut self.hungry) {
            let Some(agent) = readers.get(&name) else { continue };
            if self.is_troubled(&name) {
                self.hungry.insert(name);
                continue;
            }
            let waiting = crate::waiting_without_file(&service.store, &agent.name, CATCH_UP)?;
            self.write(service, inbox, &waiting, folders, 0)?;
        }
        Ok(())
    }

    fn follow(
        &mut self,
        service: &Service,
        root: &Folder,
        inbox: &Folder,
        readers: &BTreeMap<String, Agent>,
        folders: &[&str],
    ) -> Result<(), Error> {
        let store = &service.store;
        while self.position.unwrap_or(0) < store.head().lsn {
            let from = self.position.unwrap_or(0);
            let (news, until) = crate::news(store, from, PAGE)?;
            let (mut fresh, mut ended) = (Vec::new(), Vec::new());
            for one in news {
                match one {
                    News::Sent(sent) => {
                        let is_theirs = readers.contains_key(&canonical(sent.recipient.as_str()));
                        if is_theirs && !crate::was_written(store, &sent.id)? && is_unseen(service, &sent.id)? {
                            fresh.push(sent);
                        }
                    }
                    News::Acked(id) => {
                        fresh.retain(|sent| sent.id != id);
                        if let Some(file) = self.files.get_mut(&id) {
                            file.is_acked = true;
                        }
                    }
                    News::Ended(id) => {
                        fresh.retain(|sent| sent.id != id);
                        ended.extend(self.files.get(&id).cloned());
                    }
                    News::Revived(name) => drop(self.hungry.insert(canonical(name.as_str()))),
                    News::Settled(id) => intake::tell_settled(service, root, &id)?,
                }
            }
            self.withdraw(service, root, inbox, ended)?;
            self.write(service, inbox, &fresh, folders, until)?;
            if until > self.stored + LAG {
                service.runtime.block_on(crate::mark_written(store, &[], until))?;
                self.stored = until;
            }
            self.position = Some(until.max(from + 1));
        }
        Ok(())
    }

    /// Archives the files of messages that no agent is to act on any more. A file that disappears otherwise was picked
    /// up, which is detected elsewhere.
    fn withdraw(&mut self, service: &Service, root: &Folder, inbox: &Folder, files: Vec<Out>) -> Result<(), Error> {
        let mut withdrawn = Vec::new();
        for file in files {
            let Ok(Some(folder)) = inbox.sub(&file.folder) else { continue };
            let name = file.name();
            if folder.has(&name) {
                let path = format!("inbox/{}", file.folder);
                archive(root, At { folder: &folder, path: &path, name: &name }, service.now())?;
                withdrawn.push(file);
            }
        }
        self.forget(service, &withdrawn, Gone::Archived)
    }

    /// Writes messages: temporary files, the record of them, their names, the record that they are offered.
    fn write(
        &mut self,
        service: &Service,
        inbox: &Folder,
        messages: &[Sent],
        folders: &[&str],
        until: Lsn,
    ) -> Result<(), Error> {
        let keys = service.keys()?;
        for messages in messages.chunks(CHUNK) {
            let mut written = Vec::with_capacity(messages.len());
            let mut open: BTreeMap<String, std::io::Result<Folder>> = BTreeMap::new();
            for message in messages {
                let folder = folder_for(&message.recipient, folders.iter().copied());
                let nonce = service.host.nonce()?;
                let text = crate::render(&service.store, message, keys.current(), &nonce)?;
                open.entry(folder.clone()).or_insert_with(|| inbox.make(&folder));
                let file = Out {
                    id: message.id.clone(),
                    recipient: message.recipient.clone(),
                    folder,
                    is_written: false,
                    is_acked: false,
                };
                written.push((file, text));
            }
            let staged = self.stage(written, &open);
            if staged.is_empty() {
                continue;
            }
            service.runtime.block_on(crate::stage(&service.store, &staged))?;
            self.files.extend(staged.into_iter().map(|file| (file.id.clone(), file)));
            self.settle_staged(service, inbox)?;
        }
        if !messages.is_empty() && until > self.stored {
            service.runtime.block_on(crate::mark_written(&service.store, &[], until))?;
            self.stored = until;
        }
        Ok(())
    }

    /// Writes temporary files, several at once; returns those that exist.
    fn stage(&mut self, files: Vec<(Out, String)>, open: &BTreeMap<String, std::io::Result<Folder>>) -> Vec<Out> {
        let (mut written, mut new) = (Vec::new(), Vec::new());
        for (file, text) in files {
            match open.get(&file.folder) {
                Some(Ok(folder)) => {
                    new.push(New { folder, name: temporary(&file.name()), bytes: text.into_bytes() });
                    written.push(file);
                }
                Some(Err(error)) => self.put_off(&file, error),
                None => {}
            }
        }
        let mut staged = Vec::with_capacity(written.len());
        for (file, is_there) in written.into_iter().zip(write_all(&new)) {
            match is_there {
                Ok(()) => staged.push(file),
                Err(error) => self.put_off(&file, &error),
            }
        }
        staged
    }

    /// Postpones a message: it waits in the record, and its reader's folder is retried later.
    fn put_off(&mut self, file: &Out, error: &std::io::Error) {
        let reader = canonical(&file.folder);
        if !self.is_troubled(&reader) {
            tracing::warn!(folder = file.folder, %error, "mail can't be written as files");
            self.troubled.insert(reader.clone(), Instant::now());
        }
        self.hungry.insert(reader);
    }

    /// Gives staged files their names. A file with neither its temporary nor its own name was picked up already: the
    /// temporary file existed before the record of it.
    fn settle_staged(&mut self, service: &Service, inbox: &Folder) -> Result<(), Error> {
        let staged: Vec<_> = self.files.values().filter(|file| !file.is_written).cloned().collect();
        if staged.is_empty() {
            return Ok(());
        }
        let mut touched = BTreeSet::new();
        for file in &staged {
            let Ok(Some(folder)) = inbox.sub(&file.folder) else { continue };
            let name = file.name();
            if folder.has(&temporary(&name)) {
                folder.rename(&temporary(&name), &name)?;
            }
            touched.insert(file.folder.clone());
        }
        for folder in touched {
            if let Ok(Some(folder)) = inbox.sub(&folder) {
                folder.sync()?;
            }
        }
        service.runtime.block_on(crate::mark_written(&service.store, &staged, 0))?;
        for file in staged {
            if let Some(file) = self.files.get_mut(&file.id) {
                file.is_written = true;
            }
        }
        Ok(())
    }

    fn see_pick_ups(&mut self, service: &Service, inbox: &Folder) -> Result<(), Error> {
        let (mut taken, mut lost) = (Vec::new(), Vec::new());
        let mut folders: HashMap<&str, std::io::Result<Found>> = HashMap::new();
        for file in self.files.values() {
            if !folders.contains_key(file.folder.as_str()) {
                let found = inbox.sub(&file.folder).map(|folder| {
                    let inode = folder.as_ref().and_then(|folder| folder.inode().ok());
                    Found { folder, inode }
                });
                folders.insert(&file.folder, found);
            }
            // A folder that can't be read proves nothing.
            let Ok(Found { folder, inode }) = &folders[file.folder.as_str()] else { continue };
            if folder.as_ref().is_some_and(|folder| folder.has(&file.name())) {
                self.missing.remove(&file.id);
                continue;
            }
            let (since, before) = *self.missing.entry(file.id.clone()).or_insert((Instant::now(), *inode));
            if since.elapsed() < CONFIRM {
                continue;
            }
            if folder.is_some() && before == *inode { taken.push(file.clone()) } else { lost.push(file.clone()) }
        }
        self.forget(service, &taken, Gone::PickedUp)?;
        self.forget(service, &lost, Gone::Lost)
    }

    /// Records that files are gone.
    pub(super) fn forget(&mut self, service: &Service, files: &[Out], how: Gone) -> Result<(), Error> {
        for files in files.chunks(CHUNK) {
            service.runtime.block_on(crate::mark_gone(&service.store, files, how))?;
            for file in files {
                self.files.remove(&file.id);
                self.missing.remove(&file.id);
                let reader = canonical(&file.folder);
                if how == Gone::Lost || !self.files.values().any(|other| other.folder == file.folder) {
                    self.hungry.insert(reader);
                }
            }
        }
        Ok(())
    }

    /// Returns the files that their recipients have acknowledged, by folder, oldest first.
    pub(super) fn acked(&self) -> BTreeMap<String, Vec<Out>> {
        let mut acked: BTreeMap<String, Vec<Out>> = BTreeMap::new();
        for file in self.files.values().filter(|file| file.is_written && file.is_acked) {
            acked.entry(file.folder.clone()).or_default().push(file.clone());
        }
        acked
    }
}

/// Returns true if no other channel has evidence that the recipient has seen a message.
fn is_unseen(service: &Service, id: &MessageId) -> Result<bool, Error> {
    let message = switchboard_bus::message(&service.store, id)?;
    Ok(message.is_some_and(|message| message.state < DeliveryState::Injected))
}
