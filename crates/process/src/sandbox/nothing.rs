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
