//! Sessions of a person over HTTP: a code that a proven command line printed is exchanged once for a session token.
//!
//! Codes and sessions are kept in memory only; they end with the daemon.

use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::secret;
use switchboard_protocol::time::Millis;

/// How long a code is valid, in milliseconds.
const CODE_MS: i64 = 2 * 60 * 1000;

/// How long a session lasts, in milliseconds.
const SESSION_MS: i64 = 8 * 60 * 60 * 1000;

/// Maximum number of codes, and of sessions, that are kept; the oldest are dropped first.
const MAX_KEPT: usize = 16;

/// Number of wrong codes within [`CODE_MS`] after which no code is accepted.
const MAX_WRONG: usize = 5;

/// Alphabet of a code: no two letters look alike (Crockford's base 32).
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Length of a code in letters: 40 random bits, which [`MAX_WRONG`] tries can't guess.
const CODE_LETTERS: usize = 8;

/// Open codes and sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    codes: Vec<Kept>,
    sessions: Vec<Kept>,
    wrong: Vec<Millis>,
}

/// A secret, kept as its digest, with its owner and its end.
#[derive(Debug, Clone)]
struct Kept {
    digest: Digest,
    name: AgentName,
    ends: Millis,
}

// === impl Sessions ===

impl Sessions {
    /// Creates a code for a person. Returns it and its end.
    pub(crate) fn issue(&self, name: &AgentName, now: Millis) -> Result<(String, Millis), Failure> {
        let code: String =
            random::<CODE_LETTERS>()?.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
        let ends = Millis(now.0 + CODE_MS);
        keep(&mut self.open().codes, Kept { digest: digest(&code), name: name.clone(), ends });
        Ok((code, ends))
    }

    /// Exchanges a code for a session. Returns the session's token and its end.
    pub(crate) fn exchange(&self, code: &str, now: Millis) -> Result<(String, Millis), Failure> {
        let mut open = self.open();
        open.wrong.retain(|at| at.0 + CODE_MS > now.0);
        if open.wrong.len() >= MAX_WRONG {
            open.codes.clear();
            let failure = Failure::new("auth.too-many-tries", "too many wrong codes");
            return Err(failure.hint("wait two minutes, then make a new code: switchboard session"));
        }
        let wanted = digest(&code.trim().to_ascii_uppercase().replace('-', ""));
        let Some(name) = take(&mut open.codes, &wanted, now) else {
            open.wrong.push(now);
            let failure = Failure::new("auth.bad-code", "the code is wrong, was used, or is too old");
            return Err(failure.hint("make a new one: switchboard session"));
        };
        let token = Digest(random::<32>()?).hex();
        let ends = Millis(now.0 + SESSION_MS);
        keep(&mut open.sessions, Kept { digest: digest(&token), name, ends });
        Ok((token, ends))
    }

    /// Returns the person whose session a token opens; `None` if it opens none.
    pub(crate) fn find(&self, token: &str, now: Millis) -> Option<AgentName> {
        let wanted = digest(token);
        let open = self.open();
        open.sessions.iter().find(|kept| kept.is(&wanted, now)).map(|kept| kept.name.clone())
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Kept ===

impl Kept {
    fn is(&self, wanted: &Digest, now: Millis) -> bool {
        now < self.ends && secret::is_same(&self.digest.0, &wanted.0)
    }
}

fn take(kept: &mut Vec<Kept>, wanted: &Digest, now: Millis) -> Option<AgentName> {
    let at = kept.iter().position(|kept| kept.is(wanted, now))?;
    Some(kept.remove(at).name)
}

fn keep(all: &mut Vec<Kept>, one: Kept) {
    if all.len() >= MAX_KEPT {
        all.remove(0);
    }
    all.push(one);
}

fn digest(secret: &str) -> Digest {
    Digest::of(secret.as_bytes())
}

fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new("internal.bug", format!("no random numbers: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    fn anna() -> AgentName {
        AgentName::new("anna").unwrap()
    }

    fn code<T: std::fmt::Debug>(answer: Result<T, Failure>) -> String {
        answer.unwrap_err().code
    }

    #[test]
    fn a_code_opens_one_session_once() {
        let sessions = Sessions::default();
        let (secret, _) = sessions.issue(&anna(), NOW).unwrap();

        let (token, ends) = sessions.exchange(&secret.to_lowercase(), NOW).unwrap();

        assert_eq!(sessions.find(&token, NOW), Some(anna()));
        assert_eq!(sessions.find(&token, ends), None);
        assert_eq!(sessions.find(&secret, NOW), None);
        assert_eq!(code(sessions.exchange(&secret, NOW)), "auth.bad-code");
    }

    #[test]
    fn a_code_grows_old() {
        let sessions = Sessions::default();
        let (secret, ends) = sessions.issue(&anna(), NOW).unwrap();

        assert_eq!(code(sessions.exchange(&secret, ends)), "auth.bad-code");
    }

    #[test]
    fn guessing_ends_after_a_few_tries_and_takes_the_codes_along() {
        let sessions = Sessions::default();
        let (secret, _) = sessions.issue(&anna(), NOW).unwrap();
        for _ in 0..MAX_WRONG {
            assert_eq!(code(sessions.exchange("WRONG", NOW)), "auth.bad-code");
        }

        assert_eq!(code(sessions.exchange(&secret, NOW)), "auth.too-many-tries");

        let later = Millis(NOW.0 + CODE_MS);
        assert_eq!(code(sessions.exchange(&secret, later)), "auth.bad-code");
        let (fresh, _) = sessions.issue(&anna(), later).unwrap();
        assert!(sessions.exchange(&fresh, later).is_ok());
    }
}
