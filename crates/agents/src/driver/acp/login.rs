//! Distinguishes an agent without a login from one that failed for another reason, and says how to log in.

use serde_json::Value;

use super::wire::{self, Fault};
use crate::beginning;
use crate::catalog;

/// HTTP statuses of a service that does not recognise its client, or does not serve it.
const STATUSES: [u64; 2] = [401, 403];

/// Texts with which agents and their services report a missing login or key; seen with the versions in `tests/real/package.json`.
const WORDS: [&str; 20] = [
    "/login",
    "api key is missing",
    "api key not",
    "authentication error",
    "authentication failed",
    "authentication required",
    "authentication_error",
    "authentication_failed",
    "forbidden",
    "incorrect api key",
    "invalid api key",
    "invalid credentials",
    "invalid x-api-key",
    "login required",
    "missing api key",
    "not logged in",
    "please log in",
    "please login",
    "unauthenticated",
    "unauthorized",
];

/// Bytes of a text that are searched: an error names its subject at the beginning.
const LOOKED_AT: usize = 1000;

/// Maximum number of login methods that are named, and maximum length of each in bytes.
const OFFERED: (usize, usize) = (4, 60);

/// Ways for a person to log an agent in.
#[derive(Debug, Default)]
pub(super) struct Login {
    /// Login command of a known agent.
    command: Option<&'static str>,
    /// Login methods that the agent itself offers.
    offered: Vec<String>,
}

// === impl Login ===

impl Login {
    pub(super) fn of(argv: &[String]) -> Self {
        Self { command: catalog::of_command(argv).map(|known| known.login), offered: Vec::new() }
    }

    /// Keeps the login methods of the answer to `initialize`.
    pub(super) fn learn(&mut self, initialized: &Value) {
        let methods = initialized["authMethods"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names = methods.iter().filter_map(|method| method["name"].as_str().or(method["id"].as_str()));
        self.offered = names.take(OFFERED.0).map(|name| beginning(name, OFFERED.1).to_owned()).collect();
    }

    /// Formats how to log in, followed by the agent's own message.
    pub(super) fn with_login_hint(&self, says: &str) -> String {
        let how = match (self.command, self.offered.as_slice()) {
            (Some(command), _) => format!("log in first: {command}"),
            (None, []) => "log it in first".to_owned(),
            (None, offered) => format!("log it in first, it offers: {}", offered.join(", ")),
        };
        if says.is_empty() { how } else { format!("{how}. The agent says: {says}") }
    }
}

/// Returns true if an answer reports a missing login.
pub(super) fn is_wanted(fault: &Fault) -> bool {
    let is_status = u64::try_from(fault.code).is_ok_and(|code| STATUSES.contains(&code));
    let data = if fault.data.is_null() { String::new() } else { fault.data.to_string() };
    fault.code == wire::AUTH_REQUIRED || is_status || is_said(&fault.message) || is_said(&data)
}

/// Returns true if a text reports a missing login.
pub(super) fn is_said(text: &str) -> bool {
    let text = beginning(text, LOOKED_AT).to_lowercase();
    let is_status = |word: &str| word.parse().is_ok_and(|number| STATUSES.contains(&number));
    text.split(|c: char| !c.is_alphanumeric()).any(is_status) || WORDS.iter().any(|words| text.contains(words))
}

/// Returns true if the last text of a turn is a refusal of the service, which one agent reports as an answer of its model.
pub(super) fn is_answer(text: &str) -> bool {
    let text = text.trim().trim_start_matches('[');
    text.starts_with("API Error") && is_said(text)
}

/// Returns the service's refusal while Claude Code retries, which it would do for minutes. The first try is ignored, because it may precede
/// the renewal of a token.
pub(super) fn of_retry(params: &Value) -> Option<String> {
    let message = &params["message"];
    let is_refused = message["error_status"].as_u64().is_some_and(|status| STATUSES.contains(&status));
    let is_again = message["attempt"].as_u64().is_some_and(|attempt| attempt >= 2);
    if message["subtype"] != "api_retry" || !is_refused || !is_again {
        return None;
    }
    let error = message["error"].as_str().unwrap_or("refused");
    Some(format!("{} ({})", beginning(error, 100), message["error_status"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(text: Value) -> Fault {
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn the_words_of_every_agent_without_a_login_are_known() {
        let refused = [
            json!({ "code": -32000, "message": "Authentication required" }),
            json!({ "code": 401, "message": "{\"error\":{\"code\":401,\"message\":\"API key not valid\"}}" }),
            json!({ "code": -32603, "message": "Internal error", "data": { "details": "403 Country not supported" } }),
            json!({ "code": -32603, "message": "Internal error: Incorrect API key provided: x.",
                "data": { "service": "session", "errorName": "APIError" } }),
            json!({ "code": -32603, "message": "Internal error", "data": "unexpected status 401 Unauthorized" }),
        ];
        let failed = [
            json!({ "code": -32603, "message": "Internal error", "data": { "details": "500 overloaded" } }),
            json!({ "code": -32603, "message": "login.rs has 1401 lines and no api" }),
            json!({ "code": -32602, "message": "unknown session" }),
            json!({ "code": 429, "message": "too many requests" }),
        ];

        assert!(refused.into_iter().map(fault).all(|fault| is_wanted(&fault)));
        for other in failed {
            assert!(!is_wanted(&fault(other.clone())), "{other}");
        }
    }

    #[test]
    fn an_answer_that_is_the_services_refusal_is_told_from_one_that_speaks_of_it() {
        assert!(is_answer("[API Error: 401 Incorrect API key]"));
        assert!(!is_answer("The handler returns 401 now.") && !is_answer("API Error: 500 overloaded"));
    }

    #[test]
    fn a_service_that_refuses_twice_is_not_tried_ten_times() {
        let retry = |attempt: u32, status: u32| {
            let message = json!({ "type": "system", "subtype": "api_retry", "attempt": attempt,
                "error_status": status, "error": "authentication_failed" });
            of_retry(&json!({ "message": message }))
        };

        assert_eq!(retry(2, 401).as_deref(), Some("authentication_failed (401)"));
        assert_eq!((retry(1, 401), retry(2, 529)), (None, None));
    }

    #[test]
    fn the_agents_own_command_is_named_before_what_it_says() {
        let argv = ["/usr/bin/codex-acp".to_owned()];
        let mut unknown = Login::of(&["mine".to_owned()]);
        assert_eq!(unknown.with_login_hint(""), "log it in first");

        unknown.learn(&json!({ "authMethods": [{ "id": "a", "name": "API key" }, { "id": "b" }] }));

        assert_eq!(unknown.with_login_hint("no"), "log it in first, it offers: API key, b. The agent says: no");
        assert_eq!(
            Login::of(&argv).with_login_hint("no"),
            "log in first: codex-acp cli login, or with an API key: printenv OPENAI_API_KEY | codex-acp cli login --with-api-key. The agent says: no"
        );
    }
}
