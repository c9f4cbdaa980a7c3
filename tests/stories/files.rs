//! Agents that use only files: they drop some, and find some.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Sandbox, within};

/// Time limit for the daemon to see a file, on a busy machine.
const SEEN: Duration = Duration::from_secs(30);

impl Sandbox {
    fn file(&self, path: &str) -> PathBuf {
        self.root().join(".switchboard").join(path)
    }

    /// Writes a file as the protocol requires: under another name first.
    fn drop_file(&self, path: &str, text: &str) {
        let file = self.file(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let beside = file.with_extension("writing");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, file).unwrap();
    }

    fn drop_message(&self, path: &str, message: &Value) {
        self.drop_file(path, &message.to_string());
    }

    /// Waits for a file and reads it.
    #[track_caller]
    fn finds(&self, path: &str) -> Value {
        let file = self.file(path);
        assert!(within(SEEN, || file.exists()), "{path} does not come");
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }

    /// Waits until a file is gone.
    #[track_caller]
    fn misses(&self, path: &str) {
        assert!(within(SEEN, || !self.file(path).exists()), "{path} stays");
    }

    fn up(&self) {
        self.switchboard(&["up", "--detach"]).ends_with(0);
    }

    /// Waits until a message has reached this state.
    #[track_caller]
    fn reaches(&self, id: &str, state: &str) {
        let is_there = within(SEEN, || self.message(id).is_some_and(|message| message["state"] == state));
        assert!(is_there, "{id} is not {state}: {:?}", self.message(id));
    }

    fn message(&self, id: &str) -> Option<Value> {
        let messages = self.call(&["list_messages"])["messages"].as_array().unwrap().clone();
        messages.into_iter().find(|message| message["id"] == id)
    }
}

fn note(id: &str, sender: &str, recipient: &str) -> Value {
    json!({ "id": id, "action": "status_update", "sender": sender, "recipient": recipient, "payload": "half way",
        "createdAt": "2026-02-27T10:00:00.000Z" })
}

fn command(id: &str) -> Value {
    json!({ "id": id, "action": "execute", "sender": "ada", "recipient": "ben", "payload": "make test" })
}

#[test]
fn what_is_dropped_while_the_daemon_is_down_is_taken_once() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    sandbox.switchboard(&["down"]).ends_with(0);
    sandbox.drop_message("outbox/ada/send/first.json", &note("msg_1", "ada", "ben"));
    sandbox.drop_message("inbox/ben/second.json", &note("msg_2", "ada", "ben"));
    if rustix::process::getuid().is_root() {
        // As a container with its own users writes into a mounted folder.
        std::os::unix::fs::chown(sandbox.file("inbox/ben/second.json"), Some(54_321), Some(54_321)).unwrap();
    }

    sandbox.up();

    let receipt = sandbox.finds("outbox/ada/receipt_msg_1.json");
    assert_eq!((&receipt["status"], &receipt["inReplyTo"]), (&json!("delivered"), &json!("msg_1")));
    sandbox.finds("outbox/ada/receipt_msg_2.json");
    sandbox.misses("inbox/ben/second.json");
    sandbox.misses("outbox/ada/send/first.json");
    // Dropping the same file again, as an agent that saw no receipt does, makes no second message; other content under
    // its id is refused.
    sandbox.drop_message("outbox/ada/send/first.json", &note("msg_1", "ada", "ben"));
    sandbox.misses("outbox/ada/send/first.json");
    let mut other = note("msg_1", "ada", "ben");
    other["payload"] = json!("something else");
    sandbox.drop_message("outbox/ada/send/other.json", &other);
    sandbox.finds("set-aside/outbox/ada/send/other.json");
    assert_eq!(sandbox.call(&["list_messages"])["sent"], 2);
    assert!(sandbox.finds("outbox/ada/receipt_msg_1.json")["error"].as_str().unwrap().contains("request.conflict"));
    assert_eq!(fs::read_dir(sandbox.file("archive")).unwrap().count(), 1, "one month");
}

