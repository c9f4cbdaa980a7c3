//! Limits that the kernel keeps, and what must happen between fork and exec.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit, setsid};

/// Resource limits of a process and of what it starts. A field that is not set leaves the inherited limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Processor seconds; beyond them the kernel ends it with SIGXCPU.
    pub cpu_seconds: Option<u64>,
    /// Bytes of address space; a runtime that reserves much (Node, Go) needs far more than it uses.
    pub memory_bytes: Option<u64>,
    /// Longest file it may write, in bytes; beyond that a write fails with SIGXFSZ.
    pub file_bytes: Option<u64>,
    /// Open files.
    pub open_files: Option<u64>,
}

// === impl Limits ===

impl Limits {
    fn is_none(self) -> bool {
        self == Self::default()
    }

    fn apply(self) -> io::Result<()> {
        let rows = [
            (Resource::Cpu, self.cpu_seconds),
            (Resource::As, self.memory_bytes),
            (Resource::Fsize, self.file_bytes),
            (Resource::Nofile, self.open_files),
        ];
        for (resource, limit) in rows {
            if limit.is_some() {
                setrlimit(resource, Rlimit { current: limit, maximum: limit })?;
            }
        }
        Ok(())
    }
}

/// Gives the child its own group or session, its limits, and its tie to our life.
pub(super) fn before_exec(command: &mut Command, limits: Limits, own_session: bool, ends_with_us: bool) {
    if !own_session {
        command.process_group(0);
    }
    if !own_session && !ends_with_us && limits.is_none() {
        return;
    }
    let parent = rustix::process::getpid();
    let prepare = move || {
        if own_session {
            setsid()?;
        }
        if ends_with_us {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // A parent that died before that call sends no signal.
            if rustix::process::getppid() != Some(parent) {
                return Err(rustix::io::Errno::CHILD.into());
            }
        }
        limits.apply()
    };
    #[expect(unsafe_code, reason = "setsid, prctl and setrlimit have no other place; they are bare system calls")]
    // SAFETY: the closure makes system calls without libc, allocates nothing and takes no lock, as a fork of a threaded process demands.
    unsafe {
        command.pre_exec(prepare);
    }
}
