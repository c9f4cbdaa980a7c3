//! Counts the last attempts of a task that ended alike.

use std::collections::BTreeSet;

use switchboard_protocol::run::RefusalCause;
use switchboard_protocol::worker::STDERR_TAIL;

/// Minimum length, in bytes, and minimum number of digits of a word that is taken for an id or a time: those of `17:51:14`. Session and request
/// ids of the known agents and UUIDs have more of both.
const ID: (usize, usize) = (8, 6);

/// A series of attempts with the same end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alike {
    pub(super) end: AttemptEnd,
    /// Number of attempts in a row with this end.
    pub(super) times: u32,
}

/// End of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    /// The worker failed.
    Worker { cause: RefusalCause, reasons: Vec<String> },
    /// Gates refused a tree; with their names and reasons.
    Gates { tree: String, said: BTreeSet<(String, Vec<String>)> },
}

impl Alike {
    /// Records the end of an attempt; returns how many in a row had the same end.
    pub(super) fn after(alike: &mut Option<Self>, end: AttemptEnd) -> u32 {
        let before = alike.take().filter(|alike| alike.end == end).map_or(0, |alike| alike.times);
        *alike = Some(Self { end, times: before + 1 });
        before + 1
    }
}

/// Returns what two attempts that fail for the same reason have in common: the text without the end of standard error, and without ids and times.
pub(super) fn essence(reason: &str) -> String {
    let reason = reason.split(STDERR_TAIL).next().unwrap_or_default();
    let letters: Vec<char> = reason.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let is_of_word = |at: usize| match letters[at] {
        '_' | '-' => true,
        ':' | '.' | '+' => at > 0 && is_digit(at - 1) && is_digit(at + 1),
        letter => letter.is_alphanumeric(),
    };
    let mut kept = String::with_capacity(reason.len());
    let mut at = 0;
    while at < letters.len() {
        let end = (at..letters.len()).find(|&next| !is_of_word(next)).unwrap_or(letters.len());
        let word = &letters[at..end];
        let digits = word.iter().filter(|letter| letter.is_ascii_digit()).count();
        match word.len() >= ID.0 && digits >= ID.1 {
            true => kept.push('#'),
            false => kept.extend(word),
        }
        kept.extend(letters.get(end));
        at = end + 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_times_and_standard_error_do_not_tell_two_failures_apart() {
        let same = [
            ("error: no session ses_de70441b2ffeAAA6 (-32603)", "error: no session ses_de70316e5ffe2iIP (-32603)"),
            ("overloaded, req_011CSHoEeqs5C35K2UUq", "overloaded, req_011CSHoFf2kJ8u9K3Lm4"),
            (
                "2026-11-26T17:51:14.250Z lost 017f22e2-79b0-7cc3-98c4",
                "2026-11-26T18:00:01Z lost 01a21901-b99f-71a1-ae95",
            ),
            ("gone at 17:51:14", "gone at 18:00:01"),
            ("gone at 7:51:14.1", "gone at 8:00:01.2"),
            (":17:51:14", ":18:00:01"),
            ("error: gone; its standard error ends with: pid 1", "error: gone; its standard error ends with: pid 2"),
        ];
        for (one, other) in same {
            assert_eq!(essence(one), essence(other));
        }

        for (one, other) in [
            ("exit code 1", "exit code 2"),
            ("main.rs:12:5", "main.rs:14:5"),
            ("é 403", "é 500"),
            ("abc12345", "abc12346"),
            ("a:123456", "a:123457"),
            ("123456:a", "123457:a"),
        ] {
            assert_ne!(essence(one), essence(other));
        }
        assert_eq!(essence("exit, exit code 3: no (x.y)"), "exit, exit code 3: no (x.y)");
    }
}
