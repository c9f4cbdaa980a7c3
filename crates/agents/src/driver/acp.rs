//! The Agent Client Protocol, version 1: JSON-RPC lines over standard input and output.
//!
//! Has its own types for the few methods used; everything an agent sends is read leniently and bounded. Peculiarities of single
//! agents are described where they are handled.

mod files;
mod handshake;
mod login;
mod model;
mod service;
mod system_error;
mod tally;
mod updates;
mod wire;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;
use switchboard_protocol::worker::WorkerEvent;

use serde_json::{Value, json};
use switchboard_process::clock::Deadline;
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::lines::Lines;
use switchboard_process::spawn::{Capture, Terminated};
use switchboard_protocol::frame::McpCommand;
use switchboard_protocol::isolation::Tool;

use super::contract::{ANSWER_KEPT, Driver, DriverOutput};
use super::pipe::{Pipe, PipeEvent, Stream};
use super::start::Start;
use crate::{Result, catalog};
use updates::Usage;
use wire::Incoming;

/// Maximum length of an agent's line in bytes; a longer one is counted and skipped.
pub const MAX_LINE_BYTES: usize = 8 << 20;

/// Time limit for an agent to open a session: OpenCode with a plugin and without a network was measured at 85 s.
const HANDSHAKE: Duration = Duration::from_secs(120);

/// Maximum number of open questions; a further one is cancelled.
const MAX_ASKS: usize = 32;

/// Maximum size in bytes of the kept text of an answer that reports a missing login.
const LOGIN_KEPT: usize = 2 << 10;

/// An agent that speaks ACP.
#[derive(Debug)]
pub struct Acp {
    pipe: Pipe,
    lines: Lines,
    unread: u64,
    cwd: PathBuf,
    mcp: Option<McpCommand>,
    /// All built-in tools that the agent may offer its model, if it is constrained.
    tools: Option<Vec<&'static str>>,
    /// True if none of its tools writes files.
    is_read_only: bool,
    next_id: u64,
    phase: Phase,
    opened_by: Deadline,
    login: login::Login,
    model: Option<super::Model>,
    session: String,
    asks: HashMap<String, Ask>,
    asked: u64,
    calls: updates::Calls,
    usage: Usage,
    system_error: system_error::SystemError,
    tally: tally::Tally,
    text: Capture,
    ready: VecDeque<DriverOutput>,
}

/// Creates the buffer for the agent's text in a turn.
fn answer_buffer() -> Capture {
    Capture::new(ANSWER_KEPT / 2)
}

/// An unanswered question of the agent.
#[derive(Debug)]
struct Ask {
    id: Value,
    options: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The `initialize` request with this id is unanswered.
    Initializing(u64),
    /// The `session/new` request with this id is unanswered.
    Opening(u64),
    /// The request with this id, which chooses a model, is unanswered.
    Choosing(u64),
    Idle,
    /// The `session/prompt` request with this id is unanswered.
    Turn {
        id: u64,
        is_started: bool,
        is_cancelled: bool,
    },
    Broken,
}

/// Returns the names of the tools that a constrained agent is limited to, if it has to be told.
fn four_tools(start: &Start) -> Option<Vec<&'static str>> {
    start.sandbox.as_ref().and_then(|_| catalog::of_command(&start.argv)?.cut_to(&start.tools))
}

impl Driver for Acp {
    const SHOWS_MAIL: bool = true;
    const TAKES_PROMPTS: bool = true;

    fn start(start: &Start) -> Result<Self> {
        let mut acp = Self {
            pipe: Pipe::start(start)?,
            lines: Lines::new(MAX_LINE_BYTES),
            unread: 0,
            cwd: start.cwd.clone(),
            mcp: start.mcp.clone(),
            tools: four_tools(start),
            is_read_only: !Tool::can_write(&start.tools),
            next_id: 0,
            phase: Phase::Broken,
            opened_by: Deadline::after(HANDSHAKE),
            login: login::Login::of(&start.argv),
            model: start.model.clone(),
            session: String::new(),
            asks: HashMap::new(),
            asked: 0,
            calls: updates::Calls::default(),
            usage: Usage::default(),
            system_error: system_error::SystemError::default(),
            tally: tally::Tally::of(start),
            text: answer_buffer(),
            ready: VecDeque::new(),
        };
        let id = acp.request("initialize", wire::initialize());
        acp.phase = Phase::Initializing(id);
        Ok(acp)
    }

