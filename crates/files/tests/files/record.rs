//! Tests message files: parsing, refusals, protection of the folders, and the record.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_bus::auth::Proof;
use switchboard_bus::{Call, message, register_agent, send_message};
use switchboard_files::{
    Error, Files, Folder, Known, MAX_FILE_BYTES, MessageFile, Origin, Out, Receipt, ResultFile, Sent, Status, Taking,
    Unusable, due, find_held, forget_nonces, held, hold, is_unfinished, known, list_held, mark_gone, mark_written,
    outstanding, render, settle_held, stage, take, waiting_without_file, was_written,
};
use switchboard_protocol::error::Failure;
use switchboard_protocol::file::Gone;
use switchboard_protocol::id::{AgentName, MessageId, NeedId};
use switchboard_protocol::message::{Action, DeliveryState};
use switchboard_protocol::time::Millis;
use switchboard_store::{ManualClock, Projection, Store};

/// Returns a call of an agent with a verified name.
fn caller(who: &str) -> Call {
    Call::of(name(who))
}

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

fn code(error: Error) -> String {
    Failure::from(error).code
}

fn projections() -> Vec<Box<dyn Projection>> {
    let mut all = switchboard_bus::projections();
    all.push(Box::new(Files));
    all
}

const NOW: Millis = Millis(1_795_303_000_000);

/// Message file with every field of the protocol.
const WHOLE: &str = r#"{
  "id": "msg_1767225600000_k3j2h1g0f", "action": "delegate_task", "sender": "Lead", "recipient": "Coder 1",
  "payload": "Make the build green.", "replyTo": "msg_1767225500000_aaaaaaaaa",
  "metadata": { "phase_gate": { "phase": "execution" }, "dispatch": { "expires_at": "2026-12-24T00:00:00.000Z" } },
  "team": "team_build", "persona": "You are careful.", "createdAt": "2026-01-01T00:00:00.000Z",
  "sessionToken": "sess_1767225600000", "unknown": [1, 2]
}"#;

fn parse(value: &Value) -> Result<MessageFile, Failure> {
    MessageFile::parse(value.to_string().as_bytes(), Origin::Inbox("ben"))
}

fn small(id: &str) -> Value {
    json!({ "id": id, "action": "execute", "sender": "ada", "recipient": "ben", "payload": "make" })
}

#[test]
fn a_file_with_every_field_of_the_protocol_is_read() {
    let file = MessageFile::parse(WHOLE.as_bytes(), Origin::Inbox("coder_1")).unwrap();

    assert_eq!((file.action, file.sender.as_str(), file.recipient.as_str()), (Action::DelegateTask, "Lead", "Coder 1"));
    assert_eq!(file.reply_to.as_ref().map(MessageId::as_str), Some("msg_1767225500000_aaaaaaaaa"));
    assert_eq!(file.expires_at(), Millis::parse("2026-12-24T00:00:00.000Z"));
    let carried: Vec<_> = file.carried().keys().cloned().collect();
    assert_eq!(carried, ["metadata", "createdAt", "persona", "team"]);
}

#[test]
fn the_folder_says_what_a_file_leaves_out_and_the_content_gives_it_an_id() {
    let text = json!({ "action": "status_update", "payload": "", "recipient": "lead" }).to_string();

    let file = MessageFile::parse(text.as_bytes(), Origin::Send("Coder 1")).unwrap();

    assert_eq!((file.sender.as_str(), file.recipient.as_str(), file.payload.as_str()), ("Coder 1", "lead", ""));
    assert_eq!(file.id, MessageFile::parse(text.as_bytes(), Origin::Send("Coder 1")).unwrap().id);
    assert_ne!(file.id, MessageFile::parse((text + " ").as_bytes(), Origin::Send("Coder 1")).unwrap().id);
}

