//! Tests what keeps a run from constraining its workers, and what it notes about those that it constrains.

use switchboard_protocol::isolation::Isolation;

use super::steering::failed;
use super::*;

/// Starts a dry run of two tasks whose agent reaches these hosts and reads these paths; returns its notes.
async fn notes(
    daemon: &Dispatch,
    request: &StartRunRequest,
    (network, read): (&[&str], &[&str]),
) -> Result<Vec<String>, Failure> {
    let task = |id: &str| {
        json!({ "id": id, "phase": 1, "description": "d", "files_touched": [format!("t/{id}"), repo::removed_by(id)],
            "x-switchboard": { "hosts": ["api.example.com:443", "evil.example:443"] } })
    };
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "sim", "x-switchboard": { "ports": 0 },
        "phases": [{ "id": 1, "name": "one", "tasks": [task("1.1"), task("1.2")] }] });
    let mut request = StartRunRequest {
        plan: plan.to_string(),
        isolation: Some(Isolation::Constrained),
        dry_run: true,
        ..request.clone()
    };
    for agent in &mut request.agents {
        (agent.four_tools, agent.scripted) = (true, false);
        agent.reach.network = network.iter().map(ToString::to_string).collect();
        agent.reach.read = read.iter().map(ToString::to_string).collect();
    }
    let started = failed(daemon.start_run(request, &people::ann().unwrap(), None).await);
    started.map(|reply| reply.notes)
}

#[test]
fn a_run_whose_agent_can_not_be_held_to_its_settings_is_not_constrained() {
    let private = |config: &mut Config, _: &mut Ports| config.private = vec!["/private/state".into()];
    with_changed(SimSpec::kind(), private, async |_, daemon, request| {
        let api = "api.example.com:443";

        assert!(notes(daemon, &request, (&[api], &["/opt/tools"])).await.is_ok());
        refused(notes(daemon, &request, (&["api.example.com"], &[])).await, "isolation.network", "is no HOST:PORT");
        let state = "/private";
        refused(notes(daemon, &request, (&[api], &[state])).await, "isolation.opens-state", "no constrained worker");
    });
}

#[test]
fn hosts_that_constrained_tasks_do_not_reach_are_noted_once() {
    with_daemon(async |daemon, request| {
        let about = |notes: &[String], words: &str| notes.iter().filter(|note| note.contains(words)).count();

        let some = notes(daemon, &request, (&["api.example.com:443"], &[])).await.unwrap();
        let none = notes(daemon, &request, (&[], &[])).await.unwrap();

        assert_eq!(about(&some, "does not reach evil.example:443"), 2, "a note for each task: {some:?}");
        assert_eq!(about(&some, "does not reach api.example.com:443"), 0, "{some:?}");
        assert_eq!((about(&some, "reaches no host"), about(&none, "reaches no host")), (0, 1), "{none:?}");
    });
}
