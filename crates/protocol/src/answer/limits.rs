//! Size limits of answers and their parts; all but that of a whole answer are in the schemas.

/// Maximum size of an answer, in bytes: it is recorded as the body of one event.
pub const MAX_ANSWER_BYTES: usize = crate::event::MAX_BODY_BYTES;

/// Maximum length of a text field, in characters: the allowance of an explorer's whole report is enough for one issue.
pub const MAX_TEXT: usize = 2_000;

/// Maximum length of a path or test name, in characters, as in a plan ([`crate::plan::MAX_PATH_BYTES`]).
pub const MAX_PATH: usize = crate::plan::MAX_PATH_BYTES;

/// Maximum length of a domain's name, as of any id ([`crate::id::MAX_ID_BYTES`]).
pub const MAX_NAME: usize = crate::id::MAX_ID_BYTES;

/// Maximum length of a list, as for the findings of a check in opencode-swarm (100).
pub const MAX_LIST: usize = 100;

/// Maximum number of questions in a clarification: more would amount to a specification, which is not asked question by question.
pub const MAX_QUESTIONS: usize = 3;

/// Maximum length of an explorer's report, in characters. A linter enforces the role's limit of 2,000; this only bounds what is read.
pub const MAX_REPORT: usize = 8_000;

/// Maximum number of domains in a report: one expert is asked for each.
pub const MAX_DOMAINS: usize = 8;

/// Maximum number of options in a question, so that they fit one screen.
pub const MAX_CHOICES: usize = 8;

/// Maximum length of a scaffold, in characters: a coder is shown it beside its task.
pub const MAX_SCAFFOLD: usize = 8_000;