    fn pid(&self) -> u32 {
        self.pipe.pid()
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        self.pipe.fingerprint()
    }

    async fn next(&mut self) -> DriverOutput {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event;
            }
            let heard = if matches!(self.phase, Phase::Initializing(_) | Phase::Opening(_) | Phase::Choosing(_)) {
                match tokio::time::timeout(self.opened_by.left(), self.pipe.next_event()).await {
                    Ok(heard) => heard,
                    Err(_) => {
                        let limit = HANDSHAKE.as_secs();
                        self.break_off("agent.timeout", format!("the agent opened no session within {limit} s"));
                        continue;
                    }
                }
            } else if self.tally.is_counting() {
                tokio::select! {
                    biased;
                    counted = self.tally.counted() => {
                        if let Some((answer, used)) = counted {
                            self.turn_counted(&answer, used);
                        }
                        continue;
                    }
                    heard = self.pipe.next_event() => heard,
                }
            } else {
                self.pipe.next_event().await
            };
            self.take(heard);
        }
    }

    fn prompt(&mut self, text: &str) -> bool {
        if self.phase != Phase::Idle {
            return false;
        }
        self.text = answer_buffer();
        let prompt = json!([{ "type": "text", "text": text }]);
        let id = self.request("session/prompt", json!({ "sessionId": self.session, "prompt": prompt }));
        if self.phase != Phase::Idle {
            return false;
        }
        self.phase = Phase::Turn { id, is_started: false, is_cancelled: false };
        true
    }

    fn permit(&mut self, ask: &str, option: Option<&str>) -> bool {
        let Some(open) = self.asks.remove(ask) else { return false };
        let chosen = option.filter(|option| open.options.iter().any(|offered| offered == option));
        let outcome = match chosen {
            Some(option) => json!({ "outcome": "selected", "optionId": option }),
            None => json!({ "outcome": "cancelled" }),
        };
        self.answer(&open.id, Ok(json!({ "outcome": outcome })));
        true
    }

    fn cancel(&mut self) {
        let Phase::Turn { id, is_started, is_cancelled: false } = self.phase else { return };
        self.phase = Phase::Turn { id, is_started, is_cancelled: true };
        let params = json!({ "sessionId": self.session });
        self.send(0, &json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
        for ask in self.asks.keys().cloned().collect::<Vec<_>>() {
            self.permit(&ask, None);
        }
    }

    fn close(&mut self) {
        self.pipe.close();
    }

    async fn end(&mut self, grace: Duration) -> Terminated {
        self.pipe.end(grace).await
    }

    async fn finish(&mut self) -> (Terminated, String) {
        self.pipe.finish().await
    }

    fn malformed(&self) -> u64 {
        self.unread + self.lines.skipped()
    }
}

// === impl Acp ===

impl Acp {
    fn take(&mut self, heard: PipeEvent) {
        match heard {
            PipeEvent::Bytes(Stream::Out, bytes) => {
                let lines = self.lines.push_all(&bytes);
                self.ready.push_back(DriverOutput::Raw { stream: Stream::Out, bytes });
                for line in lines {
                    self.read(&line);
                }
            }
            PipeEvent::Bytes(stream, bytes) => self.ready.push_back(DriverOutput::Raw { stream, bytes }),
            PipeEvent::Written(number) => {
                if matches!(self.phase, Phase::Turn { id, .. } if id == number) {
                    self.started();
                }
            }
            PipeEvent::Exited => {
                if let Some(line) = self.lines.rest() {
                    self.read(&line);
                }
                self.exited();
            }
        }
    }

    fn exited(&mut self) {
        if let Some(answer) = self.tally.give_up() {
            self.turn_counted(&answer, None);
        }
        match self.phase {
            Phase::Turn { is_cancelled, .. } => self.end_turn(if is_cancelled { "cancelled" } else { "error" }, None),
            Phase::Initializing(_) | Phase::Opening(_) | Phase::Choosing(_) => match self.pipe.stderr() {
                said if login::is_said(&said) => self.needs_login(said.trim()),
                _ => self.break_off("agent.protocol", "the agent ended before it opened a session".to_owned()),
            },
            Phase::Idle | Phase::Broken => {}
        }
        self.phase = Phase::Broken;
        self.ready.push_back(DriverOutput::Exited);
    }

