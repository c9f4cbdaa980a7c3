//! What the scripted agent says about itself.

/// The name under which it introduces itself.
pub const NAME: &str = "switchboard-scripted";

/// Its first words.
pub const GREETING: &str = "I am a scripted agent: there is no model behind me, I follow a script.";
