//! Tests the roster, the resolution of names, and the members of teams.

use serde_json::{Value, json};
use switchboard_bus::{
    Call, Error, agent, departure, dismiss_terminals, members, register_agent, register_chat_agent, register_terminal,
    registration, remove_team, resolve, roster, set_agent_status, set_team, teams,
};
use switchboard_protocol::agent::{Agent, AgentKind, Process, Registered};
use switchboard_protocol::id::Digest;
use switchboard_protocol::verb::agent::RegisterAgentReply;
use switchboard_store::{Batch, Clock, Idempotency, Store};

use crate::fixtures::{args, caller, failure, name, person};

fn store() -> Store {
    Store::in_memory(switchboard_bus::projections(), Clock::system())
}

async fn join(store: &Store, said: Value) -> Agent {
    let who = said["name"].as_str().unwrap().to_owned();
    register_agent(store, &caller(&who), args(said)).await.unwrap().agent
}

async fn terminal(store: &Store, said: Value, is_alive: bool) -> Result<RegisterAgentReply, Error> {
    let process = Process { pid: args(said["pid"].clone()), start: 1, boot: "boot".to_owned() };
    register_terminal(store, &caller("ada"), args(said), process, move |_| is_alive).await
}

async fn leave(store: &Store, who: &str) {
    store.commit(Batch::synced().event(departure(&name(who), "ended", "daemon").unwrap())).await.unwrap();
}

#[tokio::test]
async fn what_a_registration_leaves_out_stays_as_it_was() {
    let store = store();
    let first =
        json!({ "name": "Shell", "pid": 7, "purpose": "code review", "role": "reviewer", "friendlyName": "eyes" });
    terminal(&store, first, true).await.unwrap();
    let status = args(json!({ "status": "working", "message": "on it" }));
    set_agent_status(&store, &caller("shell"), status).await.unwrap();

    let again = terminal(&store, json!({ "name": "shell", "pid": 7, "color": "red" }), true).await.unwrap();

    let Agent { role, purpose, friendly_name, status, status_message, icon, color, pid, .. } = again.agent;
    assert_eq!((role.as_str(), purpose.as_str(), friendly_name.as_str()), ("reviewer", "code review", "eyes"));
    assert_eq!((status.as_str(), status_message.as_str(), pid), ("working", "on it", Some(7)));
    assert_eq!((icon.as_str(), color.as_str(), again.epoch), ("eye", "red", 2));
}

#[tokio::test]
async fn styles_follow_kind_and_purpose_until_somebody_says_others() {
    let store = store();
    for (purpose, icon, color) in [
        ("review", "eye", "orange"),
        ("jules monitor", "rocket", "purple"),
        ("coding", "code", "blue"),
        ("agent-grid", "terminal", "cyan"),
    ] {
        let reply = terminal(&store, json!({ "name": "t", "pid": 1, "purpose": purpose }), true).await.unwrap();
        assert_eq!((reply.agent.icon.as_str(), reply.agent.color.as_str()), (icon, color), "{purpose}");
    }

    let chat = args(json!({ "name": "carl", "interface": "editor" }));
    let chat = register_chat_agent(&store, &caller("carl"), chat).await.unwrap().agent;

    assert_eq!((chat.icon.as_str(), chat.color.as_str()), ("comment-discussion", "purple"));
    assert_eq!(
        (chat.kind, chat.interface.as_str(), chat.capabilities),
        (AgentKind::Chat, "editor", vec!["chat".to_owned()])
    );
}

#[tokio::test]
async fn the_name_of_a_live_terminal_is_taken_and_that_of_a_dead_one_is_free() {
    let store = store();
    terminal(&store, json!({ "name": "shell", "pid": 1 }), true).await.unwrap();

    let taken = failure(terminal(&store, json!({ "name": "Shell", "pid": 2 }), true).await);
    let free = terminal(&store, json!({ "name": "Shell", "pid": 2 }), false).await.unwrap();

    assert_eq!(taken.code, "bus.name-taken");
    assert_eq!(free.agent.pid, Some(2));
}

