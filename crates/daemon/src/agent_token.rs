//! Tokens that identify agents over HTTP: the daemon sees no program there, so a name belongs to the holder of the token.
//!
//! A token proves only that two requests come from the same agent; every request needs the repository's token, too. A client that opens with
//! `initialize` gets one there (`Mcp-Session-Id`) and sends it by itself; any other gets one with the answer to `register_agent`.
//! A session of the older transport (`/sse`) has one that only the daemon knows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::to_raw_value;
use switchboard_protocol::agent::Process;
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;

use crate::bound::names_its_caller;
use crate::face::{self, Call, Invoke, Reply};

/// Header that carries a token, in requests and in the answer to `initialize`: MCP's session id.
pub(crate) const HEADER: &str = "mcp-session-id";

/// `_meta` key under which a client that can't set headers may send its token.
pub(crate) const META: &str = "switchboard/agentToken";

/// How long a name belongs to a token that is not used.
const NAME_RETENTION: Duration = Duration::from_secs(10 * 60);

/// Maximum number of remembered tokens; beyond it, those not used lately are forgotten.
const MAX_TOKENS: usize = 4096;

/// Time of the last use of each token since the daemon's start.
#[derive(Debug, Default)]
pub(crate) struct Used(Mutex<HashMap<u64, Instant>>);

// === impl Used ===

impl Used {
    /// Records the use of a caller's token.
    pub(crate) fn note(&self, caller: &Caller) {
        let Some(program) = caller.program.as_ref().filter(|program| program.is_token()) else { return };
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= MAX_TOKENS {
            used.retain(|_, at| at.elapsed() < NAME_RETENTION);
        }
        used.insert(program.start, Instant::now());
    }

    /// Forgets a token whose client has ended its session.
    pub(crate) fn forget(&self, program: &Process) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&program.start);
    }

    /// Returns true if a token was used lately.
    fn is_alive(&self, program: &Process) -> bool {
        let used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(&program.start).is_some_and(|at| at.elapsed() < NAME_RETENTION)
    }

    /// Returns true if the holder of a name is still there: its process runs, or its token was used lately.
    pub(crate) fn is_there(&self, holder: &Process) -> bool {
        match holder.is_token() {
            true => self.is_alive(holder),
            false => crate::expiry::is_alive(holder),
        }
    }
}

/// Returns the caller as the agent that holds a token.
///
/// # Errors
/// `auth.bad-token` for a token that was not made here.
pub(crate) fn bearing(caller: Caller, token: &str) -> Result<Caller, Failure> {
    match caller.kind {
        CallerKind::Agent | CallerKind::Person => Ok(Caller { program: Some(holder(token)?), ..caller }),
        CallerKind::Worker { .. } => Ok(caller),
    }
}

/// Runs a call of an agent over HTTP. A call that registers a name without a token gets a token with the answer. A call that is repeated
/// under its key gets the same one.
///
/// # Errors
/// As [`face::run`].
pub(crate) async fn run(
    invoke: &Arc<dyn Invoke>,
    mut call: Call,
    gone: impl Future<Output = ()>,
) -> Result<Reply, Failure> {
    let is_new = names_its_caller(&call.verb) && call.caller.kind == CallerKind::Agent && call.caller.program.is_none();
    let token = is_new.then(|| token_of(&call)).transpose()?;
    if let Some(token) = &token {
        call.caller = bearing(call.caller, token)?;
    }
    let reply = face::run(invoke, call, gone).await?;
    let Some(token) = token else { return Ok(reply) };
    let mut reply = face::value_of(&reply)?;
    if let Some(fields) = reply.as_object_mut() {
        fields.insert("token".to_owned(), Value::String(token));
    }
    to_raw_value(&reply).map_err(|error| Failure::new("internal.bug", format!("a reply with a token: {error}")))
}

/// Returns a random token.
///
/// # Errors
/// `internal.bug` when the system has no randomness.
pub(crate) fn fresh() -> Result<String, Failure> {
    Ok(Digest(random()?).hex())
}

fn random() -> Result<[u8; 32], Failure> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new("internal.bug", format!("no random numbers: {error}")))?;
    Ok(bytes)
}

/// Returns the token for an agent's first call. That of a call with a key is derived from the key and a secret of this daemon process, so that a
/// client which missed the answer can ask again, while somebody who guesses the key does not have the token.
fn token_of(call: &Call) -> Result<String, Failure> {
    static SECRET: OnceLock<[u8; 32]> = OnceLock::new();
    let Some(key) = &call.key else { return fresh() };
    let made = random()?;
    let secret = SECRET.get_or_init(|| made);
    Ok(Digest::of_parts(&[secret, call.caller.name.folded().as_bytes(), key.as_bytes()]).hex())
}

fn holder(token: &str) -> Result<Process, Failure> {
    let is_ours = token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_ours {
        let what = format!("{HEADER} or _meta.{META} holds no token that register_agent or initialize has given");
        return Err(Failure::new("auth.bad-token", what).hint("call register_agent without one"));
    }
    Ok(Process::of_token(&Digest::of(token.as_bytes())))
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::AgentName;

    use super::*;

    fn agent() -> Caller {
        Caller::unverified(AgentName::new("ada").unwrap(), "a test")
    }

    #[test]
    fn a_token_is_one_agent_and_what_is_no_token_is_refused() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());
        let program = |token: &str| bearing(agent(), token).unwrap().program.unwrap();

        assert_eq!(program(&one), program(&one));
        assert_ne!(program(&one), program(&other));
        assert!(program(&one).is_token());
        assert_eq!(bearing(agent(), "1").unwrap_err().code, "auth.bad-token");
    }

    #[test]
    fn a_token_lives_while_it_is_used_and_until_its_client_is_done() {
        let used = Used::default();
        let caller = bearing(agent(), &fresh().unwrap()).unwrap();
        let program = caller.program.clone().unwrap();

        assert!(!used.is_alive(&program));
        used.note(&caller);
        assert!(used.is_alive(&program));
        used.forget(&program);
        assert!(!used.is_alive(&program));
    }
}
