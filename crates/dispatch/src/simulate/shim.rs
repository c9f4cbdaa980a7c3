//! Shims and their agents: each plays a script in simulated time, with or without a daemon, and answers what it is told.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::{
    DriverSpec, FRAME_VERSION, Frame, PermissionOption, ShimCommand, WorkerEvent, WorkerSpec,
};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::time::Millis;

use super::connection;
use super::ports::BAD;
use super::stage::Stage;
use crate::Error;
use crate::event::frame_number;
use crate::port::BoxFuture;
use crate::port::shims::{Shim, Shims};
use crate::world::lock;

/// How long an agent that asked something waits for the answer.
const PATIENCE: i64 = 40 * 60_000;

/// How long an agent that hangs does.
const FOR_EVER: i64 = 365 * 24 * 3_600_000;

/// Something that a shim or its agent does.
#[derive(Debug, Clone)]
enum Act {
    /// The shim takes its lock.
    Begin,
    /// The shim writes a frame.
    Say(WorkerEvent),
    /// The agent changes files.
    Write { is_bad: bool },
    /// The shim is killed, and leaves its agent behind.
    Vanish,
    /// The shim ends.
    Exit,
}

/// A shim with its agent.
pub(super) struct SimShim {
    pub(super) spec: WorkerSpec,
    pub(super) state: Shim,
    pub(super) journal: Vec<Frame>,
    /// How many frames of the journal were acked.
    pub(super) acked: usize,
    pub(super) epoch: u32,
    /// How many frames of the journal are of earlier incarnations.
    pub(super) begins: usize,
    acts: VecDeque<(i64, Act)>,
    is_deaf: bool,
    is_agent_live: bool,
    has_leftovers: bool,
    turn: u32,
}

/// The port.
pub(super) struct SimShims(pub(super) Arc<Stage>);

// === impl SimShim ===

impl SimShim {
    /// Time of the next act.
    pub(super) fn due(&self) -> Option<i64> {
        self.acts.front().map(|(at, _)| *at)
    }

    /// Whether the last act is all that is left.
    pub(super) fn is_exiting(&self) -> bool {
        matches!(self.acts.front(), Some((_, Act::Exit)))
    }

