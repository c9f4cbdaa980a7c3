//! Tables of what a run does with each event in each state: every kind is offered with facts that fit the state, and
//! once more for each fact that ties it to the state (attempt, worker, step, change, question), with a wrong one; its
//! name stands in parentheses. Wrong facts that make no difference are not listed.
//! `INSTA_UPDATE=always cargo test -p switchboard-pipeline transitions` accepts new tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};
use switchboard_protocol::event::Fact;
use switchboard_protocol::id::NeedId;
use switchboard_protocol::run::PersonAnswer;

use super::*;

/// Facts that fit no state, each by its name.
const WRONG: [(&str, &str); 8] = [
    ("worker", "wrk_00000000000000ff"),
    ("step", "elsewhere"),
    ("commit", "another commit"),
    ("need", "need_00000000000000ff"),
    ("input", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
    ("gate", "another_gate"),
    ("from", "another head"),
    ("root", "1.3"),
];

/// Maximum length of the line of an effect.
const MAX_LINE: usize = 250;

/// A name and how to bring a run into the state.
type State = (&'static str, fn() -> Run);

impl Run {
    /// Returns the first pending effect of a task with this name, as JSON.
    fn pending(&self, task: &str, name: &str) -> Value {
        let values = self.effects().into_iter().map(|effect| serde_json::to_value(effect).unwrap());
        values.into_iter().find(|effect| effect["effect"] == name && effect["task"] == task).unwrap_or(Value::Null)
    }

    /// Returns events of every kind, named, with facts that fit a task.
    #[expect(clippy::too_many_lines, reason = "a line for each event")]
    fn fitting(&self, task: &str) -> Vec<(String, Value)> {
        let view = self.view(task);
        let (start, take) = (self.pending(task, "start_worker"), self.pending(task, "take_answer"));
        let (checks, asks) = (self.pending(task, "run_checks"), self.pending(task, "ask_person"));
        let (merge, command) = (self.pending(task, "merge"), self.pending(task, "run_command"));
        let first = |values: &[&Value], otherwise: Value| {
            values.iter().find(|value| !value.is_null()).map_or(otherwise, |value| (*value).clone())
        };
        let state = serde_json::to_value(&view.state).unwrap();
        let worker = json!(WorkerId::from_bits(self.workers.max(1)));
        let step = first(&[&start["step"], &take["step"], &json!(view.step)], json!("work"));
        let commit = first(&[&merge["commit"], &command["commit"], &state["change"]["commit"]], json!("c"));
        let onto = first(&[&merge["base"], &state["onto"]], json!("b"));
        let check = &checks["checks"][0];
        let gate = first(&[&check["gate"]], json!("syntax_check"));
        let input = first(&[&asks["input"], &take["input"], &check["input"]], json!("0".repeat(64)));
        let need = first(&[&state["need"]], json!(NeedId::from_bits(1)));
        let on = |facts: Value| {
            let mut all = json!({ "task": task });
            all.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
            all
        };
        let tried = |facts: Value| {
            let mut all = on(facts);
            all["attempt"] = json!(view.attempt);
            all
        };
        let budget = |ceiling: u64| json!({ "budget": { "ceiling": ceiling, "reserve": 2 } });
        let lease = json!({ "holder": "eve", "files": ["a"], "until": 9 });
        let ended = |outcome: &str| on(json!({ "worker": worker, "outcome": outcome, "reason": "so" }));
        let answered = |answer: &str| on(json!({ "need": need, "answer": answer, "note": "n" }));
        let gave = |verdict: &str| {
            tried(json!({ "step": step, "worker": worker, "input": input, "verdict": verdict, "reasons": ["r"] }))
        };
        let reported =
            |verdict: &str| tried(json!({ "gate": gate, "input": input, "verdict": verdict, "reasons": ["r"] }));
        let change =
            json!({ "commit": commit, "tree": "t2", "base": "b", "files": ["a"], "files_total": 1, "lines": 1 });
        let new_commit = |mut facts: Value| {
            facts["commit"] = json!("c2");
            facts
        };
        let rebased = json!({ "worker": worker, "onto": "h", "start": "h" });
        let named = [
            ("run_started", json!({ "title": "t", "plan_hash": "h", "base": "b", "parts": 1, "max_workers": 1 })),
            ("plan_recorded", json!({ "part": 1, "of": 1, "text": "{}" })),
            (
                "unit_added",
                json!({ "unit": { "task": "9.9" }, "way": "0".repeat(64), "after": [], "writes": [], "timeout_ms": 1 }),
            ),
            ("unit_extended", json!({ "unit": { "task": task }, "part": 1, "after": [], "writes": [] })),
            ("worker_intended", tried(json!({ "step": step, "worker": "wrk_00000000000000ee" }))),
            ("worker_started", on(json!({ "worker": worker }))),
            ("worker_lost", on(json!({ "worker": worker, "reason": "gone" }))),
            ("tree_setup_failed", on(json!({ "worker": worker, "reason": "no" }))),
            ("turn_ended finished", ended("finished")),
            ("turn_ended failed", ended("failed")),
            ("turn_ended stopped", ended("stopped")),
            ("turn_ended refused", ended("refused")),
            ("turn_ended timed_out", ended("timed_out")),
            ("turn_ended paused", ended("paused")),
            ("turn_ended rate_limited", ended("rate_limited")),
            ("turn_ended model_failed", ended("model_failed")),
            ("change_captured", tried(change.clone())),
            ("change_captured incomplete", {
                let mut incomplete = tried(change.clone());
                incomplete["left_out"] = json!(["vendor"]);
                incomplete
            }),
            ("nothing_changed", tried(json!({ "why": "w" }))),
            ("person_asked", on(json!({ "worker": worker, "need": need, "reason": "may I?" }))),
            ("confirmation_asked", tried(json!({ "need": need, "input": input, "reason": "may it?" }))),
            ("person_answered allow", answered("allow")),
            ("person_answered retry", answered("retry")),
            ("person_answered give_up", answered("give_up")),
            ("person_answered expired", answered("expired")),
            ("person_answered withdrawn", answered("withdrawn")),
            ("turn_omitted", tried(json!({ "step": step }))),
            ("step_answered pass", gave("pass")),
            ("step_answered fail", gave("fail")),
            ("answer_refused", tried(json!({ "step": step, "worker": worker, "reason": "unreadable" }))),
            ("step_skipped", tried(json!({ "step": step, "input": input, "reason": "r" }))),
            ("gate_reported pass", reported("pass")),
            ("gate_reported warn", reported("warn")),
            ("gate_reported fail", reported("fail")),
            ("gate_reported error", reported("error")),
            ("change_fixed", new_commit(tried(json!({ "tree": "t3", "files": ["a"], "files_total": 1, "told": [] })))),
            ("change_rebased", new_commit(tried(json!({ "tree": "t4", "onto": "h" })))),
            ("branch_moved", on(json!({ "from": "b", "head": "h" }))),
            ("merge_held", tried(json!({ "lease": lease }))),
            ("merge_released", tried(json!({}))),
            ("merge_intended", tried(json!({ "commit": commit, "onto": onto }))),
            ("task_merged", tried(json!({ "commit": "m" }))),
            ("merge_conflicted", tried(json!({ "files": ["a"] }))),
            ("task_done", tried(json!({}))),
            ("candidate_chosen", tried(json!({ "candidate": "1.1.c1", "commit": commit, "among": 2 }))),
            ("task_blocked", tried(json!({ "retries": self.state.retries_of(&id(task)), "reason": "so" }))),
            ("task_dep_failed", on(json!({ "root": "1.1" }))),
            ("task_stop_requested", on(json!({ "grace_ms": 5 }))),
            ("run_stop_requested", Value::Null),
            ("budget_set", budget(100)),
            ("budget_set less than a worker needs", budget(1)),
            ("task_budget_set", on(json!({ "ceiling": 7 }))),
            ("cost_counted", on(json!({ "worker": worker, "total_micro_usd": 9 }))),
            ("turn_begun", on(json!({ "worker": worker, "turn": 2 }))),
            ("budget_alert", json!({ "percent": 50, "spent": 1 })),
            ("run_paused requested", json!({ "cause": "requested" })),
            ("run_paused disk", json!({ "cause": "disk" })),
            ("run_paused day", json!({ "cause": "day" })),
            ("run_resumed", Value::Null),
            ("task_paused", on(json!({}))),
            ("task_resumed", on(json!({}))),
            ("led_set", json!({ "is_led": true })),
            ("led_set off", json!({ "is_led": false })),
            ("step_begun", tried(json!({ "step": step }))),
            ("scope_declared", on(json!({ "files": ["z"] }))),
            ("task_rebase_requested", on(json!({}))),
            ("tree_rebased", on(rebased.clone())),
            ("tree_not_rebased", on(json!({ "worker": worker, "onto": "h", "files": ["a"] }))),
            ("task_retry_requested", on(json!({ "note": "again" }))),
            ("run_finished succeeded", json!({ "outcome": "succeeded" })),
            ("run_finished failed", json!({ "outcome": "failed" })),
        ];
        named.map(|(name, facts)| (name.to_owned(), facts)).into()
    }

    /// Returns what becomes of each event in this state, and of the first of each kind with a wrong fact, if that makes
    /// a difference.
    fn outcomes(&self, task: &str) -> Vec<(String, Outcome)> {
        let (mut outcomes, mut kinds) = (Vec::new(), BTreeSet::new());
        for (name, facts) in self.fitting(task) {
            let kind = name.split(' ').next().unwrap();
            let is_first = kinds.insert(kind.to_owned());
            let outcome = |facts: &Value| {
                let event = RunEvent::read(kind, &facts.clone().into());
                self.outcome_of(&event.unwrap_or_else(|| panic!("{name} has another shape")))
            };
            let usual = outcome(&facts);
            let last = facts["attempt"].as_u64().map(|attempt| ("attempt", json!(attempt + 1)));
            for (key, wrong) in WRONG.map(|(key, wrong)| (key, json!(wrong))).into_iter().chain(last) {
                if facts[key].is_null() || !is_first {
                    continue;
                }
                let mut other = facts.clone();
                other[key] = wrong;
                let unusual = outcome(&other);
                if unusual != usual {
                    outcomes.push((format!("{name} ({key})"), unusual));
                }
            }
            outcomes.push((name, usual));
        }
        outcomes
    }

    /// Returns what a person sees of the run, and what the run does next, a line each.
    fn shown(&self) -> BTreeSet<String> {
        let mut lines = BTreeSet::new();
        for view in self.state.tasks() {
            let mut shown = serde_json::to_value(&view).unwrap();
            shown["refusals"] = json!(view.refusals.iter().map(|refusal| words(&json!(refusal))).collect::<Vec<_>>());
            shown["gates"] = json!(view.gates.len());
            shown["steps"] = json!(view.steps.len());
            shown["pending_gates"] = json!(view.pending_gates.len());
            lines.insert(words(&shown));
        }
        lines.extend(self.effects().iter().map(|effect| cut(format!("do {}", words(&json!(effect))))));
        lines.extend(self.state.pause().map(|cause| format!("paused: {cause:?}")));
        lines.extend(self.state.outcome().map(|outcome| format!("over: {outcome:?}")));
        lines.extend(
            self.state.waiting_workers().map(|(worker, waits)| format!("{}: {waits:?}", short(worker.as_str()))),
        );
        lines.extend(self.state.open_steps().map(|open| format!("to begin: {} {}", open.task, open.step)));
        if self.state.is_stopping() {
            lines.insert("stopping".to_owned());
        }
        lines
    }

    /// Returns what becomes of an event.
    fn outcome_of(&self, event: &RunEvent) -> Outcome {
        let mut after = Self { state: self.state.clone(), now: self.now + 1, workers: self.workers, last: Vec::new() };
        let follows = match after.state.step(event, Millis(after.now)) {
            Ok(follows) => follows,
            Err(refused) => {
                assert_eq!(after.state, self.state, "{event:?} was refused and changed the state");
                let hint = if refused.hint.is_empty() { String::new() } else { format!(" ({})", refused.hint) };
                return Outcome::Refused(format!("{:?}: {refused}{hint}", refused.code));
            }
        };
        if after.state == self.state {
            assert!(follows.is_empty(), "{event:?} changes nothing, and yet {follows:?} follows");
            return Outcome::NoChange;
        }
        let (before, now) = (self.shown(), after.shown());
        // What a task was before stands at the beginning of the table.
        let gone = before.difference(&now).filter(|line| !line.starts_with("task="));
        let gone = gone.map(|line| format!("  no more: {}", line.split(' ').take(3).collect::<Vec<_>>().join(" ")));
        let came = now.difference(&before).map(|line| format!("  {line}"));
        let follows = follows.iter().map(|event| format!("  and then {}", words(&tagged(event))));
        Outcome::Taken(follows.chain(gone).chain(came).collect())
    }
}

/// What becomes of an event.
#[derive(PartialEq)]
enum Outcome {
    Refused(String),
    NoChange,
    Taken(Vec<String>),
}

/// Returns a text with its long ids and digests shortened.
fn short(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_hexdigit();
    let mut words = Vec::new();
    for word in text.split_inclusive(|c: char| !is_part(c)) {
        let digits = word.trim_end_matches(|c: char| !is_part(c));
        let rest = &word[digits.len()..];
        match digits.len() {
            64 => words.push(format!("#{rest}")),
            16 => words.push(format!("{}{rest}", digits.trim_start_matches('0'))),
            _ => words.push(word.to_owned()),
        }
    }
    words.concat()
}

/// Returns a line without its end if it is long.
fn cut(line: String) -> String {
    if line.len() <= MAX_LINE { line } else { line.chars().take(MAX_LINE).collect::<String>() + " …" }
}

/// Returns the fields of an object that are not empty, in one line.
fn words(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let is_said =
                |value: &&Value| !(value.is_null() || [json!([]), json!(""), json!(false), json!(0)].contains(value));
            let fields = fields.iter().filter(|(_, value)| is_said(value));
            fields.map(|(key, value)| format!("{key}={}", words(value))).collect::<Vec<_>>().join(" ")
        }
        Value::Array(all) => format!("[{}]", all.iter().map(words).collect::<Vec<_>>().join(", ")),
        Value::String(text) => short(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns the table of a state: the run as it is, then the refusals, each with its events, and what each other event
/// changes.
fn table(name: &str, run: &Run, task: &str) -> String {
    let (mut refused, mut taken): (BTreeMap<String, Vec<String>>, _) = (BTreeMap::new(), BTreeMap::new());
    let mut no_change = Vec::new();
    for (name, outcome) in run.outcomes(task) {
        match outcome {
            Outcome::Refused(why) => refused.entry(short(&why)).or_default().push(name),
            Outcome::NoChange => no_change.push(name),
            Outcome::Taken(changes) => taken.entry(changes).or_insert_with(Vec::new).push(name),
        }
    }
    let mut text = format!("=== {name}\n");
    run.shown().iter().for_each(|line| writeln!(text, "{line}").unwrap());
    for (why, names) in refused {
        writeln!(text, "refused, {why}\n  {}", names.join(", ")).unwrap();
    }
    writeln!(text, "changes nothing\n  {}", no_change.join(", ")).unwrap();
    for (changes, names) in taken {
        let changes =
            if changes.is_empty() { "  changes nothing that is shown".to_owned() } else { changes.join("\n") };
        writeln!(text, "{}\n{changes}", names.join(", ")).unwrap();
    }
    text
}

fn tables(task: &str, states: &[State]) -> String {
    states.iter().map(|(name, run)| table(name, &run(), task)).collect()
}

/// Returns a run of a task, one that waits for it, and one that writes the same file.
fn three() -> Run {
    Run::on(&compiled::compiled_way(), 2, &[("1.1", &[], &["a"]), ("1.2", &["1.1"], &[]), ("1.3", &[], &["a"])])
}

fn after(mut run: Run, change: impl FnOnce(&mut Run)) -> Run {
    change(&mut run);
    run
}

fn working() -> Run {
    after(three(), |run| drop(run.start("1.1")))
}

fn captured() -> Run {
    after(three(), |run| run.capture_lines("1.1", 1))
}

fn passed() -> Run {
    after(captured(), |run| run.answer_checks("1.1", Verdict::Pass))
}

fn blocked() -> Run {
    after(three(), |run| {
        run.tell(RunEvent::TaskBlocked { task: id("1.1"), attempt: 1, retries: None, reason: "so".to_owned() });
    })
}

/// Returns an event as its kind and its facts, if it has any.
fn tagged(event: &RunEvent) -> Value {
    let (kind, facts) = event.write().unwrap();
    let facts = facts.to_value().unwrap();
    if facts.is_null() { json!({ "kind": kind }) } else { json!({ "kind": kind, "facts": facts }) }
}

fn with(run: Run, kind: &str, facts: &Value) -> Run {
    let event = RunEvent::read(kind, &facts.clone().into()).unwrap();
    after(run, |run| run.tell(event))
}

#[test]
fn what_a_task_takes_before_its_change_is_captured() {
    let states: [State; _] = [
        ("the run's opening", || {
            let mut run = Run { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
            run.tell(started(3, 1));
            run.tell(recorded(&way()));
            run.tell(added(unit("1.1"), &way(), Vec::new(), &["a"]));
            run
        }),
        ("ready", three),
        ("starting", || {
            with(three(), "worker_intended", &json!({ "task": "1.1", "attempt": 1, "worker": WorkerId::from_bits(1) }))
        }),
        ("working", working),
        ("a permission is asked for", || {
            let (worker, need) = (WorkerId::from_bits(1), NeedId::from_bits(1));
            let asked = json!({ "task": "1.1", "worker": worker, "need": need, "reason": "may I?" });
            with(working(), "person_asked", &asked)
        }),
        ("the worker is done", || after(three(), |run| run.end_turn("1.1", TurnOutcome::Finished))),
    ];
    insta::assert_snapshot!(tables("1.1", &states));
}

#[test]
fn what_a_task_takes_once_its_change_is_captured() {
    let states: [State; _] = [
        ("captured", captured),
        ("one gate has passed it", || {
            let check = captured().pending("1.1", "run_checks")["checks"][0].clone();
            let report = json!({ "task": "1.1", "attempt": 1, "gate": check["gate"], "input": check["input"],
                "verdict": "pass", "reasons": [] });
            with(captured(), "gate_reported", &report)
        }),
        ("passed", passed),
        ("held by a lease", || {
            let lease = json!({ "holder": "dana", "files": ["a"], "until": 7 });
            with(passed(), "merge_held", &json!({ "task": "1.1", "attempt": 1, "lease": lease }))
        }),
        ("behind the head", || with(passed(), "branch_moved", &json!({ "task": "1.1", "from": "b", "head": "h" }))),
        ("merging", || {
            with(passed(), "merge_intended", &json!({ "task": "1.1", "attempt": 1, "commit": "c-1.1", "onto": "b" }))
        }),
        ("merged", || after(passed(), |run| run.merge_onto("1.1", "c-1.1", "b"))),
        ("refused by gates", || after(captured(), |run| run.answer_checks("1.1", Verdict::Fail))),
    ];
    insta::assert_snapshot!(tables("1.1", &states));
}

#[test]
fn what_a_task_takes_when_people_step_in() {
    let states: [State; _] = [
        ("blocked", blocked),
        ("paused", || with(working(), "task_paused", &json!({ "task": "1.1" }))),
        ("stopping", || with(working(), "task_stop_requested", &json!({ "task": "1.1" }))),
        ("stopped", || with(three(), "task_stop_requested", &json!({ "task": "1.1" }))),
        ("to be rebased", || with(working(), "task_rebase_requested", &json!({ "task": "1.1" }))),
        ("the run is paused", || with(working(), "run_paused", &json!({ "cause": "requested" }))),
        ("the disk is full", || with(captured(), "run_paused", &json!({ "cause": "disk" }))),
        ("the day's ceiling is reached", || with(three(), "run_paused", &json!({ "cause": "day" }))),
        ("the ceiling is reached", || {
            let run = with(working(), "budget_set", &json!({ "budget": { "ceiling": 10, "task": 9, "reserve": 2 } }));
            let cost = json!({ "task": "1.1", "worker": WorkerId::from_bits(1), "total_micro_usd": 10 });
            with(run, "cost_counted", &cost)
        }),
        ("the run is being stopped", || after(working(), |run| run.tell(RunEvent::RunStopRequested))),
        ("the run has succeeded", || {
            let mut run = Run::on(&compiled::compiled_way(), 2, &[("1.1", &[], &["a"])]);
            run.pass_on("1.1", "b");
            run.merge_onto("1.1", "c-1.1-1", "b");
            after(run, |run| run.tell(RunEvent::RunFinished { outcome: RunOutcome::Succeeded }))
        }),
        ("the run was stopped", || {
            after(three(), |run| {
                run.tell(RunEvent::RunStopRequested);
                let end = run.effects().into_iter().find_map(|effect| {
                    let Effect::Finish { outcome } = effect else { return None };
                    Some(outcome)
                });
                run.tell(RunEvent::RunFinished { outcome: end.unwrap() });
            })
        }),
    ];
    insta::assert_snapshot!(tables("1.1", &states));
}

#[test]
fn what_a_task_takes_that_a_person_confirms() {
    let states: [State; _] = [
        ("a person is to be asked", || after(confirming::run(), |run| run.pass_on("1.1", "b"))),
        ("a person is asked", || {
            after(confirming::run(), |run| {
                run.pass_on("1.1", "b");
                run.confirm("1.1", 1);
            })
        }),
        ("a person has said yes", || {
            after(confirming::run(), |run| {
                run.pass_on("1.1", "b");
                run.confirm("1.1", 1);
                run.say("1.1", 1, PersonAnswer::Allow, "");
            })
        }),
    ];
    insta::assert_snapshot!(tables("1.1", &states));
}

#[test]
fn what_a_teams_task_takes() {
    let states: [State; _] = [
        ("to be reviewed", Run::of_team),
        ("the reviewer is done", || after(Run::of_team(), |run| drop(run.work_on(TurnOutcome::Finished)))),
        ("the reviewer has failed", || after(Run::of_team(), |run| drop(run.work_on(TurnOutcome::Failed)))),
        ("approved", || after(Run::of_team(), |run| run.approve(None))),
        ("rejected", || after(Run::of_team(), |run| drop(run.answer(Verdict::Fail)))),
    ];
    insta::assert_snapshot!(tables("1.1", &states));
}

#[test]
fn what_a_task_of_several_workers_takes() {
    fn best_of() -> Run {
        subtasks::run_of(&json!({ "best_of": 2 }))
    }
    fn first() -> Run {
        after(best_of(), |run| {
            run.capture_lines("1.1.c1", 10);
            run.answer_checks("1.1.c1", Verdict::Pass);
        })
    }
    let states: [State; _] = [
        ("no candidate has begun", best_of),
        ("one candidate is done", first),
        ("all candidates are done", || {
            after(first(), |run| {
                run.capture_lines("1.1.c2", 20);
                run.answer_checks("1.1.c2", Verdict::Pass);
            })
        }),
    ];
    insta::assert_snapshot!("several_the_task", tables("1.1", &states));
    insta::assert_snapshot!("several_a_candidate", tables("1.1.c2", &states));
}

#[test]
fn what_a_task_takes_that_an_agent_leads() {
    fn led() -> Run {
        with(three(), "led_set", &json!({ "is_led": true }))
    }
    fn begun() -> Run {
        with(led(), "step_begun", &json!({ "task": "1.1", "step": "work", "attempt": 1, "by": "dana" }))
    }
    let states: [State; _] = [
        ("no step has begun", led),
        ("its step has begun", begun),
        ("its worker is at work", || after(begun(), |run| drop(run.start("1.1")))),
    ];
    insta::assert_snapshot!(tables("1.1", &states));
}

#[test]
fn every_kind_of_event_is_offered() {
    // What is recorded about a run beside its work, which it takes in every state, and a way's text.
    let beside = ["run_configured", "setup_chosen", "loop_turned", "way_recorded"];
    let after_its_end = ["run_merge", "run_clean"];
    let error = serde_json::from_value::<RunEvent>(json!({ "none": null })).unwrap_err().to_string();
    let kinds: Vec<_> = error.split('`').skip(3).step_by(2).collect();
    let offered = three().fitting("1.1");
    let is_offered = |kind: &str| offered.iter().any(|(name, _)| name.split(' ').next() == Some(kind));

    assert!(kinds.len() > 50, "{error}");
    for kind in kinds {
        let is_beside = beside.contains(&kind) || after_its_end.iter().any(|begin| kind.starts_with(begin));
        assert_ne!(is_offered(kind), is_beside, "{kind}");
    }
}
