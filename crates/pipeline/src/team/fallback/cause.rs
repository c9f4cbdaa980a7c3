//! Classifies the failures of models.

/// Kind of a model's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Temporary: a rate limit, an overload, a broken connection. Another model, or the same one later, can answer.
    Transient,
    /// The service has no such model. It won't answer later, but another model can.
    ModelAbsent,
    /// Permanent: no access, no money, a bad request.
    Permanent,
}

/// HTTP statuses of temporary failures: timeout, too many requests, server or gateway down. 529 is the overload status
/// of Anthropic's service.
const TRANSIENT: [u16; 7] = [408, 429, 500, 502, 503, 504, 529];

/// Words of permanent failures, whatever else the message says.
const PERMANENT_WORDS: [&str; 20] = [
    "unauthorized",
    "unauthorised",
    "unauthenticated",
    "authentication",
    "invalid api key",
    "invalid x-api-key",
    "incorrect api key",
    "invalid_api_key",
    "forbidden",
    "permission denied",
    "access denied",
    "bad request",
    "invalid request",
    "invalid_request_error",
    "insufficient_quota",
    "insufficient quota",
    "billing",
    "credit balance",
    "context length",
    "content policy",
];

/// Words of temporary failures.
const TRANSIENT_WORDS: [&str; 37] = [
    "rate limit",
    "rate-limit",
    "rate_limit",
    "ratelimit",
    "too many requests",
    "overloaded",
    "over capacity",
    "at capacity",
    "temporarily unavailable",
    "service unavailable",
    "try again later",
    "timeout",
    "timed out",
    "time-out",
    "deadline exceeded",
    "server error",
    "server_error",
    "internal error",
    "bad gateway",
    "econnreset",
    "econnrefused",
    "econnaborted",
    "etimedout",
    "enetunreach",
    "ehostunreach",
    "enotfound",
    "eai_again",
    "epipe",
    "socket hang up",
    "network error",
    "fetch failed",
    "connection reset",
    "connection refused",
    "connection closed",
    "connection error",
    "stream ended unexpectedly",
    "broken pipe",
];

/// Phrases for a missing model.
const ABSENT_WORDS: [&str; 5] =
    ["model not found", "model_not_found", "no such model", "unknown model", "model does not exist"];

/// Words directly before a number that make it an HTTP status.
const STATUS_WORDS: [&str; 6] = ["status", "code", "http", "error", "statuscode", "status_code"];

/// Classifies a failure by the agent's message. An HTTP status in it decides. Without one, words of permanent failures
/// take precedence over words of temporary ones. Unknown failures count as permanent.
#[must_use]
pub fn cause(message: &str) -> Cause {
    let text = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&ABSENT_WORDS) {
        return Cause::ModelAbsent;
    }
    match status_in(&text) {
        // An exhausted quota is also answered with 429, but is permanent.
        Some(429) if has(&["insufficient_quota", "insufficient quota", "billing", "credit balance"]) => {
            Cause::Permanent
        }
        Some(status) if TRANSIENT.contains(&status) => Cause::Transient,
        Some(400..=599) => Cause::Permanent,
        Some(_) | None if has(&PERMANENT_WORDS) => Cause::Permanent,
        Some(_) | None if has(&TRANSIENT_WORDS) => Cause::Transient,
        Some(_) | None => Cause::Permanent,
    }
}

/// Returns the HTTP status in a message: a three-digit number after `status`, `http` or `error`, or at the beginning.
/// `line 429` doesn't count.
fn status_in(text: &str) -> Option<u16> {
    let words: Vec<&str> =
        text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
    let status = |(at, word): (usize, &&str)| {
        let number: u16 = word.parse().ok().filter(|number| (400..=599).contains(number))?;
        let before = at.checked_sub(1).map(|before| words[before]);
        // `HTTP/1.1 503` has a version in between.
        let is_version = |word: &str| word.len() == 1 && word.chars().all(|c| c.is_ascii_digit());
        let named = words[..at].iter().rev().find(|word| !is_version(word)).copied();
        let is_named = named.is_some_and(|word| STATUS_WORDS.contains(&word));
        (before.is_none() || is_named).then_some(number)
    };
    words.iter().enumerate().find_map(status)
}
