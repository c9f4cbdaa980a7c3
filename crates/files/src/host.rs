//! What the file protocol needs of the daemon.

use std::path::Path;
use std::pin::Pin;

use serde_json::Value;
use switchboard_bus::Limits;
use switchboard_bus::auth::Keys;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::run::RunSummary;

/// The answer of a verb.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send + 'a>>;

/// Who a file says sends it.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    /// The name.
    pub name: &'a AgentName,
    /// Whether a signature proves it.
    pub is_verified: bool,
}

/// What the policy says to a file.
#[derive(Debug)]
pub enum Ruling {
    /// It may be sent.
    Allowed,
    /// It may be sent once a person has said yes.
    NeedsPerson,
    /// It may not be sent.
    Refused(Failure),
}

/// The daemon, as the file protocol sees it.
pub trait Host: Send + Sync {
    /// `.switchboard/` of the work tree.
    fn project(&self) -> &Path;

    /// The folder to which relative paths in messages belong.
    fn root(&self) -> &Path;

    /// How much an inbox holds.
    fn limits(&self) -> Limits;

    /// Makes `.switchboard/` and what the daemon keeps in it again where somebody has swept it away.
    ///
    /// # Errors
    /// When a folder or file can't be made.
    fn restore(&self) -> Result<(), Failure>;

    /// Makes a folder that only the user may look into, if it is not there.
    ///
    /// # Errors
    /// When it can't be made, or is not the user's own.
    fn private_folder(&self, path: &Path) -> Result<(), Failure>;

    /// The keys that sign message files as they are now: they may have been rotated.
    ///
    /// # Errors
    /// When the file of the keys can't be read or made.
    fn keys(&self) -> Result<Keys, Failure>;

    /// A random UUID for a signature.
    ///
    /// # Errors
    /// When the system has no random numbers.
    fn nonce(&self) -> Result<String, Failure>;

    /// The newest run, if there is one.
    ///
    /// # Errors
    /// When the runs can't be read.
    fn newest_run(&self) -> Result<Option<RunSummary>, Failure>;

    /// What the policy says to `send_message` with these arguments.
    ///
    /// # Errors
    /// When the policy can't be asked.
    fn rule(&self, sender: Sender<'_>, args: &Value) -> Result<Ruling, Failure>;

    /// Calls a verb as the sender of a file.
    fn invoke<'a>(&'a self, sender: Sender<'_>, verb: &'static str, args: Value) -> Answer<'a>;
}
