//! Faces: the ways in. Each finds out who calls and hands the call to [`Invoke`]; none has a rule of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, RunId, WorkerId};
use switchboard_protocol::verb::{Effect, Verb};
use tokio_util::task::AbortOnDropHandle;

/// The face of `switchboard` commands on the Unix socket.
pub const CLI: &str = "cli";
/// The face of other verb calls on the Unix socket.
pub const SOCKET: &str = "socket";
/// The face of MCP through the stdio bridge.
pub const MCP_STDIO: &str = "mcp-stdio";
/// The face of MCP over Streamable HTTP.
pub const MCP_HTTP: &str = "mcp-http";
/// The face of `POST /v1/{verb}`.
pub const HTTP: &str = "http";

/// The face of MCP over server-sent events, the older HTTP transport.
pub const MCP_SSE: &str = "mcp-sse";
/// The face of files in `.switchboard/`.
pub const FILES: &str = "files";

/// Longest idempotency key in bytes.
pub const MAX_KEY_BYTES: usize = 200;

/// Who calls, and how we know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name under which the call is recorded.
    pub name: AgentName,
    /// Whether a token proves the name; else it is only what the caller says.
    pub is_verified: bool,
    /// What the caller is.
    pub kind: CallerKind,
    /// The way it came in: [`CLI`], [`SOCKET`], [`MCP_STDIO`], [`MCP_HTTP`], [`MCP_SSE`], [`HTTP`] or [`FILES`].
    pub face: &'static str,
}

/// What a caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerKind {
    /// A person, or what holds the root's bearer token for one.
    Person,
    /// A worker that a run started, proven by its capability token.
    Worker {
        /// Its run.
        run: RunId,
        /// Which worker.
        worker: WorkerId,
        /// The task it works on.
        task: String,
    },
    /// Any other agent, registered or not.
    Agent,
}

/// A verb's answer, some time later.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send + 'a>>;

/// What every face calls: the second hop, which finds the verb's row, asks the policy and runs the verb.
pub trait Invoke: Send + Sync + 'static {
    /// Runs a verb. A name that is in no row gets `request.unknown-verb`.
    fn invoke(&self, caller: Caller, verb: String, args: Value, key: Option<String>) -> Answering<'_>;

    /// Finds out who calls from a bearer token and the name that the caller claims. The face fills in [`Caller::face`].
    ///
    /// # Errors
    /// `auth.bad-token` when the token is wrong, `request.bad-args` when the name can't be one.
    fn identify(&self, bearer: Option<&str>, claimed_name: Option<&str>) -> Result<Caller, Failure>;

    /// How the daemon is, for anybody on this machine: no secret and no text of an agent.
    fn health(&self) -> Value;

    /// What MCP clients tell their model about this server.
    fn instructions(&self) -> String {
        crate::mcp::INSTRUCTIONS.to_owned()
    }
}

/// What a verb does to the record; nothing for a name in no row.
#[must_use]
pub fn effect_of(verb: &str) -> Option<Effect> {
    macro_rules! effects {
        ($($verb:path)*) => { [$((<$verb as Verb>::NAME, <$verb as Verb>::EFFECT)),*] };
    }
    const EFFECTS: &[(&str, Effect)] = &switchboard_protocol::for_each_verb!(effects);
    EFFECTS.iter().find(|(name, _)| *name == verb).map(|(_, effect)| *effect)
}

/// Says that no verb has this name, and which ones are near.
#[must_use]
pub fn unknown_verb(verb: &str) -> Failure {
    macro_rules! names {
        ($($verb:path)*) => { [$(<$verb as Verb>::NAME),*] };
    }
    let shown: String = verb.chars().take(80).collect();
    let near = switchboard_protocol::error::near_matches(&shown, switchboard_protocol::for_each_verb!(names));
    let failure = Failure::new("request.unknown-verb", format!("there is no verb {shown:?}"));
    if near.is_empty() {
        return failure.hint("tools/list names the default tools, `switchboard call --help` all verbs");
    }
    failure.hint(format!("did you mean {}?", near.join(", ")))
}

/// Takes an idempotency key that a caller brought.
///
/// # Errors
/// `request.bad-args` when it is empty, longer than [`MAX_KEY_BYTES`], or holds more than visible ASCII.
pub fn check_key(key: &str) -> Result<String, Failure> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::new("request.bad-args", "the idempotency key can't be used")
            .hint(format!("send 1 to {MAX_KEY_BYTES} visible ASCII characters, such as a UUID")));
    }
    Ok(key.to_owned())
}

/// Runs a verb in the caller's own task, which nobody cuts off. A verb that panics is a failure, not the end of the task.
///
/// # Errors
/// What the verb answers; `internal.bug` after a panic.
pub(crate) async fn run_here(
    invoke: &Arc<dyn Invoke>,
    caller: Caller,
    verb: &str,
    args: Value,
    key: Option<String>,
) -> Result<Value, Failure> {
    let mut call = invoke.invoke(caller, verb.to_owned(), args, key);
    let done = std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))) {
        Ok(polled) => polled.map(Some),
        Err(_) => Poll::Ready(None),
    });
    done.await.unwrap_or_else(|| Err(without_answer(verb)))
}

fn without_answer(verb: &str) -> Failure {
    Failure::new("internal.bug", format!("{verb} ended without an answer"))
}

