//! Reads what an agent reports: text, tool calls, questions, usage. All of it is cut to size, and any part may be missing.

use std::collections::HashMap;
use std::path::Path;
use switchboard_protocol::worker::WorkerEvent;

use serde_json::Value;
use switchboard_protocol::frame::PermissionOption;

use crate::{beginning, ending};

/// Maximum length of a title in bytes.
const TITLE: usize = 200;

/// Maximum length of a question's detail in bytes.
const DETAIL: usize = 4 << 10;

/// Maximum length of a failed call's message in bytes.
const WHY: usize = 300;

/// Maximum number of paths of a tool call.
const PATHS: usize = 20;

/// Fields of a tool's arguments that name a file, in the spellings of the known agents.
const INPUT_PATHS: [&str; 6] = ["absolute_path", "filePath", "file_path", "filepath", "notebook_path", "path"];

/// Maximum number of options of a question.
const OPTIONS: usize = 16;

/// Maximum number of remembered tool calls; beyond it all are forgotten.
const CALLS: usize = 1024;

/// State of the agent's tool calls, because updates leave out what has not changed.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<String, Call>);

#[derive(Debug, Clone, Default, PartialEq)]
struct Call {
    title: String,
    kind: String,
    status: String,
    paths: Vec<String>,
}

/// Usage that the agent has reported.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Cost so far as the agent reports it, in millionths of a dollar.
    micro_usd: u64,
    /// True if the agent counts each request of this turn, so that the turn's answer must not be counted in addition.
    is_by_request: bool,
}

/// Returns the text of an update, if it has any.
pub(super) fn message_text(update: &Value) -> Option<&str> {
    (update["sessionUpdate"] == "agent_message_chunk").then(|| update["content"]["text"].as_str()).flatten()
}

// === impl Calls ===

impl Calls {
    /// Returns the event of a tool call's update; `None` if its state has not changed.
    pub(super) fn read(&mut self, update: &Value, cwd: &Path) -> Option<WorkerEvent> {
        if update["sessionUpdate"] != "tool_call" && update["sessionUpdate"] != "tool_call_update" {
            return None;
        }
        let id = beginning(update["toolCallId"].as_str()?, 100).to_owned();
        let before = self.0.get(&id).map(|call| call.status.clone());
        let mut call = self.merged(&id, update, cwd);
        if call.status.is_empty() {
            call.status = "pending".to_owned();
        }
        let is_news = before.is_none_or(|before| before != call.status);
        self.keep(id.clone(), call.clone());
        let Call { title, kind, status, paths } = call;
        // Gemini CLI names a call that fails before it begins nowhere.
        let title = if title.is_empty() { kind.clone() } else { title };
        let why = if status == "failed" { failure_text(update) } else { String::new() };
        is_news.then_some(WorkerEvent::ToolCalled { call: id, title, tool_kind: kind, status, paths, why })
    }

    /// Records what a question says about a call: two agents describe a call that needs a permission nowhere else.
    pub(super) fn learn(&mut self, call: &Value, cwd: &Path) {
        let Some(id) = call["toolCallId"].as_str().map(|id| beginning(id, 100).to_owned()) else { return };
        let status = self.0.get(&id).map(|call| call.status.clone()).unwrap_or_default();
        let call = Call { status, ..self.merged(&id, call, cwd) };
        self.keep(id, call);
    }

