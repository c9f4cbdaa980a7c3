//! How large an answer and its parts may be.

/// Largest answer in bytes: it is recorded as the body of one event.
pub const MAX_ANSWER_BYTES: usize = crate::event::MAX_BODY_BYTES;

/// Longest text of a field in characters: what an explorer may say in a whole report is enough for one issue.
pub const MAX_TEXT: usize = 2_000;

/// Longest path or name of a test in characters, as in a plan ([`crate::plan::MAX_PATH_BYTES`]).
pub const MAX_PATH: usize = crate::plan::MAX_PATH_BYTES;

/// Longest name of a domain, as of any id ([`crate::id::MAX_ID_BYTES`]).
pub const MAX_NAME: usize = crate::id::MAX_ID_BYTES;

/// Longest list, like that of the findings of a check in opencode-swarm (100).
pub const MAX_LIST: usize = 100;

/// Most questions of a clarification: more of them are a specification, and not asked one by one.
pub const MAX_QUESTIONS: usize = 3;