    /// Reads one line. A line that is no JSON-RPC (a banner, a stray print) is counted and skipped.
    fn read(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let read = serde_json::from_slice(line)
            .or_else(|error| match std::str::from_utf8(line) {
                Ok(_) => Err(error),
                Err(_) => serde_json::from_str(&String::from_utf8_lossy(line)),
            })
            .and_then(serde_json::from_value::<Incoming>);
        match read {
            Ok(Incoming { method: Some(method), id: Some(id), params, .. }) => self.on_request(&method, id, &params),
            Ok(Incoming { method: Some(method), id: None, params, .. }) => self.on_notification(&method, &params),
            Ok(Incoming { method: None, id: Some(id), result, error, .. }) => {
                let answer = match (result, error) {
                    (_, Some(error)) => Err(error),
                    (result, None) => Ok(result.unwrap_or(Value::Null)),
                };
                self.answered(&id, answer);
            }
            Ok(Incoming { method: None, id: None, .. }) | Err(_) => self.unread += 1,
        }
    }

    fn on_notification(&mut self, method: &str, params: &Value) {
        if !matches!(self.phase, Phase::Turn { .. } | Phase::Idle) {
            return;
        }
        if method == "_claude/sdkMessage"
            && let Some(refused) = login::of_retry(params)
        {
            self.started();
            return self.needs_login(&refused);
        }
        if method != "session/update" {
            return;
        }
        let update = &params["update"];
        self.system_error.read(update);
        if self.has_turn()
            && let Some(text) = updates::message_text(update)
        {
            self.text.push(text.as_bytes());
        }
        if let Some(event) = self.calls.read(update, &self.cwd) {
            self.started();
            self.ready.push_back(DriverOutput::Event(event));
        }
        self.ready.extend(self.usage.update(update).map(DriverOutput::Event));
    }

    fn on_request(&mut self, method: &str, id: Value, params: &Value) {
        let answer = match method {
            "session/request_permission" => return self.ask(id, params),
            "fs/read_text_file" => files::read(&self.cwd, params),
            "fs/write_text_file" if self.is_read_only => Err(files::read_only()),
            "fs/write_text_file" => files::write(&self.cwd, params),
            _ => Err(wire::Fault::new(
                wire::METHOD_NOT_FOUND,
                format!("{} is not offered", crate::beginning(method, 80)),
            )),
        };
        self.answer(&id, answer);
    }

    fn ask(&mut self, id: Value, params: &Value) {
        let options = updates::options(params);
        let cancelled = matches!(self.phase, Phase::Turn { is_cancelled: true, .. }) || !self.has_turn();
        if cancelled || options.is_empty() || self.asks.len() >= MAX_ASKS {
            return self.answer(&id, Ok(json!({ "outcome": { "outcome": "cancelled" } })));
        }
        self.started();
        self.asked += 1;
        let ask = format!("ask-{}", self.asked);
        self.calls.learn(&params["toolCall"], &self.cwd);
        let (title, detail) = updates::question(&params["toolCall"], &self.calls, &self.cwd);
        self.asks.insert(ask.clone(), Ask { id, options: options.iter().map(|option| option.id.clone()).collect() });
        let (tool_kind, paths) = self.calls.touched(&params["toolCall"], &self.cwd);
        let asked = WorkerEvent::PermissionAsked { ask, title, options, detail, tool_kind, paths };
        self.ready.push_back(DriverOutput::Event(asked));
    }

    /// Handles the answer to a request. Some agents return our numeric ids as text.
    fn answered(&mut self, id: &Value, answer: Result<Value, wire::Fault>) {
        let Some(id) = id.as_u64().or_else(|| id.as_str()?.parse().ok()) else { return };
        match self.phase {
            Phase::Initializing(expected) if id == expected => self.initialized(answer),
            Phase::Opening(expected) if id == expected => self.opened(answer),
            Phase::Choosing(expected) if id == expected => self.chosen(answer),
            Phase::Turn { id: expected, is_cancelled, .. } if id == expected => {
                self.started();
                self.turn_answered(answer, is_cancelled);
            }
            Phase::Initializing(_)
            | Phase::Opening(_)
            | Phase::Choosing(_)
            | Phase::Turn { .. }
            | Phase::Idle
            | Phase::Broken => {}
        }
    }

