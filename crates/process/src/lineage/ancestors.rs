//! The processes of a lineage.

/// A process and its ancestors, nearest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lineage {
    /// The calling process, its parent, and so on up to the last one that `/proc` shows.
    pub processes: Vec<Process>,
    /// True if the environment of one of them shows that an agent program started it.
    pub is_marked: bool,
    /// True if one of them runs our MCP bridge, as far as [`Lineage::with_bridges`] has checked.
    pub has_bridge: bool,
}

/// One process of a lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Process id of the parent; 0 at the top of a process namespace.
    pub parent: u32,
    /// Id of the process group.
    pub group: u32,
    /// Id of the session.
    pub session: u32,
    /// True if it has a controlling terminal.
    pub has_terminal: bool,
    /// True if its group is the foreground group of that terminal.
    pub is_foreground: bool,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// Real user id.
    pub user: u32,
    /// Program name, at most 15 bytes (`/proc/PID/comm`).
    pub name: String,
    /// Its part if it runs this binary.
    pub part: Part,
}

/// Part of a process of this binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// Another program.
    #[default]
    Other,
    /// A command.
    Command,
    /// A daemon.
    Daemon,
    /// A shim, which owns a worker.
    Shim,
}

// === impl Lineage ===

impl Lineage {
    /// Returns the process that started the caller, without wrappers: shells that run one command, and `env`. `None` if that is an
    /// interactive shell, in which a person typed, or if only the first process is left.
    #[must_use]
    pub fn starter(&self) -> Option<&Process> {
        let caller = self.processes.first()?;
        let starter =
            self.processes.iter().skip(1).find(|process| !is_wrapper(process) || is_interactive(process, caller))?;
        (starter.pid > 1 && !(is_wrapper(starter) && is_interactive(starter, caller))).then_some(starter)
    }
}

/// Programs that only start others.
const WRAPPERS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ash", "ksh", "fish", "busybox", "env"];

fn is_wrapper(process: &Process) -> bool {
    WRAPPERS.contains(&process.name.trim_start_matches('-'))
}

/// Returns true for a shell with job control: it has a terminal and gives each command a separate group.
fn is_interactive(shell: &Process, caller: &Process) -> bool {
    shell.has_terminal && shell.session == caller.session && shell.group != caller.group
}
