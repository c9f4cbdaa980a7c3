//! The record: backup, restore, detection of damage, search.

use std::path::PathBuf;

use super::sandbox::Sandbox;

fn sent(sandbox: &Sandbox, texts: &[&str]) {
    sandbox.call(&["register_agent", "name=ada"]);
    for text in texts {
        sandbox.call(&["send_message", "recipient=ada", &format!("payload={text}")]);
    }
}

/// Returns the folder of the store of the sandbox's only repository.
fn state(sandbox: &Sandbox) -> PathBuf {
    let folders = std::fs::read_dir(sandbox.folder().join("state/switchboard")).unwrap();
    folders.map(|entry| entry.unwrap().path()).find(|path| path.join("store.db").exists()).unwrap()
}

/// Changes a byte of a message's text in the closed store.
fn damage(sandbox: &Sandbox, text: &str) {
    let file = state(sandbox).join("store.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_backup_is_made_while_the_daemon_works_and_put_back_when_it_does_not() {
    let sandbox = Sandbox::new();
    sent(&sandbox, &["kept"]);
    let file = sandbox.folder().join("copy.db").display().to_string();

    let made = sandbox.switchboard(&["backup", &file, "--json"]).ends_with(0).json();
    assert!(made["events"].as_u64().unwrap() >= 2, "{made}");
    // An earlier backup of the same record is overwritten, another file is not.
    sandbox.switchboard(&["backup", &file, "--json"]).ends_with(0);
    let foreign = sandbox.folder().join("foreign.db");
    std::fs::write(&foreign, "mine").unwrap();
    let refused = sandbox.switchboard(&["backup", &foreign.display().to_string(), "--json"]).ends_with(1);
    assert_eq!(refused.failure()["code"], "io.denied");
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "mine");
    assert_eq!(
        sandbox.switchboard(&["backup", "x", "--no-daemon", "--json"]).ends_with(1).failure()["code"],
        "store.locked"
    );
    sandbox.call(&["send_message", "recipient=ada", "payload=too late"]);
    let refused = sandbox.switchboard(&["restore", &file, "--json"]).ends_with(1);
    assert_eq!(refused.failure()["code"], "daemon.running");

    sandbox.switchboard(&["down"]).ends_with(0);
    sandbox.switchboard(&["restore", &file]).ends_with(0).says("what was there before is in ");

    let inbox = sandbox.call(&["check_inbox", "agent=ada"]);
    assert_eq!(inbox["messages"].as_array().unwrap().len(), 1, "{inbox}");
    assert_eq!(inbox["messages"][0]["payload"], "kept");
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
    sandbox.switchboard(&["down"]).ends_with(0);
    let second = sandbox.folder().join("second.db").display().to_string();
    sandbox.switchboard(&["backup", &second]).ends_with(0).says("verified");
}

#[test]
fn a_file_that_is_no_export_is_named_as_one_and_has_no_head() {
    let sandbox = Sandbox::new();
    for (name, text) in [("garbage", "one\n"), ("empty", "")] {
        sandbox.write(name, text);

        let done = sandbox.switchboard(&["verify", name]).ends_with(1).says("this is no export of a record");

        assert!(!done.out.contains("head"), "{}", done.out);
    }
}

#[test]
fn a_damaged_record_is_named_by_doctor_and_verify_without_a_daemon() {
    let sandbox = Sandbox::new();
    sent(&sandbox, &["first message", "second message"]);
    sandbox.switchboard(&["down"]).ends_with(0);
    sandbox.switchboard(&["verify", "--no-daemon"]).ends_with(0).says("hash chain verified");
    sandbox.switchboard(&["doctor"]).ends_with(0).says("events, hash chain verified");

    damage(&sandbox, "second message");

    for args in [&["verify", "--no-daemon"][..], &["doctor"], &["doctor", "--no-daemon"], &["verify"]] {
        sandbox.switchboard(args).ends_with(1).says("(message_sent of inbox/").says("its body doesn't match its hash");
    }
    let file = sandbox.folder().join("copy.db").display().to_string();
    sandbox.switchboard(&["down"]).ends_with(0);
    assert_eq!(sandbox.switchboard(&["backup", &file, "--json"]).ends_with(1).failure()["code"], "store.corrupt");
}

