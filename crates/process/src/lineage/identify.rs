//! Identifies the caller from a lineage and the known processes, without side effects.

use super::ancestors::{Lineage, Part, Process};

/// A known process, with everything that runs below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root<T> {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// Identity of the process.
    pub who: T,
}

/// Processes that a daemon knows. A process below one of them is not a person's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known<W, A> {
    /// Pid of the daemon: the commands of gates run below it, and the remains of a killed shim.
    pub daemon: u32,
    /// Shims that have proven their identity, including those that have ended: each leads a session.
    pub shims: Vec<Root<W>>,
    /// Programs that run our MCP bridge: agents that a person started.
    pub programs: Vec<Root<A>>,
}

/// Identity that a lineage proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity<'a, W, A> {
    /// The caller is below the shim of this worker.
    Worker(&'a W),
    /// The caller is below an agent program that runs our MCP bridge.
    Agent(&'a A),
    /// The caller is a person's command.
    Person {
        /// True if a person is there to decide: the terminal's foreground, or a CI session that was started with `--yes`.
        is_present: bool,
        /// Reason in words.
        why: &'static str,
    },
    /// The caller is unknown.
    Nobody {
        /// Reason in words.
        why: &'static str,
    },
}

/// What a command claims about the session it runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Claims {
    /// True if it runs in a CI session.
    pub is_ci: bool,
    /// True if it was started with `--yes`.
    pub says_yes: bool,
}

/// Login programs. They belong to root, so no process of the user can pass for one.
const LOGINS: [&str; 9] =
    ["sshd", "sshd-session", "login", "su", "sudo", "runuser", "gdm-session-wor", "sddm-helper", "lightdm"];

/// Identifies the caller.
///
/// The nearest known process decides: a caller below a worker is that worker, even if a person's terminal is further up. A
/// terminal, a login or a CI session counts only if no known process is in between.
#[must_use]
pub fn identify<'a, W, A>(lineage: &Lineage, known: &'a Known<W, A>, claims: Claims) -> Identity<'a, W, A> {
    let Some(caller) = lineage.processes.first() else {
        return Identity::Nobody { why: "its process is gone" };
    };
    if let Some(standing) = lineage.processes.iter().find_map(|process| below(process, known)) {
        return standing;
    }
    if lineage.has_bridge {
        return Identity::Nobody { why: "it is below a program that runs `switchboard mcp`: an agent" };
    }
    if lineage.is_marked {
        return Identity::Nobody { why: "its environment, or that of what started it, says that an agent program did" };
    }
    if is_in_foreground(&lineage.processes) {
        return Identity::Person { is_present: true, why: "the foreground of a terminal" };
    }
    if claims.is_ci && claims.says_yes {
        return Identity::Person { is_present: true, why: "a CI session with --yes" };
    }
    if claims.is_ci {
        return Identity::Person { is_present: false, why: "a CI session without --yes" };
    }
    if lineage.processes.iter().any(|process| has_terminal_for(process, caller)) {
        return Identity::Person { is_present: false, why: "it is not in the foreground of its terminal" };
    }
    if lineage.processes.iter().skip(1).any(is_login) {
        return Identity::Person { is_present: false, why: "a login without a terminal" };
    }
    Identity::Nobody { why: "its processes lead to no terminal, login or CI session" }
}

/// Returns what one process of a lineage proves about those below it.
fn below<'a, W, A>(process: &Process, known: &'a Known<W, A>) -> Option<Identity<'a, W, A>> {
    if let Some(shim) = known.shims.iter().find(|shim| belongs(process, shim.pid, shim.start)) {
        return Some(Identity::Worker(&shim.who));
    }
    if let Some(program) = known.programs.iter().find(|program| is(process, program.pid, program.start)) {
        return Some(Identity::Agent(&program.who));
    }
    match process.part {
        Part::Shim => Some(Identity::Nobody { why: "a worker that this daemon does not know started it" }),
        Part::Daemon => Some(Identity::Nobody { why: "a daemon started it, for a gate or a worker that is gone" }),
        Part::Other | Part::Command if process.pid == known.daemon => {
            Some(Identity::Nobody { why: "the daemon started it, for a gate or a worker that is gone" })
        }
        Part::Other | Part::Command => None,
    }
}

fn is(process: &Process, pid: u32, start: u64) -> bool {
    process.pid == pid && process.start == start
}

/// Returns true if a process is a shim or in its session. A session keeps its number as long as one process is in it, so a number
/// used by processes that are younger than the shim is the shim's, unless another process with that pid leads it.
fn belongs(process: &Process, pid: u32, start: u64) -> bool {
    let leads = process.pid == pid;
    if leads { process.start == start } else { process.session == pid && process.start >= start }
}

