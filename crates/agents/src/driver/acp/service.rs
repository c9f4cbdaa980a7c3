//! Distinguishes an agent whose service is rate limited, or whose account is exhausted, from one that failed for another reason.

use serde_json::Value;

use super::wire::Fault;
use crate::beginning;

/// Why a service rejects an agent's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Too many requests in too short a time.
    RateLimit {
        /// How long clients should wait, in milliseconds, if the service says so.
        retry_after_ms: Option<u64>,
    },
    /// The account has no money or no quota left: a retry would end the same way.
    Quota,
}

/// Texts of services whose account is exhausted: Anthropic, OpenAI, `OpenRouter`, Gemini and Qwen, as in their error documentation.
const QUOTA: [&str; 11] = [
    "billing",
    "credit balance",
    "exceeded your current quota",
    "insufficient balance",
    "insufficient credit",
    "insufficient_quota",
    "out of credits",
    "payment required",
    "quota exceeded",
    "quota_exceeded",
    "usage limit reached",
];

/// Texts of services that ask their clients to wait.
const RATE: [&str; 6] =
    ["rate limit", "rate_limit", "rate-limit", "ratelimit", "resource_exhausted", "too many requests"];

/// Texts before a time to wait, and fields that hold one.
const BEFORE_TIME: [&str; 8] =
    ["retry after", "retry-after", "retry_after", "retryafter", "retrydelay", "retry in", "try again in", "wait for"];

/// Bytes of a text that are searched: an error names its subject at the beginning.
const LOOKED_AT: usize = 2000;

/// HTTP statuses for too many requests, and for a required payment.
const TOO_MANY: i64 = 429;
const PAYMENT: i64 = 402;

/// Returns the refusal that an error reports.
pub(super) fn of_fault(fault: &Fault) -> Option<Refusal> {
    let data = if fault.data.is_null() { String::new() } else { fault.data.to_string() };
    let told = told_ms(&fault.data);
    of_text(&format!("{} {data}", fault.message), Some(fault.code), told)
}

/// Returns the refusal in the last text of a turn, if it is one, which one agent reports as an answer of its model.
pub(super) fn of_answer(text: &str) -> Option<Refusal> {
    let text = text.trim().trim_start_matches('[');
    if text.starts_with("API Error") { of_text(text, None, None) } else { None }
}

fn of_text(text: &str, code: Option<i64>, told: Option<u64>) -> Option<Refusal> {
    let text = beginning(text, LOOKED_AT).to_lowercase();
    let has = |status: i64| {
        let word = status.to_string();
        code == Some(status) || text.split(|c: char| !c.is_alphanumeric()).any(|part| part == word)
    };
    let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
    let retry_after_ms = told.or_else(|| time_in(&text));
    let is_rate = has(TOO_MANY) || says(&RATE);
    let is_quota = has(PAYMENT) || says(&QUOTA);
    match (is_rate, is_quota) {
        // One service calls its limit of requests per minute a quota, and says how long to wait.
        (true, true) if retry_after_ms.is_some() => Some(Refusal::RateLimit { retry_after_ms }),
        (_, true) => Some(Refusal::Quota),
        (true, false) => Some(Refusal::RateLimit { retry_after_ms }),
        (false, false) => None,
    }
}

/// Returns the time to wait from the fields of an error's data.
fn told_ms(data: &Value) -> Option<u64> {
    let number = |name: &str, scale: f64| {
        let value = data[name].as_f64().filter(|value| (0.0..1e9).contains(value))?;
        Some(rounded(value * scale))
    };
    let ms = number("retry_after_ms", 1.0).or_else(|| number("retryAfterMs", 1.0));
    ms.or_else(|| number("retry_after", 1000.0)).or_else(|| number("retryAfter", 1000.0))
}

/// Returns the time after words such as `retry after`: seconds, unless a unit says otherwise.
fn time_in(text: &str) -> Option<u64> {
    let after = BEFORE_TIME.iter().find_map(|words| Some(&text[text.find(words)? + words.len()..]))?;
    // Characters between the words and the number: `": "`, `=`, a space.
    let start = after.find(|c: char| c.is_ascii_digit()).filter(|at| *at <= 6)?;
    let after = &after[start..];
    let end = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
    let number: f64 = after[..end].trim_end_matches('.').parse().ok()?;
    let unit = after[end..].trim_start();
    let scale = if unit.starts_with("ms") || unit.starts_with("milli") {
        1.0
    } else if unit.starts_with('m') {
        60_000.0
    } else if unit.starts_with('h') {
        3_600_000.0
    } else {
        1000.0
    };
    (0.0..1e9).contains(&number).then(|| rounded(number * scale))
}

/// Rounds a number of milliseconds that is small and not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the callers have it between 0 and 4e15")]
fn rounded(ms: f64) -> u64 {
    ms.round() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(fault: Value) -> Option<Refusal> {
        of_fault(&serde_json::from_value(fault).unwrap())
    }

    #[test]
    fn a_service_that_wants_to_be_asked_later_is_told_from_one_that_wants_money() {
        let rate = |retry_after_ms| Some(Refusal::RateLimit { retry_after_ms });
        let cases = [
            (json!({ "code": 429, "message": "Too Many Requests" }), rate(None)),
            (json!({ "code": -32603, "message": "429 rate_limit_error: retry after 20 s" }), rate(Some(20_000))),
            (
                json!({ "code": -32603, "message": "Internal error", "data": { "details": "Rate limit reached. Please try again in 1.5s." } }),
                rate(Some(1500)),
            ),
            (json!({ "code": -32603, "message": "too many requests", "data": { "retry_after": 7 } }), rate(Some(7000))),
            (json!({ "code": 429, "message": "rate limited", "data": { "retryAfterMs": 250 } }), rate(Some(250))),
            (
                json!({ "code": 429, "message": "RESOURCE_EXHAUSTED: You exceeded your current quota, check your plan and billing. {\"retryDelay\":\"34s\"}" }),
                rate(Some(34_000)),
            ),
            (json!({ "code": 429, "message": "try again in 2m" }), rate(Some(120_000))),
            (
                json!({ "code": 429, "message": "You exceeded your current quota (insufficient_quota)" }),
                Some(Refusal::Quota),
            ),
            (
                json!({ "code": -32603, "message": "400 Your credit balance is too low to access the API" }),
                Some(Refusal::Quota),
            ),
            (json!({ "code": 402, "message": "Internal error" }), Some(Refusal::Quota)),
            (json!({ "code": -32603, "message": "500 overloaded" }), None),
            (json!({ "code": -32603, "message": "limits.rs has 4290 lines" }), None),
        ];

        for (fault, refusal) in cases {
            assert_eq!(of(fault.clone()), refusal, "{fault}");
        }
    }

    #[test]
    fn an_answer_that_is_the_services_refusal_is_told_from_one_that_speaks_of_it() {
        assert_eq!(of_answer("[API Error: 429 too many]"), Some(Refusal::RateLimit { retry_after_ms: None }));
        assert_eq!(of_answer("The handler returns 429 now."), None);
    }
}
