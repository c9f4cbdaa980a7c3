use proptest::prelude::*;

use super::*;

fn fallback(count: usize) -> Fallback {
    Fallback::new("own", &(1..=count).map(|n| format!("m{n}")).collect::<Vec<_>>())
}

const TRANSIENT: TurnEnd = TurnEnd::Failed(Cause::Transient);

#[test]
fn a_status_says_what_kind_of_error_it_is() {
    for status in [408, 429, 500, 502, 503, 504, 529] {
        assert_eq!(cause(Some(status), ""), Cause::Transient, "{status}");
    }
    for status in [400, 401, 402, 403, 404, 409, 413, 422, 501] {
        assert_eq!(cause(Some(status), "timeout"), Cause::Permanent, "{status}");
    }
    assert_eq!(cause(Some(429), "You exceeded your quota: insufficient_quota"), Cause::Permanent);
    assert_eq!(cause(Some(404), "model not found: x"), Cause::ModelAbsent);
    assert_eq!(cause(Some(200), "connection reset"), Cause::Transient);
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
        assert_eq!(cause(None, text), Cause::Transient, "{text}");
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
        assert_eq!(cause(None, text), Cause::Permanent, "{text}");
    }
    assert_eq!(cause(None, "model_not_found"), Cause::ModelAbsent);
}

#[test]
fn each_transient_error_goes_to_the_next_model_until_none_is_left() {
    let mut fallback = fallback(2);

    let steps: Vec<_> = (0..4).map(|_| fallback.step(TRANSIENT)).collect();

    assert_eq!(steps.iter().map(|next| next.model).collect::<Vec<_>>(), [1, 2, 2, 2]);
    assert_eq!(steps.iter().map(|next| next.counts).collect::<Vec<_>>(), [false, false, true, true]);
    assert_eq!(
        steps.iter().map(|next| next.shown.is_some()).collect::<Vec<_>>(),
        [true, true, true, false],
        "said once"
    );
    assert!(fallback.is_exhausted() && fallback.model() == "m2");
}

#[test]
fn a_success_goes_back_to_the_first_model() {
    let mut fallback = fallback(1);
    fallback.step(TRANSIENT);
    fallback.step(TRANSIENT);

    let next = fallback.step(TurnEnd::Answered);

    assert_eq!((next.model, next.counts, fallback.is_exhausted(), fallback.model()), (0, false, false, "own"));
    assert_eq!(fallback.step(TRANSIENT).model, 1);
}

#[test]
fn an_error_that_stays_counts_and_changes_no_model() {
    let mut fallback = fallback(3);

    let next = fallback.step(TurnEnd::Failed(Cause::Permanent));

    assert_eq!((next.model, next.counts, next.shown), (0, true, None));
}

#[test]
fn without_a_fallback_every_transient_error_counts() {
    let mut fallback = Fallback::new("", &[]);

    let next = fallback.step(TurnEnd::Failed(Cause::ModelAbsent));

    assert!(next.counts && fallback.is_exhausted());
    assert!(next.shown.unwrap().1.contains("the agent's own model"));
}

proptest! {
    #[test]
    fn the_index_stays_among_at_most_three_fallbacks(count in 0..6_usize, ends in proptest::collection::vec(0..4_u8, 0..40)) {
        let mut fallback = fallback(count);
        let mut before = 0;
        for end in ends {
            let end = match end {
                0 => TurnEnd::Answered,
                1 => TRANSIENT,
                2 => TurnEnd::Failed(Cause::ModelAbsent),
                _ => TurnEnd::Failed(Cause::Permanent),
            };

            let next = fallback.step(end);

            prop_assert!(next.model <= count.min(MAX_FALLBACK_MODELS));
            let expected = match end {
                TurnEnd::Answered => 0,
                TurnEnd::Failed(Cause::Permanent) => before,
                TurnEnd::Failed(Cause::Transient | Cause::ModelAbsent) => (before + 1).min(count.min(MAX_FALLBACK_MODELS)),
            };
            prop_assert_eq!(next.model, expected);
            prop_assert!(next.counts || end == TurnEnd::Answered || next.model > before);
            before = next.model;
        }
    }
}
