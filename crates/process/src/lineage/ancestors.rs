//! The processes of a lineage.

/// A process and its ancestors, nearest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lineage {
    /// The calling process, its parent, and so on to the last one that `/proc` shows.
    pub processes: Vec<Process>,
    /// Whether the environment of one of them says that an agent program started it.
    pub is_marked: bool,
    /// Whether one of them runs our MCP bridge, as far as [`Lineage::with_bridges`] has looked.
    pub has_bridge: bool,
}

/// One process of a lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Parent's process id; 0 at the top of a process namespace.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// Session.
    pub session: u32,
    /// Whether it has a controlling terminal.
    pub has_terminal: bool,
    /// Whether its group is the foreground group of that terminal.
    pub is_foreground: bool,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// Real user id.
    pub user: u32,
    /// Name of its program, at most 15 bytes (`/proc/PID/comm`).
    pub name: String,
    /// What it is when it runs this binary.
    pub part: Part,
}

/// What a process of this binary does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// Another program.
    #[default]
    Other,
    /// A command.
    Command,
    /// A daemon.
    Daemon,
    /// A shim: it owns a worker.
    Shim,
}

// === impl Lineage ===

impl Lineage {
    /// The process that started the caller and is no wrapper: neither a shell that runs one command nor `env`. `None` where that is an
    /// interactive shell, in which a person typed, or where nobody is left but the first process.
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

/// A shell with job control: it has a terminal and gives each command a group of its own.
fn is_interactive(shell: &Process, caller: &Process) -> bool {
    shell.has_terminal && shell.session == caller.session && shell.group != caller.group
}