#[tokio::test]
async fn a_name_that_a_token_stands_behind_does_not_become_one_that_anybody_may_claim() {
    let store = store();
    let worker = registration(&Registered::new(name("coder-1"), AgentKind::Worker), &name("coder-1")).unwrap();
    store.commit(Batch::synced().event(worker)).await.unwrap();

    let as_chat = args(json!({ "name": "coder-1" }));
    let refused = failure(register_chat_agent(&store, &caller("coder-1"), as_chat).await);
    let again = join(&store, json!({ "name": "coder-1", "role": "coder" })).await;

    assert_eq!(refused.code, "bus.name-taken");
    assert_eq!((again.kind, again.role.as_str()), (AgentKind::Worker, "coder"));
}

#[tokio::test]
async fn only_a_run_puts_a_worker_on_the_roster() {
    let store = store();

    let refused = register_agent(&store, &caller("ada"), args(json!({ "name": "ada", "kind": "worker" }))).await;

    assert_eq!(failure(refused).code, "policy.denied");
}

#[tokio::test]
async fn a_worker_that_has_nothing_to_do_leaves_and_the_others_stay() {
    let store = store();
    for worker in ["busy", "idle"] {
        let event = registration(&Registered::new(name(worker), AgentKind::Worker), &name(worker)).unwrap();
        store.commit(Batch::synced().event(event)).await.unwrap();
    }
    join(&store, json!({ "name": "chatty" })).await;
    let is_at_work = |agent: &Agent| agent.name.as_str() == "busy";

    let dismissed = [
        switchboard_bus::dismiss_workers(&store, is_at_work).await.unwrap(),
        switchboard_bus::dismiss_workers(&store, is_at_work).await.unwrap(),
    ];

    let left: Vec<_> =
        roster(&store).unwrap().into_iter().filter(|agent| agent.has_left).map(|agent| agent.name).collect();
    assert_eq!((dismissed, left), ([1, 0], vec![name("idle")]));
}

#[tokio::test]
async fn names_of_the_system_are_nobodys_and_user_is_a_persons() {
    let store = store();
    for reserved in ["session", "Sidebar", "daemon", "user"] {
        let refused = register_agent(&store, &caller("ada"), args(json!({ "name": reserved }))).await;
        assert_eq!(failure(refused).code, "bus.reserved-name", "{reserved}");
    }

    register_agent(&store, &person(), args(json!({ "name": "user", "kind": "person" }))).await.unwrap();

    assert_eq!(resolve(&store, "User").unwrap().kind, AgentKind::Person);
}

#[tokio::test]
async fn racing_registrations_get_different_epochs() {
    let store = store();
    let (ada, said) = (caller("ada"), || args(json!({ "name": "ada" })));

    let (a, b, c) = tokio::join!(
        register_agent(&store, &ada, said()),
        register_agent(&store, &ada, said()),
        register_agent(&store, &ada, said())
    );

    let mut epochs = [a, b, c].map(|reply| reply.unwrap().epoch);
    epochs.sort_unstable();
    assert_eq!(epochs, [1, 2, 3]);
}

#[tokio::test]
async fn words_that_are_too_long_together_or_would_steer_a_terminal_are_refused() {
    let store = store();
    let long = "\"".repeat(64);
    let heavy = json!({ "name": "ada", "role": long, "capabilities": vec![long.clone(); 8] });
    for bad in [heavy, json!({ "name": "ada", "role": "a\u{1b}[2J" }), json!({ "name": "ada", "role": "x".repeat(65) })]
    {
        let refused = register_agent(&store, &caller("ada"), args(bad)).await;
        assert_eq!(failure(refused).code, "request.bad-args");
    }
    assert!(roster(&store).unwrap().is_empty());
}