    /// Returns the kind of tool that a question is about, and every file that it names; no files if there may be more than are kept.
    pub(super) fn touched(&self, call: &Value, cwd: &Path) -> (String, Vec<String>) {
        let known = call["toolCallId"].as_str().and_then(|id| self.0.get(beginning(id, 100)));
        let kind = call["kind"].as_str().or(known.map(|call| call.kind.as_str())).unwrap_or_default();
        let input = &call["rawInput"];
        let named = INPUT_PATHS.iter().filter_map(|field| input[*field].as_str());
        let listed = ["locations", "content"].iter().flat_map(|field| call[*field].as_array().into_iter().flatten());
        let listed: Vec<_> = named.chain(listed.filter_map(|entry| entry["path"].as_str())).collect();
        let mut paths = known.map(|call| call.paths.clone()).unwrap_or_default();
        for path in &listed {
            let path = Path::new(path).strip_prefix(cwd).unwrap_or(Path::new(path)).to_string_lossy().into_owned();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        // A command may do anything, whatever its kind says.
        let is_edit = input["command"].is_null() && paths.len() < PATHS && paths.iter().all(|path| path.len() < 300);
        (beginning(kind, 20).to_owned(), if is_edit { paths } else { Vec::new() })
    }

    /// Combines the state of a call with an update.
    fn merged(&self, id: &str, update: &Value, cwd: &Path) -> Call {
        let mut call = self.0.get(id).cloned().unwrap_or_default();
        let text = |value: &Value, size| {
            value.as_str().filter(|text| !text.is_empty()).map(|text| beginning(text, size).to_owned())
        };
        let meta = &update["_meta"];
        let tool = || text(&meta["toolName"], TITLE).or_else(|| text(&meta["claudeCode"]["toolName"], TITLE));
        call.title = match text(&update["title"], TITLE) {
            Some(title) => title,
            None if call.title.is_empty() => tool().unwrap_or_default(),
            None => call.title,
        };
        call.kind = text(&update["kind"], 20).unwrap_or(call.kind);
        call.status = text(&update["status"], 20).unwrap_or(call.status);
        for path in paths(update, cwd) {
            if call.paths.len() < PATHS && !call.paths.contains(&path) {
                call.paths.push(path);
            }
        }
        if call.kind.is_empty() {
            call.kind = "other".to_owned();
        }
        call
    }

    fn keep(&mut self, id: String, call: Call) {
        if self.0.len() >= CALLS && !self.0.contains_key(&id) {
            self.0.clear();
        }
        self.0.insert(id, call);
    }

    fn title(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(|call| call.title.as_str())
    }
}

/// Returns the message of a failed call: its text, its raw output, or what its terminal shows (codex-acp 2.6). The end is the most useful part.
fn failure_text(update: &Value) -> String {
    let content = update["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text: String = content.iter().filter_map(|part| part["content"]["text"].as_str()).collect();
    let others = [&update["rawOutput"], &update["_meta"]["terminal_output_delta"]["data"]];
    if text.trim().is_empty() {
        text = others.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned();
    }
    ending(text.trim(), WHY).to_owned()
}

fn paths(update: &Value, cwd: &Path) -> Vec<String> {
    let listed = |field: &str| update[field].as_array().cloned().unwrap_or_default().into_iter().take(PATHS);
    let all = listed("locations").chain(listed("content"));
    all.filter_map(|entry| {
        let path = Path::new(entry["path"].as_str()?);
        let path = path.strip_prefix(cwd).unwrap_or(path);
        Some(beginning(&path.to_string_lossy(), 300).to_owned())
    })
    .collect()
}

/// Returns the options that an agent offers; options without an id are left out.
pub(super) fn options(params: &Value) -> Vec<PermissionOption> {
    let offered = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let read = |option: &Value| {
        let id = option["optionId"].as_str().filter(|id| !id.is_empty() && id.len() <= 200)?;
        Some(PermissionOption {
            id: id.to_owned(),
            name: beginning(option["name"].as_str().unwrap_or(id), TITLE).to_owned(),
            kind: beginning(option["kind"].as_str().unwrap_or_default(), 20).to_owned(),
        })
    };
    offered.iter().filter_map(read).take(OPTIONS).collect()
}

/// Returns title and detail of a question: the command, the diff, or the tool's arguments.
pub(super) fn question(call: &Value, calls: &Calls, cwd: &Path) -> (String, String) {
    let known = call["toolCallId"].as_str().and_then(|id| calls.title(id));
    // One agent uses the bare arguments, which are the detail, as the title.
    let says = |title: &&str| !title.is_empty() && !title.starts_with('{');
    let title = call["title"].as_str().filter(says).or(known.filter(says)).unwrap_or("use a tool");
    let title = match Path::new(title).strip_prefix(cwd) {
        // Another agent uses the bare path.
        Ok(path) => format!("{} {}", call["kind"].as_str().unwrap_or("use"), path.display()),
        Err(_) => title.to_owned(),
    };
    let input = &call["rawInput"];
    let mut detail = match &input["command"] {
        Value::String(command) => command.clone(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    };
    for entry in call["content"].as_array().map(Vec::as_slice).unwrap_or_default() {
        if entry["type"] == "diff" && detail.len() < DETAIL {
            let part = |field: &str| beginning(entry[field].as_str().unwrap_or_default(), DETAIL);
            let (path, old, new) = (part("path"), part("oldText"), part("newText"));
            detail.push_str(&format!("{path}\n"));
            for (mark, text) in [('-', old), ('+', new)] {
                text.lines().for_each(|line| detail.push_str(&format!("{mark}{line}\n")));
            }
        }
    }
    if detail.is_empty() && !input.is_null() {
        detail = input.to_string();
    }
    (beginning(&title, TITLE).to_owned(), beginning(&detail, DETAIL).to_owned())
}

// === impl Usage ===

impl Usage {
    /// Handles a `usage_update`: its cost is the session's so far.
    pub(super) fn update(&mut self, update: &Value) -> Option<WorkerEvent> {
        if update["sessionUpdate"] == "usage_update" {
            let cost = &update["cost"];
            let amount = cost["amount"].as_f64().filter(|_| cost["currency"].as_str().is_none_or(|c| c == "USD"))?;
            let micro_usd = micro(amount)?;
            let since = micro_usd.saturating_sub(self.micro_usd);
            self.micro_usd = self.micro_usd.max(micro_usd);
            return (since > 0).then_some(WorkerEvent::CostReported {
                micro_usd: Some(since),
                input_tokens: 0,
                output_tokens: 0,
            });
        }
        let told = tokens(&update["_meta"]["usage"]);
        self.is_by_request |= told.is_some();
        told
    }

    /// Reads the turn's usage from the answer to a prompt, in the spellings of the five known agents.
    pub(super) fn result(&mut self, result: &Value) -> Option<WorkerEvent> {
        let places = [&result["usage"], &result["_meta"]["usage"], &result["_meta"]["quota"]["token_count"]];
        let is_told = std::mem::take(&mut self.is_by_request);
        places.into_iter().find_map(tokens).filter(|_| !is_told)
    }
}

/// Reads token counts. Some agents count cached tokens among the input and some beside it; the total shows which.
fn tokens(usage: &Value) -> Option<WorkerEvent> {
    let number = |names: &[&str]| names.iter().find_map(|name| usage[*name].as_u64());
    let input = number(&["inputTokens", "input_tokens"])?;
    let output_tokens = number(&["outputTokens", "output_tokens"]).unwrap_or(0);
    let cached = number(&["cachedReadTokens", "cachedTokens", "cached_read_tokens"]).unwrap_or(0);
    let written = number(&["cachedWriteTokens", "cached_write_tokens"]).unwrap_or(0);
    let most = input.saturating_add(cached).saturating_add(written);
    let by_total = number(&["totalTokens", "total_tokens"]).map(|total| total.saturating_sub(output_tokens));
    let input_tokens = by_total.unwrap_or(most).clamp(input, most);
    let is_some = input_tokens > 0 || output_tokens > 0;
    is_some.then_some(WorkerEvent::CostReported { micro_usd: None, input_tokens, output_tokens })
}

/// Converts dollars to whole millionths; `None` for an impossible amount.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before")]
fn micro(dollars: f64) -> Option<u64> {
    let micro = (dollars * 1e6).round();
    (0.0..1e15).contains(&micro).then_some(micro as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns millionths of a dollar, and tokens.
    fn cost(event: &WorkerEvent) -> (Option<u64>, u64) {
        let WorkerEvent::CostReported { micro_usd, input_tokens, output_tokens } = event else { panic!("{event:?}") };
        (*micro_usd, input_tokens + output_tokens)
    }

    #[test]
    fn a_tool_call_is_told_when_its_state_changes_and_remembers_what_updates_leave_out() {
        let mut calls = Calls::default();
        let cwd = Path::new("/w");
        let first = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Write a", "kind": "edit",
            "locations": [{ "path": "/w/a.rs" }, { "path": "/etc/x" }] });
        let same = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "content": [] });
        let done = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed" });

        let told = [&first, &same, &done].map(|update| calls.read(update, cwd));

        let [Some(WorkerEvent::ToolCalled { status, paths, .. }), None, Some(last)] = told else { panic!("{told:?}") };
        assert_eq!((status.as_str(), paths), ("pending", vec!["a.rs".to_owned(), "/etc/x".to_owned()]));
        let WorkerEvent::ToolCalled { title, tool_kind: kind, status, .. } = last else { panic!() };
        assert_eq!((title.as_str(), kind.as_str(), status.as_str()), ("Write a", "edit", "completed"));
    }

