//! The daemon as the file protocol's host.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use switchboard_bus::Limits;
use switchboard_bus::auth::Keys;
use switchboard_files::{Answer, Ruling, Sender};
use switchboard_policy::Verdict;
use switchboard_protocol::caller::{Caller, Face};
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::run::RunSummary;

use crate::face::{Call, Invoke as _, value_of};
use crate::verbs::Verbs;
use crate::{Error, place, project, token};

/// The daemon as the file protocol sees it.
pub(crate) struct Host {
    verbs: Arc<Verbs>,
}

// === impl Host ===

impl Host {
    pub(crate) fn new(verbs: Arc<Verbs>) -> Self {
        Self { verbs }
    }

    /// Restores the token and the daemon's address if they were deleted with the rest of the folder: clients that have the token
    /// continue, and clients that look for the daemon find it.
    fn keep_token(&self) -> Result<(), Error> {
        let place = &self.verbs.place;
        if token::ensure(place)? {
            return Ok(());
        }
        self.verbs.info.write(&place.project)
    }
}

impl switchboard_files::Host for Host {
    fn project(&self) -> &Path {
        &self.verbs.place.project
    }

    fn root(&self) -> &Path {
        &self.verbs.place.root
    }

    fn limits(&self) -> Limits {
        self.verbs.limits
    }

    fn restore(&self) -> Result<(), Failure> {
        let restored = project::prepare(&self.verbs.place.project).and_then(|()| self.keep_token());
        restored.map_err(|error| error.to_failure())
    }

    fn private_folder(&self, path: &Path) -> Result<(), Failure> {
        let root = &self.verbs.place.root;
        if !root.is_dir() {
            return Err(Failure::new("io.denied", "the work tree is gone").at(root.display().to_string()));
        }
        place::private_folder(path).map_err(|error| error.to_failure())
    }

    fn keys(&self) -> Result<Keys, Failure> {
        Keys::ensure(&token::dispatch_keys(&self.verbs.place), self.verbs.store.now())
    }

    fn nonce(&self) -> Result<String, Failure> {
        Ok(token::nonce())
    }

    fn newest_run(&self) -> Result<Option<RunSummary>, Failure> {
        Ok(self.verbs.dispatch.runs(1)?.into_iter().next())
    }

    fn rule(&self, sender: Sender<'_>, args: &Value) -> Result<Ruling, Failure> {
        let decision = self.verbs.decide_verb(&caller(sender), "send_message", args)?;
        Ok(match decision.refused("send_message") {
            None => Ruling::Allowed,
            Some(_) if decision.verdict() == Verdict::Ask => Ruling::NeedsPerson,
            Some(failure) => Ruling::Refused(failure),
        })
    }

    fn invoke<'a>(&'a self, sender: Sender<'_>, verb: &'static str, args: Value) -> Answer<'a> {
        let call = Call { caller: caller(sender), verb: verb.to_owned(), args, key: None };
        Box::pin(async move { value_of(&self.verbs.invoke(call).await?) })
    }
}

fn caller(sender: Sender<'_>) -> Caller {
    let Sender { name, is_verified } = sender;
    Caller { is_verified, face: Face::Files, ..Caller::agent(name.clone()) }
}
