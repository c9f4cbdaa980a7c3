//! Forecasts which tasks would run in parallel if all took equally long.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{Conflict, SharedPath, SkipCode, Skipped};

use super::order::Ancestors;
use super::{MAX_CONFLICTS, Nodes};
use crate::paths::reasons;

/// Maximum number of pairs that a forecast compares before it gives up; about 100 ms.
const MAX_PAIRS: usize = 1_000_000;

#[derive(Default)]
pub(super) struct Forecast {
    pub(super) conflicts: Vec<Conflict>,
    pub(super) deferred: Vec<Skipped>,
    pub(super) waves: Vec<Vec<TaskId>>,
    pub(super) cut: bool,
}

pub(super) fn forecast(nodes: &Nodes<'_>, max_workers: usize) -> Forecast {
    let mut forecast = Forecast::default();
    list_conflicts(nodes, &mut forecast);
    list_waves(nodes, max_workers, &mut forecast);
    forecast
}

fn list_conflicts(nodes: &Nodes<'_>, forecast: &mut Forecast) {
    let mut ancestors = None;
    let mut pairs = 0;
    for at in 0..nodes.len() {
        let rivals = nodes.rivals(at);
        pairs += rivals.len();
        if pairs > MAX_PAIRS {
            forecast.cut = true;
            return;
        }
        for rival in rivals.range(at..) {
            if ancestors.get_or_insert_with(|| Ancestors::new(nodes)).are_ordered(at, *rival) {
                continue;
            }
            if forecast.conflicts.len() == MAX_CONFLICTS {
                forecast.cut = true;
                return;
            }
            let (Some(a), Some(b)) = (nodes.id(at), nodes.id(*rival)) else { continue };
            let paths = shared(nodes, at, *rival);
            forecast.conflicts.push(Conflict { a: a.clone(), b: b.clone(), paths });
        }
    }
}

/// Returns the paths that two tasks share and at least one of them writes, as `a` declares them.
fn shared(nodes: &Nodes<'_>, a: usize, b: usize) -> Vec<SharedPath> {
    let shared = nodes.claims[a].shared(&nodes.claims[b]).into_iter();
    shared.map(|(path, a, b)| SharedPath { path: path.to_owned(), a, b }).collect()
}

fn list_waves(nodes: &Nodes<'_>, max_workers: usize, forecast: &mut Forecast) {
    let mut unmet: Vec<_> = nodes.depends.iter().map(Vec::len).collect();
    let mut ready: BTreeSet<_> = (0..nodes.len()).filter(|at| unmet[*at] == 0).collect();
    let mut pairs = 0;
    while !ready.is_empty() {
        let wave = Wave::choose(nodes, &ready, max_workers);
        pairs += wave.pairs;
        if forecast.waves.is_empty() {
            forecast.deferred = wave.deferred(nodes, &ready);
        }
        let mut done = wave.chosen.clone();
        while let Some(at) = done.pop() {
            ready.remove(&at);
            for dependent in &nodes.dependents[at] {
                unmet[*dependent] -= 1;
                match (unmet[*dependent], nodes.is_group(*dependent)) {
                    (0, true) => done.push(*dependent),
                    (0, false) => drop(ready.insert(*dependent)),
                    (_, true | false) => {}
                }
            }
        }
        forecast.waves.push(wave.chosen.iter().filter_map(|at| nodes.id(*at)).cloned().collect());
        if pairs > MAX_PAIRS && !ready.is_empty() {
            forecast.cut = true;
            return;
        }
    }
}

/// Tasks that run at the same time.
#[derive(Default)]
struct Wave {
    chosen: Vec<usize>,
    /// For each task that conflicts with a chosen one, the chosen task that holds its files.
    holders: BTreeMap<usize, usize>,
    pairs: usize,
}

impl Wave {
    fn choose(nodes: &Nodes<'_>, ready: &BTreeSet<usize>, max_workers: usize) -> Self {
        let mut wave = Self::default();
        for at in ready {
            if wave.chosen.len() == max_workers {
                break;
            }
            wave.pairs += 1;
            if wave.holders.contains_key(at) {
                continue;
            }
            for rival in nodes.rivals(*at) {
                wave.holders.entry(rival).or_insert(*at);
                wave.pairs += 1;
            }
            wave.chosen.push(*at);
        }
        wave
    }

    /// Returns the ready tasks that were not chosen, and why.
    fn deferred(&self, nodes: &Nodes<'_>, ready: &BTreeSet<usize>) -> Vec<Skipped> {
        let left = ready.iter().filter(|at| !self.chosen.contains(at));
        left.filter_map(|at| self.deferral(nodes, *at)).collect()
    }

    fn deferral(&self, nodes: &Nodes<'_>, at: usize) -> Option<Skipped> {
        let id = nodes.id(at)?.clone();
        let Some((holder, name)) = self.holders.get(&at).and_then(|holder| Some((*holder, nodes.id(*holder)?))) else {
            let detail = "waits for a free worker".to_owned();
            return Some(Skipped { id, code: SkipCode::CapacityDeferred, detail });
        };
        let detail = format!("waits for {name}: {}", reasons(&nodes.claims[holder].shared(&nodes.claims[at])));
        Some(Skipped { id, code: SkipCode::ConflictDeferred, detail })
    }
}