    #[test]
    fn a_call_that_failed_tells_why_wherever_the_agent_puts_it() {
        let cwd = Path::new("/w");
        let why = |more: Value| {
            let mut update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed" });
            update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            match Calls::default().read(&update, cwd) {
                Some(WorkerEvent::ToolCalled { why, .. }) => why,
                other => panic!("{other:?}"),
            }
        };

        let unnamed = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed" });
        let Some(WorkerEvent::ToolCalled { title, .. }) = Calls::default().read(&unnamed, cwd) else { panic!() };
        assert_eq!(title, "other", "a call without a title is named by its kind");
        let text = json!({ "content": [{ "type": "content", "content": { "type": "text", "text": "EROFS\n" } }] });
        assert_eq!(why(text), "EROFS");
        assert_eq!(why(json!({ "rawOutput": "it is read-only" })), "it is read-only");
        let terminal = json!({ "terminal_output_delta": { "data": "bwrap: Read-only file system\n" } });
        let shown = json!({ "content": [{ "type": "terminal", "terminalId": "1" }], "_meta": terminal });
        assert_eq!(why(shown), "bwrap: Read-only file system");
        assert_eq!(why(json!({ "status": "completed", "rawOutput": "fine" })), "", "it did not fail");
        assert_eq!(why(json!({ "rawOutput": "x".repeat(9000) })).len(), WHY);
    }

