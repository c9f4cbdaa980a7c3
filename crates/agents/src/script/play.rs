//! Plays the steps of a section.

mod edit;
mod mail;

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::env::Env;
use switchboard_process::spawn::{Spawn, StopFlag};
use switchboard_process::task;
use tokio::sync::watch;

use super::rpc::Out;
use super::text::{OnReject, Step, fill, fill_value};
use super::tools::Tools;
use edit::Edit;

/// Time limit for a command.
const SHELL: Duration = Duration::from_secs(600);

/// Ending of a turn.
pub(super) enum Ending {
    /// The turn stops for this reason.
    Stop(&'static str),
    /// The turn fails with this error.
    Failed(String),
    /// The process exits with this code.
    Exit(u8),
}

/// What follows a step.
enum Next {
    Go,
    /// Leave out the next step.
    Skip,
    End(Ending),
}

/// Plays turns in one session.
pub(super) struct Player {
    out: Out,
    cwd: PathBuf,
    tools: Option<Tools>,
    values: Value,
    calls: u32,
    ignores_stop: Rc<Cell<bool>>,
    /// Message of the last `wait_mail`.
    last_mail: Value,
    handled: Vec<String>,
}

fn die() -> Result<(), String> {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).map_err(|e| e.to_string())
}

/// Ends a command when the step that waits for it is abandoned.
struct StopOnDrop(StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.raise();
    }
}

// === impl Player ===

impl Player {
    pub(super) fn new(out: Out, cwd: PathBuf, tools: Option<Tools>) -> Self {
        let ignores_stop = Rc::new(Cell::new(false));
        let (values, last_mail) = (json!({}), Value::Null);
        Self { out, cwd, tools, values, calls: 0, ignores_stop, last_mail, handled: Vec::new() }
    }