#[tokio::test]
async fn a_name_means_an_agent_then_a_role_then_a_second_name() {
    let store = store();
    join(&store, json!({ "name": "ada", "role": "lead" })).await;
    join(&store, json!({ "name": "ben", "role": "reviewer" })).await;
    join(&store, json!({ "name": "Lead 2", "role": "ben" })).await;
    terminal(&store, json!({ "name": "t1", "pid": 1, "friendly_name": "Big Screen" }), true).await.unwrap();
    let chat = args(json!({ "name": "carl", "alias": "big screen" }));
    register_chat_agent(&store, &caller("carl"), chat).await.unwrap();

    let meant = |text| resolve(&store, text).unwrap().name.to_string();

    assert_eq!(meant("BEN"), "ben", "a name comes before a role");
    assert_eq!(meant("Lead Coder"), "ada", "the canonical name of a role");
    assert_eq!(meant("reviewer"), "ben");
    assert_eq!(meant("big_screen"), "t1", "a terminal comes before a chat");
    join(&store, json!({ "name": "lead" })).await;
    assert_eq!(meant("lead-coder"), "lead");
}

#[tokio::test]
async fn a_name_that_several_fit_lists_them_and_one_that_nobody_has_lists_the_nearest() {
    let store = store();
    join(&store, json!({ "name": "ada", "role": "coder" })).await;
    join(&store, json!({ "name": "ben", "role": "Coder" })).await;

    let several = failure(resolve(&store, "coder"));
    let nobody = failure(resolve(&store, "adda"));
    let absurd = failure(resolve(&store, "../../x"));

    assert_eq!((several.code.as_str(), several.what.as_str()), ("bus.ambiguous-recipient", "coder could be ada, ben"));
    assert_eq!(nobody.code, "bus.unknown-recipient");
    assert!(nobody.hint.contains("ada"), "{nobody:?}");
    assert_eq!(absurd.code, "request.bad-args");
}

#[tokio::test]
async fn who_has_left_is_meant_by_nothing_until_it_registers_again() {
    let store = store();
    join(&store, json!({ "name": "ada", "role": "coder" })).await;
    join(&store, json!({ "name": "ben", "role": "coder" })).await;
    leave(&store, "ada").await;

    assert_eq!(failure(resolve(&store, "ada")).what, "ada has left");
    assert_eq!(resolve(&store, "coder").unwrap().name, name("ben"));
    let status = args(json!({ "status": "active" }));
    assert_eq!(failure(set_agent_status(&store, &caller("ada"), status).await).code, "bus.not-registered");
    join(&store, json!({ "name": "ada" })).await;
    let back = resolve(&store, "ada").unwrap();
    assert_eq!((back.status.as_str(), back.role.as_str(), back.has_left), ("active", "coder", false));
}

#[tokio::test]
async fn terminals_leave_when_their_process_has_ended() {
    let store = store();
    terminal(&store, json!({ "name": "t1", "pid": 1 }), true).await.unwrap();
    terminal(&store, json!({ "name": "t2", "pid": 2 }), true).await.unwrap();
    join(&store, json!({ "name": "ada" })).await;

    let first = dismiss_terminals(&store, |process| process.pid == 2).await.unwrap();
    let second = dismiss_terminals(&store, |process| process.pid == 2).await.unwrap();

    assert_eq!((first, second), (1, 0));
    let left: Vec<_> = roster(&store).unwrap().into_iter().filter(|agent| agent.has_left).collect();
    assert_eq!(left.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["t1"]);
}

#[tokio::test]
async fn a_team_is_made_changed_and_removed() {
    let store = store();
    for who in ["ada", "ben", "carl"] {
        join(&store, json!({ "name": who })).await;
    }

    let made = json!({ "team": "Backend", "members": ["ada", "BEN", "ben"], "capabilities": ["rust"] });
    let made = set_team(&store, &person(), args(made)).await.unwrap().team;
    let changed = json!({ "team": "backend", "members": ["ben", "carl"] });
    let changed = set_team(&store, &person(), args(changed)).await.unwrap().team;
    remove_team(&store, &person(), args(json!({ "team": "BACKEND" }))).await.unwrap();

    assert_eq!((made.name.as_str(), made.members), ("Backend", vec![name("ada"), name("ben")]));
    assert_eq!((changed.name.as_str(), changed.members), ("Backend", vec![name("ben"), name("carl")]));
    assert_eq!((changed.capabilities, changed.created_at), (vec![], made.created_at));
    assert!(teams(&store).unwrap().is_empty());
    let gone = remove_team(&store, &person(), args(json!({ "team": "backend" }))).await;
    assert_eq!(failure(gone).code, "bus.unknown-team");
    let again = json!({ "team": "backend", "members": ["ada"] });
    assert_eq!(set_team(&store, &person(), args(again)).await.unwrap().team.members, [name("ada")]);
}

