//! One history: the agents, their calls, and the scheduler that a seed drives.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use anyhow::bail;
use fastrand::Rng;
use serde_json::{Value, json};
use switchboard_bus::Limits;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::id::{AgentName, Digest, MessageId};
use switchboard_protocol::message::Message;
use switchboard_protocol::time::Millis;
use switchboard_store::{ManualClock, Store};

use super::check;

/// Maximum number of calls under way at once.
const AT_ONCE: usize = 4;

const START: Millis = Millis(1_772_186_400_000);

const AGENTS: [&str; 4] = ["ada", "ben", "cyd", "dan"];

/// Counts of a history.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) sent: u64,
    pub(super) refused: u64,
    pub(super) delivered: u64,
    pub(super) redelivered: u64,
    pub(super) acked: u64,
    pub(super) dead: u64,
    pub(super) expired: u64,
    pub(super) cancelled: u64,
    /// Number of calls that were polled while another was under way.
    pub(super) races: u64,
}

/// A history that kept every promise.
pub(super) struct History {
    pub(super) digest: Digest,
    pub(super) simulated_ms: i64,
    pub(super) tally: Tally,
}

/// Subject of a call, for when its answer comes.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Send { id: String, recipient: &'static str, payload: String },
    Receive { who: &'static str, at: Millis },
    Ack { id: String, token: u64, at: Millis },
    Nak { id: String, token: u64, at: Millis },
    Extend { id: String, token: u64, at: Millis },
    Cancel { id: String },
    Revive { id: String },
    Look { who: &'static str },
    Sweep,
}

type Answer = Result<Value, String>;

struct Call {
    op: Op,
    future: Pin<Box<dyn Future<Output = Answer>>>,
}

/// A delivery as its receiver remembers it.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) who: &'static str,
    pub(super) id: String,
    pub(super) token: u64,
    pub(super) until: Millis,
}

/// State of the agents in the history.
pub(super) struct World {
    pub(super) store: Store,
    pub(super) clock: ManualClock,
    pub(super) now: Millis,
    /// Accepted messages: recipient and text by id.
    pub(super) accepted: BTreeMap<String, (&'static str, String)>,
    /// Messages asked to be sent, accepted or not yet.
    pub(super) tried: BTreeMap<String, (&'static str, String)>,
    pub(super) held: Vec<Held>,
    /// Largest token returned for each message.
    pub(super) tokens: BTreeMap<String, u64>,
    pub(super) ended: BTreeMap<String, &'static str>,
    pub(super) revived: Vec<String>,
    pub(super) tally: Tally,
    /// Digest of every call and its answer, in order.
    trace: Digest,
    rng: Rng,
    next: u64,
}

// === impl Tally ===

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.refused += other.refused;
        self.delivered += other.delivered;
        self.redelivered += other.redelivered;
        self.acked += other.acked;
        self.dead += other.dead;
        self.expired += other.expired;
        self.cancelled += other.cancelled;
        self.races += other.races;
    }
}

/// Simulates one history.
pub(super) fn play(seed: u64, steps: usize) -> anyhow::Result<History> {
    let clock = ManualClock::at(START);
    let store = Store::in_memory(switchboard_bus::projections(), clock.clock());
    let mut world = World {
        store,
        clock,
        now: START,
        accepted: BTreeMap::new(),
        tried: BTreeMap::new(),
        held: Vec::new(),
        tokens: BTreeMap::new(),
        ended: BTreeMap::new(),
        revived: Vec::new(),
        tally: Tally::default(),
        trace: Digest::ZERO,
        rng: Rng::with_seed(seed),
        next: 0,
    };
    for name in AGENTS {
        let store = world.store.clone();
        let request = parsed(json!({ "name": name }))?;
        let joined = finish(Box::pin(async move {
            switchboard_bus::register_agent(&store, &by(name), request).await.map(|_| Value::Null).map_err(code)
        }));
        joined.map_err(anyhow::Error::msg)?;
    }
    let mut calls: Vec<Call> = Vec::new();
    for _ in 0..steps {
        world.step(&mut calls)?;
    }
    while !calls.is_empty() {
        world.poll(&mut calls)?;
    }
    check::inboxes(&world, &AGENTS)?;
    check::whole(&mut world)?;
    Ok(History { digest: world.trace, simulated_ms: world.now.since(START), tally: world.tally })
}