    fn say(&mut self, now: i64, event: WorkerEvent) {
        match &event {
            WorkerEvent::AgentStarted { .. } => self.is_agent_live = true,
            WorkerEvent::AgentExited { .. } => self.is_agent_live = false,
            WorkerEvent::TurnStarted { turn, .. } => self.turn = *turn,
            WorkerEvent::SessionOpened { .. }
            | WorkerEvent::ToolCalled { .. }
            | WorkerEvent::PermissionAsked { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::CostReported { .. }
            | WorkerEvent::TurnEnded { .. }
            | WorkerEvent::Faulted { .. }
            | WorkerEvent::Sealed { .. } => {}
        }
        let seq = (self.journal.len() - self.begins) as u64 + 1;
        let (worker, ts) = (self.spec.worker.clone(), Millis(now));
        self.journal.push(Frame { v: FRAME_VERSION, worker, epoch: self.epoch, seq, ts, event });
    }

    /// A new incarnation, as after a restart of the shim: its frames are numbered anew.
    pub(super) fn reincarnate(&mut self) {
        self.epoch += 1;
        self.begins = self.journal.len();
        self.acked = self.begins;
    }

    fn end_soon(&mut self, now: i64, code: Option<i32>, signal: Option<i32>) {
        self.acts.clear();
        if self.is_agent_live {
            self.acts.push_back((now + 5, Act::Say(exited(code, signal))));
        }
        self.acts.push_back((now + 8, Act::Say(sealed())));
        self.acts.push_back((now + 10, Act::Exit));
    }

    /// What the daemon says.
    pub(super) fn hear(&mut self, command: &ShimCommand, now: i64) {
        match command {
            ShimCommand::Ack { seq } => {
                let seq = usize::try_from(*seq).unwrap_or(usize::MAX);
                self.acked = self.acked.max(self.begins + seq).min(self.journal.len());
            }
            ShimCommand::Stop { .. } if self.is_deaf => {}
            ShimCommand::Stop { .. } => self.end_soon(now, None, Some(15)),
            ShimCommand::Finish | ShimCommand::Permit { .. } => self.hurry(now),
            ShimCommand::Prompt { mail, .. } => {
                let turn = self.turn + 1;
                self.acts.push_front((now + 30, Act::Say(turn_ended(turn, "end_turn"))));
                let started = WorkerEvent::TurnStarted { turn, mail: mail.clone() };
                self.acts.push_front((now + 10, Act::Say(started)));
                self.turn = turn;
                // What was to come comes after that.
                for (at, _) in self.acts.iter_mut().skip(2) {
                    *at = (*at).max(now + 100);
                }
            }
        }
    }

    /// What the agent waits for has come.
    fn hurry(&mut self, now: i64) {
        let Some(due) = self.due() else { return };
        let ahead = (due - now - 5).max(0);
        if ahead < FOR_EVER / 2 {
            for (at, _) in &mut self.acts {
                *at -= ahead;
            }
        }
    }
}

fn exited(code: Option<i32>, signal: Option<i32>) -> WorkerEvent {
    WorkerEvent::AgentExited { code, signal, stderr: String::new() }
}

fn sealed() -> WorkerEvent {
    WorkerEvent::Sealed { bytes: 1, dropped: 0, digest: "0".repeat(64) }
}

fn turn_ended(turn: u32, stop: &str) -> WorkerEvent {
    WorkerEvent::TurnEnded { turn, stop: stop.to_owned(), text: "that is that".to_owned() }
}

fn asked() -> WorkerEvent {
    let option =
        |id: &str, kind: &str| PermissionOption { id: id.to_owned(), name: id.to_owned(), kind: kind.to_owned() };
    WorkerEvent::PermissionAsked {
        ask: "a1".to_owned(),
        title: "run it".to_owned(),
        options: vec![option("yes", "allow_once"), option("no", "reject_once")],
        detail: "it".to_owned(),
    }
}

/// How an agent behaves.
#[derive(Debug, Clone, Copy)]
enum Manner {
    Good,
    /// It says that it is done and has changed nothing.
    Liar,
    /// It changes more after it said that it is done.
    Restless,
    /// Its change has a defect that a gate finds.
    Sloppy,
    Refuses,
    Fails,
    /// It exits in the middle of its turn.
    Quits,
    Hangs,
    /// It hangs and hears no signal.
    Deaf,
    /// It asks a person.
    Asks,
    /// Its shim is killed.
    Vanishes,
    /// Its shim never takes its lock.
    NeverBegins,
    /// Its program is missing.
    Missing,
    /// The driver can't start it.
    Broken,
}

const BAD_MANNERS: [Manner; 13] = [
    Manner::Liar,
    Manner::Restless,
    Manner::Sloppy,
    Manner::Sloppy,
    Manner::Refuses,
    Manner::Fails,
    Manner::Quits,
    Manner::Hangs,
    Manner::Deaf,
    Manner::Asks,
    Manner::Vanishes,
    Manner::NeverBegins,
    Manner::Broken,
];

fn manner(stage: &Stage) -> Manner {
    if !stage.chance(stage.spec.bad_workers) {
        return Manner::Good;
    }
    if stage.chance(10) {
        return Manner::Missing;
    }
    BAD_MANNERS[stage.below(BAD_MANNERS.len() as u64) as usize]
}

/// Writes the script of a worker: acts with the time that each takes.
fn script(manner: Manner, spec: &WorkerSpec) -> Vec<(i64, Act)> {
    let say = |ms, event| (ms, Act::Say(event));
    let started = WorkerEvent::AgentStarted { pid: 7, argv: vec!["agent".to_owned()] };
    let faulted = |code: &str| WorkerEvent::Faulted { code: code.to_owned(), what: "can't".to_owned() };
    let is_exec = matches!(spec.driver, DriverSpec::Exec { .. });
    let ends = |stop: &str, code| {
        let linger = if is_exec { 1 } else { 2000 };
        let turn = if is_exec { "exit" } else { stop };
        vec![say(20, turn_ended(1, turn)), say(linger, exited(Some(code), None)), say(5, sealed()), (5, Act::Exit)]
    };
    let mut acts = vec![(30, Act::Begin)];
    match manner {
        Manner::NeverBegins => return Vec::new(),
        Manner::Missing | Manner::Broken => {
            let code = if matches!(manner, Manner::Missing) { "agent.missing" } else { "agent.spawn" };
            acts.extend([say(5, faulted(code)), say(5, sealed()), (5, Act::Exit)]);
            return acts;
        }
        Manner::Good
        | Manner::Liar
        | Manner::Restless
        | Manner::Sloppy
        | Manner::Refuses
        | Manner::Fails
        | Manner::Quits
        | Manner::Hangs
        | Manner::Deaf
        | Manner::Asks
        | Manner::Vanishes => {}
    }
    acts.push(say(10, started));
    acts.push(say(10, WorkerEvent::SessionOpened { session: "s".to_owned() }));
    acts.push(say(10, WorkerEvent::TurnStarted { turn: 1, mail: Vec::new() }));
    let cost = WorkerEvent::CostReported { micro_usd: Some(3), input_tokens: 5, output_tokens: 7 };
    acts.push(say(100, cost));
    let write = |is_bad| (200, Act::Write { is_bad });
    match manner {
        Manner::Good => acts.extend([vec![write(false)], ends("end_turn", 0)].concat()),
        Manner::Liar => acts.extend(ends("end_turn", 0)),
        Manner::Sloppy => acts.extend([vec![write(true)], ends("end_turn", 0)].concat()),
        Manner::Restless => {
            acts.push(write(false));
            acts.push(say(10, turn_ended(1, "end_turn")));
            acts.push((300, Act::Write { is_bad: true }));
            acts.extend([say(1000, exited(Some(0), None)), say(5, sealed()), (5, Act::Exit)]);
        }
        Manner::Refuses => acts.extend(ends("refusal", 0)),
        Manner::Fails => acts.extend([vec![write(false)], ends("error", 1)].concat()),
        Manner::Quits => acts.extend([write(false), say(50, exited(Some(1), None)), say(5, sealed()), (5, Act::Exit)]),
        Manner::Hangs | Manner::Deaf => acts.push((FOR_EVER, Act::Exit)),
        Manner::Asks => {
            acts.push(say(10, asked()));
            acts.push((PATIENCE, Act::Write { is_bad: false }));
            acts.extend(ends("end_turn", 0));
        }
        Manner::Vanishes => acts.extend([write(false), (50, Act::Vanish)]),
        Manner::NeverBegins | Manner::Missing | Manner::Broken => {}
    }
    acts
}

// === impl Stage ===

impl Stage {
    /// Lets a shim do what is due, but for its exit where `keeps` says that it is connected; returns whether it is still there.
    pub(super) fn advance(&self, folder: &Path, keeps_exit: bool) -> bool {
        let now = self.clock.ms();
        let mut shims = lock(&self.shims);
        let Some(shim) = shims.get_mut(folder) else { return false };
        while shim.due().is_some_and(|due| due <= now) && !(keeps_exit && shim.is_exiting()) {
            let Some((at, act)) = shim.acts.pop_front() else { break };
            match act {
                Act::Begin => shim.state = Shim::Alive,
                Act::Say(event) => shim.say(at, event),
                Act::Write { is_bad } => {
                    let content = if is_bad { BAD } else { "good" };
                    let content = format!("{content} work of {} on {}", shim.spec.worker, shim.spec.task);
                    let path = format!("t/{}", shim.spec.task);
                    lock(&self.repo).write(Path::new(&shim.spec.cwd), &path, &content);
                }
                Act::Vanish => {
                    shim.has_leftovers = true;
                    self.end(shim);
                }
                Act::Exit => self.end(shim),
            }
        }
        shim.state != Shim::Gone
    }

