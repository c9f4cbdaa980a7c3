//! Resource limits, and the work between fork and exec.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, getrlimit, set_parent_process_death_signal, setrlimit, setsid,
};

use crate::sandbox::{HandoverSender, Ruleset};

/// Resource limits of a process and of what it starts. A field that is not set leaves the inherited limit, and so does one beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Maximum processor time in seconds; beyond it the kernel ends the process with SIGXCPU.
    pub cpu_seconds: Option<u64>,
    /// Maximum address space in bytes; a runtime that reserves much (Node, Go) needs far more than it uses.
    pub memory_bytes: Option<u64>,
    /// Maximum size of a file it writes, in bytes; beyond that a write fails with SIGXFSZ.
    pub file_bytes: Option<u64>,
    /// Maximum number of open files.
    pub open_files: Option<u64>,
}

// === impl Limits ===

impl Limits {
    const fn is_none(&self) -> bool {
        self.cpu_seconds.is_none()
            && self.memory_bytes.is_none()
            && self.file_bytes.is_none()
            && self.open_files.is_none()
    }

    fn apply(self) -> io::Result<()> {
        let rows = [
            (Resource::Cpu, self.cpu_seconds),
            (Resource::As, self.memory_bytes),
            (Resource::Fsize, self.file_bytes),
            (Resource::Nofile, self.open_files),
        ];
        for (resource, limit) in rows {
            let Some(limit) = limit else { continue };
            // What is inherited may be stricter, and can't be raised.
            let limit = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
            setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
        }
        Ok(())
    }
}

/// What to do in the child between fork and exec.
#[derive(Debug)]
pub(super) struct BeforeExec {
    pub(super) limits: Limits,
    pub(super) own_session: bool,
    pub(super) ends_with_us: bool,
    pub(super) rules: Option<Arc<Ruleset>>,
    pub(super) giver: Option<Arc<HandoverSender>>,
}

// === impl BeforeExec ===

impl BeforeExec {
    const fn is_nothing(&self) -> bool {
        !self.own_session && !self.ends_with_us && self.limits.is_none() && self.rules.is_none() && self.giver.is_none()
    }

    fn happen(&self, parent: Pid) -> io::Result<()> {
        if self.own_session {
            setsid()?;
        }
        self.limits.apply()?;
        if let Some(rules) = &self.rules {
            rules.enforce()?;
        }
        if let Some(giver) = &self.giver {
            giver.give()?;
        }
        // After the sandbox: a process that changes its rights loses the parent-death signal.
        if self.ends_with_us {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // A parent that died before that call sends no signal.
            if getppid() != Some(parent) {
                return Err(rustix::io::Errno::CHILD.into());
            }
        }
        Ok(())
    }
}

/// Puts the child into a separate process group or session before it executes its program, and applies its limits, its sandbox, and the
/// signal that it gets when we die.
pub(super) fn before_exec(command: &mut Command, what: BeforeExec) {
    if !what.own_session {
        command.process_group(0);
    }
    if what.is_nothing() {
        return;
    }
    let parent = getpid();
    let prepare = move || what.happen(parent);
    #[expect(
        unsafe_code,
        reason = "what a child does to itself before exec has no other place; they are bare system calls"
    )]
    // SAFETY: the closure makes system calls, allocates nothing and takes no lock, as a fork of a threaded process demands.
    unsafe {
        command.pre_exec(prepare);
    }
}
