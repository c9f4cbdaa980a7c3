//! Excuses for skipping a gate. [`offered`] finds the eight refused ones in a role's reasons for leaving something out
//! or accepting it.
//!
//! A change is small or safe if its gates have passed, not because its author says so. The rule applies to fields that
//! hold a reason. A description of a change may say that no logic has changed.

mod clause;

use clause::Clauses;

/// A refused reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rationalisation {
    /// Usual wording of the reason.
    pub wording: &'static str,
    /// What to do instead.
    pub remedy: &'static str,
    /// Wordings to look for: words in their order, each with its alternatives.
    forms: &'static [Form],
}

/// One way to word a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Form {
    words: &'static [&'static [&'static str]],
    /// True if the wording counts only as a clause of its own.
    is_clause: bool,
}

const fn form(words: &'static [&'static [&'static str]]) -> Form {
    Form { words, is_clause: false }
}

const DOCS: &[&str] = &["docs", "doc", "documentation", "comments", "readme"];
const CHANGES: &[&str] = &["change", "changes"];
const PASS: &[&str] = &["pass", "passed", "passing"];

/// All refused reasons.
pub const REFUSED: [Rationalisation; 8] = [
    Rationalisation {
        wording: "It's a simple change",
        remedy: "run the gates: a simple change passes them quickly",
        forms: &[
            form(&[&["is"], &["a"], &["simple", "trivial"], &["change", "fix", "edit"]]),
            Form { words: &[&["simple", "trivial"], &["change", "fix", "edit"]], is_clause: true },
        ],
    },
    Rationalisation {
        wording: "Just updating docs",
        remedy: "the tier of a task follows from its paths; documents alone have fewer gates already",
        forms: &[
            form(&[&["just", "only"], &["updating", "changing", "editing"], DOCS]),
            form(&[&["just", "only"], &["updating", "changing", "editing"], &["the", "some"], DOCS]),
        ],
    },
    Rationalisation {
        wording: "Only a config tweak",
        remedy: "run the gates: configuration changes what the program does",
        forms: &[
            form(&[&["only", "just"], &["a"], &["config", "configuration"], &["tweak", "change"]]),
            Form { words: &[&["config", "configuration"], &["tweak"]], is_clause: true },
        ],
    },
    Rationalisation {
        wording: "Hotfix, no time for QA",
        remedy: "run the gates, or ask a person whether the task is to wait",
        forms: &[
            form(&[&["no"], &["time"], &["for"], &["qa", "tests", "testing", "review", "gates"]]),
            form(&[&["no"], &["time"], &["for"], &["the", "a"], &["qa", "tests", "review", "gates"]]),
        ],
    },
    Rationalisation {
        wording: "The tests pass locally",
        remedy: "the test gate runs on the captured tree; its result counts, not a report of another run",
        forms: &[
            form(&[&["tests", "test"], PASS, &["locally"]]),
            form(&[&["tests", "test"], &["are", "were"], &["passing", "green"], &["locally"]]),
            form(&[&["tests", "test"], PASS, &["on"], &["my"], &["machine"]]),
        ],
    },
    Rationalisation {
        wording: "I'll clean it up later",
        remedy: "finish it in this attempt, or add a task for it to the plan",
        forms: &[
            form(&[&["clean"], &["it", "this", "that", "them", "these", "things"], &["up"], &["later", "afterwards"]]),
            form(&[&["clean"], &["up"], &["later", "afterwards"]]),
            form(&[&["clean"], &["up"], &["it", "this", "that", "them"], &["later", "afterwards"]]),
        ],
    },
    Rationalisation {
        wording: "No logic changes",
        remedy: "run the gates: they show whether behaviour has changed",
        forms: &[
            form(&[&["no"], &["logic", "logical"], CHANGES]),
            form(&[&["no"], CHANGES, &["to", "in"], &["logic"]]),
            form(&[&["no"], CHANGES, &["to", "in"], &["the"], &["logic"]]),
        ],
    },
    Rationalisation {
        wording: "Already reviewed the pattern",
        remedy: "review this change: a verdict belongs to what it judged",
        forms: &[
            form(&[&["already"], &["reviewed"], &["the", "this", "that"], &["pattern"]]),
            form(&[&["pattern"], &["was", "is"], &["already"], &["reviewed"]]),
            form(&[&["pattern"], &["has"], &["already"], &["been"], &["reviewed"]]),
        ],
    },
];

/// Returns the refused reasons in a text, in the order of [`REFUSED`]. Ignores code, quotations and denied reasons
/// (`it is not just a config tweak`, `"it's a simple change" is no reason`), unless the whole text is a quotation.
#[must_use]
pub fn offered(reason: &str) -> Vec<Rationalisation> {
    let clauses = Clauses::read(reason);
    let is_offered = |one: &Rationalisation| one.forms.iter().any(|form| clauses.offer(form.words, form.is_clause));
    REFUSED.into_iter().filter(is_offered).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wordings(reason: &str) -> Vec<&'static str> {
        offered(reason).into_iter().map(|one| one.wording).collect()
    }

    #[test]
    fn each_of_the_eight_is_refused_in_any_case_punctuation_and_apostrophe() {
        for one in REFUSED {
            for text in [
                one.wording.to_owned(),
                one.wording.to_uppercase(),
                one.wording.replace('\'', "’"),
                one.wording.replace('\'', "ʼ"),
                one.wording.replace(',', " -"),
                one.wording.replace("It's", "It is").replace("I'll", "I will"),
                one.wording.replace("It's", "Its"),
                format!("{}!", one.wording),
                format!("**{}**", one.wording),
                format!("\"{}\"", one.wording),
                one.wording.replace(' ', "  \n"),
                format!("Skipped the review, {} and nothing else.", one.wording),
            ] {
                assert_eq!(wordings(&text), [one.wording], "{text}");
            }
            assert!(!one.remedy.is_empty());
        }
    }

    #[test]
    fn close_wordings_are_refused() {
        for (text, wording) in [
            ("It's just a simple change.", "It's a simple change"),
            ("This is really a trivial fix", "It's a simple change"),
            ("that's a simple change, so no tests", "It's a simple change"),
            ("Simple change", "It's a simple change"),
            ("QA is not needed because it is a simple change", "It's a simple change"),
            ("I do not run it: it's a simple change", "It's a simple change"),
            ("we are only updating the documentation", "Just updating docs"),
            ("this is just a configuration change", "Only a config tweak"),
            ("Hot-fix: there's no time for QA", "Hotfix, no time for QA"),
            ("All tests passed locally", "The tests pass locally"),
            ("the tests pass on my machine", "The tests pass locally"),
            ("We'll clean this up later", "I'll clean it up later"),
            ("there are no changes to the logic", "No logic changes"),
            ("the pattern was already reviewed", "Already reviewed the pattern"),
        ] {
            assert_eq!(wordings(text), [wording], "{text}");
        }
    }

    #[test]
    fn what_is_quoted_denied_or_about_something_else_is_accepted() {
        for text in [
            "",
            "The coder wrote \"It's a simple change\", which is no reason.",
            "The coder wrote “no logic changes”; the diff changes two branches.",
            "> just updating docs\nRefused: the diff touches src/a.rs",
            "`only a config tweak`",
            "This is not a simple change",
            "It isn't a simple change: it touches the lock order",
            "This is not just a config tweak",
            "The tests do not pass locally",
            "Refused not because it is a simple change but because it has no test",
            "That the tests pass locally is not evidence",
            "It's a simple change is no reason",
            "A simple change to the header would break three callers",
            "Simple changes are merged like others",
            "The reviewed pattern is in src/a.rs",
            "The documents were updated just now",
            "logic changes in three places, no tests",
            "clean up the fixtures in teardown",
            "The config tweak in line 3 turns TLS off",
            "No time limit for QA was set",
            "there is no logical contradiction",
        ] {
            assert_eq!(wordings(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn one_reason_may_offer_several() {
        let found = wordings("Hotfix, no time for QA. No logic changes; I’ll clean it up later.");

        assert_eq!(found, ["Hotfix, no time for QA", "I'll clean it up later", "No logic changes"]);
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in "\\PC{0,200}") {
            prop_assert!(offered(&text).len() <= REFUSED.len());
        }
    }
}
