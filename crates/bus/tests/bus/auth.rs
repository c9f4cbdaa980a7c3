//! Tests the auth envelope: known answers, and everything that must be rejected.

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_bus::auth::{Envelope, Fields, Key, Keys, payload_hash, sign, verify};
use switchboard_protocol::time::Millis;

const NONCE: &str = "1f7cd800-2433-411c-9414-4c2be81c3e57";

fn key() -> Key {
    Key::new("key_test", "k".repeat(64), Millis(0)).unwrap()
}

fn at(text: &str) -> Millis {
    Millis::parse(text).unwrap()
}

fn message() -> Fields {
    fields(json!({
        "id": "msg_1795303276216_1wym9eeq5", "action": "delegate_task", "sender": "orchestrator", "recipient": "coder",
        "payload": "t1", "createdAt": "2026-11-21T23:21:16.216Z",
    }))
}

fn fields(value: Value) -> Fields {
    value.as_object().unwrap().clone()
}

fn v1(signature: &str) -> Envelope {
    Envelope {
        version: "hmac-sha256-v1".to_owned(),
        nonce: NONCE.to_owned(),
        payload_hash: payload_hash("t1"),
        signature: signature.to_owned(),
        key_id: None,
    }
}

const KNOWN: &str = "25d0d37aa0b8c578fbc968148e13fe6b76ec7fb9e0f3f9927dd99768abfafe4c";
const NOW: &str = "2026-11-21T23:22:00.000Z";

fn code(message: &Fields, envelope: &Envelope, keys: &Keys, now: Millis) -> String {
    verify(message, envelope, keys, now).unwrap_err().code
}

#[test]
fn the_known_answer_of_the_first_version_is_believed() {
    assert_eq!(payload_hash("t1"), "628b49d96dcde97a430dd4f597705899e09a968f793491e4b704cae33a40dc02");

    let proof = verify(&message(), &v1(KNOWN), &Keys::of(key()), at(NOW)).unwrap();

    assert_eq!((proof.key_id.as_str(), proof.is_whole), ("key_test", false));
}

/// The signature was computed by another program (Python's hmac) from the description in docs/file-protocol.md.
#[test]
fn the_known_answer_of_the_second_version_is_made() {
    let mut message = message();
    message.insert("metadata".to_owned(), json!({ "b": [1, true, null], "a": "ü\n" }));

    let envelope = sign(&message, &key(), NONCE).unwrap();

    assert_eq!(envelope.signature, "635c37df8cd984dec43da8be4f0c12693512a469a767072276370073d440636d");
    assert!(verify(&message, &envelope, &Keys::of(key()), at(NOW)).unwrap().is_whole);
}

#[test]
fn no_field_of_the_second_version_can_be_changed_added_or_taken_away() {
    let mut signed = message();
    for (name, value) in fields(json!({
        "metadata": { "dispatch": { "queue_mode": "keep" } }, "persona": "p", "replyTo": "msg_1", "team": "t", "sessionToken": "s",
    })) {
        signed.insert(name, value);
    }
    let keys = Keys::of(key());
    let envelope = sign(&signed, &key(), NONCE).unwrap();

    for name in signed.keys() {
        let (mut changed, mut missing) = (signed.clone(), signed.clone());
        changed.insert(name.clone(), json!("other"));
        missing.remove(name);
        assert_eq!(code(&changed, &envelope, &keys, at(NOW)), "auth.bad-signature", "{name}");
        assert_eq!(code(&missing, &envelope, &keys, at(NOW)), "auth.bad-signature", "{name}");
    }
    signed.insert("more".to_owned(), json!(1));
    assert_eq!(code(&signed, &envelope, &keys, at(NOW)), "auth.bad-signature");
}

#[test]
fn an_envelope_that_is_changed_is_not_believed() {
    let (message, keys) = (message(), Keys::of(key()));
    let good = sign(&message, &key(), NONCE).unwrap();
    let mut other_hash = good.clone();
    other_hash.payload_hash = payload_hash("t2");

    for bad in [
        Envelope { version: "hmac-sha256-v1".to_owned(), ..good.clone() },
        Envelope { version: "none".to_owned(), ..good.clone() },
        Envelope { nonce: NONCE.replace('1', "2"), ..good.clone() },
        Envelope { nonce: "a|b".repeat(8), ..good.clone() },
        Envelope { signature: String::new(), ..good.clone() },
        Envelope { signature: "0".repeat(64), ..good.clone() },
        Envelope { key_id: Some("key_other".to_owned()), ..good.clone() },
        other_hash,
    ] {
        assert_eq!(code(&message, &bad, &keys, at(NOW)), "auth.bad-signature", "{bad:?}");
    }
    assert_eq!(code(&message, &good, &Keys::default(), at(NOW)), "auth.bad-signature");
}

