//! Identifies callers on the Unix socket by the process tree, and remembers the processes that this needs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_process::fingerprint::{Fingerprint, boot_id};
use switchboard_process::lineage::{self, Claims, Identity, Known, Lineage, Part, Root, identify};
use switchboard_protocol::agent::Process;
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::id::{AgentName, WorkerId};

/// Maximum number of remembered processes of one kind; the oldest are dropped first. Shims are kept after their end, because the processes they
/// leave behind are recognised by their session.
const MAX_ROOTS: usize = 1024;

/// Identity of a connection's peer on the Unix socket.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    /// The calling process and its ancestors.
    pub lineage: Lineage,
    /// What the command claims about its session.
    pub claims: Claims,
}

/// Processes that the daemon knows: its workers' shims and agents' programs.
#[derive(Debug)]
pub(crate) struct Authority {
    known: Mutex<Known<WorkerId, Program>>,
}

/// Program of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    agent: AgentName,
    process: Process,
}

/// Identity that the process tree proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A worker, which may have ended.
    Worker(WorkerId),
    /// A fully identified caller.
    Caller(Caller),
}

// === impl Authority ===

impl Authority {
    pub(crate) fn new() -> Self {
        let known = Known { daemon: std::process::id(), shims: Vec::new(), programs: Vec::new() };
        Self { known: Mutex::new(known) }
    }

    /// Remembers the shim of a worker, which is proven by its token or by the lock that it holds.
    pub(crate) fn learn_shim(&self, worker: &WorkerId, (pid, start): (u32, u64)) {
        push(&mut self.known().shims, Root { pid, start, who: worker.clone() });
    }

    /// Returns pid and start time of a shim above the caller that is not known yet: its worker may connect before the shim does.
    pub(crate) fn new_shim(&self, peer: &Peer) -> Option<(u32, u64)> {
        let shim = peer.lineage.processes.iter().find(|process| process.part == Part::Shim)?;
        let known = self.known();
        let is_known = known.shims.iter().any(|root| (root.pid, root.start) == (shim.pid, shim.start));
        (!is_known).then_some((shim.pid, shim.start))
    }

    /// Remembers the program that runs a bridge: its other children act as the same agent.
    pub(crate) fn learn_bridge(&self, agent: &AgentName, peer: &Peer) {
        let Some(program) = peer.lineage.starter() else { return };
        let who = Program { agent: agent.clone(), process: process(program) };
        let root = Root { pid: program.pid, start: program.start, who };
        let mut known = self.known();
        known.programs.retain(|program| lives(program.pid, program.start));
        push(&mut known.programs, root);
    }

    /// Returns what the process tree proves about a caller with this name.
    pub(crate) fn prove(&self, peer: &Peer, name: &AgentName) -> Proof {
        let known = self.known();
        let program = peer.lineage.starter().map(process);
        match identify(&peer.lineage, &known, peer.claims) {
            Identity::Worker(worker) => Proof::Worker(worker.clone()),
            Identity::Agent(Program { agent, process }) => Proof::Caller(Caller {
                program: Some(process.clone()),
                ..Caller::unverified(
                    agent.clone(),
                    "a program that an agent started: it is below the process that runs `switchboard mcp`",
                )
            }),
            Identity::Person { is_present, why } => {
                Proof::Caller(Caller { is_present, known_by: why, program, ..Caller::person(name.clone()) })
            }
            Identity::Nobody { why } => Proof::Caller(Caller { program, ..Caller::unverified(name.clone(), why) }),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known<WorkerId, Program>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn process(process: &lineage::Process) -> Process {
    Process { pid: process.pid, start: process.start, boot: boot_id() }
}

fn lives(pid: u32, start: u64) -> bool {
    Fingerprint::of(pid).is_some_and(|process| process.start == start)
}

fn push<T>(roots: &mut Vec<Root<T>>, root: Root<T>) {
    roots.retain(|other| (other.pid, other.start) != (root.pid, root.start));
    if roots.len() >= MAX_ROOTS {
        roots.remove(0);
    }
    roots.push(root);
}

/// Takes a person's authority from a caller over MCP: there the root's token proves an agent that the user connected, not the user.
pub(crate) fn without_authority(caller: Caller) -> Caller {
    match caller.kind {
        CallerKind::Person if caller.face.is_mcp() => {
            let known_by = "an agent's connection: MCP carries no person";
            Caller { kind: CallerKind::Agent, is_verified: false, is_present: false, known_by, ..caller }
        }
        CallerKind::Person | CallerKind::Worker { .. } | CallerKind::Agent => caller,
    }
}
