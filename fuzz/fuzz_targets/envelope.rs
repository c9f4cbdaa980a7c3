//! Any message with any envelope: nothing is believed that the key has not signed, and what it has signed is.
#![no_main]

use switchboard_bus::auth::{Envelope, Fields, Key, Keys, sign, verify};
use switchboard_protocol::time::Millis;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let key = Key::new("key_fuzz", "k".repeat(64), Millis(0)).expect("long enough");
    let (keys, now) = (Keys::of(key.clone()), Millis(1_795_303_000_000));
    let Ok(mut fields) = serde_json::from_slice::<Fields>(bytes) else { return };
    if let Some(auth) = fields.get("auth").cloned()
        && let Ok(envelope) = serde_json::from_value::<Envelope>(auth)
    {
        assert!(verify(&fields, &envelope, &keys, now).is_err());
    }
    fields.insert("createdAt".to_owned(), now.to_string().into());
    if let Ok(envelope) = sign(&fields, &key, "1f7cd800-2433-411c-9414-4c2be81c3e57") {
        assert!(verify(&fields, &envelope, &keys, now).is_ok());
    }
});
