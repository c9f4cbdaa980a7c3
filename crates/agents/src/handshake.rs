//! Starts an agent, opens a session and ends it, to check that it works and to read its version. No prompt is sent, so it costs nothing.

use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_protocol::worker::WorkerEvent;

use crate::driver::{Acp, Driver as _, DriverOutput, Start, Stream};
use crate::{Error, Result, ending};

/// Bytes of an agent's output that are searched for its name.
const LOOKED_AT: usize = 256 << 10;

/// Maximum number of bytes of standard error that are kept.
const SAID: usize = 300;

/// Time between asking an agent to end and killing it.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// Result of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// Name and version by which the agent introduced itself; empty if it did not.
    pub agent: String,
    /// Version alone; empty if the agent sent none.
    pub version: String,
    /// Duration of the handshake.
    pub took: Duration,
    /// Code and message of the failure; `None` if a session was opened.
    pub fault: Option<(String, String)>,
    /// End of the agent's standard error.
    pub stderr: String,
}

/// Starts an ACP agent, waits until it has opened a session, at most `limit`, and ends it. Blocks.
///
/// # Errors
/// When it can't be started.
pub fn shake_hands(start: &Start, limit: Duration) -> Result<Handshake> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::io("start the runtime"))?;
    let done = runtime.block_on(shake(start, limit));
    runtime.shutdown_background();
    done
}

async fn shake(start: &Start, limit: Duration) -> Result<Handshake> {
    let begun = Instant::now();
    let mut acp = Acp::start(start)?;
    let (mut printed, mut said) = (Vec::new(), Vec::new());
    let opened = tokio::time::timeout(limit, opened(&mut acp, &mut printed, &mut said)).await;
    let took = begun.elapsed();
    acp.end(EXIT_GRACE).await;
    let silent = || Some(("agent.timeout".to_owned(), format!("it opened no session within {} s", limit.as_secs())));
    let stderr = String::from_utf8_lossy(&said);
    let stderr = ending(stderr.trim(), SAID).to_owned();
    let (agent, version) = introduced(&printed);
    Ok(Handshake { agent, version, took, fault: opened.unwrap_or_else(|_| silent()), stderr })
}

/// Waits for the session; returns the failure, if any.
async fn opened(acp: &mut Acp, printed: &mut Vec<u8>, said: &mut Vec<u8>) -> Option<(String, String)> {
    loop {
        match acp.next().await {
            DriverOutput::Event(WorkerEvent::SessionOpened { .. }) => return None,
            DriverOutput::Event(WorkerEvent::Faulted { code, what, .. }) => return Some((code, what)),
            DriverOutput::Exited => return Some(("agent.protocol".to_owned(), "it ended at once".to_owned())),
            DriverOutput::Raw { stream: Stream::Out, bytes } if printed.len() < LOOKED_AT => printed.extend(bytes),
            DriverOutput::Raw { bytes, .. } if said.len() < LOOKED_AT => said.extend(bytes),
            DriverOutput::Raw { .. } | DriverOutput::Event(_) => {}
        }
    }
}

/// Extracts `OpenCode 1.18.33` and `1.18.33` from the answer to `initialize`.
fn introduced(printed: &[u8]) -> (String, String) {
    let answers = printed.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let info = answers.map(|mut answer| answer["result"]["agentInfo"].take()).find(Value::is_object);
    let Some(info) = info else { return (String::new(), String::new()) };
    let part = |name: &str| info[name].as_str().map(|text| crate::beginning(text, 60)).unwrap_or_default();
    let name = if part("title").is_empty() { part("name") } else { part("title") };
    let version = part("version").to_owned();
    (format!("{name} {version}").trim().to_owned(), version)
}

#[cfg(test)]
mod tests {
    use switchboard_process::env::Env;

    use super::*;

    fn shaken(line: &str, limit: Duration) -> Handshake {
        let argv = ["sh", "-c", line].map(str::to_owned).to_vec();
        let start = Start {
            argv,
            cwd: std::env::temp_dir(),
            env: Env::plain(),
            mcp: None,
            sandbox: None,
            tools: Vec::new(),
            hosts: Vec::new(),
            model: None,
            keeps_input: false,
        };
        shake_hands(&start, limit).unwrap()
    }

    #[test]
    fn an_agent_that_opens_a_session_is_named_with_its_version() {
        let answers = r#"read a; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"Toy","version":"1.2"}}}'
            read b; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'; read c"#;

        let done = shaken(answers, Duration::from_secs(20));

        assert_eq!((done.agent.as_str(), done.version.as_str(), done.fault), ("Toy 1.2", "1.2", None));
    }

    #[test]
    fn a_missing_login_a_crash_and_silence_are_told_apart() {
        let login = r#"read a; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required"}}'; read b"#;
        let code = |line: &str, limit| shaken(line, limit).fault.map(|(code, _)| code);

        assert_eq!(code(login, Duration::from_secs(20)).as_deref(), Some("agent.login"));
        assert_eq!(code("echo broken >&2; exit 1", Duration::from_secs(20)).as_deref(), Some("agent.protocol"));
        assert_eq!(code("sleep 60", Duration::from_millis(300)).as_deref(), Some("agent.timeout"));
    }
}