#[test]
fn every_file_is_taken_exactly_once_however_often_the_daemon_is_killed() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    fs::create_dir_all(sandbox.file("inbox/ben")).unwrap();
    for round in 0..4 {
        let pid = sandbox.call(&["get_status"])["pid"].as_i64().unwrap();
        for n in 0..10 {
            let id = format!("msg_{round}_{n}");
            sandbox.drop_message(&format!("outbox/ada/send/{id}.json"), &note(&id, "ada", "ben"));
        }
        let first = sandbox.file(&format!("outbox/ada/receipt_msg_{round}_{}.json", round * 2));
        assert!(within(SEEN, || first.exists()));
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    sandbox.call(&["get_status"]);

    let left = || fs::read_dir(sandbox.file("outbox/ada/send")).unwrap().count();
    assert!(within(SEEN, || left() == 0), "{} files are left", left());
    let inbox = || fs::read_dir(sandbox.file("inbox/ben")).unwrap().count();
    assert!(within(SEEN, || inbox() == 40), "{} of 40 lie in the inbox", inbox());
    assert_eq!(sandbox.call(&["list_messages"])["sent"], 40);
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

#[test]
fn a_thousand_files_dropped_at_once_are_taken_in_order_and_leave_few_receipts() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    for n in 0..1000 {
        let id = format!("msg_{n:03}");
        sandbox.drop_message(&format!("outbox/ada/send/{n:03}.json"), &note(&id, "ada", "ben"));
    }

    let left = || fs::read_dir(sandbox.file("outbox/ada/send")).unwrap().count();
    assert!(within(SEEN, || left() == 0), "{} files are left", left());

    let listed = sandbox.call(&["list_messages", "limit=1000"]);
    assert_eq!(listed["sent"], 1000);
    sandbox.finds("outbox/ada/receipt_msg_999.json");
    let older = fs::read_to_string(sandbox.file("outbox/ada/receipts.jsonl")).unwrap();
    let older: Vec<Value> = older.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_receipt = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("receipt_");
    let files = fs::read_dir(sandbox.file("outbox/ada")).unwrap().map(Result::unwrap).filter(is_receipt).count();
    assert!(files <= 100, "{files} receipts are files of their own");
    assert_eq!(files + older.len(), 1000);
    assert_eq!((&older[0]["inReplyTo"], &older[0]["status"]), (&json!("msg_000"), &json!("delivered")));
    let order: Vec<_> = older.iter().map(|receipt| receipt["inReplyTo"].as_str().unwrap()).collect();
    assert!(order.is_sorted(), "they were not taken in the order of their names");
    // One receipt for each, a file with the older ones, and the folder of files to send.
    let left = fs::read_dir(sandbox.file("outbox/ada")).unwrap().count();
    assert!(left <= files + 2, "{left} entries are left, {files} of them receipts");
    let page = sandbox.call(&["read_events", "after=0", "limit=1000", "kinds:=[\"message_sent\"]"]);
    let sent: Vec<_> = page["events"].as_array().unwrap().iter().map(|event| event["facts"]["id"].clone()).collect();
    assert_eq!(sent.len(), 1000, "each is in the record once");
    assert!(sent.iter().zip(0..).all(|(id, n)| *id == json!(format!("msg_{n:03}"))), "in the order of their names");
}

