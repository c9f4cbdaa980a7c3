//! Words for gate verdicts on screens; the record and `--json` keep the short ones.

use switchboard_protocol::run::Verdict;

use crate::output::Tone;

/// Returns the words for a verdict, and their tone.
pub(crate) const fn shown(verdict: Verdict) -> (Tone, &'static str) {
    match verdict {
        Verdict::Pass => (Tone::Good, "passed"),
        Verdict::Warn => (Tone::Notice, "passed with a warning"),
        Verdict::Fail => (Tone::Bad, "failed"),
        Verdict::Error => (Tone::Bad, "failed: it could not judge"),
        Verdict::NoReply => (Tone::Bad, "failed: it did not answer"),
        Verdict::Skipped => (Tone::Notice, "skipped"),
        Verdict::NotConfigured => (Tone::Faint, "not configured"),
    }
}

/// Like [`shown`], for a verdict as a report spells it; an unknown word of a newer daemon is shown as it is.
pub(crate) fn shown_word(word: &str) -> (Tone, String) {
    let verdict = serde_json::from_value::<Verdict>(word.into()).map(shown);
    verdict.map_or_else(|_| (Tone::Notice, word.replace('_', " ")), |(tone, words)| (tone, words.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_says_passed_and_failed() {
        let words = ["pass", "warn", "fail", "error", "no_reply", "skipped", "not_configured", "from_the_future"];

        let shown = words.map(|word| shown_word(word).1);

        assert_eq!(
            shown,
            [
                "passed",
                "passed with a warning",
                "failed",
                "failed: it could not judge",
                "failed: it did not answer",
                "skipped",
                "not configured",
                "from the future",
            ]
        );
    }
}