#[test]
fn what_is_too_old_or_from_the_future_is_stale() {
    let keys = Keys::of(key());
    let signed = at("2026-11-21T23:21:16.216Z");
    let minutes = |n: i64| signed.plus(n * 60_000);
    let mut execute = message();
    execute.insert("action".to_owned(), json!("execute"));
    let execute_envelope = sign(&execute, &key(), NONCE).unwrap();
    let envelope = sign(&message(), &key(), NONCE).unwrap();

    assert!(verify(&execute, &execute_envelope, &keys, minutes(5)).is_ok());
    assert_eq!(code(&execute, &execute_envelope, &keys, minutes(5).plus(1)), "auth.stale");
    assert!(verify(&message(), &envelope, &keys, minutes(480)).is_ok());
    assert_eq!(code(&message(), &envelope, &keys, minutes(480).plus(1)), "auth.stale");
    assert!(verify(&message(), &envelope, &keys, signed.plus(-30_000)).is_ok());
    assert_eq!(code(&message(), &envelope, &keys, signed.plus(-30_001)), "auth.stale");

    let mut timeless = message();
    timeless.remove("createdAt");
    let envelope = sign(&timeless, &key(), NONCE).unwrap();
    assert_eq!(code(&timeless, &envelope, &keys, signed), "auth.stale");
}

#[test]
fn programs_that_make_the_first_key_at_once_get_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let file = folder.path().join(format!("{round}.json"));
        let made = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..4).map(|_| scope.spawn(|| Keys::ensure(&file, Millis(0)).unwrap())).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect::<Vec<_>>()
        });

        assert!(made.iter().all(|keys| *keys == made[0]), "round {round}");
    }
}

#[test]
fn a_rotated_key_is_believed_for_what_was_signed_before() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys/dispatch.json");
    let rotated_at = at("2026-11-21T23:30:00.000Z");
    let before = Keys::ensure(&file, Millis(0)).unwrap();
    let old = before.current().unwrap().clone();
    let queued = sign(&message(), &old, NONCE).unwrap();
    let mut later = message();
    later.insert("createdAt".to_owned(), json!("2026-11-21T23:31:00.000Z"));
    let forged = sign(&later, &old, NONCE).unwrap();

    let keys = Keys::load(&file).unwrap().rotated(&file, rotated_at).unwrap();

    let now = rotated_at.plus(120_000);
    assert_ne!(keys.current().unwrap().id, old.id);
    assert_eq!(verify(&message(), &queued, &keys, now).unwrap().key_id, old.id);
    assert_eq!(code(&later, &forged, &keys, now), "auth.bad-signature");
    let keys = Keys::load(&file).unwrap().without_old(&file).unwrap();
    assert_eq!(code(&message(), &queued, &keys, now), "auth.bad-signature");
}

#[test]
fn keys_are_kept_to_the_user_and_out_of_every_text() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dispatch.json");
    let keys = Keys::ensure(&file, Millis(0)).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let secret = serde_json::from_str::<Value>(&text).unwrap()["keys"][0]["secret"].as_str().unwrap().to_owned();

    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!format!("{keys:?}").contains(&secret));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(Keys::load(&file).unwrap_err().code, "io.denied");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&file, format!("{{\"keys\":[{{\"secret\":\"{secret}\"")).unwrap();
    let failure = Keys::load(&file).unwrap_err();
    assert_eq!(failure.code, "config.syntax");
    assert!(!format!("{failure:?}").contains(&secret));
    assert_eq!(Key::new("k", "short", Millis(0)).unwrap_err().code, "config.bad-value");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_is_signed_is_believed_after_it_was_written_and_read(metadata in value(), payload in ".{0,40}") {
        let mut message = message();
        message.insert("metadata".to_owned(), metadata);
        message.insert("payload".to_owned(), json!(payload));
        let envelope = sign(&message, &key(), NONCE).unwrap();

        let text = serde_json::to_string_pretty(&message).unwrap();
        let read: Fields = serde_json::from_str(&text).unwrap();

        prop_assert!(verify(&read, &envelope, &Keys::of(key()), at(NOW)).is_ok());
    }

    #[test]
    fn an_envelope_of_anything_is_refused_and_never_a_panic(text in ".{0,200}", metadata in value()) {
        let mut message = message();
        message.insert("metadata".to_owned(), metadata);
        let envelope = Envelope { signature: text.clone(), nonce: text.clone(), ..v1(KNOWN) };
        prop_assert!(verify(&message, &envelope, &Keys::of(key()), at(NOW)).is_err());
        if let Ok(envelope) = serde_json::from_str::<Envelope>(&text) {
            prop_assert!(verify(&message, &envelope, &Keys::of(key()), at(NOW)).is_err());
        }
    }
}