#[test]
fn what_is_wrong_with_a_file_is_named() {
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    for (field, value, code) in [
        ("payload", json!(5), "file.malformed"),
        ("payload", Value::Null, "file.malformed"),
        ("action", json!("rm"), "file.malformed"),
        ("action", json!({}), "file.malformed"),
        ("sender", json!("../x"), "file.malformed"),
        ("sender", json!(""), "file.malformed"),
        ("recipient", json!("../../etc"), "file.wrong-folder"),
        ("recipient", json!("cleo"), "file.wrong-folder"),
        ("id", json!("../../x"), "file.malformed"),
        ("id", json!(7), "file.malformed"),
        ("replyTo", json!("a/b"), "file.malformed"),
        ("metadata", deep, "file.malformed"),
        ("auth", json!("yes"), "auth.bad-signature"),
        ("payload", json!("x".repeat(256 * 1024 + 1)), "file.too-large"),
    ] {
        let mut message = small("msg_1");
        message[field] = value;
        assert_eq!(parse(&message).unwrap_err().code, code, "{field}");
    }
    let huge = vec![b' '; MAX_FILE_BYTES + 1];
    assert_eq!(MessageFile::parse(&huge, Origin::Inbox("ben")).unwrap_err().code, "file.too-large");
    let nested = "[".repeat(100_000);
    assert_eq!(MessageFile::parse(nested.as_bytes(), Origin::Inbox("ben")).unwrap_err().code, "file.malformed");
}

#[test]
fn the_beginning_of_a_file_is_told_from_a_wrong_one() {
    for end in 0..WHOLE.len() {
        assert!(is_unfinished(&WHOLE.as_bytes()[..end]), "{end}");
    }
    for whole in [WHOLE, "{}", "{ x", "nope"] {
        assert!(!is_unfinished(whole.as_bytes()), "{whole}");
    }
}