    /// Handles the answer to a prompt. One agent reports a cancelled turn as an error after the cancel.
    fn turn_answered(&mut self, answer: Result<Value, wire::Fault>, is_cancelled: bool) {
        let failed = self.system_error.take().filter(|_| !is_cancelled);
        match answer.and_then(|result| failed.map_or(Ok(result), Err)) {
            Ok(_) if login::is_answer(&self.text.text()) => {
                let text = self.text.text();
                self.needs_login(crate::beginning(text.trim(), LOGIN_KEPT));
            }
            Ok(result) => {
                let text = self.text.text();
                if let Some(refusal) = service::of_answer(&text) {
                    return self.refused(refusal, crate::beginning(text.trim(), LOGIN_KEPT).to_owned());
                }
                if let Some(result) = self.tally.begin(&self.session, result) {
                    self.turn_counted(&result, None);
                }
            }
            Err(_) if is_cancelled => self.end_turn("cancelled", None),
            Err(fault) => match (login::is_wanted(&fault), service::of_fault(&fault)) {
                (true, None) => self.needs_login(&fault.to_string()),
                (_, Some(refusal)) => self.refused(refusal, fault.to_string()),
                (false, None) => self.end_turn("error", Some(fault.to_string())),
            },
        }
    }

    /// Ends the turn, after the agent's use has been counted as well as possible.
    fn turn_counted(&mut self, result: &Value, used: Option<WorkerEvent>) {
        let told = self.usage.result(result);
        self.ready.extend(used.or(told).map(DriverOutput::Event));
        let stop = crate::beginning(result["stopReason"].as_str().unwrap_or("end_turn"), 40).to_owned();
        self.end_turn(&stop, None);
    }

    /// Marks the prompt as delivered: an answer, a tool or a question proves it, even before our writer has reported it.
    fn started(&mut self) {
        if let Phase::Turn { id, is_started: false, is_cancelled } = self.phase {
            self.phase = Phase::Turn { id, is_started: true, is_cancelled };
            self.ready.push_back(DriverOutput::Event(WorkerEvent::TurnStarted { turn: 0, mail: Vec::new() }));
        }
    }

    fn end_turn(&mut self, stop: &str, text: Option<String>) {
        let was_started = matches!(self.phase, Phase::Turn { is_started: true, .. });
        let text = text.unwrap_or_else(|| std::mem::replace(&mut self.text, answer_buffer()).text());
        for ask in self.asks.keys().cloned().collect::<Vec<_>>() {
            self.permit(&ask, None);
        }
        if self.phase != Phase::Broken {
            self.phase = Phase::Idle;
        }
        if was_started {
            self.ready.push_back(DriverOutput::Event(WorkerEvent::TurnEnded { turn: 0, stop: stop.to_owned(), text }));
        }
    }

    fn has_turn(&self) -> bool {
        matches!(self.phase, Phase::Turn { .. })
    }

    fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(id, &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn answer(&mut self, id: &Value, answer: Result<Value, wire::Fault>) {
        let message = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(fault) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": fault.code, "message": fault.message } })
            }
        };
        self.send(0, &message);
    }

    fn send(&mut self, number: u64, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        if !self.pipe.send(number, line) && self.phase != Phase::Broken {
            self.break_off("agent.protocol", "the agent does not read what it is sent".to_owned());
        }
    }

    /// Reports a missing login: no retry can help before a person has logged in.
    fn needs_login(&mut self, says: &str) {
        self.break_off("agent.login", self.login.with_login_hint(says));
    }

    /// Reports that the agent's service rejects requests for some time, or until somebody pays.
    fn refused(&mut self, refusal: service::Refusal, says: String) {
        match refusal {
            service::Refusal::Quota => self.break_off("agent.quota", says),
            service::Refusal::RateLimit { retry_after_ms } => {
                self.break_off_for("agent.rate-limited", says, retry_after_ms);
            }
        }
    }

    fn break_off(&mut self, code: &'static str, what: String) {
        self.break_off_for(code, what, None);
    }

    fn break_off_for(&mut self, code: &'static str, what: String, retry_after_ms: Option<u64>) {
        if self.has_turn() {
            self.end_turn("error", None);
        }
        self.phase = Phase::Broken;
        self.ready.push_back(DriverOutput::Event(WorkerEvent::Faulted { code: code.to_owned(), what, retry_after_ms }));
    }
}
