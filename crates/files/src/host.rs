//! Interface of the file protocol to the daemon.

use std::path::Path;
use std::pin::Pin;

use serde_json::Value;
use switchboard_bus::Limits;
use switchboard_bus::auth::Keys;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::run::RunSummary;

/// Answer of a verb.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send + 'a>>;

/// Sender that a file names.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    /// Name of the sender.
    pub name: &'a AgentName,
    /// True if a signature proves it.
    pub is_verified: bool,
}

/// Decision of the policy on a file.
#[derive(Debug)]
pub enum Ruling {
    /// It may be sent.
    Allowed,
    /// It may be sent once a person has approved it.
    NeedsPerson,
    /// It may not be sent.
    Refused(Failure),
}

/// Daemon as seen by the file protocol.
pub trait Host: Send + Sync {
    /// Returns the path of `.switchboard/` in the work tree.
    fn project(&self) -> &Path;

    /// Returns the folder for relative paths in messages.
    fn root(&self) -> &Path;

    /// Returns the limits of an inbox.
    fn limits(&self) -> Limits;

    /// Creates `.switchboard/` and the daemon's files in it again if they were removed.
    ///
    /// # Errors
    /// When a folder or file can't be created.
    fn restore(&self) -> Result<(), Failure>;

    /// Creates a folder that only the user can read, if it does not exist.
    ///
    /// # Errors
    /// When it can't be created, or does not belong to the user.
    fn private_folder(&self, path: &Path) -> Result<(), Failure>;

    /// Returns the present keys that sign message files: they may have been rotated.
    ///
    /// # Errors
    /// When the file of the keys can't be read or created.
    fn keys(&self) -> Result<Keys, Failure>;

    /// Returns a random UUID for a signature.
    ///
    /// # Errors
    /// When the system has no random numbers.
    fn nonce(&self) -> Result<String, Failure>;

    /// Returns the newest run, if there is one.
    ///
    /// # Errors
    /// When the runs can't be read.
    fn newest_run(&self) -> Result<Option<RunSummary>, Failure>;

    /// Returns the policy's decision on `send_message` with these arguments.
    ///
    /// # Errors
    /// When the policy fails.
    fn rule(&self, sender: Sender<'_>, args: &Value) -> Result<Ruling, Failure>;

    /// Calls a verb as the sender of a file.
    fn invoke<'a>(&'a self, sender: Sender<'_>, verb: &'static str, args: Value) -> Answer<'a>;
}