/// Runs a verb to its end even when the caller goes away meanwhile: a change that has begun is never cut off. Reads end
/// with their caller. A verb that panics is a failure, not the end of the connection.
///
/// # Errors
/// What the verb answers; `internal.bug` after a panic.
pub async fn run(
    invoke: &Arc<dyn Invoke>,
    caller: Caller,
    verb: &str,
    args: Value,
    key: Option<String>,
) -> Result<Value, Failure> {
    let task = {
        let (invoke, verb) = (Arc::clone(invoke), verb.to_owned());
        tokio::spawn(async move { invoke.invoke(caller, verb, args, key).await })
    };
    let joined = match effect_of(verb) {
        Some(Effect::Written | Effect::Synced) => task.await,
        Some(Effect::Read) | None => AbortOnDropHandle::new(task).await,
    };
    joined.unwrap_or_else(|error| {
        tracing::error!(verb, %error, "a verb ended without an answer");
        Err(without_answer(verb))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError};

    use serde_json::json;

    use super::*;

    /// The token that [`Echo`] takes.
    pub(crate) const TOKEN: &str = "right-token";

    /// A call as it arrived.
    #[derive(Debug, Clone)]
    pub(crate) struct Arrived {
        pub(crate) caller: Caller,
        pub(crate) key: Option<String>,
    }

    /// Answers verbs with what it was asked; `get_run` fails, `set_agent_status` panics, `merge_run` takes a moment.
    #[derive(Debug, Default)]
    pub(crate) struct Echo {
        arrived: Mutex<Vec<Arrived>>,
        pub(crate) merged: AtomicBool,
    }

    impl Echo {
        pub(crate) fn arrived(&self) -> Vec<Arrived> {
            self.arrived.lock().unwrap_or_else(PoisonError::into_inner).clone()
        }
    }

    impl Invoke for Echo {
        fn invoke(&self, caller: Caller, verb: String, args: Value, key: Option<String>) -> Answering<'_> {
            let arrived = Arrived { caller, key: key.clone() };
            self.arrived.lock().unwrap_or_else(PoisonError::into_inner).push(arrived);
            Box::pin(async move {
                match verb.as_str() {
                    "get_run" => Err(Failure::new("dispatch.unknown-run", "there is no run run_x")),
                    "set_agent_status" => panic!("on purpose"),
                    "merge_run" => {
                        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                        self.merged.store(true, Ordering::SeqCst);
                        Ok(json!({}))
                    }
                    known if effect_of(known).is_some() => Ok(json!({ "verb": verb, "args": args, "key": key })),
                    _ => Err(unknown_verb(&verb)),
                }
            })
        }

        fn identify(&self, bearer: Option<&str>, claimed_name: Option<&str>) -> Result<Caller, Failure> {
            if bearer != Some(TOKEN) {
                return Err(Failure::new("auth.bad-token", "the token is missing or wrong"));
            }
            Ok(caller(claimed_name.unwrap_or("anna")))
        }

        fn health(&self) -> Value {
            json!({ "status": "ok" })
        }
    }

    /// A person of this name.
    pub(crate) fn caller(name: &str) -> Caller {
        Caller { name: AgentName::new(name).unwrap(), is_verified: true, kind: CallerKind::Person, face: SOCKET }
    }

    #[tokio::test]
    async fn a_change_runs_to_its_end_after_its_caller_left() {
        let echo = Arc::new(Echo::default());
        let invoke: Arc<dyn Invoke> = echo.clone();

        let call = run(&invoke, caller("anna"), "merge_run", json!({}), None);
        let left = tokio::time::timeout(std::time::Duration::from_millis(5), call).await;

        assert!(left.is_err(), "the caller was to leave early");
        while !echo.merged.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_verb_that_panics_is_a_failure() {
        let invoke: Arc<dyn Invoke> = Arc::new(Echo::default());

        let failure = run(&invoke, caller("anna"), "set_agent_status", json!({}), None).await.unwrap_err();

        assert_eq!(failure.code, "internal.bug");
    }

    #[tokio::test]
    async fn a_verb_that_panics_in_its_callers_task_is_a_failure_too() {
        let invoke: Arc<dyn Invoke> = Arc::new(Echo::default());

        let failure = run_here(&invoke, caller("anna"), "set_agent_status", json!({}), None).await.unwrap_err();

        assert_eq!(failure.code, "internal.bug");
        assert!(run_here(&invoke, caller("anna"), "get_status", json!({}), None).await.is_ok());
    }

    #[test]
    fn effects_are_those_of_the_table() {
        for row in switchboard_protocol::verb::table() {
            assert_eq!(effect_of(row.name), Some(row.effect), "{}", row.name);
        }
        assert_eq!(effect_of("no_such_verb"), None);
    }

    #[test]
    fn names_verbs_near_an_unknown_one() {
        assert!(unknown_verb("send_mesage").hint.contains("send_message"));
    }

    #[test]
    fn refuses_keys_that_no_header_could_carry() {
        for bad in ["", "a b", "ä", "x\n", &"k".repeat(201)] {
            assert_eq!(check_key(bad).unwrap_err().code, "request.bad-args", "{bad:?}");
        }
        assert_eq!(check_key("b7/\"1\"").unwrap(), "b7/\"1\"");
    }
}