#[test]
fn an_agent_with_nothing_but_files_talks_to_one_with_tools() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=lead"]);
    fs::create_dir_all(sandbox.file("outbox/Coder 1/send")).unwrap();
    assert!(within(SEEN, || sandbox.call(&["get_team_roster"]).to_string().contains("Coder 1")), "it does not join");

    let send = ["call", "send_message", "recipient=coder_1", "payload=look at issue 7", "id=msg_task"];
    let by_lead = Spawn::new([BINARY].into_iter().chain(send)).cwd(sandbox.root());
    let by_lead = by_lead.env_only(sandbox.environment().set("SWITCHBOARD_AGENT", "lead")).output().unwrap();
    assert_eq!(by_lead.exit.code(), Some(0));
    let file = sandbox.finds("inbox/Coder 1/msg_task.json");
    assert_eq!(
        (&file["id"], &file["payload"], &file["recipient"]),
        (&json!("msg_task"), &json!("look at issue 7"), &json!("Coder 1"))
    );
    sandbox.reaches("msg_task", "offered");

    let inbox = |name: &str| sandbox.file(&format!("inbox/Coder 1/{name}"));
    fs::rename(inbox("msg_task.json"), inbox("seen-msg_task.json")).unwrap();
    sandbox.reaches("msg_task", "injected");
    // An agent's own name for our file makes no message.
    sandbox.misses("inbox/Coder 1/seen-msg_task.json");

    let result = json!({ "id": "r1", "inReplyTo": "msg_task", "status": "completed", "processedAt": "now",
        "artifacts": ["src/lib.rs"], "error": null });
    let answer = json!({ "action": "submit_result", "recipient": "lead", "payload": "done", "replyTo": "msg_task",
        "id": "msg_answer" });
    sandbox.drop_message("outbox/Coder 1/msg_task.result.json", &result);
    sandbox.drop_message("outbox/Coder 1/send/answer.json", &answer);
    sandbox.reaches("msg_task", "done");
    sandbox.finds("outbox/Coder 1/receipt_msg_answer.json");
    assert!(!sandbox.file("set-aside").exists());
    let inbox = sandbox.call(&["check_inbox", "agent=lead"]).to_string();
    for words in ["\"done\"", "msg_result_", "src/lib.rs", "\"sender_verified\":false"] {
        assert!(inbox.contains(words), "{words}: {inbox}");
    }
}

#[test]
fn what_is_no_message_is_set_aside_with_a_reason_and_nothing_else_is_affected() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    let secret = sandbox.folder().join("secret");
    fs::write(&secret, note("msg_x", "ada", "ben").to_string()).unwrap();
    fs::create_dir_all(sandbox.file("inbox/ben")).unwrap();
    symlink(&secret, sandbox.file("inbox/ben/link.json")).unwrap();
    fs::hard_link(&secret, sandbox.file("inbox/ben/hard.json")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        sandbox.file("inbox/ben/pipe.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let huge = fs::File::create(sandbox.file("inbox/ben/huge.json")).unwrap();
    huge.set_len(2 << 20).unwrap();
    sandbox.drop_file("inbox/ben/syntax.json", "{ not json }");
    sandbox.drop_file("inbox/ben/list.json", "[]");
    sandbox.drop_file("inbox/ben/empty.json", "{}");
    let mut elsewhere = note("msg_2", "ada", "cleo");
    sandbox.drop_message("inbox/ben/elsewhere.json", &elsewhere);
    elsewhere["sender"] = json!("eve");
    sandbox.drop_message("outbox/ada/send/forged.json", &elsewhere);
    sandbox.drop_message("outbox/ada/send/nobody.json", &note("msg_3", "ada", "bem"));
    sandbox.drop_message("outbox/ada/send/good.json", &note("msg_4", "ada", "ben"));

    sandbox.finds("outbox/ada/receipt_msg_4.json");
    for (path, code) in [
        ("inbox/ben/link.json", "file.unsafe"),
        ("inbox/ben/hard.json", "file.unsafe"),
        ("inbox/ben/pipe.json", "file.unsafe"),
        ("inbox/ben/huge.json", "file.too-large"),
        ("inbox/ben/syntax.json", "file.malformed"),
        ("inbox/ben/list.json", "file.malformed"),
        ("inbox/ben/empty.json", "file.malformed"),
        ("inbox/ben/elsewhere.json", "file.wrong-folder"),
        ("outbox/ada/send/forged.json", "file.wrong-folder"),
        ("outbox/ada/send/nobody.json", "bus.unknown-recipient"),
    ] {
        assert_eq!(sandbox.finds(&format!("set-aside/{path}.reason"))["code"], code, "{path}");
    }
    assert!(sandbox.finds("outbox/ada/receipt_msg_3.json")["error"].as_str().unwrap().contains("ben"));
    assert_eq!(sandbox.call(&["list_messages"])["sent"], 1);
    assert!(secret.exists());
}

#[test]
fn a_file_that_is_still_being_written_is_waited_for() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    let whole = note("msg_slow", "ada", "ben").to_string();
    let (half, rest) = whole.split_at(whole.len() / 2);
    sandbox.drop_message("outbox/ada/send/other.json", &note("msg_1", "ada", "ben"));
    sandbox.drop_file("inbox/ben/slow.json", half);
    sandbox.finds("outbox/ada/receipt_msg_1.json");
    assert!(sandbox.file("inbox/ben/slow.json").exists());

    let mut file = fs::OpenOptions::new().append(true).open(sandbox.file("inbox/ben/slow.json")).unwrap();
    std::io::Write::write_all(&mut file, rest.as_bytes()).unwrap();

    assert_eq!(sandbox.finds("outbox/ada/receipt_msg_slow.json")["status"], "delivered");
}

