//! Behaviours of simulated agents: correct, or faulty in one of the ways of real agents.

use switchboard_protocol::frame::{DriverSpec, PermissionOption, WorkerEvent, WorkerSpec};

use super::shim::{Act, FOR_EVER, exited, sealed, turn_ended};
use super::spec::COST;
use super::stage::Stage;

/// How long an agent that asked a question waits for the answer, in milliseconds.
const PATIENCE: i64 = 40 * 60_000;

/// Behaviour of an agent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Behaviour {
    Good,
    /// Reports that it is done without a change.
    Liar,
    /// Makes more changes after it has reported that it is done.
    Restless,
    /// Makes a change with a defect that a gate finds.
    Sloppy,
    Refuses,
    Fails,
    /// Exits in the middle of its turn.
    Quits,
    Hangs,
    /// Hangs and ignores signals.
    Deaf,
    /// Asks a person.
    Asks,
    /// Asks a person, and does nothing regardless of the answer.
    Depends,
    /// Its shim is killed.
    Vanishes,
    /// Its shim is frozen.
    Freezes,
    /// Its shim never takes its lock.
    NeverBegins,
    /// Its program is missing.
    Missing,
    /// The driver can't start it.
    Broken,
}

const BAD: [Behaviour; 15] = [
    Behaviour::Liar,
    Behaviour::Restless,
    Behaviour::Sloppy,
    Behaviour::Sloppy,
    Behaviour::Refuses,
    Behaviour::Fails,
    Behaviour::Quits,
    Behaviour::Hangs,
    Behaviour::Deaf,
    Behaviour::Asks,
    Behaviour::Depends,
    Behaviour::Vanishes,
    Behaviour::Freezes,
    Behaviour::NeverBegins,
    Behaviour::Broken,
];

pub(super) fn behaviour(stage: &Stage) -> Behaviour {
    if !stage.chance(stage.spec.bad_workers) {
        return Behaviour::Good;
    }
    if stage.chance(10) {
        return Behaviour::Missing;
    }
    BAD[stage.below(BAD.len() as u64) as usize]
}

/// Returns the script of a worker: acts with the time that each takes, `work_ms` longer than usual.
pub(super) fn script(behaviour: Behaviour, spec: &WorkerSpec, work_ms: i64) -> Vec<(i64, Act)> {
    let say = |ms, event| (ms, Act::Say(event));
    let started = WorkerEvent::AgentStarted { pid: 7, argv: vec!["agent".to_owned()] };
    // Half of the failures have the same text, so that both repeated and new failures occur.
    let is_usual = spec.worker.as_str().ends_with(['0', '1', '2', '3', '4', '5', '6', '7']);
    let words = match is_usual {
        // A transient error of a model: in a team the attempt goes on.
        true if spec.worker.as_str().ends_with(['0', '1', '2']) => "HTTP 529 overloaded".to_owned(),
        true => "can't".to_owned(),
        false => format!("can't, says {}", spec.worker),
    };
    let faulted =
        |code: &str| WorkerEvent::Faulted { code: code.to_owned(), what: words.clone(), retry_after_ms: None };
    let is_exec = matches!(spec.driver, DriverSpec::Exec { .. });
    let ends = |stop: &str, code| {
        let linger = if is_exec { 1 } else { 2000 };
        let turn = if is_exec { "exit" } else { stop };
        vec![
            say(20, turn_ended(1, turn, &words)),
            say(linger, exited(Some(code), None)),
            say(5, sealed()),
            (5, Act::Exit),
        ]
    };
    let mut acts = vec![(30, Act::Begin)];
    match behaviour {
        Behaviour::NeverBegins => return Vec::new(),
        Behaviour::Missing | Behaviour::Broken => {
            let is_limited = spec.worker.as_str().ends_with(['a', 'b', 'c', 'd', 'e', 'f']);
            let code = if matches!(behaviour, Behaviour::Missing) {
                "agent.missing"
            } else if is_limited {
                "agent.rate-limited"
            } else {
                "agent.spawn"
            };
            acts.extend([say(5, faulted(code)), say(5, sealed()), (5, Act::Exit)]);
            return acts;
        }
        Behaviour::Good
        | Behaviour::Liar
        | Behaviour::Restless
        | Behaviour::Sloppy
        | Behaviour::Refuses
        | Behaviour::Fails
        | Behaviour::Quits
        | Behaviour::Hangs
        | Behaviour::Deaf
        | Behaviour::Asks
        | Behaviour::Depends
        | Behaviour::Vanishes
        | Behaviour::Freezes => {}
    }
    acts.push(say(10, started));
    acts.push(say(10, WorkerEvent::SessionOpened { session: "s".to_owned() }));
    acts.push(say(10, WorkerEvent::TurnStarted { turn: 1, mail: Vec::new() }));
    let cost = WorkerEvent::CostReported { micro_usd: Some(COST), input_tokens: 5, output_tokens: 7 };
    acts.push(say(100, cost));
    let write = |is_bad| (200 + work_ms, Act::Write { is_bad });
    match behaviour {
        Behaviour::Good => acts.extend([vec![write(false)], ends("end_turn", 0)].concat()),
        Behaviour::Liar => acts.extend(ends("end_turn", 0)),
        Behaviour::Sloppy => acts.extend([vec![write(true)], ends("end_turn", 0)].concat()),
        Behaviour::Restless => {
            acts.push(write(false));
            acts.push(say(10, turn_ended(1, "end_turn", &words)));
            acts.push((300, Act::Write { is_bad: true }));
            acts.extend([say(1000, exited(Some(0), None)), say(5, sealed()), (5, Act::Exit)]);
        }
        Behaviour::Refuses => acts.extend(ends("refusal", 0)),
        Behaviour::Fails => acts.extend([vec![write(false)], ends("error", 1)].concat()),
        Behaviour::Quits => {
            acts.extend([write(false), say(50, exited(Some(1), None)), say(5, sealed()), (5, Act::Exit)])
        }
        Behaviour::Hangs | Behaviour::Deaf => acts.push((FOR_EVER, Act::Exit)),
        Behaviour::Asks => {
            acts.push(say(10, permission_asked()));
            acts.push((PATIENCE, Act::Write { is_bad: false }));
            acts.extend(ends("end_turn", 0));
        }
        Behaviour::Depends => {
            acts.push(say(10, permission_asked()));
            let turn = if is_usual { "refusal" } else { "end_turn" };
            acts.push((PATIENCE, Act::Say(turn_ended(1, turn, &words))));
            acts.extend([say(1000, exited(Some(0), None)), say(5, sealed()), (5, Act::Exit)]);
        }
        Behaviour::Vanishes => acts.extend([write(false), (50, Act::Vanish)]),
        Behaviour::Freezes => acts.extend([write(false), (50, Act::Freeze)]),
        Behaviour::NeverBegins | Behaviour::Missing | Behaviour::Broken => {}
    }
    acts
}

fn permission_asked() -> WorkerEvent {
    let option =
        |id: &str, kind: &str| PermissionOption { id: id.to_owned(), name: id.to_owned(), kind: kind.to_owned() };
    WorkerEvent::PermissionAsked {
        ask: "a1".to_owned(),
        title: "run it".to_owned(),
        options: vec![option("yes", "allow_once"), option("no", "reject_once")],
        detail: "it".to_owned(),
        tool_kind: "execute".to_owned(),
        paths: Vec::new(),
    }
}
