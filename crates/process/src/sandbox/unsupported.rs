//! Stubs for platforms on which nothing can be enforced.

use super::{Sandbox, Support};
use crate::Result;

/// Empty set of rules.
#[derive(Debug)]
pub(crate) struct Ruleset;

impl Ruleset {
    pub(super) fn new(_: &Sandbox, _: Option<&std::path::Path>) -> Result<Self> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "as where there are rules")]
    pub(crate) fn enforce(&self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(super) fn support() -> Support {
    let why = format!("{} has none", std::env::consts::OS);
    Support { landlock: 0, no_namespaces: Some(why) }
}

/// Port of the listener, which is never made on this platform.
pub const PORT: u16 = 3128;

/// End of the child, which passes nothing.
#[derive(Debug)]
pub(crate) struct HandoverSender;

/// Our end.
#[derive(Debug)]
pub struct HandoverReceiver;

pub(crate) fn pair() -> std::io::Result<(HandoverSender, HandoverReceiver)> {
    Err(std::io::ErrorKind::Unsupported.into())
}

impl HandoverSender {
    #[expect(clippy::unused_self, reason = "as where there is something to give")]
    pub(crate) fn give(&self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

impl HandoverReceiver {
    /// Always fails.
    ///
    /// # Errors
    /// Always.
    pub fn take(self) -> std::io::Result<std::net::TcpListener> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
