//! Files gathered by one look and taken together: the record has all of them after a few commits, each with one sync of
//! the disk, and a file is moved away only after that.

use std::collections::{BTreeMap, HashSet};

use serde_json::json;
use switchboard_bus::auth::Proof;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, MessageId};

use crate::archive::{At, archive, set_aside};
use crate::intake::{self, Verdict};
use crate::service::Service;
use crate::{Error, Folder, Known, MessageFile, Receipt, Taking, receipts};

/// Maximum number of files taken together; the record needs as many commits under one sync.
const MAX_FILES: usize = 512;

/// Maximum size of the files taken together (8 MiB), so that a thousand large ones don't fill the memory.
const MAX_BYTES: usize = 8 << 20;

/// Content of a file that was read.
pub(super) enum Content {
    /// A message.
    Message(MessageFile),
    /// The result of a message.
    Result(Answered),
    /// Unusable content. Its owner, if the folder names one, is notified.
    Refused { owner: Option<String>, failure: Failure },
}

/// Result, checked against the message that it answers.
pub(super) struct Answered {
    /// Id of the answered message.
    pub(super) message: MessageId,
    pub(super) recipient: AgentName,
    /// Agent of the folder.
    pub(super) agent: String,
    /// Reply to the sender of the answered message; `None` if that agent has left.
    pub(super) reply: Option<MessageFile>,
    /// True if the message is done.
    pub(super) is_done: bool,
}

/// File that was read and waits to be taken.
pub(super) struct Dropped<'a> {
    pub(super) folder: &'a Folder,
    /// Path of the folder below `.switchboard/`.
    pub(super) path: &'a str,
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) content: Content,
}

/// Files gathered so far.
#[derive(Default)]
pub(super) struct Gathered<'a> {
    files: Vec<Dropped<'a>>,
    bytes: usize,
    ids: HashSet<MessageId>,
    answered: HashSet<MessageId>,
    dispatched: HashSet<(String, String)>,
}

/// File, and our own failure with it, if any.
type Taken<'a> = (Dropped<'a>, Result<(), Error>);

/// Next step for a file.
enum Step {
    Hold,
    Take(Option<Proof>),
    /// The record has it as taken.
    Send {
        is_signed: bool,
    },
    /// Only its receipt remains, if it gets one.
    Done(Option<Receipt>),
    Refused(Failure),
}

// === impl Dropped ===

impl Dropped<'_> {
    pub(super) fn at(&self) -> At<'_> {
        At { folder: self.folder, path: self.path, name: &self.name }
    }

    /// Returns the message to be recorded.
    fn message(&self) -> Option<&MessageFile> {
        match &self.content {
            Content::Message(file) => Some(file),
            Content::Result(answered) => answered.reply.as_ref(),
            Content::Refused { .. } => None,
        }
    }

    fn is_done_with(&self) -> Option<&Answered> {
        match &self.content {
            Content::Result(answered) if answered.is_done => Some(answered),
            Content::Result(_) | Content::Message(_) | Content::Refused { .. } => None,
        }
    }
}

// === impl Gathered ===

impl<'a> Gathered<'a> {
    /// Returns true if a file can be taken together with the gathered ones: none of them affects its outcome.
    pub(super) fn fits(&self, dropped: &Dropped<'_>) -> bool {
        if self.files.len() >= MAX_FILES || self.bytes + dropped.bytes.len() > MAX_BYTES {
            return self.files.is_empty();
        }
        let Some(file) = dropped.message() else { return true };
        let is_about = |id: &MessageId| self.answered.contains(id) || self.ids.contains(id);
        let pair = (file.sender.folded(), file.recipient.folded());
        let is_second = file.action.is_dispatch() && self.dispatched.contains(&pair);
        let depends = is_second || self.ids.contains(&file.id) || file.reply_to.as_ref().is_some_and(is_about);
        !depends
    }

