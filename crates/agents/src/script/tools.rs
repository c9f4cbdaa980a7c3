//! A small MCP client: it starts the stdio server that the session names and calls its tools, one at a time.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::env::Env;
use switchboard_process::lines::Lines;
use switchboard_process::spawn::{Child, Spawn};
use switchboard_process::task;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};

use super::name::NAME;
use crate::driver::MAX_LINE_BYTES;

/// Requested protocol version; any answer is accepted, as only `tools/call` is used.
const VERSION: &str = "2025-06-18";

/// Time limit for one call.
const LIMIT: Duration = Duration::from_secs(60);

/// A running MCP server.
pub(super) struct Tools {
    /// The server's process, which is killed when this is dropped.
    _child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    lines: Lines,
    read: VecDeque<Vec<u8>>,
    next_id: u64,
}

// === impl Tools ===

impl Tools {
    /// Starts the first stdio server of a `session/new`; `None` when it names none.
    pub(super) async fn start(servers: &Value, cwd: &Path) -> Result<Option<Self>, String> {
        let servers = servers.as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(server) = servers.iter().find(|server| server["command"].is_string()) else { return Ok(None) };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let args = server["args"].as_array().map(Vec::as_slice).unwrap_or_default();
        let argv = std::iter::once(&server["command"]).chain(args).map(text);
        let given = server["env"].as_array().map(Vec::as_slice).unwrap_or_default();
        let env = given.iter().fold(Env::plain(), |env, pair| env.set(text(&pair["name"]), text(&pair["value"])));
        let mut child = Spawn::new(argv).cwd(cwd).env_only(env).piped().map_err(|e| e.to_string())?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the MCP server has no streams".to_owned());
        };
        drain(&mut child);
        let (lines, read) = (Lines::new(MAX_LINE_BYTES), VecDeque::new());
        let mut tools = Self { _child: child, stdin, stdout, lines, read, next_id: 0 };
        let info = json!({ "name": NAME, "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": info });
        tools.request("initialize", params).await?;
        tools.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        tools.request("tools/list", json!({})).await?;
        Ok(Some(tools))
    }

    /// Calls a tool; returns its structured answer, or its text.
    pub(super) async fn call(&mut self, tool: &str, args: &Value) -> Result<Value, String> {
        let args = if args.is_null() { json!({}) } else { args.clone() };
        let result = self.request("tools/call", json!({ "name": tool, "arguments": args })).await?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if result["isError"] == true {
            return Err(format!("{tool}: {}", crate::beginning(text, 1000)));
        }
        if !result["structuredContent"].is_null() {
            return Ok(result["structuredContent"].clone());
        }
        Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        let answer = tokio::time::timeout(LIMIT, self.answer(id)).await;
        let answer = answer.map_err(|_| format!("the MCP server did not answer {method}"))??;
        match answer.get("error") {
            Some(error) => {
                Err(format!("{method}: {}", crate::beginning(error["message"].as_str().unwrap_or("an error"), 1000)))
            }
            None => Ok(answer["result"].clone()),
        }
    }

    /// Reads until the answer comes; pings are answered, other requests of the server declined.
    async fn answer(&mut self, id: u64) -> Result<Value, String> {
        let mut buffer = vec![0; 16 << 10];
        loop {
            while let Some(line) = self.read.pop_front() {
                let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
                if message.get("method").is_none() && message["id"] == id {
                    return Ok(message);
                }
                if let (Some(method), Some(id)) = (message.get("method"), message.get("id")) {
                    let mut answer = json!({ "jsonrpc": "2.0", "id": id });
                    match method == "ping" {
                        true => answer["result"] = json!({}),
                        false => answer["error"] = json!({ "code": -32601, "message": "not offered" }),
                    }
                    self.send(&answer).await?;
                }
            }
            match self.stdout.read(&mut buffer).await {
                Ok(n @ 1..) => self.read.extend(self.lines.push_all(&buffer[..n])),
                Ok(0) | Err(_) => return Err("the MCP server is gone".to_owned()),
            }
        }
    }

    async fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        let sent = async {
            self.stdin.write_all(line.as_bytes()).await?;
            self.stdin.flush().await
        };
        sent.await.map_err(|e| format!("the MCP server does not listen: {e}"))
    }
}

/// Copies the server's standard error to ours, so that the server is not blocked and its messages can be read. Ends with the server.
fn drain(child: &mut Child) {
    let Some(mut stderr) = child.stderr.take() else { return };
    task::spawn(async move {
        let mut buffer = vec![0; 4 << 10];
        while let Ok(n @ 1..) = stderr.read(&mut buffer).await {
            eprint!("{}", String::from_utf8_lossy(&buffer[..n]));
        }
    });
}
