//! Tests written by others for a task before the last turn of its own agent: the change must still contain them.

use std::collections::BTreeMap;

use switchboard_process::git::Oid;
use switchboard_protocol::finding::HandedTests;

use crate::effect::context::Ctx;
use crate::history::Turn;
use crate::{Error, history};

/// Returns the tests written by others with which the last turn of the task's own agent began.
pub(super) async fn of(ctx: &Ctx, change: super::Judged<'_>) -> Result<Vec<HandedTests>, Error> {
    let turns = history::turns(&ctx.world, &ctx.plan.run, change.task)?;
    let (spans, until) = spans(&turns, change.commit);
    if spans.is_empty() {
        return Ok(Vec::new());
    }
    let written = ctx.world.git(move |git| {
        let mut latest: BTreeMap<String, String> = BTreeMap::new();
        for (from, to) in &spans {
            for change in git.changed_files(&Oid::parse(from)?, &Oid::parse(to)?)? {
                latest.insert(crate::plan::text(&change.path), to.clone());
            }
        }
        Ok(latest)
    });
    let mut handed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, commit) in written.await? {
        handed.entry(commit).or_default().push(path);
    }
    Ok(handed.into_iter().map(|(commit, paths)| HandedTests { commit, paths, until: until.clone() }).collect())
}

/// Returns the commit ranges in which others wrote before the last turn of the task's own agent, and the commit at
/// which that turn ended.
fn spans(turns: &[Turn], judged: &str) -> (Vec<(String, String)>, String) {
    let Some(last) = turns.iter().rposition(|turn| turn.makes) else { return (Vec::new(), String::new()) };
    let end = |at: usize| turns.get(at + 1).map_or(judged, |next| next.start.as_str());
    let wrote = |at: &usize| {
        let turn = &turns[*at];
        // An attempt that starts anew contains nothing that was written before.
        !turn.makes && turn.start != end(*at) && turns[at + 1].start != turns[at + 1].base
    };
    let spans = (0..last).filter(wrote).map(|at| (turns[at].start.clone(), end(at).to_owned())).collect();
    (spans, end(last).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(makes: bool, start: &str) -> Turn {
        Turn { makes, base: "base".to_owned(), start: start.to_owned() }
    }

    #[test]
    fn what_others_wrote_before_the_last_turn_is_handed_and_what_came_after_it_is_not() {
        let span = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let turns = [
            turn(true, "base"),
            turn(false, "code"),
            turn(false, "code and tests"),
            turn(true, "attacked"),
            turn(false, "mended"),
        ];

        assert_eq!(
            spans(&turns, "judged"),
            (vec![span("code", "code and tests"), span("code and tests", "attacked")], "mended".to_owned())
        );
        assert_eq!(spans(&turns[..2], "judged").0, [], "nobody works on it after them");
        let anew = [turn(true, "base"), turn(false, "code"), turn(true, "base")];
        assert_eq!(spans(&anew, "judged").0, []);
    }
}
