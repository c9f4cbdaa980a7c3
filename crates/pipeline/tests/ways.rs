//! Random ways and random histories of units that walk them: lost workers, moving heads, failing steps, people who
//! retry and resume. No history may get stuck or go on for ever, and no unjudged change may be merged. A rule that is
//! broken on purpose must be detected.

#[path = "simulation/draw.rs"]
mod draw;

use std::sync::Arc;

use draw::{chance, pick};
use fastrand::Rng;
use switchboard_pipeline::way::{Assignee, Graph, Judgement, Slot, Unit};
use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::plan::RetryFrom;
use switchboard_protocol::run::way::{
    CommandStep, GateId, Input, Limits, Need, RoleId, Step, StepAction, StepId, Way, When, Zone,
};
use switchboard_protocol::run::{Change, Verdict};
use switchboard_protocol::time::Millis;

/// Number of histories in the quick run, which takes some seconds; the long run takes a few minutes.
const HISTORIES: u64 = 20_000;

/// Number of events after which a history counts as endless.
const ENDLESS: usize = 2_000;

/// A rule that is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// No rule is broken.
    Nothing,
    /// A step counts as done for any input.
    AnyInput,
    /// If several steps are open, none of them begins.
    NoneBegins,
}

/// Outcome of a simulated history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Merged,
    Held,
    Stuck,
    Endless,
    /// The change was merged although a verdict is not valid for it.
    Unjudged,
}

fn step(id: &str, does: StepAction, after: &[StepId], reads: &[Input]) -> Step {
    Step {
        id: StepId::new(id).expect("an id"),
        does,
        after: after.to_vec(),
        reads: reads.to_vec(),
        when: When::Always,
        need: Need::Required,
        back: Some(StepId::work()),
        limits: Limits::default(),
    }
}

/// Returns a way with a coder, some parallel checks and reviews, optionally a tester who writes, a rebase and a merge.
fn random_way(rng: &mut Rng) -> Way {
    let limits = Limits { attempts: 3, losses: 3, ..Limits::default() };
    let role = || RoleId::new("coder").expect("an id");
    let has_tester = chance(rng, 500);
    let zones = if has_tester { vec![Zone::Source] } else { vec![Zone::Source, Zone::Tests] };
    let work = step(
        "work",
        StepAction::Work {
            role: role(),
            writes: zones,
            retry_from: RetryFrom::Change,
            begins_on: None,
            may_keep: false,
            answer: None,
        },
        &[],
        &[Input::Spec],
    );
    let mut steps = vec![Step { limits, ..work }];
    for number in 0..rng.usize(..4) {
        let name = format!("check{number}");
        let reads = [pick(rng, &[Input::Tree, Input::Source]).clone()];
        let mut check = step(
            &name,
            StepAction::Check { gate: GateId::new(name.clone()).expect("an id") },
            &[StepId::work()],
            &reads,
        );
        check.need = *pick(rng, &[Need::Required, Need::IfConfigured, Need::Advisory]);
        if chance(rng, 300) {
            check.after.push(steps[steps.len() - 1].id.clone());
        }
        steps.push(check);
    }
    if has_tester {
        let does = StepAction::Work {
            role: RoleId::new("tester").expect("an id"),
            writes: vec![Zone::Tests],
            retry_from: RetryFrom::Change,
            begins_on: None,
            may_keep: false,
            answer: None,
        };
        let tester = step("tests", does, &[StepId::work()], &[Input::Source]);
        steps.push(Step { limits, back: Some(StepId::new("tests").expect("an id")), ..tester });
    }
    if chance(rng, 300) {
        let question = "go on?".to_owned();
        steps.push(step(
            "ask",
            StepAction::Ask { question: Some(question) },
            &[StepId::work()],
            &[Input::Output(StepId::work())],
        ));
    }
    let all = |steps: &[Step]| steps.iter().map(|step| step.id.clone()).collect::<Vec<_>>();
    let does = StepAction::Command { kind: CommandStep::Rebase, writes: vec![Zone::Source, Zone::Tests] };
    let mut reads = vec![Input::Output(StepId::work()), Input::Head];
    reads.extend(has_tester.then(|| Input::Output(StepId::new("tests").expect("an id"))));
    let rebase = step("rebase", does, &all(&steps), &reads);
    steps.push(Step { limits: Limits { runs: 8, ..Limits::default() }, ..rebase });
    steps.push(step("merge", StepAction::Merge, &all(&steps), &[Input::Tree, Input::Head]));
    // The tester reads only the spec: the rebase writes the tester's zone and would otherwise reopen the step.
    steps.iter_mut().filter(|step| step.id.as_str() == "tests").for_each(|step| step.reads = vec![Input::Spec]);
    Way { steps }
}

struct World {
    rng: Rng,
    unit: Unit,
    broken: Broken,
    names: u32,
    /// Tree and verdict of each check's last judgement.
    judged: Vec<Option<(String, Verdict)>>,
}

impl World {
    fn new(seed: u64, broken: Broken) -> Self {
        let mut rng = Rng::with_seed(seed);
        let way = Graph::new(random_way(&mut rng)).unwrap_or_else(|bad| panic!("seed {seed}: {bad}"));
        let judged = vec![None; way.steps().len()];
        let unit = Unit::new(Arc::new(way), Digest::ZERO, Digest::ZERO, "head");
        Self { rng, unit, broken, names: 0, judged }
    }