    #[test]
    fn prices_are_totals_and_told_as_differences_in_whole_millionths() {
        let mut usage = Usage::default();
        let priced =
            |amount: f64| json!({ "sessionUpdate": "usage_update", "cost": { "amount": amount, "currency": "USD" } });

        let told: Vec<_> = [0.0222, 0.0222, 0.0333, -1.0, 1e300, 0.0333]
            .map(|a| usage.update(&priced(a)))
            .into_iter()
            .flatten()
            .collect();

        let micros: Vec<_> = told.iter().filter_map(|event| cost(event).0).collect();
        assert_eq!(micros, [22_200, 11_100]);
        assert_eq!(
            usage.update(&json!({ "sessionUpdate": "usage_update", "cost": { "amount": 1, "currency": "EUR" } })),
            None
        );
    }

    #[test]
    fn every_turn_and_request_adds_its_tokens_in_the_spellings_of_real_agents() {
        let turn = |result: Value| {
            let told = Usage::default().result(&result);
            told.map(|event| cost(&event).1).unwrap_or_default()
        };
        let request = json!({ "sessionUpdate": "agent_message_chunk", "_meta": { "usage":
            { "inputTokens": 1000, "outputTokens": 20, "totalTokens": 1020, "cachedReadTokens": 400 } } });
        let mut by_request = Usage::default();

        let requests: u64 =
            [&request, &request].map(|one| by_request.update(one)).iter().flatten().map(|e| cost(e).1).sum();

        assert_eq!(requests, 2040, "the cache is part of the input, and a second equal request counts too");
        assert_eq!(by_request.result(&json!({ "usage": { "inputTokens": 2000 } })), None, "counted before");
        let beside = json!({ "inputTokens": 600, "outputTokens": 20, "totalTokens": 1020, "cachedReadTokens": 400 });
        assert_eq!(turn(json!({ "usage": beside })), 1020, "the cache is beside the input");
        assert_eq!(turn(json!({ "usage": { "inputTokens": 600, "cachedReadTokens": 400 } })), 1000);
        let quota = json!({ "quota": { "token_count": { "input_tokens": 100, "output_tokens": 10 } } });
        assert_eq!(turn(json!({ "_meta": quota })), 110);
        assert_eq!(turn(json!({ "usage": "none" })), 0);
    }

    #[test]
    fn a_call_that_only_a_question_describes_keeps_its_title_and_one_without_is_named_by_its_tool() {
        let mut calls = Calls::default();
        let cwd = Path::new("/w");
        let done = |id: &str, tool: &str| {
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed",
            "_meta": { "toolName": tool } })
        };
        calls.learn(&json!({ "toolCallId": "1", "title": "Writing to a", "kind": "edit", "status": "pending" }), cwd);

        let told = [done("1", "write_file"), done("2", "send_message")].map(|update| calls.read(&update, cwd));

        let titles = told.map(|event| match event {
            Some(WorkerEvent::ToolCalled { title, status, .. }) => (title, status),
            other => panic!("{other:?}"),
        });
        let expected = ["Writing to a", "send_message"].map(|title| (title.to_owned(), "completed".to_owned()));
        assert_eq!(titles, expected);
    }

    #[test]
    fn a_question_titled_with_a_path_or_with_arguments_gets_a_title_for_people() {
        let calls = Calls::default();
        let cwd = Path::new("/w");
        let path = json!({ "title": "/w/src/a.rs", "kind": "edit" });
        let arguments = json!({ "title": "{\"x\":1}", "rawInput": { "x": 1 } });

        assert_eq!(question(&path, &calls, cwd).0, "edit src/a.rs");
        assert_eq!(question(&arguments, &calls, cwd), ("use a tool".to_owned(), "{\"x\":1}".to_owned()));
    }

    #[test]
    fn a_question_shows_the_command_or_the_diff_cut_to_size() {
        let calls = Calls::default();
        let command = json!({ "title": "Run", "rawInput": { "command": ["rm", "-rf", "x"] } });
        let diff = json!({ "content": [{ "type": "diff", "path": "a", "oldText": "1\n", "newText": "2\n" }] });
        let huge = json!({ "title": "ü".repeat(500), "rawInput": { "x": "ü".repeat(9000) } });

        assert_eq!(question(&command, &calls, Path::new("/w")), ("Run".to_owned(), "rm -rf x".to_owned()));
        assert_eq!(question(&diff, &calls, Path::new("/w")), ("use a tool".to_owned(), "a\n-1\n+2\n".to_owned()));
        let (title, detail) = question(&huge, &calls, Path::new("/w"));
        assert!(title.len() <= 200 && detail.len() <= 4096);
    }
}
