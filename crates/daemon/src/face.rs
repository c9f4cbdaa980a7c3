//! Faces: the ways in. Each identifies the caller and hands the call to [`Invoke`]; none has rules of its own.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_process::task;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, WorkerId};
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::{Access, Row, Verb, table};
use tokio_util::task::AbortOnDropHandle;

use crate::authority::Peer;

/// Maximum length of an idempotency key in bytes.
pub const MAX_KEY_BYTES: usize = 200;

/// Reply of a verb: the JSON text that every face sends.
pub type Reply = Box<RawValue>;

/// Reads a reply.
///
/// # Errors
/// `internal.bug` if it is nested deeper than `serde_json` reads.
pub(crate) fn value_of(reply: &Reply) -> Result<Value, Failure> {
    serde_json::from_str(reply.get())
        .map_err(|error| Failure::new("internal.bug", format!("a reply can't be read: {error}")))
}

/// Future of a verb's answer.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send + 'a>>;

/// A call as a face receives it.
#[derive(Debug, Clone)]
pub struct Call {
    /// The caller.
    pub caller: Caller,
    /// Name of the verb or tool.
    pub verb: String,
    /// Arguments of the call.
    pub args: Value,
    /// Idempotency key, under which the call may be repeated.
    pub key: Option<String>,
}

/// A call that the policy let through, at once or after a person's approval.
#[derive(Debug)]
pub struct Admitted(pub(crate) Call);

/// Future of the decision whether a call may run.
pub type Admitting<'a> = Pin<Box<dyn Future<Output = Result<Admitted, Failure>> + Send + 'a>>;

/// A process for the daemon to remember.
#[derive(Debug, Clone, Copy)]
pub enum Learned<'a> {
    /// The bridge of this agent.
    Bridge(&'a AgentName),
    /// The shim of a worker, with the token that proves it.
    Shim(&'a WorkerId, &'a str),
}

/// Second hop of every face's calls: finds the verb's row, asks the policy and runs the verb.
pub trait Invoke: Send + Sync + 'static {
    /// Asks the policy, and waits for a person if the policy requires one. Dropping the future withdraws the call. A name without a row gets
    /// `request.unknown-verb`.
    fn admit(&self, call: Call) -> Admitting<'_> {
        Box::pin(async move { Ok(Admitted(call)) })
    }

    /// Runs an admitted call. A panic of the handler becomes `internal.bug`.
    fn run(&self, call: Admitted) -> Answering<'_>;

    /// Admits a call and runs it.
    fn invoke(&self, call: Call) -> Answering<'_> {
        Box::pin(async move { self.run(self.admit(call).await?).await })
    }

    /// Identifies a caller on the Unix socket by what the process tree proves, and by a token if one is sent.
    ///
    /// # Errors
    /// As [`Invoke::identify`].
    fn identify_peer(&self, _: &Peer, bearer: Option<&str>, claimed_name: Option<&str>) -> Result<Caller, Failure> {
        self.identify(bearer, claimed_name)
    }

    /// Exchanges a one-time code for the token of a person's session.
    ///
    /// # Errors
    /// `auth.bad-code`, `auth.too-many-tries`.
    fn open_session(&self, _: &str) -> Result<Value, Failure> {
        Err(Failure::new("auth.bad-code", "no codes are made here"))
    }

    /// Records that a caller over MCP has listed the tools.
    fn tools_listed(&self, _: &Caller) {}

    /// Records that an agent over HTTP is still connected, so that it keeps its name.
    fn note_still_connected(&self, _: &Caller) {}

    /// Records that an agent over HTTP has ended its session, which frees its name.
    fn ends_session(&self, _: &Caller) {}

    /// Remembers the process behind a connection of the Unix socket that is a bridge or a shim.
    fn learn(&self, _: &Peer, _: Learned<'_>) {}

    /// Identifies a caller by a bearer token and the name that it claims. The face fills in [`Caller::face`].
    ///
    /// # Errors
    /// `auth.bad-token` when the token is wrong, `request.bad-args` when the name can't be one.
    fn identify(&self, bearer: Option<&str>, claimed_name: Option<&str>) -> Result<Caller, Failure>;

    /// Returns the row of a verb or tool; `None` for an unknown name.
    fn row(&self, verb: &str) -> Option<Arc<Row>> {
        row_of(verb)
    }

    /// Returns the daemon's health. Anybody on this machine may read it, so it holds no secret and no text of an agent.
    fn health(&self) -> Value;

    /// Returns the instructions that MCP clients pass to their model.
    fn instructions(&self) -> String {
        crate::mcp::INSTRUCTIONS.to_owned()
    }
}

/// Rows of all verbs, by name.
static ROWS: LazyLock<BTreeMap<String, Arc<Row>>> =
    LazyLock::new(|| table().into_iter().map(|row| (row.name.to_string(), Arc::new(row))).collect());