// === impl World ===

impl World {
    fn step(&mut self, calls: &mut Vec<Call>) -> anyhow::Result<()> {
        match self.rng.usize(..10) {
            0 => {
                let span = [1, 500, 5_000, 30_000, 61_000][self.rng.usize(..5)];
                self.clock.advance(span);
                self.now = self.now.plus(span);
                Ok(())
            }
            1..=5 if calls.len() < AT_ONCE => {
                let call = self.call()?;
                calls.push(call);
                Ok(())
            }
            _ if calls.is_empty() => Ok(()),
            _ => self.poll(calls),
        }
    }

    /// Advances one of the calls, to its next wait or to its end.
    fn poll(&mut self, calls: &mut Vec<Call>) -> anyhow::Result<()> {
        let place = self.rng.usize(..calls.len());
        self.tally.races += u64::from(calls.len() > 1);
        let polled = calls[place].future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(answer) = polled {
            let call = calls.swap_remove(place);
            let said = format!("{:?} {answer:?}", call.op);
            self.trace = Digest::of_parts(&[&self.trace.0, said.as_bytes()]);
            check::answer(self, call.op, answer)?;
            if self.rng.usize(..8) == 0 {
                check::inboxes(self, &AGENTS)?;
            }
        }
        Ok(())
    }

    fn call(&mut self) -> anyhow::Result<Call> {
        let who = AGENTS[self.rng.usize(..AGENTS.len())];
        let held = (!self.held.is_empty()).then(|| self.held[self.rng.usize(..self.held.len())].clone());
        match (self.rng.usize(..20), held) {
            (0..=5, _) => self.send(who),
            (6..=9, _) => self.receive(who),
            (10..=14, Some(held)) => {
                // Sometimes uses the token of another delivery, which must be refused.
                let token = if self.rng.usize(..8) == 0 { held.token.wrapping_sub(1) } else { held.token };
                self.about(
                    held.who,
                    "ack_message",
                    Op::Ack { id: held.id.clone(), token, at: self.now },
                    json!({ "id": held.id, "lease_token": token }),
                )
            }
            (15, Some(held)) => {
                let delay = self.rng.usize(..3) * 1_000;
                let args = json!({ "id": held.id, "lease_token": held.token, "delay_ms": delay });
                self.about(held.who, "nak_message", Op::Nak { id: held.id, token: held.token, at: self.now }, args)
            }
            (16, Some(held)) => {
                let args = json!({ "id": held.id, "lease_token": held.token, "lease_ms": 20_000 });
                self.about(
                    held.who,
                    "extend_message",
                    Op::Extend { id: held.id, token: held.token, at: self.now },
                    args,
                )
            }
            (17, _) if !self.accepted.is_empty() => {
                let id = self.any_message();
                let args = json!({ "id": id });
                if self.rng.usize(..2) == 0 {
                    self.about("person", "cancel_message", Op::Cancel { id }, args)
                } else {
                    self.about("person", "revive_message", Op::Revive { id }, args)
                }
            }
            (18, _) => self.about(who, "check_inbox", Op::Look { who }, json!({ "limit": 5 })),
            _ => self.about(who, "sweep", Op::Sweep, json!({})),
        }
    }

    fn any_message(&mut self) -> String {
        let place = self.rng.usize(..self.accepted.len().max(1));
        self.accepted.keys().nth(place).cloned().unwrap_or_default()
    }