#[test]
fn an_unsigned_command_waits_for_a_person() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    fs::create_dir_all(sandbox.file("inbox/ben")).unwrap();
    sandbox.drop_message("inbox/ben/one.json", &command("msg_yes"));
    sandbox.drop_message("inbox/ben/two.json", &command("msg_no"));
    assert_eq!(sandbox.finds("outbox/ada/receipt_msg_yes.json")["status"], "needs_clarification");
    sandbox.finds("outbox/ada/receipt_msg_no.json");
    sandbox.misses("inbox/ben/one.json");
    assert_eq!(sandbox.call(&["list_messages"])["sent"], 0);
    sandbox.switchboard(&["status"]).ends_with(0).says("2 questions for you");
    sandbox.switchboard(&["needs"]).ends_with(0).says("execute to ben").says("make test");
    let needs = sandbox.call(&["list_needs"])["needs"].as_array().unwrap().clone();
    let need = |message: &str| {
        let need = needs.iter().find(|need| need["message"] == message).unwrap();
        need["id"].as_str().unwrap().to_owned()
    };

    sandbox.switchboard(&["deny", &need("msg_no")]).ends_with(0).says("denied");
    sandbox.switchboard(&["approve", &need("msg_yes")]).ends_with(0).says("approved");

    assert_eq!(sandbox.finds("inbox/ben/msg_yes.json")["senderVerified"], false);
    let is_told = || sandbox.finds("outbox/ada/receipt_msg_no.json")["status"] == "error";
    assert!(within(SEEN, is_told), "the sender does not hear of the no");
    assert_eq!(sandbox.call(&["list_messages"])["sent"], 1);
    let again = sandbox.switchboard(&["approve", &need("msg_no"), "--json"]).ends_with(2);
    assert_eq!(again.failure()["code"], "need.settled");
    // Dropping it again does not ask a second time.
    sandbox.drop_message("inbox/ben/two.json", &command("msg_no"));
    assert_eq!(sandbox.finds("set-aside/inbox/ben/two.json.reason")["code"], "file.denied");
}

#[test]
fn a_signed_command_goes_through_once_and_a_forged_one_does_not() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    fs::create_dir_all(sandbox.file("inbox/ben")).unwrap();
    let sign = |message: &Value| {
        let done = sandbox.switchboard_with(&["token", "sign", "-"], &message.to_string()).ends_with(0);
        done.json()
    };
    let signed = sign(&command("msg_signed"));
    let mut forged = sign(&command("msg_forged"));
    forged["metadata"] = json!({ "all": true });
    let mut replayed = sign(&command("msg_other"));
    replayed["auth"]["nonce"] = signed["auth"]["nonce"].clone();
    let queued = sign(&command("msg_queued"));

    sandbox.drop_message("inbox/ben/signed.json", &signed);
    let file = sandbox.finds("inbox/ben/msg_signed.json");
    assert_eq!((&file["senderVerified"], &file["auth"]["version"]), (&json!(true), &json!("hmac-sha256-v2")));
    sandbox.drop_message("inbox/ben/forged.json", &forged);
    sandbox.drop_message("inbox/ben/replayed.json", &replayed);
    for name in ["forged", "replayed"] {
        let reason = sandbox.finds(&format!("set-aside/inbox/ben/{name}.json.reason"));
        assert_eq!(reason["code"], "auth.bad-signature", "{name}");
    }
    // A new key keeps waiting messages that were signed with the old one; a revoked key loses them.
    sandbox.switchboard(&["token", "rotate-key"]).ends_with(0);
    sandbox.drop_message("inbox/ben/queued.json", &queued);
    sandbox.finds("inbox/ben/msg_queued.json");
    let late = sign(&command("msg_late"));
    sandbox.switchboard(&["token", "rotate-key", "--revoke"]).ends_with(0);
    sandbox.drop_message("inbox/ben/late.json", &late);
    assert_eq!(sandbox.finds("set-aside/inbox/ben/late.json.reason")["code"], "auth.bad-signature");
    assert_eq!(sandbox.call(&["list_messages"])["sent"], 2);
}