    pub(super) fn push(&mut self, dropped: Dropped<'a>) {
        self.bytes += dropped.bytes.len();
        if let Some(file) = dropped.message() {
            self.ids.insert(file.id.clone());
            self.answered.extend(file.reply_to.clone());
            if file.action.is_dispatch() {
                self.dispatched.insert((file.sender.folded(), file.recipient.folded()));
            }
        }
        self.files.push(dropped);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Takes all files; returns each with our own failure, if any.
    ///
    /// # Errors
    /// A failure of the record, which affects all files. They stay where they were, and the next look finds them again.
    pub(super) fn take(self, service: &Service, root: &Folder) -> Result<Vec<Taken<'a>>, Error> {
        let files = self.files;
        let mut steps: Vec<Step> = files.iter().map(|dropped| first_step(service, dropped)).collect();
        record(service, &files, &mut steps);
        join(service, &files, &mut steps);
        send(service, &files, &mut steps);
        acknowledge(service, &files, &mut steps);
        let untold = tell(service, root, &files, &steps)?;
        let ended = files.into_iter().zip(steps).map(|(dropped, step)| {
            let moved = match refusal_target(&dropped).0.and_then(|owner| untold.get(&owner)) {
                Some(error) => Err(std::io::Error::new(error.kind(), error.to_string()).into()),
                None => put_away(service, root, &dropped, step),
            };
            (dropped, moved)
        });
        Ok(ended.collect())
    }
}

/// Returns the first step for a file, from the record, the signature and the policy.
fn first_step(service: &Service, dropped: &Dropped<'_>) -> Step {
    if let Content::Refused { failure, .. } = &dropped.content {
        return Step::Refused(failure.clone());
    }
    let Some(file) = dropped.message() else { return Step::Done(None) };
    let known = match crate::known(&service.store, file) {
        Ok(known) => known,
        Err(error) => return Step::Refused(error.into()),
    };
    match known {
        Known::Taken { is_signed } => Step::Send { is_signed },
        Known::Sent => Step::Done(Some(delivered(service, file))),
        Known::Held => Step::Done(Some(Receipt::held(file.id.as_str(), service.now()))),
        Known::Denied => Step::Refused(intake::denied(&file.id)),
        Known::Other => {
            let what = format!("the id {} was used for another message", file.id);
            Step::Refused(Failure::new("request.conflict", what))
        }
        Known::New => match intake::judge(service, file) {
            Ok(Verdict::Hold) => Step::Hold,
            Ok(Verdict::Take(proof)) => Step::Take(proof),
            Err(failure) => Step::Refused(failure),
        },
    }
}

/// Records which files are taken and which wait for a person.
fn record(service: &Service, files: &[Dropped<'_>], steps: &mut [Step]) {
    let mut calls = Vec::new();
    for (place, (dropped, step)) in files.iter().zip(&*steps).enumerate() {
        let Some(file) = dropped.message() else { continue };
        match step {
            Step::Hold => calls.push((place, Recording::Hold(file, dropped))),
            Step::Take(proof) => calls.push((place, Recording::Take(file, dropped, proof.as_ref()))),
            Step::Send { .. } | Step::Done(_) | Step::Refused(_) => {}
        }
    }
    let (places, calls): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
    let recorded = service.together(calls.into_iter().map(|call| call.carry_out(service)));
    for (place, recorded) in places.into_iter().zip(recorded) {
        steps[place] = recorded.unwrap_or_else(Step::Refused);
    }
}

/// Record of a new file.
enum Recording<'a> {
    Hold(&'a MessageFile, &'a Dropped<'a>),
    Take(&'a MessageFile, &'a Dropped<'a>, Option<&'a Proof>),
}

impl Recording<'_> {
    async fn carry_out(self, service: &Service) -> Result<Step, Failure> {
        match self {
            Self::Hold(file, dropped) => {
                intake::hold(service, file, &dropped.at().text(), &dropped.bytes).await?;
                Ok(Step::Done(Some(Receipt::held(file.id.as_str(), service.now()))))
            }
            Self::Take(file, dropped, proof) => {
                let from = dropped.at().text();
                crate::take(&service.store, Taking { file, from: &from, proof }).await?;
                Ok(Step::Send { is_signed: proof.is_some() })
            }
        }
    }
}