    fn send(&mut self, who: &'static str) -> anyhow::Result<Call> {
        let recipient = AGENTS[self.rng.usize(..AGENTS.len())];
        // Sometimes sends a message again under its id, as a caller does whose answer was lost.
        let again = self.rng.usize(..6) == 0 && !self.tried.is_empty();
        if !again {
            self.next += 1;
        }
        let id = format!("msg_{}_{who}", self.next);
        if again && !self.tried.contains_key(&id) {
            return self.receive(who);
        }
        let (recipient, payload) =
            self.tried.get(&id).cloned().unwrap_or_else(|| (recipient, format!("text {} of {who}", self.next)));
        self.tried.insert(id.clone(), (recipient, payload.clone()));
        // A repeated message must be the same, so everything that varies follows from the number.
        let vary = |of: u64| self.next.wrapping_mul(0x9E37_79B9) >> 7 & (of - 1);
        let priority = ["high", "normal", "normal", "low"][usize::try_from(vary(4)).unwrap_or(0)];
        let order_key = ["", "", "a", "b"][usize::try_from(vary(4)).unwrap_or(0)];
        let mut options = json!({ "max_attempts": 2 + vary(2), "order_key": order_key });
        if self.next.is_multiple_of(5) {
            options["ttl_ms"] = json!(20_000);
        }
        if self.next.is_multiple_of(7) {
            options["delay_ms"] = json!(3_000);
        }
        let args =
            json!({ "id": id, "recipient": recipient, "payload": payload, "priority": priority, "options": options });
        self.about(who, "send_message", Op::Send { id, recipient, payload }, args)
    }

    fn receive(&mut self, who: &'static str) -> anyhow::Result<Call> {
        let lease_ms = [3_000, 30_000][self.rng.usize(..2)];
        let args = json!({ "max": 1 + self.rng.usize(..3), "lease_ms": lease_ms });
        self.about(who, "receive_messages", Op::Receive { who, at: self.now }, args)
    }

    fn about(&self, who: &'static str, verb: &'static str, op: Op, args: Value) -> anyhow::Result<Call> {
        let store = self.store.clone();
        let future = Box::pin(async move { call_verb(&store, who, verb, args).await });
        Ok(Call { op, future })
    }
}

async fn call_verb(store: &Store, who: &str, verb: &str, args: Value) -> Answer {
    let by = by(who);
    fn shown<T: serde::Serialize>(reply: Result<T, switchboard_bus::Error>) -> Answer {
        reply.map_err(code).and_then(|reply| serde_json::to_value(reply).map_err(|error| error.to_string()))
    }
    macro_rules! call {
        ($verb:path $(, $more:expr)?) => {
            match serde_json::from_value(args) {
                Ok(request) => shown($verb(store, &by, request $(, $more)?).await),
                Err(error) => Err(error.to_string()),
            }
        };
    }
    match verb {
        "send_message" => call!(switchboard_bus::send_message, MessageId::from_bits(0)),
        "receive_messages" => call!(switchboard_bus::receive_messages),
        "ack_message" => call!(switchboard_bus::ack_message),
        "nak_message" => call!(switchboard_bus::nak_message),
        "extend_message" => call!(switchboard_bus::extend_message),
        "cancel_message" => call!(switchboard_bus::cancel_message),
        "revive_message" => call!(switchboard_bus::revive_message),
        "check_inbox" => call!(switchboard_bus::check_inbox),
        _ => switchboard_bus::sweep(store).await.map(|_| Value::Null).map_err(code),
    }
}

/// Runs a call that no other call interleaves with.
fn finish(mut future: Pin<Box<dyn Future<Output = Answer>>>) -> Answer {
    for _ in 0..1_000 {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return answer;
        }
    }
    Err("a call does not end".to_owned())
}

fn agent_name(name: &str) -> AgentName {
    AgentName::new(name).unwrap_or_else(|_| AgentName::from_bits(0))
}

fn by(name: &str) -> switchboard_bus::Call {
    let call = switchboard_bus::Call::of(agent_name(name));
    let caller = if name == "person" { Caller::person(agent_name(name)) } else { call.caller.clone() };
    switchboard_bus::Call { limits: Limits { messages: 12, bytes: 1 << 20 }, caller, ..call }
}

fn code(error: switchboard_bus::Error) -> String {
    switchboard_protocol::error::Failure::from(error).code
}

fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> anyhow::Result<T> {
    Ok(serde_json::from_value(value)?)
}

/// Returns every message from the store.
pub(super) fn messages(world: &World) -> anyhow::Result<Vec<Message>> {
    let listed = switchboard_bus::list_messages(&world.store, &parsed(json!({ "limit": 1000 }))?);
    match listed {
        Ok(reply) => Ok(reply.messages),
        Err(error) => bail!("the messages can't be listed: {error}"),
    }
}
