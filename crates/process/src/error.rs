//! Errors of this crate, each with its code of the error table.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use switchboard_protocol::error::Failure;

use crate::lock::Holder;

/// A failure of a spawn, of a file that we manage, or of git.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The argv has no program.
    #[error("the command is empty")]
    EmptyCommand,
    /// The program does not exist or is not executable.
    #[error("{program:?} is not on PATH")]
    Missing {
        /// Program as it was requested.
        program: String,
    },
    /// The folder to start in does not exist.
    #[error("the working folder {} can't be entered", .path.display())]
    Folder {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The system refused to start the program.
    #[error("{program:?} could not be started")]
    Spawn {
        /// Program as it was requested.
        program: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The platform can't enforce a sandbox.
    #[error("this machine can't enforce the sandbox: {}", .gaps.join("; "))]
    Unenforceable {
        /// What it can't enforce, one sentence each.
        gaps: Vec<String>,
    },
    /// A sandbox would open a folder that has to stay closed.
    #[error("the sandbox would open {} by {}", .closed.display(), .path.display())]
    OpensClosed {
        /// Listed path.
        path: PathBuf,
        /// Closed folder within it.
        closed: PathBuf,
    },
    /// A rule of a sandbox can't be made.
    #[error("the sandbox can't be made at {}: {why}", .path.display())]
    Sandbox {
        /// Path of the rule.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// An operation on a file or process of ours failed.
    #[error("could not {what}")]
    Io {
        /// Verb and object: `read /x/y`.
        what: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("{} is locked by process {}", .path.display(), .holder.as_ref().map_or_else(|| "?".to_owned(), |h| h.pid.to_string()))]
    Held {
        /// Path of the lock.
        path: PathBuf,
        /// Note of the holder, if it is readable.
        holder: Option<Holder>,
    },
    /// Git is older than the oldest supported version.
    #[error("git {found} is too old: {needed} or newer is needed")]
    GitTooOld {
        /// Output of `git version`.
        found: String,
        /// Oldest supported version.
        needed: &'static str,
    },
    /// The git program does not exist.
    #[error("git is not on PATH")]
    GitMissing,
    /// The folder belongs to no repository.
    #[error("{} is not in a git repository", .path.display())]
    NotARepository {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The folder is in a work tree of another repository.
    #[error("{} is in no work tree of the repository {}", .path.display(), .repository.display())]
    OtherRepository {
        /// Path of the folder.
        path: PathBuf,
        /// Expected repository.
        repository: PathBuf,
    },
    /// The repository has no work tree.
    #[error("{} is a bare repository", .path.display())]
    Bare {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The repository has no commit yet.
    #[error("{} has no commit yet", .path.display())]
    NoCommits {
        /// Path of the folder.
        path: PathBuf,
    },
    /// A commit that `HEAD` names is not in the repository.
    #[error("{} is damaged: HEAD names the commit {commit}, which is not there", .path.display())]
    Damaged {
        /// Path of the folder.
        path: PathBuf,
        /// Id of the missing commit.
        commit: String,
    },
    /// A git call failed.
    #[error("git {call} failed: {said}")]
    Git {
        /// Git subcommand.
        call: String,
        /// End of its standard error, at most 2 KiB.
        said: String,
    },
    /// A git call took too long and was killed.
    #[error("git {call} took longer than {} s and was stopped", .limit.as_secs())]
    GitTimeout {
        /// Git subcommand.
        call: String,
        /// Time limit.
        limit: Duration,
    },
    /// A git call was stopped because its output exceeded the limit, or its output could not be parsed.
    #[error("git {call} gave an answer that can't be used: {why}")]
    GitAnswer {
        /// Git subcommand.
        call: String,
        /// What is wrong with the output.
        why: String,
    },
    /// A text is not an object id or a branch name.
    #[error("{text:?} is not {expected}")]
    BadName {
        /// The text, cut at 100 characters.
        text: String,
        /// Description of valid text.
        expected: &'static str,
    },
    /// A reference was moved by another process.
    #[error("{name} was moved by somebody else, to {found}")]
    Moved {
        /// The full name of the reference.
        name: String,
        /// Its present target; `nothing` if it does not exist.
        found: String,
    },
    /// Changes of the user would be lost.
    #[error("{} of your files have changes that this would overwrite, {} among them", .files.len(), .files.first().map(|p| p.display().to_string()).unwrap_or_default())]
    Dirty {
        /// Files with changes, at most 1000.
        files: Vec<PathBuf>,
    },
    /// The user's git holds the index.
    #[error("another git process works in {}", .path.display())]
    IndexBusy {
        /// Path of the lock file.
        path: PathBuf,
    },
    /// A path is outside the folder that we may change, or is not a work tree of ours.
    #[error("{} is not a work tree of ours: {why}", .path.display())]
    NotOurs {
        /// The path.
        path: PathBuf,
        /// Reason.
        why: &'static str,
    },
}

// === impl Error ===

impl Error {
    /// Wraps an I/O error with the attempted operation.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Returns true if the disk is full or the user's quota is used up.
    fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        // The messages of strerror for ENOSPC and EDQUOT: git is called with the C locale.
        let says_so =
            |said: &str| ["No space left on device", "Disk quota exceeded"].iter().any(|what| said.contains(what));
        if let Self::Io { source, .. } = self {
            return matches!(source.kind(), StorageFull | QuotaExceeded);
        }
        matches!(self, Self::Git { said, .. } if says_so(said))
    }

    /// Returns the error's code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::EmptyCommand | Self::Folder { .. } | Self::Spawn { .. } | Self::Sandbox { .. } => "agent.spawn",
            Self::Unenforceable { .. } => "isolation.unsupported",
            Self::OpensClosed { .. } => "isolation.opens-state",
            Self::Missing { .. } => "agent.missing",
            Self::Io { .. } | Self::Git { .. } if self.is_disk_full() => "io.disk-full",
            Self::Io { .. } => "io.denied",
            Self::Held { .. } => "store.locked",
            Self::GitTooOld { .. } | Self::GitMissing => "git.missing",
            Self::NotARepository { .. } => "git.not-a-repository",
            Self::OtherRepository { .. } => "git.other-repository",
            Self::Bare { .. } => "git.bare",
            Self::NoCommits { .. } => "git.no-commits",
            Self::Damaged { .. } => "git.damaged",
            Self::Git { .. }
            | Self::GitTimeout { .. }
            | Self::GitAnswer { .. }
            | Self::BadName { .. }
            | Self::IndexBusy { .. } => "git.failed",
            Self::Moved { .. } => "store.conflict",
            Self::Dirty { .. } => "dispatch.dirty",
            Self::NotOurs { .. } => "dispatch.worktree",
        }
    }

    /// Returns the failure that every face shows, with its causes.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let failure = Failure::new(self.code(), self.to_string()).hint(self.hint());
        match std::error::Error::source(self) {
            Some(source) => failure.because(source),
            None => failure,
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "install it, or correct the command",
            Self::GitTooOld { .. } | Self::GitMissing => "install git 2.38 or newer",
            Self::NotARepository { .. } => "run it inside a repository, or `git init` one and commit",
            Self::OtherRepository { .. } => "run it in a work tree of the repository (git worktree list)",
            Self::Bare { .. } => "run it in a clone that has a work tree",
            Self::Damaged { .. } => "git fsck; fetch what it misses, or restore the repository from a backup",
            Self::NoCommits { .. } => "make a first commit: `git commit --allow-empty -m start`",
            Self::Dirty { .. } => "commit or set aside the files that `git status` shows, then try again",
            Self::IndexBusy { .. } => "wait for it to end; if there is none, remove the lock file",
            Self::Moved { .. } => "look at what moved it, then try again",
            Self::Unenforceable { .. } => "switchboard explain isolation.unsupported",
            Self::OpensClosed { .. } => "list the files that are needed, not a folder above the state",
            Self::EmptyCommand
            | Self::Folder { .. }
            | Self::Sandbox { .. }
            | Self::Spawn { .. }
            | Self::Io { .. }
            | Self::Held { .. }
            | Self::Git { .. }
            | Self::GitTimeout { .. }
            | Self::GitAnswer { .. }
            | Self::BadName { .. }
            | Self::NotOurs { .. } => "",
        }
    }
}