    /// A shim's process is gone.
    pub(super) fn end(&self, shim: &mut SimShim) {
        shim.acts.clear();
        shim.state = Shim::Gone;
        shim.is_agent_live = false;
        self.gone.send_modify(|gone| *gone += 1);
    }
}

// === impl SimShims ===

impl SimShims {
    fn state_of(&self, folder: &Path) -> Shim {
        self.0.advance(folder, true);
        lock(&self.0.shims).get(folder).map_or(Shim::NotBegun, |shim| shim.state)
    }
}

impl Shims for SimShims {
    fn has_program(&self, _program: &str) -> bool {
        true
    }

    fn launch(&self, spec: &WorkerSpec) -> Result<(), Error> {
        let stage = &self.0;
        if stage.chance(stage.spec.bad_workers / 20) {
            return Err(Failure::new("io.denied", "the shim could not be started").into());
        }
        let folder = PathBuf::from(&spec.folder);
        let manner = manner(stage);
        let mut at = stage.clock.ms();
        let mut acts = VecDeque::new();
        for (ms, act) in script(manner, spec) {
            let spread = if ms < 1000 { stage.below(ms.unsigned_abs() * 2 + 1) } else { ms.unsigned_abs() };
            at += i64::try_from(spread).unwrap_or(0);
            acts.push_back((at, act));
        }
        let shim = SimShim {
            spec: spec.clone(),
            state: Shim::NotBegun,
            journal: Vec::new(),
            acked: 0,
            epoch: 1,
            begins: 0,
            acts,
            is_deaf: matches!(manner, Manner::Deaf),
            is_agent_live: false,
            has_leftovers: false,
            turn: 0,
        };
        lock(&stage.report).workers += 1;
        {
            let mut shims = lock(&stage.shims);
            let beside = shims.values().filter(|other| other.spec.cwd == spec.cwd);
            let is_alone = beside.clone().all(|other| !other.has_leftovers && !other.is_agent_live);
            let live = shims.values().filter(|other| other.is_agent_live).count();
            lock(&stage.observer).launched(spec, is_alone, live);
            shims.insert(folder.clone(), shim);
        }
        connection::keep(stage, folder);
        Ok(())
    }