/// Returns true if the caller, or a command of ours that started it, is in the foreground of its terminal.
fn is_in_foreground(processes: &[Process]) -> bool {
    let Some(caller) = processes.first() else { return false };
    let by_ours = processes.iter().skip(1).take_while(|process| process.part == Part::Command);
    caller.is_foreground || by_ours.into_iter().any(|process| process.is_foreground)
}

/// Returns true if a process of the lineage has a terminal that is evidence about the caller: the first process of a container may have
/// one, and every orphan of the container ends there.
fn has_terminal_for(process: &Process, caller: &Process) -> bool {
    process.has_terminal && (process.pid != 1 || process.session == caller.session)
}

fn is_login(process: &Process) -> bool {
    process.pid != 1 && process.user == 0 && LOGINS.contains(&process.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Marks = Known<&'static str, &'static str>;

    fn process(pid: u32, parent: u32, name: &str) -> Process {
        Process {
            pid,
            parent,
            group: pid,
            session: pid,
            has_terminal: false,
            is_foreground: false,
            start: u64::from(pid),
            user: 1000,
            name: name.to_owned(),
            part: Part::Other,
        }
    }

    /// Returns the process in the given session.
    fn of_session(session: u32, process: Process) -> Process {
        Process { session, ..process }
    }

    fn at_terminal(is_foreground: bool, process: Process) -> Process {
        Process { has_terminal: true, is_foreground, ..process }
    }

    fn root(name: &str, pid: u32) -> Process {
        Process { user: 0, ..process(pid, 1, name) }
    }

    fn ours(part: Part, process: Process) -> Process {
        Process { part, ..process }
    }

    fn init() -> Process {
        Process { user: 0, ..process(1, 0, "systemd") }
    }

    fn marks() -> Marks {
        Known {
            daemon: 50,
            shims: vec![Root { pid: 60, start: 60, who: "worker" }],
            programs: vec![Root { pid: 70, start: 70, who: "claude" }],
        }
    }

    const CI: Claims = Claims { is_ci: true, says_yes: false };
    const CI_YES: Claims = Claims { is_ci: true, says_yes: true };
    const NONE: Claims = Claims { is_ci: false, says_yes: false };

    fn said(processes: Vec<Process>, claims: Claims) -> String {
        let lineage = Lineage { processes, ..Lineage::default() };
        match identify(&lineage, &marks(), claims) {
            Identity::Worker(who) => format!("worker {who}"),
            Identity::Agent(who) => format!("agent {who}"),
            Identity::Person { is_present: true, .. } => "person".to_owned(),
            Identity::Person { is_present: false, .. } => "away".to_owned(),
            Identity::Nobody { .. } => "nobody".to_owned(),
        }
    }

    #[test]
    fn people_at_terminals() {
        let shell = || at_terminal(false, process(30, 20, "bash"));
        let typed = || at_terminal(true, process(90, 30, "switchboard"));
        let cases: Vec<(&str, Vec<Process>, Claims, &str)> = vec![
            ("a shell over ssh", vec![typed(), shell(), root("sshd", 20), init()], NONE, "person"),
            ("a shell in tmux", vec![typed(), shell(), process(20, 1, "tmux: server"), init()], NONE, "person"),
            ("a container's first shell", vec![typed(), at_terminal(false, process(1, 0, "bash"))], NONE, "person"),
            ("docker exec -t", vec![at_terminal(true, process(90, 0, "switchboard"))], NONE, "person"),
            ("in the background", vec![at_terminal(false, typed()), shell(), init()], NONE, "away"),
            (
                "a script with piped output",
                vec![
                    at_terminal(true, process(91, 90, "switchboard")),
                    at_terminal(true, process(90, 30, "sh")),
                    shell(),
                ],
                NONE,
                "person",
            ),
            ("setsid in a terminal", vec![process(90, 30, "switchboard"), shell(), init()], NONE, "away"),
            ("ssh without a terminal", vec![process(90, 20, "switchboard"), root("sshd", 20), init()], NONE, "away"),
            (
                "a command that a command of ours runs",
                {
                    let outer = ours(Part::Command, typed());
                    vec![ours(Part::Command, at_terminal(false, process(92, 90, "switchboard"))), outer, shell()]
                },
                NONE,
                "person",
            ),
        ];
        for (what, processes, claims, expected) in cases {
            assert_eq!(said(processes, claims), expected, "{what}");
        }
    }

    #[test]
    fn nobody_stands_behind_what_leads_nowhere() {
        let container = || at_terminal(false, process(1, 0, "bash"));
        let cases: Vec<(&str, Vec<Process>, Claims, &str)> = vec![
            ("a process that is gone", vec![], CI_YES, "nobody"),
            ("an orphan", vec![process(90, 1, "switchboard"), init()], NONE, "nobody"),
            ("a cron job", vec![process(90, 20, "sh"), root("cron", 20), init()], NONE, "nobody"),
            (
                "systemd-run --user",
                vec![process(90, 20, "switchboard"), process(20, 1, "systemd"), init()],
                NONE,
                "nobody",
            ),
            (
                "an orphan in a container with a terminal",
                vec![process(90, 1, "switchboard"), container()],
                NONE,
                "nobody",
            ),
            ("docker exec without a terminal", vec![process(90, 0, "switchboard")], NONE, "nobody"),
            ("a user's program named sshd", vec![process(90, 20, "x"), process(20, 1, "sshd"), init()], NONE, "nobody"),
            ("CI", vec![process(90, 1, "switchboard"), init()], CI, "away"),
            ("CI with --yes", vec![process(90, 1, "switchboard"), init()], CI_YES, "person"),
            (
                "--yes without CI",
                vec![process(90, 1, "switchboard"), init()],
                Claims { says_yes: true, ..NONE },
                "nobody",
            ),
        ];
        for (what, processes, claims, expected) in cases {
            assert_eq!(said(processes, claims), expected, "{what}");
        }
    }

    #[test]
    fn what_a_known_process_started_is_no_person() {
        let shim = || ours(Part::Shim, process(60, 1, "switchboard"));
        let daemon = || process(50, 1, "switchboard");
        let agent = || of_session(60, process(61, 60, "agent"));
        let typed = |parent| at_terminal(true, process(90, parent, "switchboard"));
        let cases: Vec<(&str, Vec<Process>, &str)> = vec![
            (
                "a worker",
                vec![of_session(60, process(90, 61, "switchboard")), agent(), shim(), init()],
                "worker worker",
            ),
            ("with a terminal of its own", vec![typed(61), agent(), shim(), init()], "worker worker"),
            ("setsid in a worker", vec![process(90, 61, "switchboard"), agent(), shim(), init()], "worker worker"),
            ("a double fork below the shim", vec![process(90, 60, "switchboard"), shim(), init()], "worker worker"),
            (
                "a worker whose shim was killed",
                vec![of_session(60, process(90, 1, "switchboard")), init()],
                "worker worker",
            ),
            (
                "another pid that the shim's was given to",
                vec![
                    at_terminal(true, Process { start: 99, ..process(60, 30, "switchboard") }),
                    at_terminal(false, process(30, 1, "bash")),
                ],
                "person",
            ),
            ("an orphan that the daemon adopted", vec![process(90, 50, "switchboard"), daemon(), init()], "nobody"),
            ("a gate", vec![typed(51), process(51, 50, "sh"), daemon(), init()], "nobody"),
            (
                "a worker of another daemon",
                vec![typed(80), ours(Part::Shim, process(80, 1, "switchboard")), init()],
                "nobody",
            ),
            (
                "a gate of another daemon",
                vec![typed(80), ours(Part::Daemon, process(80, 1, "switchboard")), init()],
                "nobody",
            ),
            (
                "an agent that a person started",
                vec![
                    typed(71),
                    process(71, 70, "sh"),
                    at_terminal(true, process(70, 30, "claude")),
                    process(30, 1, "bash"),
                ],
                "agent claude",
            ),
        ];
        for (what, processes, expected) in cases {
            assert_eq!(said(processes, CI_YES), expected, "{what}");
        }
    }

    #[test]
    fn an_agents_mark_in_the_environment_and_a_bridge_of_its_program_take_authority_away() {
        let typed = || vec![at_terminal(true, process(90, 30, "x"))];
        let marked = Lineage { processes: typed(), is_marked: true, ..Lineage::default() };
        let bridged = Lineage { processes: typed(), has_bridge: true, ..Lineage::default() };

        assert!(matches!(identify(&marked, &marks(), CI_YES), Identity::Nobody { .. }));
        assert!(matches!(identify(&bridged, &marks(), CI_YES), Identity::Nobody { .. }));
    }

    #[test]
    fn the_program_that_runs_a_bridge_is_found_behind_its_shells() {
        let bridge = |parent| process(90, parent, "switchboard");
        let starter =
            |processes| Lineage { processes, ..Lineage::default() }.starter().map(|process| process.name.clone());
        let claude = || process(30, 20, "claude");
        let typed = at_terminal(true, of_session(20, bridge(20)));
        let shell = at_terminal(false, process(20, 1, "bash"));

        assert_eq!(starter(vec![bridge(30), claude(), init()]).as_deref(), Some("claude"));
        assert_eq!(starter(vec![bridge(40), process(40, 30, "sh"), claude(), init()]).as_deref(), Some("claude"));
        assert_eq!(starter(vec![typed, shell, init()]), None);
        assert_eq!(starter(vec![bridge(1), init()]), None);
    }
}
