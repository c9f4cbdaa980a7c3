//! Platforms on which nothing can be enforced.

use super::{Sandbox, Support};
use crate::Result;

/// No rules.
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

/// The port of a listener that nobody makes here.
pub const PORT: u16 = 3128;

/// The end of a child that hands nothing over.
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
    /// Takes nothing.
    ///
    /// # Errors
    /// Always.
    pub fn take(self) -> std::io::Result<std::net::TcpListener> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
