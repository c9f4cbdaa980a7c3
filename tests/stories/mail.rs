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