    pub(super) fn say(&self, text: &str) {
        let content = json!({ "type": "text", "text": format!("{text}\n") });
        self.update(json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    }

    pub(super) async fn play(
        &mut self,
        steps: &[Step],
        task: &str,
        attempt: u32,
        mut cancelled: watch::Receiver<bool>,
    ) -> Ending {
        self.values["task"] = task.into();
        self.values["attempt"] = attempt.into();
        self.values["agent"] = switchboard_process::env::var("SWITCHBOARD_AGENT").unwrap_or_default().into();
        let ignores_stop = Rc::clone(&self.ignores_stop);
        let stopped = async move {
            // The sender lives as long as the loop that polls this future.
            while cancelled.wait_for(|cancelled| *cancelled).await.is_ok() {
                if !ignores_stop.get() {
                    return;
                }
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            ending = self.steps(steps) => ending,
            () = stopped => Ending::Stop("cancelled"),
        }
    }

    async fn steps(&mut self, steps: &[Step]) -> Ending {
        let mut steps = steps.iter();
        while let Some(step) = steps.next() {
            match self.step(step).await {
                Ok(Next::Go) => {}
                Ok(Next::Skip) => drop(steps.next()),
                Ok(Next::End(ending)) => return ending,
                Err(why) => {
                    self.say(&format!("I could not go on: {why}"));
                    return Ending::Failed(why);
                }
            }
        }
        Ending::Stop("end_turn")
    }

    async fn step(&mut self, step: &Step) -> Result<Next, String> {
        match step {
            Step::Say { text } | Step::Lie { text } => self.say(&self.fill(text)?),
            Step::Write { path, content } => self.edit(path, Edit::Write(self.fill(content)?))?,
            Step::Append { path, content } => self.edit(path, Edit::Append(self.fill(content)?))?,
            Step::Replace { path, find, with } => {
                self.edit(path, Edit::Replace { find: self.fill(find)?, with: self.fill(with)? })?;
            }
            Step::Delete { path } => self.edit(path, Edit::Delete)?,
            Step::Shell { argv, save_as } => self.shell(argv, save_as.as_deref()).await?,
            Step::Mcp { tool, args, save_as } => {
                let answer = self.mcp(tool, &fill_value(args, &self.values)?).await?;
                if let Some(name) = save_as {
                    self.values[name] = answer;
                }
            }
            Step::WaitMail { from, timeout_s, save_as } => {
                self.wait_mail(from.as_deref(), Duration::from_secs(*timeout_s), save_as).await?;
            }
            Step::Reply { text } => self.reply(text).await?,
            Step::AskPermission { title, path, on_reject } => {
                let path = path.as_deref().map(|path| self.fill(path)).transpose()?;
                return self.ask(title, path.as_deref(), *on_reject).await;
            }
            Step::SleepMs { ms } => tokio::time::sleep(Duration::from_millis(*ms)).await,
            Step::Cost { usd } => {
                let cost = json!({ "amount": usd, "currency": "USD" });
                self.update(json!({ "sessionUpdate": "usage_update", "used": 1, "size": 1, "cost": cost }));
            }
            Step::Tokens { input, output } => {
                let usage = json!({ "inputTokens": input, "outputTokens": output });
                let content = json!({ "type": "text", "text": "" });
                self.update(
                    json!({ "sessionUpdate": "agent_message_chunk", "content": content, "_meta": { "usage": usage } }),
                );
            }
            Step::Fail { message } => return Ok(Next::End(Ending::Failed(self.fill(message)?))),
            Step::Refuse { message } => {
                self.say(&self.fill(message)?);
                return Ok(Next::End(Ending::Stop("refusal")));
            }
            Step::Exit { code } => return Ok(Next::End(Ending::Exit(*code))),
            Step::Hang {} => std::future::pending().await,
            Step::Die {} => die()?,
            Step::IgnoreStop {} => self.ignore_stop()?,
            Step::Garbage {} => self.out.raw(b"\xff\xfe{\"jsonrpc\": nonsense \x00\n\n[]\nplain words\n"),
            Step::LongLine { bytes } => self.say(&"x".repeat(*bytes)),
            Step::HalfLine {} => {
                self.out.raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"session/upd");
                return Ok(Next::End(Ending::Exit(0)));
            }
            Step::Flood { lines } => (0..*lines).for_each(|line| self.say(&format!("line {line}"))),
        }
        Ok(Next::Go)
    }

    fn fill(&self, text: &str) -> Result<String, String> {
        fill(text, &self.values)
    }

    fn ignore_stop(&self) -> Result<(), String> {
        use tokio::signal::unix::{SignalKind, signal};
        self.ignores_stop.set(true);
        let mut terminate = signal(SignalKind::terminate()).map_err(|e| e.to_string())?;
        // Deliberately never ends before the process: it swallows SIGTERM.
        task::spawn(async move { while terminate.recv().await.is_some() {} });
        Ok(())
    }

    async fn shell(&mut self, argv: &[String], save_as: Option<&str>) -> Result<(), String> {
        let argv = argv.iter().map(|arg| self.fill(arg)).collect::<Result<Vec<_>, _>>()?;
        let call = self.begin(&format!("Run {}", argv.join(" ")), "execute", None);
        let flag = StopFlag::default();
        let guard = StopOnDrop(flag.clone());
        let env = Env::plain().inherit(["SWITCHBOARD_WORKER", "SWITCHBOARD_TASK", "SWITCHBOARD_ATTEMPT"]);
        let spawn = Spawn::new(argv).cwd(&self.cwd).env_only(env).wall(SHELL).stopped_by(flag);
        let output = task::spawn_blocking(move || spawn.output()).await.map_err(|e| e.to_string())?;
        drop(guard);
        let output = output.map_err(|e| e.to_string()).inspect_err(|_| self.finish(&call, false))?;
        self.finish(&call, output.succeeded());
        if !output.succeeded() {
            return Err(format!("the command ended with {}: {}", output.exit, output.stderr.ending(1000).trim()));
        }
        if let Some(name) = save_as {
            self.values[name] = output.stdout.text().trim_end().into();
        }
        Ok(())
    }

    async fn mcp(&mut self, tool: &str, args: &Value) -> Result<Value, String> {
        let call = self.begin(&format!("Call {tool}"), "other", None);
        let tools = self.tools.as_mut().ok_or("the session was given no MCP server")?;
        let answer = tools.call(tool, args).await;
        self.finish(&call, answer.is_ok());
        answer
    }

    async fn ask(&mut self, title: &str, path: Option<&str>, on_reject: OnReject) -> Result<Next, String> {
        let title = self.fill(title)?;
        let kind = if path.is_some() { "edit" } else { "execute" };
        let call = self.begin(&title, kind, path);
        let diff: Vec<_> = path
            .iter()
            .map(|path| json!({ "type": "diff", "path": self.cwd.join(path), "oldText": "old\n", "newText": "new\n" }))
            .collect();
        let input = if path.is_some() { Value::Null } else { json!({ "command": title }) };
        let option = |id: &str, name: &str| json!({ "optionId": id, "name": name, "kind": id });
        let params = json!({
            "sessionId": "script-1",
            "toolCall": { "toolCallId": call, "title": title, "kind": kind, "rawInput": input, "content": diff },
            "options": [option("allow_once", "Allow"), option("reject_once", "Reject")],
        });
        let answer = self.out.ask("session/request_permission", &params).await;
        let is_allowed = answer["outcome"]["optionId"] == "allow_once";
        self.finish(&call, is_allowed);
        match (is_allowed, on_reject) {
            (true, _) => Ok(Next::Go),
            (false, OnReject::Skip) => Ok(Next::Skip),
            (false, OnReject::Fail) => Err(format!("permission was refused: {title}")),
        }
    }

    fn begin(&mut self, title: &str, kind: &str, path: Option<&str>) -> String {
        self.calls += 1;
        let call = format!("call-{}", self.calls);
        let locations: Vec<_> = path.into_iter().map(|path| json!({ "path": self.cwd.join(path) })).collect();
        self.update(json!({ "sessionUpdate": "tool_call", "toolCallId": call, "title": crate::beginning(title, 200),
            "kind": kind, "status": "in_progress", "locations": locations }));
        call
    }

    fn finish(&self, call: &str, is_done: bool) {
        let status = if is_done { "completed" } else { "failed" };
        self.update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "status": status }));
    }

    fn update(&self, update: Value) {
        self.out.notify("session/update", &json!({ "sessionId": "script-1", "update": update }));
    }
}
