//! Simulated port of shims: starts them, has them act as simulated time passes, with or without a daemon, and kills
//! them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::{ANSWER_FILE, Frame, WorkerSpec};
use switchboard_protocol::id::WorkerId;

use super::answers::Judge;
use super::connection;
use super::repo::removed_by;
use super::script::{Behaviour, behaviour, script};
use super::shim::{Act, BAD, SimShim};
use super::spec::{MISSING, PROCESS};
use super::stage::Stage;
use crate::Error;
use crate::event::frame_number;
use crate::future::BoxFuture;
use crate::lock::lock;
use crate::port::shims::{Shim, Shims};

/// Shims of a simulation.
pub(super) struct SimShims(pub(super) Arc<Stage>);

// === impl Stage ===

impl Stage {
    /// Returns true if the plan of this history sets up its trees.
    pub(super) fn wants_setup(&self) -> bool {
        self.spec.bad_setups > 0
    }

    /// Carries out the due acts of a shim, except its exit if `keeps` says that it is connected; returns true if it
    /// still exists.
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
                    let (task, mut repo) = (whole(&shim.spec.task), lock(&self.repo));
                    let path = if task.starts_with("docs-") { format!("docs/{task}.md") } else { format!("t/{task}") };
                    repo.write(Path::new(&shim.spec.cwd), &path, &content);
                    repo.remove(Path::new(&shim.spec.cwd), &removed_by(task));
                }
                Act::Touch { path, is_commit } => {
                    let content = format!("work of {} on {}", shim.spec.worker, shim.spec.task);
                    let (mut repo, at) = (lock(&self.repo), Path::new(&shim.spec.cwd));
                    repo.write(at, &path, &content);
                    if is_commit {
                        repo.commit_in(at);
                    }
                }
                Act::Answer { text } => {
                    let file = Path::new(&shim.spec.folder).join(ANSWER_FILE);
                    lock(&self.files).insert(file, text.into_bytes());
                }
                Act::Vanish => {
                    shim.has_leftovers = true;
                    self.end(shim);
                }
                Act::Freeze => {
                    shim.is_frozen = true;
                    shim.acts.clear();
                }
                Act::Exit => self.end(shim),
            }
        }
        shim.state != Shim::Gone
    }

    /// Ends the process of a shim.
    pub(super) fn end(&self, shim: &mut SimShim) {
        shim.acts.clear();
        shim.state = Shim::Gone;
        shim.is_agent_live = false;
        self.gone.send_modify(|gone| *gone += 1);
    }
}

/// Returns the task of a subtask in a simulated plan, or the task itself: ids of tasks have two numbers.
fn whole(task: &str) -> &str {
    task.match_indices('.').nth(1).map_or(task, |(at, _)| &task[..at])
}

// === impl SimShims ===

impl SimShims {
    fn state_of(&self, folder: &Path) -> Shim {
        self.0.advance(folder, true);
        lock(&self.0.shims).get(folder).map_or(Shim::NotBegun, |shim| shim.state)
    }
}

/// Returns true if two workers were given a port in common.
fn share_ports(one: &WorkerSpec, other: &WorkerSpec) -> bool {
    let number = |spec: &WorkerSpec, name: &str| {
        let (_, value) = spec.env.iter().find(|(known, _)| known == name)?;
        value.parse::<u32>().ok()
    };
    let range = |spec| {
        let first = number(spec, "SWITCHBOARD_PORT")?;
        Some(first..first + number(spec, "SWITCHBOARD_PORT_COUNT")?)
    };
    let (Some(one), Some(other)) = (range(one), range(other)) else { return false };
    one.start < other.end && other.start < one.end
}

impl Shims for SimShims {
    fn has_program(&self, program: &str) -> bool {
        program != MISSING
    }

    fn sandbox_gaps(&self) -> Vec<String> {
        lock(&self.0.sandbox_gaps).clone()
    }

    fn launch(&self, spec: &WorkerSpec) -> Result<(), Error> {
        let stage = &self.0;
        #[cfg(test)]
        stage.note(format!("worker {spec:#?}"));
        if stage.chance(stage.spec.bad_workers / 20) {
            return Err(Failure::new("io.denied", "the shim could not be started").into());
        }
        let folder = PathBuf::from(&spec.folder);
        let behaviour = behaviour(stage);
        let mut at = stage.clock.ms();
        let mut acts = VecDeque::new();
        let work_ms = if stage.spec.work_ms == 0 { 0 } else { stage.below(stage.spec.work_ms) };
        let mut script = script(behaviour, spec, i64::try_from(work_ms).unwrap_or(0));
        if let Some(judge) = Judge::of(stage, spec) {
            lock(&stage.observer).judges.add_judge(spec.worker.clone(), judge.counts_for());
            script = judge.plays(script);
        }
        for (ms, act) in script {
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
            is_deaf: matches!(behaviour, Behaviour::Deaf),
            is_frozen: false,
            beats: None,
            is_agent_live: false,
            is_sealed: false,
            has_leftovers: false,
            turn: 0,
            paused_at: None,
            is_held: false,
        };
        lock(&stage.report).workers += 1;
        {
            let (mut shims, mut here) = (lock(&stage.shims), lock(&stage.here));
            here.retain(|folder| shims.get(folder).is_some_and(SimShim::is_here));
            let known = here.iter().filter_map(|folder| shims.get(folder));
            let beside = known.clone().filter(|other| other.spec.cwd == spec.cwd);
            let is_alone = beside.clone().all(|other| !other.has_leftovers && !other.is_agent_live);
            let live = known.clone().filter(|other| other.is_agent_live).count();
            let others = known.filter(|other| other.is_agent_live && other.spec.cwd != spec.cwd);
            let has_own_ports = others.into_iter().all(|other| !share_ports(&other.spec, spec));
            let is_reader = spec.cwd.contains("/.readers/");
            let is_set_up = is_reader || !stage.wants_setup() || lock(&stage.set_up).contains(Path::new(&spec.cwd));
            let mut observer = lock(&stage.observer);
            observer.launched(spec, is_alone, live);
            observer.insist(has_own_ports, || format!("{} starts with ports of another tree", spec.worker));
            observer.insist(is_set_up, || format!("{} starts in a tree that is not set up", spec.worker));
            drop(observer);
            here.insert(folder.clone());
            shims.insert(folder.clone(), shim);
        }
        connection::keep(stage, folder);
        Ok(())
    }

    fn state(&self, folder: &Path) -> Shim {
        self.state_of(folder)
    }

    fn forbid(&self, folder: &Path) -> Result<bool, Error> {
        let mut shims = lock(&self.0.shims);
        let Some(shim) = shims.get_mut(folder) else { return Ok(true) };
        if shim.state == Shim::NotBegun {
            self.0.end(shim);
        }
        Ok(shim.state == Shim::Gone)
    }

    fn process(&self, folder: &Path) -> Option<(u32, u64)> {
        lock(&self.0.shims).get(folder).filter(|shim| shim.state == Shim::Alive).map(|_| PROCESS)
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
