use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

use serde_json::json;
use switchboard_protocol::verb::agent::{GetTeamRoster, GetTeamRosterRequest};
use switchboard_protocol::verb::bus::{AckMessage, AckMessageRequest};

use super::*;

/// Answers the lines of one connection: the hello line first, then one reply for each call.
fn serve(
    listener: &UnixListener,
    mut reply: impl FnMut(usize, Call) -> Option<String> + Send + 'static,
) -> JoinHandle<Vec<String>> {
    let listener = listener.try_clone().unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        for (number, line) in BufReader::new(stream.try_clone().unwrap()).lines().enumerate() {
            let Ok(line) = line else { break };
            seen.push(line.clone());
            if number == 0 {
                continue;
            }
            let Some(text) = reply(number, serde_json::from_str(&line).unwrap()) else { break };
            (&stream).write_all(text.as_bytes()).unwrap();
        }
        seen
    })
}

fn listener() -> (tempfile::TempDir, PathBuf, UnixListener) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    (folder, socket, listener)
}

#[test]
fn finds_its_answer_among_others() {
    let (_folder, socket, listener) = listener();
    let server = serve(&listener, |_, call| {
        let other = json!({"id": call.id + 7, "ok": {"agents": "nonsense"}});
        let mine = json!({"id": call.id, "ok": {"agents": []}});
        Some(format!("{other}\n{mine}\n"))
    });
    let credentials =
        Credentials { token: Some("secret".into()), name: Some("ada".into()), ci: false, yes: false, folder: None };

    let reply =
        Client::connect(&socket, &credentials).unwrap().call::<GetTeamRoster>(&GetTeamRosterRequest {}).unwrap();

    assert!(reply.agents.is_empty());
    let seen = server.join().unwrap();
    assert_eq!(seen[0], r#"{"hello":"calls","v":1,"token":"secret","name":"ada"}"#);
}

#[test]
fn asks_again_with_the_same_key_when_the_connection_breaks() {
    let (_folder, socket, listener) = listener();
    let first = serve(&listener, |_, _| None);
    let mut client = Client::connect(&socket, &Credentials::default()).unwrap();
    let calling = std::thread::spawn(move || {
        client.call::<AckMessage>(&AckMessageRequest {
            id: switchboard_protocol::id::MessageId::new("msg_1").unwrap(),
            lease_token: None,
            done: false,
        })
    });
    let before = first.join().unwrap();

    let second = serve(&listener, |_, call| Some(format!("{}\n", json!({"id": call.id, "ok": {"state": "acked"}}))));
    calling.join().unwrap().unwrap();
    let after = second.join().unwrap();

    assert_eq!(before[1], after[1]);
    let call: Call = serde_json::from_str(&after[1]).unwrap();
    assert_eq!(call.key.unwrap().len(), 32);
}

#[test]
fn hands_on_the_failure_of_a_verb() {
    let (_folder, socket, listener) = listener();
    let _server = serve(&listener, |_, call| {
        let failure = Failure::new("bus.unknown-message", "no message msg_1");
        Some(format!("{}\n", json!({"id": call.id, "error": failure})))
    });
    let mut client = Client::connect(&socket, &Credentials::default()).unwrap();

    let failure = client.call_value("ack_message", json!({"id": "msg_1"}), None, ANSWER_LIMIT).unwrap_err();

    assert_eq!(failure.code, "bus.unknown-message");
}

#[test]
fn a_connection_that_is_refused_as_a_whole_says_why() {
    let (_folder, socket, listener) = listener();
    let _server = serve(&listener, |_, _| {
        let failure = Failure::new("auth.bad-token", "the token is missing or wrong");
        Some(format!("{}\n", json!({"id": 0, "error": failure})))
    });
    let mut client = Client::connect(&socket, &Credentials::default()).unwrap();

    let failure = client.call_value("get_status", json!({}), None, ANSWER_LIMIT).unwrap_err();

    assert_eq!(failure.code, "auth.bad-token");
}

#[test]
fn a_silent_daemon_is_unreachable_and_an_absent_one_is_not_running() {
    let (folder, socket, _listener) = listener();

    let mut client = Client::connect(&socket, &Credentials::default()).unwrap();
    let silent = client.call_value("get_status", json!({}), None, Duration::from_millis(20)).unwrap_err();
    let absent = Client::connect(&folder.path().join("nobody"), &Credentials::default()).unwrap_err();

    assert_eq!((silent.code.as_str(), absent.code.as_str()), ("daemon.unreachable", "daemon.not-running"));
}

#[test]
fn a_daemon_that_hangs_up_before_the_first_line_is_not_running() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    let hello = Hello::Calls { v: WIRE_VERSION, token: None, name: None, ci: false, yes: false, folder: None };

    let failure = introduce(&ours, Path::new("/socket"), &hello).unwrap_err();

    assert_eq!(failure.code, "daemon.not-running");
}

#[test]
fn an_answer_of_another_shape_names_another_version() {
    let (_folder, socket, listener) = listener();
    let _server = serve(&listener, |_, call| Some(format!("{}\n", json!({"id": call.id, "ok": {"people": 3}}))));
    let mut client = Client::connect(&socket, &Credentials::default()).unwrap();

    let failure = client.call::<GetTeamRoster>(&GetTeamRosterRequest {}).unwrap_err();

    assert_eq!(failure.code, "daemon.other-version");
}
