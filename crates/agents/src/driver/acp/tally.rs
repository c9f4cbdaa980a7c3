//! Counts the tokens of an OpenCode session. Its answer to a prompt counts only the last request of the turn, and a turn makes one for each tool; its
//! `export` of a session counts all. Seen with the version in `tests/real/package.json`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use switchboard_process::env::Env;
use switchboard_process::spawn::Spawn;
use switchboard_process::task;
use switchboard_protocol::worker::WorkerEvent;
use tokio::task::JoinHandle;

use crate::driver::start::Start;

/// Name by which the agent introduces itself.
const NAME: &str = "OpenCode";

/// Time limit for an export; two to six seconds were measured on a busy machine.
const LIMIT: Duration = Duration::from_secs(20);

/// Bytes kept of the beginning of an export, which holds the counts.
const KEEP: usize = 256 << 10;

/// Input and output tokens.
type Tokens = (u64, u64);

/// Counts the tokens of one agent's session, turn by turn.
#[derive(Debug)]
pub(super) struct Tally {
    program: String,
    cwd: PathBuf,
    env: Env,
    is_wanted: bool,
    /// Tokens of the session that have been reported.
    told: Tokens,
    /// The turn that has ended but is not counted yet: the answer to its prompt, and the running count.
    turn: Option<(Value, JoinHandle<Option<Tokens>>)>,
}

// === impl Tally ===

impl Tally {
    pub(super) fn of(start: &Start) -> Self {
        let program = start.argv.first().cloned().unwrap_or_default();
        let (cwd, env) = (start.cwd.clone(), start.env.clone());
        Self { program, cwd, env, is_wanted: false, told: (0, 0), turn: None }
    }

    /// Checks by the answer to `initialize` whether the agent is one whose answers count too few tokens.
    pub(super) fn learn(&mut self, initialized: &Value) {
        self.is_wanted = initialized["agentInfo"]["name"] == NAME;
    }

    /// Starts to count a session's tokens up to the end of a turn; returns the answer if no count is needed, because the answer holds it.
    pub(super) fn begin(&mut self, session: &str, answer: Value) -> Option<Value> {
        if !self.is_wanted {
            return Some(answer);
        }
        let export = Spawn::new([self.program.as_str(), "export", session])
            .cwd(&self.cwd)
            .env_only(self.env.clone())
            .ends_with_us()
            .wall(LIMIT)
            .keep(KEEP);
        let count = move || {
            let output =
                export.output().inspect_err(|error| tracing::warn!(%error, "a session can't be exported")).ok()?;
            counted(&output.stdout.text())
        };
        self.turn = Some((answer, task::spawn_blocking(count)));
        None
    }

    /// Returns true if a turn has ended but is not counted yet.
    pub(super) const fn is_counting(&self) -> bool {
        self.turn.is_some()
    }

    /// Waits for the count; returns the answer to the prompt, and the turn's tokens if they were counted. If it is dropped half-way, the next call
    /// continues.
    pub(super) async fn counted(&mut self) -> Option<(Value, Option<WorkerEvent>)> {
        let (_, counting) = self.turn.as_mut()?;
        let total = counting.await.ok().flatten();
        let (answer, _) = self.turn.take()?;
        let used = total.map(|(input, output)| {
            let (known_input, known_output) = std::mem::replace(&mut self.told, (input, output));
            WorkerEvent::CostReported {
                micro_usd: None,
                input_tokens: input.saturating_sub(known_input),
                output_tokens: output.saturating_sub(known_output),
            }
        });
        Some((answer, used))
    }

    /// Stops waiting for the count, and returns the answer to the turn's prompt.
    pub(super) fn give_up(&mut self) -> Option<Value> {
        self.turn.take().map(|(answer, _)| answer)
    }
}

/// Returns the tokens of an exported session: cache reads and writes count as input, thinking as output.
fn counted(export: &str) -> Option<Tokens> {
    let begin = export.find("\"info\":")? + "\"info\":".len();
    let mut values = serde_json::Deserializer::from_str(&export[begin..]).into_iter::<Value>();
    let tokens = values.next()?.ok()?["tokens"].take();
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let input = tokens["input"].as_u64()? + number(&tokens["cache"]["read"]) + number(&tokens["cache"]["write"]);
    Some((input, number(&tokens["output"]) + number(&tokens["reasoning"])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_of_a_session_are_counted_with_cache_and_thought() {
        let export = r#"{ "info": { "id": "ses_1", "title": "a \"quoted\" one", "tokens": { "input": 2400, "output": 80,
            "reasoning": 5, "cache": { "read": 1600, "write": 7 } } }, "messages": [ { "cut off"#;

        assert_eq!(counted(export), Some((4007, 85)));
        assert_eq!(counted(r#"{ "info": { "id": "ses_1" }, "messages": [] }"#), None);
        assert_eq!(counted("Session not found"), None);
    }
}