/// Adds senders to the roster that are known only by their folder.
fn join(service: &Service, files: &[Dropped<'_>], steps: &mut [Step]) {
    let mut joined: BTreeMap<String, Result<(), Failure>> = BTreeMap::new();
    for (dropped, step) in files.iter().zip(steps) {
        let (Some(file), Step::Send { .. }) = (dropped.message(), &*step) else { continue };
        let known = joined.entry(file.sender.folded()).or_insert_with(|| intake::join(service, &file.sender));
        if let Err(failure) = known {
            *step = Step::Refused(failure.clone());
        }
    }
}

/// Sends the taken files, each by the verb that every face calls.
fn send(service: &Service, files: &[Dropped<'_>], steps: &mut [Step]) {
    let mut calls = Vec::new();
    for (place, (dropped, step)) in files.iter().zip(&mut *steps).enumerate() {
        let (Some(file), Step::Send { is_signed }) = (dropped.message(), &*step) else { continue };
        match intake::args(service, file) {
            Ok(args) => {
                let sender = intake::sender(&file.sender, *is_signed);
                calls.push((place, service.host.invoke(sender, "send_message", args)));
            }
            Err(failure) => *step = Step::Refused(failure),
        }
    }
    let (places, calls): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
    for (place, sent) in places.into_iter().zip(service.together(calls)) {
        let file = files[place].message();
        steps[place] = match sent {
            Ok(_) => Step::Done(file.map(|file| delivered(service, file))),
            Err(failure) => Step::Refused(failure),
        };
    }
}

/// Acknowledges the messages whose results were gathered.
fn acknowledge(service: &Service, files: &[Dropped<'_>], steps: &mut [Step]) {
    let is_open = |(_, (_, step)): &(usize, (&Dropped<'_>, &Step))| matches!(step, Step::Done(_));
    let done = files.iter().zip(&*steps).enumerate().filter(is_open);
    let done = done.filter_map(|(place, (dropped, _))| Some((place, dropped.is_done_with()?)));
    let (places, calls): (Vec<_>, Vec<_>) = done
        .map(|(place, answered)| {
            let caller = intake::sender(&answered.recipient, false);
            (place, service.host.invoke(caller, "ack_message", json!({ "id": answered.message })))
        })
        .unzip();
    for (place, acked) in places.into_iter().zip(service.together(calls)) {
        match acked {
            Err(failure) if failure.code != "bus.already-acked" => steps[place] = Step::Refused(failure),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Writes the receipts of all files, and records the refusals; returns the agents whose outbox could not be written to.
fn tell(
    service: &Service,
    root: &Folder,
    files: &[Dropped<'_>],
    steps: &[Step],
) -> Result<BTreeMap<AgentName, std::io::Error>, Error> {
    let mut told: BTreeMap<AgentName, Vec<Receipt>> = BTreeMap::new();
    for (dropped, step) in files.iter().zip(steps) {
        match step {
            Step::Done(receipt) => {
                // The answer to a result is that its message is done.
                let file = if let Content::Message(file) = &dropped.content { file } else { continue };
                told.entry(file.sender.clone()).or_default().extend(receipt.clone());
            }
            Step::Refused(failure) if !intake::is_ours(failure) => {
                let at = dropped.at().text();
                let id = if let Content::Message(file) = &dropped.content { Some(&file.id) } else { None };
                service.runtime.block_on(crate::refuse(&service.store, &at, id, failure))?;
                let (owner, about) = refusal_target(dropped);
                if let Some(owner) = owner {
                    told.entry(owner).or_default().push(Receipt::refused(&about, failure, service.now()));
                }
            }
            Step::Refused(_) | Step::Hold | Step::Take(_) | Step::Send { .. } => {}
        }
    }
    let mut untold = BTreeMap::new();
    for (sender, receipts) in told {
        match receipts::leave(root, &sender, &receipts) {
            Ok(()) => {}
            Err(Error::Io(error)) => drop(untold.insert(sender, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(untold)
}

/// Returns the agent to be notified of a refusal, and the id that the refusal concerns.
fn refusal_target(dropped: &Dropped<'_>) -> (Option<AgentName>, String) {
    let by_folder = |owner: Option<&str>| {
        (owner.and_then(|owner| AgentName::new(owner).ok()), dropped.name.trim_end_matches(".json").to_owned())
    };
    match &dropped.content {
        Content::Message(file) => (Some(file.sender.clone()), file.id.to_string()),
        Content::Result(answered) => by_folder(Some(&answered.agent)),
        Content::Refused { owner, .. } => by_folder(owner.as_deref()),
    }
}

/// Archives a file, or sets it aside. A file with a failure on our side stays where it is.
fn put_away(service: &Service, root: &Folder, dropped: &Dropped<'_>, step: Step) -> Result<(), Error> {
    match step {
        Step::Refused(failure) if intake::is_ours(&failure) => Err(Error::Refused(failure)),
        Step::Refused(failure) => set_aside(root, dropped.at(), &failure, service.now()),
        Step::Done(_) => archive(root, dropped.at(), service.now()),
        Step::Hold | Step::Take(_) | Step::Send { .. } => {
            Err(Error::Refused(Failure::new("internal.bug", "a message file was left half taken")))
        }
    }
}

fn delivered(service: &Service, file: &MessageFile) -> Receipt {
    Receipt::delivered(file.id.as_str(), file.recipient.as_str(), service.now())
}