#[tokio::test]
async fn teams_of_strangers_of_too_many_or_composite_ones_of_two_are_refused() {
    let store = store();
    for n in 0..65 {
        join(&store, json!({ "name": format!("a{n}") })).await;
    }
    let all: Vec<_> = (0..65).map(|n| format!("a{n}")).collect();
    for (bad, code) in [
        (json!({ "team": "t", "members": ["zoe"] }), "bus.unknown-recipient"),
        (json!({ "team": "t", "members": all }), "request.bad-args"),
        (json!({ "team": "t", "members": ["a1", "a2"], "is_composite": true }), "request.bad-args"),
        (json!({ "team": "t", "members": [], "isComposite": true }), "request.bad-args"),
        (json!({ "team": "t", "members": [], "capabilities": ["a\nb"] }), "request.bad-args"),
    ] {
        assert_eq!(failure(set_team(&store, &person(), args(bad.clone())).await).code, code, "{bad}");
    }
    assert!(teams(&store).unwrap().is_empty());
    set_team(&store, &person(), args(json!({ "team": "t", "members": &all[..64] }))).await.unwrap();
    assert_eq!(teams(&store).unwrap()[0].members.len(), 64);
}

#[tokio::test]
async fn there_are_at_most_a_hundred_teams() {
    let store = store();
    let team = |n: u32| args(json!({ "team": format!("t{n}"), "members": [] }));
    for n in 0..100 {
        set_team(&store, &person(), team(n)).await.unwrap();
    }

    let refused = failure(set_team(&store, &person(), team(100)).await);

    assert_eq!(refused.code, "bus.too-many-teams");
    set_team(&store, &person(), team(7)).await.unwrap();
}

#[tokio::test]
async fn a_message_to_a_team_finds_those_who_are_there_and_fit() {
    let store = store();
    for (who, role) in [("ada", "coder"), ("ben", "Reviewer"), ("carl", "coder")] {
        join(&store, json!({ "name": who, "role": role })).await;
    }
    let made = json!({ "team": "all", "members": ["ada", "ben", "carl"] });
    let team = set_team(&store, &person(), args(made)).await.unwrap().team.name;
    let names = |role| members(&store, &team, role).unwrap().into_iter().map(|agent| agent.name).collect::<Vec<_>>();

    assert_eq!(names(None), [name("ada"), name("ben"), name("carl")]);
    assert_eq!(names(Some("reviewer")), [name("ben")]);
    leave(&store, "ada").await;
    assert_eq!(names(Some("coder")), [name("carl")]);
    assert_eq!(failure(members(&store, &team, Some("tester"))).code, "bus.empty-team");
    leave(&store, "ben").await;
    leave(&store, "carl").await;
    let empty = failure(members(&store, &team, None));
    assert_eq!(
        (empty.code.as_str(), empty.what.as_str()),
        ("bus.empty-team", "the team all has no member who is there")
    );
    let misspelt = switchboard_protocol::team::TeamName::new("al").unwrap();
    assert_eq!(failure(members(&store, &misspelt, None)).code, "bus.unknown-team");
}

#[tokio::test]
async fn a_repeated_removal_under_one_key_is_answered_like_the_first() {
    let store = store();
    set_team(&store, &person(), args(json!({ "team": "t", "members": [] }))).await.unwrap();
    let key = Idempotency { key: "k".into(), caller: "anna".into(), verb: "remove_team", args: Digest::of(b"t") };
    let call = Call { idempotency: Some(key), ..person() };

    for _ in 0..2 {
        remove_team(&store, &call, args(json!({ "team": "t" }))).await.unwrap();
    }

    assert!(agent(&store, &name("anna")).unwrap().is_none(), "a person needs no entry to do this");
}
