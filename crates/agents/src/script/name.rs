//! How the scripted agent introduces itself.

/// Name of the scripted agent.
pub const NAME: &str = "switchboard-scripted";

/// First sentence of every turn.
pub const GREETING: &str = "I am a scripted agent: there is no model behind me, I follow a script.";