    fn play(&mut self) -> End {
        let mut trouble = 60;
        for _ in 0..ENDLESS {
            if self.unit.is_done() {
                return self.check_merged();
            }
            if self.unit.held().is_some() {
                if trouble == 0 || chance(&mut self.rng, 500) {
                    return End::Held;
                }
                trouble -= 1;
                self.unit.release(Some(0));
            }
            if trouble > 0 && chance(&mut self.rng, 150) {
                trouble -= 1;
                self.make_trouble();
                continue;
            }
            if !self.go_on() {
                return End::Stuck;
            }
        }
        End::Endless
    }

    /// Starts or ends one step; if there is none, returns true if the unit is held or done.
    fn go_on(&mut self) -> bool {
        let under_way: Vec<_> = (0..self.judged.len()).filter(|at| self.unit.slots()[*at].is_under_way()).collect();
        let open = self.open();
        if under_way.is_empty() && open.is_empty() {
            return self.unit.held().is_some() || self.unit.is_done();
        }
        if under_way.is_empty() || (!open.is_empty() && chance(&mut self.rng, 500)) {
            let at = *pick(&mut self.rng, &open);
            self.unit.intend(at, Assignee::Worker(WorkerId::from_bits(at as u64))).expect("it is open or under way");
            self.unit.start(at, Millis(0)).expect("it is open or under way");
        } else {
            let at = *pick(&mut self.rng, &under_way);
            self.end(at);
        }
        true
    }

    fn open(&self) -> Vec<usize> {
        let open = self.unit.open();
        match self.broken {
            Broken::Nothing => open,
            Broken::AnyInput => open.into_iter().filter(|at| self.unit.slots()[*at] == Slot::Idle).collect(),
            Broken::NoneBegins if open.len() > 1 => Vec::new(),
            Broken::NoneBegins => open,
        }
    }

    fn end(&mut self, at: usize) {
        let step = self.unit.way().steps()[at].clone();
        if chance(&mut self.rng, 60) {
            self.unit.lose(at).expect("it is open or under way");
            return;
        }
        let verdict = match chance(&mut self.rng, 150) {
            true => *pick(&mut self.rng, &[Verdict::Fail, Verdict::Error, Verdict::NoReply, Verdict::NotConfigured]),
            false => *pick(&mut self.rng, &[Verdict::Pass, Verdict::Warn, Verdict::Skipped]),
        };
        if !step.does.writes().is_empty() && !verdict.refuses() {
            self.unit.end(at).expect("it is open or under way");
            let change = self.change();
            self.unit.capture(at, change).expect("it is open or under way");
            return;
        }
        let tree = self.unit.change().map(|change| change.tree.clone()).unwrap_or_default();
        self.judged[at] = Some((tree, verdict));
        self.unit.judge(at, Judgement { input: None, verdict, output: None }).expect("it is open or under way");
    }

    /// Returns a new commit, sometimes with the previous tree.
    fn change(&mut self) -> Change {
        self.names += 1;
        let old = self.unit.change().map(|change| change.tree.clone());
        let tree = old.filter(|_| chance(&mut self.rng, 300)).unwrap_or_else(|| format!("t{}", self.names));
        Change { commit: format!("c{}", self.names), tree, base: self.unit.head().to_owned(), files: 1, lines: 1 }
    }

    fn make_trouble(&mut self) {
        self.names += 1;
        if chance(&mut self.rng, 700) {
            let _held = self.unit.move_head(&format!("h{}", self.names));
        } else {
            let at = self.rng.usize(..self.judged.len());
            let _over = self.unit.resume_at(at);
        }
    }

    /// Checks that the merged change was judged: the last verdict of every check on this very tree or source lets it
    /// pass.
    fn check_merged(&self) -> End {
        let tree = self.unit.change().map(|change| change.tree.as_str()).unwrap_or_default();
        for (at, step) in self.unit.way().steps().iter().enumerate() {
            let reads_tree = step.reads.contains(&Input::Tree) && matches!(step.does, StepAction::Check { .. });
            let Some((judged, verdict)) = &self.judged[at] else { continue };
            if reads_tree && (judged != tree || !step.need.accepts(*verdict)) {
                return End::Unjudged;
            }
        }
        End::Merged
    }
}

#[test]
fn no_history_is_stuck_or_endless_or_merges_what_was_not_judged() {
    play(0..HISTORIES);
}

#[test]
#[ignore = "200,000 histories: cargo test -p switchboard-pipeline --test ways -- --ignored"]
fn no_history_of_many_is_stuck_or_endless_or_merges_what_was_not_judged() {
    play(HISTORIES..HISTORIES + 200_000);
}

fn play(seeds: std::ops::Range<u64>) {
    let (mut ends, count) = ([0_u64; 2], seeds.end - seeds.start);
    for seed in seeds {
        match World::new(seed, Broken::Nothing).play() {
            End::Merged => ends[0] += 1,
            End::Held => ends[1] += 1,
            bad @ (End::Stuck | End::Endless | End::Unjudged) => panic!("seed {seed}: {bad:?}"),
        }
    }
    assert!(ends.iter().all(|end| *end > count / 20), "both ends are seen: {ends:?}");
}

#[test]
fn a_broken_rule_is_noticed() {
    for broken in [Broken::AnyInput, Broken::NoneBegins] {
        let is_bad = |seed| matches!(World::new(seed, broken).play(), End::Stuck | End::Endless | End::Unjudged);

        assert!((0..1_000).any(is_bad));
    }
}