    fn state(&self, folder: &Path) -> Shim {
        self.state_of(folder)
    }

    fn kill(&self, folder: &Path) -> bool {
        let mut shims = lock(&self.0.shims);
        let Some(shim) = shims.get_mut(folder).filter(|shim| shim.state == Shim::Alive) else { return false };
        self.0.end(shim);
        true
    }

    fn kill_leftovers(&self, worker: &WorkerId) -> usize {
        let mut shims = lock(&self.0.shims);
        shims.values_mut().filter(|shim| shim.spec.worker == *worker).for_each(|shim| shim.has_leftovers = false);
        0
    }

    fn frames_after(&self, folder: &Path, seen: i64) -> Result<Vec<Frame>, Error> {
        let shims = lock(&self.0.shims);
        let journal = shims.get(folder).map(|shim| shim.journal.as_slice()).unwrap_or_default();
        Ok(journal.iter().filter(|frame| frame_number(frame) > seen).cloned().collect())
    }

    fn ended(&self, folder: &Path) -> BoxFuture<'static, ()> {
        let (stage, folder) = (Arc::clone(&self.0), folder.to_owned());
        Box::pin(async move {
            let mut gone = stage.gone.subscribe();
            while lock(&stage.shims).get(&folder).is_some_and(|shim| shim.state == Shim::Alive) {
                if gone.changed().await.is_err() {
                    return;
                }
            }
        })
    }
}
