//! Errors that prevent a check or accompany its findings.

use std::io;
use std::time::Duration;

use switchboard_protocol::finding::CheckFailure;

/// Why something could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The root is missing, unreadable or not a folder.
    #[error("the folder to check, `{root}`, cannot be read")]
    Root {
        /// The root as requested.
        root: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// A base was named, but the root is in no git work tree.
    #[error("`{root}` is not in a git work tree, so there is no base to compare with")]
    NotARepository {
        /// The root as requested.
        root: String,
    },
    /// The base names no commit.
    #[error("the base `{rev}` is not a commit of this repository")]
    UnknownBase {
        /// The revision as requested.
        rev: String,
    },
    /// A path lies outside the root.
    #[error("`{path}` lies outside the folder that is checked")]
    PathOutside {
        /// The path as requested.
        path: String,
    },
    /// A path does not exist.
    #[error("`{path}` does not exist")]
    PathMissing {
        /// The path as requested.
        path: String,
    },
    /// A git command failed.
    #[error("`git {verb}` failed: {why}")]
    Git {
        /// Name of the git sub-command.
        verb: String,
        /// First line of git's error output, or how git ended.
        why: String,
    },
    /// A command could not be started or waited for.
    #[error("`{program}` could not be run")]
    Command {
        /// Name of the program.
        program: String,
        /// Error of the start or the wait.
        #[source]
        source: switchboard_process::Error,
    },
    /// A command exceeded its time limit.
    #[error("`{program}` was stopped after {} s", limit.as_secs())]
    TimeLimit {
        /// Name of the program.
        program: String,
        /// The time limit.
        limit: Duration,
    },
    /// The baseline file cannot be used.
    #[error("the baseline `{path}` cannot be used: {why}")]
    Baseline {
        /// The file as requested.
        path: String,
        /// Reason that it cannot be used.
        why: String,
    },
    /// The repository's settings cannot be used.
    #[error("the settings in `{path}` cannot be used: {why}")]
    Settings {
        /// Path of the file, relative to the root.
        path: String,
        /// Reason that they cannot be used.
        why: String,
    },
    /// A glob that excludes files cannot be used.
    #[error("the glob `{glob}` cannot be used: {why}")]
    Glob {
        /// The glob as written.
        glob: String,
        /// Reason that it cannot be used.
        why: String,
    },
    /// A line that `serve` read is not a valid request.
    #[error("the line is not a check request: {why}")]
    BadRequest {
        /// What was expected, and at which position.
        why: String,
    },
    /// The request selects more files than a run may check.
    #[error("there are more than {limit} files to check")]
    TooManyFiles {
        /// Maximum number of files.
        limit: usize,
    },
    /// Reading requests or writing replies failed.
    #[error("the caller of the checks is gone")]
    Channel(#[from] io::Error),
}

impl Error {
    /// Returns the code of the error table.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Root { .. } => "check.unreadable",
            Self::NotARepository { .. } => "git.not-a-repository",
            Self::UnknownBase { .. } => "check.bad-base",
            Self::PathOutside { .. } => "check.outside-root",
            Self::PathMissing { .. } => "check.path-missing",
            Self::Git { .. } => "git.failed",
            Self::Command { .. } => "check.command",
            Self::TimeLimit { .. } => "check.time-limit",
            Self::Baseline { .. } => "check.bad-baseline",
            Self::Settings { .. } => "config.syntax",
            Self::Glob { .. } | Self::BadRequest { .. } => "request.bad-args",
            Self::TooManyFiles { .. } => "check.too-many-files",
            Self::Channel(_) => "check.channel",
        }
    }

    /// Returns what to do about the error.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Root { .. } => "name an existing folder that you may read",
            Self::NotARepository { .. } => "leave the base out to check every file, or run it inside a repository",
            Self::UnknownBase { .. } => "name a branch, tag or commit that `git rev-parse` knows here",
            Self::PathOutside { .. } => "name paths below the folder that is checked",
            Self::PathMissing { .. } => "check the spelling, and that the file has not been deleted",
            Self::Git { .. } => "run the same git command by hand in that folder to see more",
            Self::Command { .. } => "check that the program is installed and on PATH",
            Self::TimeLimit { .. } => "give it a longer time limit, or find out what it waits for",
            Self::Baseline { .. } => "write a new baseline, or leave it out",
            Self::Settings { .. } => "all fields and their values: switchboard schema config",
            Self::Glob { .. } => "write globs as in a .gitignore file, such as `vendor/` or `*.lock`",
            Self::BadRequest { .. } => "send one JSON object a line, with at least `root`",
            Self::TooManyFiles { .. } => "name the paths to check, or a base to compare with",
            Self::Channel(_) => "start the checking child again",
        }
    }

    /// Converts the error to the form of a reply; causes follow the message.
    #[must_use]
    pub fn to_failure(&self) -> CheckFailure {
        let mut what = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(inner) = cause {
            what.push_str(": ");
            what.push_str(&inner.to_string());
            cause = inner.source();
        }
        CheckFailure { code: self.code().to_owned(), what, hint: self.hint().to_owned() }
    }
}
