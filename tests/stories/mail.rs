//! Messages at the command line.

use serde_json::json;

use super::sandbox::Sandbox;

#[test]
fn a_message_is_sent_read_and_acknowledged_once() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=Ada"]);

    let sent = sandbox.call(&["send_message", "recipient=ada", "payload=5"]);
    let id = sent["id"].as_str().unwrap();
    let inbox = sandbox.call(&["check_inbox", "agent=ADA"]);
    assert_eq!(inbox["messages"][0]["payload"], "5");

    sandbox.call(&["ack_message", &format!("id={id}")]);
    assert_eq!(sandbox.call(&["check_inbox", "agent=ada"])["messages"], json!([]));
    sandbox.switchboard(&["messages"]).ends_with(0).says("1 sent, 1 acknowledged");
}

#[test]
fn an_unknown_recipient_is_an_error_and_other_mail_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);

    let done = sandbox.switchboard(&["call", "send_message", "recipient=adda", "payload=x", "--json"]).ends_with(2);

    assert_eq!(done.failure()["code"], "bus.unknown-recipient");
    assert!(done.failure()["hint"].as_str().unwrap().contains("ada"), "{}", done.err);
    sandbox.call(&["send_message", "recipient=ada", "payload=x"]);
}

#[test]
fn the_same_key_gives_the_first_answer_and_other_arguments_a_conflict() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);
    let send = |payload: &str| {
        sandbox.switchboard(&["call", "send_message", "recipient=ada", payload, "--key", "k1", "--json"])
    };

    let (first, second) = (send("payload=x").ends_with(0).json(), send("payload=x").ends_with(0).json());

    assert_eq!((&first["id"], &first["seq"]), (&second["id"], &second["seq"]));
    assert_eq!((&first["duplicate"], &second["duplicate"]), (&json!(false), &json!(true)));
    assert_eq!(send("payload=y").ends_with(1).failure()["code"], "request.conflict");
    assert_eq!(sandbox.call(&["list_messages"])["sent"], 1);
}

#[test]
fn text_that_would_steer_the_terminal_is_shown_harmless() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);
    let input = json!({ "recipient": "ada", "payload": "\u{1b}]0;owned\u{7}" }).to_string();
    sandbox.switchboard_with(&["call", "send_message", "-"], &input).ends_with(0);

    let shown = sandbox.switchboard(&["messages"]).ends_with(0).out;

    assert!(!shown.contains('\u{1b}') && shown.contains("]0;owned"), "{shown:?}");
}

#[test]
fn messages_survive_a_daemon_that_is_killed() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);
    sandbox.call(&["send_message", "recipient=ada", "payload=still here"]);
    let pid = sandbox.call(&["get_status"])["pid"].as_i64().unwrap();

    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();

    assert_eq!(sandbox.call(&["check_inbox", "agent=ada"])["messages"][0]["payload"], "still here");
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

/// Makes a message that its recipient has returned for the last time; returns the question about it.
fn dead_letter(sandbox: &Sandbox) -> String {
    sandbox.call(&["register_agent", "name=person", "kind=person"]);
    sandbox.call(&["send_message", "recipient=person", "payload=too hard", "options={\"max_attempts\":1}"]);
    let taken = sandbox.call(&["receive_messages"])["messages"][0].clone();
    let (id, token) = (taken["id"].as_str().unwrap(), taken["lease_token"].as_u64().unwrap());
    sandbox.call(&["nak_message", &format!("id={id}"), &format!("lease_token={token}"), "why=no idea"]);
    sandbox.call(&["list_needs"])["needs"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_message_that_came_to_nothing_is_a_question_and_a_yes_puts_it_back() {
    let sandbox = Sandbox::new();
    let need = dead_letter(&sandbox);
    sandbox.switchboard(&["status"]).ends_with(0).says("1 question for you");
    sandbox.switchboard(&["needs"]).ends_with(0).says("no idea").says("too hard");

    sandbox.switchboard(&["approve", &need]).ends_with(0).says("revived");

    assert_eq!(sandbox.call(&["check_inbox", "agent=person"])["messages"][0]["payload"], "too hard");
    assert_eq!(sandbox.call(&["list_needs"])["needs"], json!([]));
    assert_eq!(sandbox.switchboard(&["deny", &need, "--json"]).ends_with(2).failure()["code"], "need.settled");
}

#[test]
fn a_message_that_came_to_nothing_is_let_go_by_a_no() {
    let sandbox = Sandbox::new();
    let need = dead_letter(&sandbox);

    sandbox.switchboard(&["answer", &need, "drop"]).ends_with(0).says("dropped");

    assert_eq!(sandbox.call(&["check_inbox", "agent=person"])["messages"], json!([]));
    assert_eq!(sandbox.call(&["get_status"])["dead"], 0);
    sandbox.switchboard(&["needs", "--all"]).ends_with(0).says("dropped");
}

#[test]
fn an_agent_that_is_reserved_is_set_to_work_by_nobody_else() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);

    let lease = sandbox.call(&["reserve_agent", "agent=ada", "reason=the release"])["lease"].clone();

    assert_eq!(lease["resource"]["terminal"], "ada");
    sandbox.switchboard(&["leases"]).ends_with(0).says("ada").says("the release");
}

#[test]
fn a_cursor_of_the_record_that_is_not_of_this_one_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ada"]);
    let page = sandbox.call(&["read_events", "after=start"]);
    let cursor = page["cursor"].as_str().unwrap();
    let (lsn, hash) = cursor.split_once('-').unwrap();
    let other = format!("after={lsn}-{}", hash.chars().rev().collect::<String>());

    let stale = sandbox.switchboard(&["call", "read_events", &other, "--json"]).ends_with(2).failure();
    let ahead = sandbox.switchboard(&["call", "read_events", "after=1000000", "--json"]).ends_with(2).failure();

    assert_eq!(sandbox.call(&["read_events", &format!("after={cursor}")])["events"], json!([]));
    assert_eq!(
        (stale["code"].as_str(), ahead["code"].as_str()),
        (Some("bus.cursor-expired"), Some("bus.cursor-ahead"))
    );
}