#[test]
fn results_and_receipts_have_the_protocol_s_words() {
    let result = br#"{"id":"r","inReplyTo":"msg_1","status":"needs_clarification","processedAt":"t","artifacts":["a"],"error":null}"#;
    assert_eq!(ResultFile::parse(result).unwrap().status, Status::NeedsClarification);
    assert_eq!(ResultFile::parse(br#"{"inReplyTo":"../x","status":"completed"}"#).unwrap_err().code, "file.malformed");
    assert_eq!(ResultFile::parse(br#"{"inReplyTo":"msg_1","status":"great"}"#).unwrap_err().code, "file.malformed");

    let (name, text) = Receipt::delivered("msg_1", "coder", NOW).to_file().unwrap();

    let receipt: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(name, "receipt_msg_1.json");
    assert_eq!(
        receipt,
        json!({ "id": "receipt_msg_1", "inReplyTo": "msg_1", "status": "delivered",
            "summary": "Message delivered to 'coder' inbox", "processedAt": NOW.to_string(), "error": null })
    );
}

// === Folders ===

#[test]
fn a_folder_follows_no_link_and_reads_plain_files_only() {
    let place = tempfile::tempdir().unwrap();
    let secret = place.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let root = place.path().join("root");
    std::fs::create_dir(&root).unwrap();
    symlink(&secret, root.join("link")).unwrap();
    symlink(place.path(), root.join("folder")).unwrap();
    std::fs::hard_link(&secret, root.join("hard")).unwrap();
    std::fs::write(root.join("plain"), "hello").unwrap();
    let folder = Folder::root(&root).unwrap();

    let read = |name: &str| match folder.read(name, 5) {
        Ok(bytes) => String::from_utf8(bytes).unwrap(),
        Err(Unusable::Refused(failure)) => failure.code,
        Err(Unusable::Gone) => "gone".to_owned(),
        Err(Unusable::Io(error)) => panic!("{name}: {error}"),
    };
    assert_eq!(
        (read("plain"), read("link"), read("hard")),
        ("hello".into(), "file.unsafe".into(), "file.unsafe".into())
    );
    assert_eq!((read("folder"), read("none")), ("file.unsafe".into(), "gone".into()));
    std::fs::write(root.join("plain"), "hello!").unwrap();
    assert_eq!(read("plain"), "file.too-large");
    assert!(folder.sub("folder").unwrap().is_none());
    assert!(folder.make("folder").is_err());
    assert!(folder.sub("plain").unwrap().is_none());
}

#[test]
fn a_file_is_written_whole_and_never_through_a_link() {
    let place = tempfile::tempdir().unwrap();
    let outside = place.path().join("outside");
    std::fs::write(&outside, "mine").unwrap();
    let root = place.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink(&outside, root.join("state.json")).unwrap();
    symlink(&outside, root.join(".state.json.tmp")).unwrap();

    Folder::root(&root).unwrap().replace("state.json", b"new").unwrap();

    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine");
    let found = std::fs::symlink_metadata(root.join("state.json")).unwrap();
    assert!(found.is_file());
    assert_eq!(found.permissions().mode() & 0o777, 0o644, "whoever may read the folder may read the file");
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 1);
}

#[test]
fn what_is_moved_takes_the_first_name_that_is_free() {
    let place = tempfile::tempdir().unwrap();
    let root = Folder::root(place.path()).unwrap();
    let to = root.make_all(["a", "b"]).unwrap();
    let names = || ["x", "x.1", "x.2"].map(str::to_owned);
    for expected in ["x", "x.1", "x.2"] {
        root.replace("x", b"1").unwrap();
        assert_eq!(root.move_to("x", &to, names()).unwrap(), expected);
    }
    root.replace("x", b"1").unwrap();

    assert!(root.move_to("x", &to, names()).is_err());
    assert!(root.has("x"));
}

// === The record ===

fn store() -> (Store, ManualClock) {
    let clock = ManualClock::at(NOW);
    (Store::in_memory(projections(), clock.clock()), clock)
}

async fn join(store: &Store, who: &str) {
    register_agent(store, &caller(who), serde_json::from_value(json!({ "name": who })).unwrap()).await.unwrap();
}

async fn send(store: &Store, file: &MessageFile) {
    let request = json!({ "recipient": file.recipient, "payload": file.payload, "id": file.id, "action": file.action });
    send_message(store, &caller("ada"), serde_json::from_value(request).unwrap(), MessageId::from_bits(1))
        .await
        .unwrap();
}

fn proof(nonce: &str) -> Proof {
    Proof { key_id: "key_1".to_owned(), nonce: nonce.to_owned(), until: NOW.plus(1000), is_whole: true }
}

#[tokio::test]
async fn a_file_is_new_then_taken_then_sent_and_another_under_its_id_is_neither() {
    let (store, _) = store();
    join(&store, "ben").await;
    let file = parse(&small("msg_1")).unwrap();
    assert_eq!(known(&store, &file).unwrap(), Known::New);

    take(&store, Taking { file: &file, from: "inbox/ben/x.json", proof: Some(&proof("n1")) }).await.unwrap();
    assert_eq!(known(&store, &file).unwrap(), Known::Taken { is_signed: true });
    send(&store, &file).await;

    assert_eq!(known(&store, &file).unwrap(), Known::Sent);
    let mut other = small("msg_1");
    other["payload"] = json!("rm");
    assert_eq!(known(&store, &parse(&other).unwrap()).unwrap(), Known::Other);
    assert!(store.verify(switchboard_store::Scope::All).unwrap().is_clean());
}

#[tokio::test]
async fn a_nonce_counts_once_until_nobody_would_believe_it_anyway() {
    let (store, clock) = store();
    let files: Vec<_> = (0..60).map(|n| parse(&small(&format!("msg_{n}"))).unwrap()).collect();
    for (n, file) in files.iter().enumerate().take(50) {
        take(&store, Taking { file, from: "f", proof: Some(&proof(&format!("n{n}"))) }).await.unwrap();
    }

    let again = take(&store, Taking { file: &files[50], from: "f", proof: Some(&proof("n7")) }).await.unwrap_err();
    assert_eq!(code(again), "auth.replayed");
    forget_nonces(&store).await.unwrap();
    let again = take(&store, Taking { file: &files[50], from: "f", proof: Some(&proof("n7")) }).await.unwrap_err();
    assert_eq!(code(again), "auth.replayed");

    clock.advance(1001);
    forget_nonces(&store).await.unwrap();
    let head = store.head().lsn;
    forget_nonces(&store).await.unwrap();
    assert_eq!(store.head().lsn, head, "nothing is left to forget");
    assert!(store.verify(switchboard_store::Scope::All).unwrap().is_clean());
}

#[tokio::test]
async fn a_held_message_waits_is_found_by_the_beginning_of_its_id_and_is_settled_once() {
    let (store, clock) = store();
    let file = parse(&small("msg_1")).unwrap();
    let text = small("msg_1").to_string();
    hold(&store, Taking { file: &file, from: "f", proof: None }, &text, NeedId::from_bits(0xabc)).await.unwrap();
    assert_eq!(known(&store, &file).unwrap(), Known::Held);
    let need = find_held(&store, "00000000000").unwrap().remove(0);
    let waiting = held(&store, &need).unwrap().unwrap();
    assert_eq!((waiting.text.as_str(), waiting.outcome.as_str()), (text.as_str(), ""));
    assert_eq!(due(&store).unwrap(), (vec![], vec![]));

    clock.advance(480 * 60_000);
    assert_eq!(due(&store).unwrap().1, std::slice::from_ref(&waiting));
    settle_held(&store, &waiting, "denied", "anna", None).await.unwrap();

    assert_eq!(code(settle_held(&store, &waiting, "approved", "anna", None).await.unwrap_err()), "need.settled");
    assert_eq!(known(&store, &file).unwrap(), Known::Denied);
    assert!(list_held(&store, false).unwrap().is_empty());
    assert_eq!(list_held(&store, true).unwrap()[0].outcome, "denied");
}

#[tokio::test]
async fn an_approved_message_is_due_until_it_is_sent() {
    let (store, _) = store();
    join(&store, "ben").await;
    let file = parse(&small("msg_1")).unwrap();
    hold(&store, Taking { file: &file, from: "f", proof: None }, "{}", NeedId::from_bits(1)).await.unwrap();
    let waiting = list_held(&store, false).unwrap().remove(0);
    settle_held(&store, &waiting, "approved", "anna", None).await.unwrap();
    assert_eq!(due(&store).unwrap().0.len(), 1);

    take(&store, Taking { file: &file, from: "f", proof: None }).await.unwrap();
    assert_eq!(due(&store).unwrap().0.len(), 1, "a crash may come between the two");
    assert_eq!(known(&store, &file).unwrap(), Known::Held);
    send(&store, &file).await;

    assert_eq!(due(&store).unwrap().0.len(), 0);
    assert_eq!(known(&store, &file).unwrap(), Known::Sent);
}

#[tokio::test]
async fn a_written_file_offers_its_message_and_a_picked_up_one_was_seen() {
    let (store, _) = store();
    join(&store, "ben").await;
    let file = parse(&small("msg_1")).unwrap();
    send(&store, &file).await;
    let waiting = waiting_without_file(&store, &name("ben"), 10).unwrap();
    assert_eq!(waiting.len(), 1);
    let out = Out {
        id: file.id.clone(),
        recipient: name("ben"),
        folder: "ben".to_owned(),
        is_written: false,
        is_acked: false,
    };

    stage(&store, std::slice::from_ref(&out)).await.unwrap();
    assert_eq!(outstanding(&store).unwrap(), std::slice::from_ref(&out));
    mark_written(&store, std::slice::from_ref(&out), 0).await.unwrap();
    let state = || message(&store, &file.id).unwrap().unwrap().state;
    assert_eq!(state(), DeliveryState::Offered);
    assert!(waiting_without_file(&store, &name("ben"), 10).unwrap().is_empty());

    mark_gone(&store, std::slice::from_ref(&out), Gone::Lost).await.unwrap();
    assert_eq!((state(), was_written(&store, &file.id).unwrap()), (DeliveryState::Offered, false));
    mark_gone(&store, &[out], Gone::PickedUp).await.unwrap();
    assert_eq!((state(), was_written(&store, &file.id).unwrap()), (DeliveryState::Injected, true));
    assert!(outstanding(&store).unwrap().is_empty());
    assert!(store.verify(switchboard_store::Scope::All).unwrap().is_clean());
}

#[tokio::test]
async fn what_goes_out_has_what_came_in_but_no_token_and_nothing_that_was_not_signed() {
    let (store, _) = store();
    let file = MessageFile::parse(WHOLE.as_bytes(), Origin::Inbox("Coder 1")).unwrap();
    let half = Proof { is_whole: false, ..proof("n") };
    take(&store, Taking { file: &file, from: "f", proof: None }).await.unwrap();
    let sent = |id: &MessageId| Sent {
        id: id.clone(),
        action: file.action,
        sender: file.sender.clone(),
        is_verified: true,
        recipient: file.recipient.clone(),
        reply_to: file.reply_to.clone(),
        payload: file.payload.clone(),
        at: NOW,
    };
    let key = switchboard_bus::auth::Key::new("key_1", "k".repeat(64), NOW).unwrap();
    let shown = |id: &MessageId| {
        let text = render(&store, &sent(id), Some(&key), "1f7cd800-2433-411c-9414-4c2be81c3e57").unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };

    let whole = shown(&file.id);
    assert_eq!((&whole["team"], &whole["persona"]), (&json!("team_build"), &json!("You are careful.")));
    assert!(whole.get("sessionToken").is_none() && whole.get("unknown").is_none());
    let back = MessageFile::parse(whole.to_string().as_bytes(), Origin::Inbox("coder-1")).unwrap();
    let keys = switchboard_bus::auth::Keys::of(key.clone());
    assert!(switchboard_bus::auth::verify(&back.fields, back.auth.as_ref().unwrap(), &keys, NOW).unwrap().is_whole);

    let other = MessageFile { id: MessageId::new("msg_v1").unwrap(), ..file.clone() };
    take(&store, Taking { file: &other, from: "f", proof: Some(&half) }).await.unwrap();
    assert!(shown(&other.id).get("metadata").is_none(), "the first version leaves it open");
}

// === Anything at all ===

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let anything = prop::collection::vec(any::<u8>(), 0..300);
    let changed =
        (prop::collection::vec((0..WHOLE.len(), any::<u8>()), 1..6), 0..=WHOLE.len()).prop_map(|(edits, end)| {
            let mut bytes = WHOLE.as_bytes().to_vec();
            edits.into_iter().for_each(|(at, byte)| bytes[at] = byte);
            bytes.truncate(end.max(1));
            bytes
        });
    prop_oneof![anything, changed]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_file_is_a_panic_and_none_leaves_its_folder(bytes in mutated()) {
        let _ = is_unfinished(&bytes);
        drop(ResultFile::parse(&bytes));
        for origin in [Origin::Inbox("Coder 1"), Origin::Send("Lead")] {
            match MessageFile::parse(&bytes, origin) {
                Ok(file) => {
                    prop_assert!(!file.id.as_str().contains(['/', '\\']) && file.payload.len() <= bytes.len());
                    drop((file.carried(), file.expires_at()));
                }
                Err(failure) => prop_assert!(
                    ["file.malformed", "file.too-large", "file.wrong-folder", "auth.bad-signature"]
                        .contains(&failure.code.as_str())
                ),
            }
        }
    }
}
