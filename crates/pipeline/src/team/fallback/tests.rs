use super::*;

#[test]
fn a_status_says_what_kind_of_error_it_is() {
    for status in [408, 429, 500, 502, 503, 504, 529] {
        assert_eq!(cause(&format!("HTTP {status}")), Cause::Transient, "{status}");
    }
    for status in [400, 401, 402, 403, 404, 409, 413, 422, 501] {
        assert_eq!(cause(&format!("HTTP {status} timeout")), Cause::Permanent, "{status}");
    }
    assert_eq!(cause("429: You exceeded your quota: insufficient_quota"), Cause::Permanent);
    assert_eq!(cause("status 404: model not found: x"), Cause::ModelAbsent);
}

#[test]
fn words_say_what_kind_of_error_it_is_where_there_is_no_status() {
    for text in [
        "Rate limit reached for requests",
        "rate_limit_error",
        "Overloaded",
        "The server is temporarily unavailable",
        "connect ECONNREFUSED 127.0.0.1:443",
        "getaddrinfo EAI_AGAIN api.example.com",
        "read ETIMEDOUT",
        "Request timed out.",
        "TypeError: fetch failed",
        "socket hang up",
        "HTTP 503",
        "HTTP/1.1 529 overloaded",
        "503 Service Unavailable",
        "API Error: status code: 502",
        "internal server error",
    ] {
        assert_eq!(cause(text), Cause::Transient, "{text}");
    }
    for text in [
        "",
        "Invalid API key, try again later",
        "Unauthorized: rate limit of 0",
        "authentication timed out",
        "HTTP 401 after a timeout",
        "400 bad request",
        "invalid_request_error: max_tokens",
        "assertion failed in line 429 of a.rs",
        "503 tests passed, status unknown"[..0].trim(),
        "the tests failed",
        "Your credit balance is too low",
        "expected 500 got 404 rows",
    ] {
        assert_eq!(cause(text), Cause::Permanent, "{text}");
    }
    assert_eq!(cause("model_not_found"), Cause::ModelAbsent);
}

#[test]
fn each_transient_error_goes_to_the_next_model_and_the_last_is_asked_again() {
    let fallbacks = ["b".to_owned(), "c".to_owned()];
    let models = Models::new(None, &fallbacks);

    assert_eq!([0, 1, 2, 3, 9].map(|failed| models.after(failed)), [None, Some("b"), Some("c"), Some("c"), Some("c")]);
    assert_eq!([None, Some("b"), Some("c"), Some("d")].map(|asked| models.has_next(asked)), [true, true, false, false]);
    assert_eq!(models.describe(0), None);
    assert_eq!(models.describe(1).as_deref(), Some("the agent's own model failed for now, b is asked"));
    assert!(models.describe(3).is_some_and(|told| told.contains("last fallback model")));
    let alone = Models::new(Some("a".to_owned()), &[]);
    assert_eq!((alone.after(4), alone.has_next(Some("a"))), (Some("a"), false));
    assert!(alone.describe(1).is_some_and(|told| told.contains("no fallback model")));
}

#[test]
fn a_model_that_is_not_there_is_passed_over_as_long_as_another_is_left() {
    let models = Models::new(Some("a".to_owned()), &["b".to_owned()]);

    assert!(models.passes("model not found: a", Some("a")) && !models.passes("model not found: b", Some("b")));
    assert!(models.passes("HTTP 529 overloaded", Some("b")), "an overload passes whatever model it is");
    assert!(!models.passes("401 unauthorized", Some("a")) && !models.passes("the tests failed", None));
}