/// Returns the row of a verb, if there is one of this name.
pub(crate) fn row_of(verb: &str) -> Option<Arc<Row>> {
    ROWS.get(verb).cloned()
}

/// Builds the failure for an unknown verb, with similar names.
#[must_use]
pub fn unknown_verb(verb: &str) -> Failure {
    macro_rules! names {
        ($($verb:path)*) => { [$(<$verb as Verb>::NAME),*] };
    }
    let shown = cut(verb, 80);
    let near = switchboard_protocol::error::near_matches(&shown, switchboard_protocol::for_each_verb!(names));
    let failure = Failure::new("request.unknown-verb", format!("there is no verb {shown:?}"));
    if near.is_empty() {
        return failure.hint("tools/list names the default tools, `switchboard call --help` all verbs");
    }
    failure.hint(format!("did you mean {}?", near.join(", ")))
}

/// Validates an idempotency key from a caller.
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

/// Admits a call unless its caller goes away first, which can happen only while a call waits for a person.
///
/// # Errors
/// The policy's refusal; `policy.denied` for a caller that is gone.
pub(crate) async fn admit(
    invoke: &Arc<dyn Invoke>,
    call: Call,
    gone: impl Future<Output = ()>,
) -> Result<Admitted, Failure> {
    tokio::select! {
        biased;
        admitted = invoke.admit(call) => admitted,
        () = gone => Err(Failure::new("policy.denied", "the caller is gone")),
    }
}

/// Admits a call, then runs it to its end even if the caller goes away: a change that has begun is never cut off. Reads end with their
/// caller, and so does the wait for a person's approval. `gone` completes when the caller is known to be gone.
///
/// # Errors
/// The failure of the policy or the verb; `internal.bug` after a panic.
pub async fn run(invoke: &Arc<dyn Invoke>, call: Call, gone: impl Future<Output = ()>) -> Result<Reply, Failure> {
    let verb = call.verb.clone();
    let effect = invoke.row(&verb).map(|row| row.effect);
    let admitted = admit(invoke, call, gone).await?;
    let task = {
        let invoke = Arc::clone(invoke);
        task::spawn(async move { invoke.run(admitted).await })
    };
    let joined = match effect {
        Some(Access::Written | Access::Synced) => task.await,
        Some(Access::Read) | None => AbortOnDropHandle::new(task).await,
    };
    joined.unwrap_or_else(|error| {
        tracing::error!(verb, %error, "a verb ended without an answer");
        Err(Failure::new("internal.bug", format!("{verb} ended without an answer")))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    /// Token that [`Echo`] accepts.
    pub(crate) const TOKEN: &str = "right-token";

    /// A call as it arrived.
    #[derive(Debug, Clone)]
    pub(crate) struct Arrived {
        pub(crate) caller: Caller,
        pub(crate) key: Option<String>,
    }

    /// Test double that answers a verb with its own call; `get_run` fails, `set_agent_status` panics, `merge_run` is slow.
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
        fn run(&self, call: Admitted) -> Answering<'_> {
            let Call { caller, verb, args, key } = call.0;
            let arrived = Arrived { caller, key: key.clone() };
            self.arrived.lock().unwrap_or_else(PoisonError::into_inner).push(arrived);
            Box::pin(async move {
                match verb.as_str() {
                    "get_run" => Err(Failure::new("dispatch.unknown-run", "there is no run run_x")),
                    "set_agent_status" => panic!("on purpose"),
                    "merge_run" => {
                        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                        self.merged.store(true, Ordering::SeqCst);
                        Ok(text(&json!({})))
                    }
                    known if ROWS.contains_key(known) => Ok(text(&json!({ "verb": verb, "args": args, "key": key }))),
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

    /// Returns a value as a reply.
    pub(crate) fn text(reply: &Value) -> Reply {
        to_raw_value(reply).unwrap()
    }

    /// Returns a person of this name.
    pub(crate) fn caller(name: &str) -> Caller {
        Caller::person(AgentName::new(name).unwrap())
    }

    fn call(verb: &str) -> Call {
        Call { caller: caller("anna"), verb: verb.to_owned(), args: json!({}), key: None }
    }

    #[tokio::test]
    async fn a_change_runs_to_its_end_after_its_caller_left() {
        let echo = Arc::new(Echo::default());
        let invoke: Arc<dyn Invoke> = echo.clone();

        let running = run(&invoke, call("merge_run"), std::future::pending());
        let left = tokio::time::timeout(std::time::Duration::from_millis(5), running).await;

        assert!(left.is_err(), "the caller was to leave early");
        while !echo.merged.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_verb_that_panics_is_a_failure() {
        let invoke: Arc<dyn Invoke> = Arc::new(Echo::default());

        let failure = run(&invoke, call("set_agent_status"), std::future::pending()).await.unwrap_err();

        assert_eq!(failure.code, "internal.bug");
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