#[test]
fn the_file_of_a_message_that_is_over_is_not_left_for_its_reader() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben", "capabilities=[\"files\"]"]);
    let delegate = |id: &str| {
        let metadata = "metadata={\"no_cooldown\":true}";
        sandbox.call(&["send_message", "recipient=ben", "action=delegate_task", "payload=x", id, metadata]);
    };
    delegate("id=msg_old");
    sandbox.finds("inbox/ben/msg_old.json");

    delegate("id=msg_new");

    sandbox.finds("inbox/ben/msg_new.json");
    let archived =
        || sandbox.git(&["ls-files", "--others", ".switchboard/archive"]).contains("/inbox/ben/msg_old.json");
    assert!(within(SEEN, || !sandbox.file("inbox/ben/msg_old.json").exists()), "it is still there");
    assert!(archived(), "it is not in the archive");
    sandbox.reaches("msg_old", "offered");
}

#[test]
fn a_folder_that_is_swept_away_is_no_evidence_and_its_mail_is_written_again() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben", "capabilities=[\"files\"]"]);
    sandbox.call(&["send_message", "recipient=ben", "payload=x", "id=msg_1"]);
    sandbox.finds("inbox/ben/msg_1.json");

    // The daemon may write while git still deletes: then git reports that the folder is not empty.
    sandbox.run(["git", "clean", "-fdxq"], &sandbox.root(), "");

    sandbox.finds("inbox/ben/msg_1.json");
    sandbox.reaches("msg_1", "offered");
    // Another agent's view of the team is written again, too.
    sandbox.call(&["set_agent_status", "name=ben", "status=away"]);
    assert!(within(SEEN, || sandbox.finds("state.json")["chatAgents"]["ben"]["status"] == "away"));
    sandbox.call(&["set_team", "team=Builders", "members=[\"ben\"]"]);
    assert!(within(SEEN, || sandbox.finds("state.json")["teams"]["builders"]["members"] == json!(["ben"])));
}

#[test]
fn the_activity_log_tells_what_happened_and_not_what_was_said() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    sandbox.call(&["send_message", "recipient=ben", "payload=hush", "id=msg_1"]);

    let file = sandbox.file("sessions/activity.jsonl");
    let log = || fs::read_to_string(&file).unwrap_or_default();
    assert!(within(SEEN, || log().contains("msg_1")), "{}", log());

    assert!(!log().contains("hush"));
    let row: Value = serde_json::from_str(log().lines().last().unwrap()).unwrap();
    assert_eq!((&row["type"], &row["payload"]["event"]), (&json!("dispatch"), &json!("message_sent")));
    sandbox.switchboard(&["restart"]).ends_with(0);
    sandbox.call(&["send_message", "recipient=ben", "payload=hush", "id=msg_2"]);
    assert!(within(SEEN, || log().contains("msg_2")));
    let rows: Vec<u64> =
        log().lines().map(|row| serde_json::from_str::<Value>(row).unwrap()["seq"].as_u64().unwrap()).collect();
    assert!(rows.is_sorted_by(|a, b| a < b), "rows are doubled: {rows:?}");
}