#[test]
fn a_daemon_that_finds_less_than_was_answered_does_not_start_and_says_what_to_do() {
    let sandbox = Sandbox::new();
    sent(&sandbox, &["first"]);
    sandbox.switchboard(&["down"]).ends_with(0);
    let store = state(&sandbox).join("store.db");
    let old = std::fs::read(&store).unwrap();
    sandbox.call(&["send_message", "recipient=ada", "payload=second"]);
    sandbox.switchboard(&["down"]).ends_with(0);
    std::fs::write(&store, old).unwrap();
    let wal = store.with_file_name("store.db-wal");
    assert!(!wal.exists() || std::fs::remove_file(wal).is_ok());

    let failure = sandbox.switchboard(&["status", "--json"]).ends_with(1).failure();

    assert_eq!(failure["code"], "store.corrupt", "{failure}");
    assert!(failure["what"].as_str().unwrap().contains("is missing"), "{failure}");
    assert!(failure["hint"].as_str().unwrap().contains("switchboard restore"), "{failure}");
    sandbox.switchboard(&["verify"]).ends_with(1).says("is missing");
}

#[test]
fn a_record_that_was_there_and_is_gone_is_found_and_stays_found() {
    let sandbox = Sandbox::new();
    sent(&sandbox, &["first", "second"]);
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
    sandbox.switchboard(&["down"]).ends_with(0);
    let folder = state(&sandbox);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("store.db") {
            std::fs::remove_file(path).unwrap();
        }
    }

    sandbox.switchboard(&["verify", "--no-daemon"]).ends_with(1).says("and is gone");
    sandbox.switchboard(&["status"]).ends_with(0).says("and is gone: switchboard verify");
    sandbox.switchboard(&["verify"]).ends_with(1).says("and is gone");
    sandbox.call(&["register_agent", "name=eve"]);
    sandbox.switchboard(&["verify"]).ends_with(1).says("and is gone");
    sandbox.switchboard(&["doctor"]).ends_with(1).says("and is gone");
    // One of the two copies is enough.
    std::fs::remove_dir_all(folder.with_file_name("heads")).unwrap();
    sandbox.switchboard(&["verify"]).ends_with(1).says("and is gone");
    sandbox.switchboard(&["down"]).ends_with(0);
    sandbox.switchboard(&["verify", "--accept-loss", "--yes"]).ends_with(0).says("hash chain verified");
    let status = sandbox.switchboard(&["status"]).ends_with(0);
    assert!(!status.out.contains("lost"), "{status:?}");
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

#[test]
fn a_head_is_signed_without_a_daemon_and_covers_an_export() {
    let sandbox = Sandbox::new();
    sent(&sandbox, &["first"]);
    sandbox.switchboard(&["down"]).ends_with(0);
    let file = |name: &str| sandbox.folder().join(name).display().to_string();

    sandbox.switchboard(&["sign", &file("head.json")]).ends_with(0).says("head.json.pub");
    sandbox.switchboard(&["sign", &file("head.json")]).ends_with(1).says("there is such a file already");
    sandbox.call(&["export_log", &format!("path={}", file("export.jsonl"))]);

    let key = file("head.json.pub");
    let covered = ["verify", &file("export.jsonl"), "--head", &file("head.json"), "--key", &key];
    sandbox.switchboard(&covered).ends_with(0).says("signed head verified");
    std::fs::write(&key, "00".repeat(32)).unwrap();
    let refused = sandbox.switchboard(&covered);
    assert_ne!(refused.code, 0, "{}", refused.out);
}

#[test]
fn messages_are_found_by_their_words() {
    let sandbox = Sandbox::new();
    sent(&sandbox, &["the merge had a CONFLICT in src/lib.rs", "all is well", "\u{1b}[31m merge again"]);

    let found = sandbox.switchboard(&["messages", "--search", "merge -again"]).ends_with(0).says("1 found").out;
    assert!(found.contains("CONFLICT") && !found.contains("well"), "{found}");
    let shown = sandbox.switchboard(&["messages", "--search", "merge"]).ends_with(0).says("2 found").out;
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let pages =
        sandbox.switchboard(&["messages", "--search", "me*", "--limit", "1"]).ends_with(0).says("--before ").out;
    assert!(pages.contains("again"), "newest first: {pages}");
    let hits = sandbox.call(&["search_messages", "text=\"src/lib.rs\"", "agent=ADA"]);
    assert_eq!(hits["hits"].as_array().unwrap().len(), 1, "{hits}");
    assert_eq!(sandbox.call(&["search_messages", "text=merge", "agent=nobody"])["hits"], serde_json::json!([]));
    let bad = sandbox.switchboard(&["messages", "--search", "\"never ends", "--json"]).ends_with(2).failure();
    assert_eq!(bad["code"], "request.bad-args");
    assert!(bad["what"].as_str().unwrap().contains("a quotation doesn't end"), "{bad}");
}
