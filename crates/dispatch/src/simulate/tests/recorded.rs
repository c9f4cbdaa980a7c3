//! Snapshots of simulated histories: the whole logs of a few, and the outcome of many. They show a reviewer how a
//! change of the engine affects the log. `INSTA_UPDATE=always cargo test -p switchboard-dispatch simulate` accepts the
//! new ones.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;
use switchboard_store::{Filter, Store};

use super::super::modes::play_modes;
use super::super::play;
use super::{SimReport, SimSpec, small};

/// Time of day at which every history begins, in milliseconds since 1970.
const BEGIN: i64 = 1_700_000_000_000;

/// Facts that are long texts, which other tests check.
const TEXTS: [(&str, &str); 2] = [("plan_recorded", "text"), ("way_recorded", "text")];

/// Short names for the digests, commits, runs and workers in a log, in the order in which they appear.
#[derive(Default)]
pub(super) struct Names(HashMap<String, String>);

// === impl Names ===

impl Names {
    /// Replaces all of them in a text by their short names.
    pub(super) fn shorten(&mut self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut shortened = String::new();
        let mut rest = text;
        while let Some(begin) = rest.find(is_part) {
            let end = rest[begin..].find(|c| !is_part(c)).map_or(rest.len(), |length| begin + length);
            shortened.push_str(&rest[..begin]);
            shortened.push_str(&self.short(&rest[begin..end]));
            rest = &rest[end..];
        }
        shortened + rest
    }

    fn short(&mut self, word: &str) -> String {
        let (kind, digits) = word.rsplit_once('_').unwrap_or(("hash", word));
        let is_random = digits.len() >= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_random {
            return word.to_owned();
        }
        let count = self.0.values().filter(|name| name.starts_with(kind)).count() + 1;
        self.0.entry(word.to_owned()).or_insert_with(|| format!("{kind}#{count}")).clone()
    }
}

/// Returns a line for each event whose subject begins with one of these: milliseconds since the beginning, subject,
/// kind, actor, facts, and text if any.
fn log(store: &Store, subjects: &[&str]) -> String {
    let (mut names, mut text, mut after) = (Names::default(), String::new(), 0);
    loop {
        let page = store.events(after, &Filter::all(), 1000).unwrap();
        let Some(last) = page.last() else { return text };
        after = last.lsn;
        for event in page.into_iter().filter(|event| subjects.iter().any(|begin| event.subject.starts_with(begin))) {
            let mut facts = event.facts.to_value().unwrap();
            for (_, field) in TEXTS.iter().filter(|(kind, _)| *kind == event.kind) {
                facts[field] = Value::from("…");
            }
            let body = event.body.map(|body| format!(" {body:?}")).unwrap_or_default();
            let at = event.ts.0 - BEGIN;
            let line = format!("{} {} by {}: {facts}{body}", event.subject, event.kind, event.actor);
            writeln!(text, "{at} {}", names.shorten(&line)).unwrap();
        }
    }
}

#[track_caller]
fn logged(seed: u64, spec: SimSpec) -> String {
    let (_, store) = play(seed, spec).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    log(&store, &[""])
}

#[test]
fn the_log_of_a_run_in_a_kind_world_is_recorded() {
    insta::assert_snapshot!(logged(3, small()));
}

#[test]
fn the_log_of_a_task_that_a_team_carries_out_is_recorded() {
    insta::assert_snapshot!(logged(2, SimSpec { teams: 1000, min_tasks: 1, max_tasks: 1, ..SimSpec::kind() }));
}

#[test]
fn the_logs_of_tasks_on_which_several_work_are_recorded() {
    let several = SimSpec { modes: 1000, min_tasks: 1, max_tasks: 1, ..SimSpec::kind() };
    for (name, seed) in [("best_of", 7), ("chain", 4), ("debate", 6), ("report", 1)] {
        insta::assert_snapshot!(name, logged(seed, several));
    }
}

#[test]
fn the_log_of_a_run_that_lands_by_slice_is_recorded() {
    insta::assert_snapshot!(logged(2, SimSpec { slices: 1000, min_tasks: 3, max_tasks: 3, ..small() }));
}

#[test]
fn the_logs_of_runs_with_a_budget_that_people_raise_are_recorded() {
    for seed in [1, 2] {
        insta::assert_snapshot!(
            format!("budget_{seed}"),
            logged(seed, SimSpec { budgets: 1000, people: 1000, ..small() })
        );
    }
}

#[test]
fn the_modes_of_a_run_that_a_team_leads_are_recorded() {
    let (_, store) = play_modes(1, SimSpec { people: 1000, phases: 1, ..SimSpec::kind() }).unwrap();
    insta::assert_snapshot!(log(&store, &["modes/", "need/"]));
}

/// Returns the outcome of a history in one line. If the engine behaves differently, the history draws other random
/// numbers, so that most lines differ.
pub(super) fn line(seed: u64, report: &SimReport) -> String {
    let SimReport { outcome, simulated_ms, events, steps, writes, workers, merged, lost, waited, calls, .. } = report;
    format!(
        "seed {seed}: {outcome} after {simulated_ms} ms, {events} events, {steps} steps, {writes} writes, {workers} workers, {merged} merged, {lost} lost, {waited} waited, {calls} calls\n"
    )
}
