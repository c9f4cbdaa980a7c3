//! Callers, and a bus under a clock that the test controls.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_bus::{
    Call, Error, ack_message, check_inbox, list_messages, receive_messages, register_agent, send_message,
};
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::Message;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::bus::SendMessageReply;
use switchboard_store::{ManualClock, Store};

/// Time at which a world begins.
pub(crate) const START: Millis = Millis(1_772_186_400_000);

/// Store in memory with some agents.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: ManualClock,
    next: std::cell::Cell<u64>,
}

impl World {
    pub(crate) async fn with(names: &[&str]) -> Self {
        let clock = ManualClock::at(START);
        let store = Store::in_memory(switchboard_bus::projections(), clock.clock());
        let world = Self { store, clock, next: std::cell::Cell::new(1) };
        for name in names {
            register_agent(&world.store, &caller(name), args(json!({ "name": name }))).await.unwrap();
        }
        world
    }

    pub(crate) async fn try_send(&self, from: &Call, message: Value) -> Result<SendMessageReply, Error> {
        self.next.set(self.next.get() + 1);
        send_message(&self.store, from, args(message), MessageId::from_bits(self.next.get())).await
    }

    pub(crate) async fn send(&self, from: &str, message: Value) -> SendMessageReply {
        self.try_send(&caller(from), message).await.unwrap()
    }

    pub(crate) async fn receive(&self, who: &str, request: Value) -> Vec<Message> {
        receive_messages(&self.store, &caller(who), args(request)).await.unwrap().messages
    }

    pub(crate) async fn ack(&self, who: &str, message: &Message) -> Result<(), String> {
        let request = args(json!({ "id": message.id, "lease_token": message.lease_token }));
        ack_message(&self.store, &caller(who), request).await.map(drop).map_err(code)
    }

    pub(crate) fn show(&self, id: &MessageId) -> Message {
        let all = list_messages(&self.store, &args(json!({}))).unwrap().messages;
        all.into_iter().find(|message| message.id == *id).unwrap()
    }

    pub(crate) async fn outbox(&self, who: &str) -> Vec<Message> {
        check_inbox(&self.store, &caller(who), args(json!({ "box": "outbox" }))).await.unwrap().messages
    }
}

pub(crate) fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

/// Returns a call of an agent with a verified name.
pub(crate) fn caller(text: &str) -> Call {
    Call::of(name(text))
}

pub(crate) fn person() -> Call {
    Call { caller: Caller::person(name("anna")), ..caller("anna") }
}

/// Returns the request that a caller would write as JSON.
pub(crate) fn args<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn failure<T: std::fmt::Debug>(answer: Result<T, Error>) -> Failure {
    answer.unwrap_err().into()
}

pub(crate) fn code(error: Error) -> String {
    Failure::from(error).code
}
