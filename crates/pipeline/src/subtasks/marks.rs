//! Marks in the last line of an answer: agreement of a participant, or the change that is taken.

use switchboard_protocol::plan::TaskId;

use super::{PromptSource, Shape};

/// The line with which a participant agrees.
pub(super) const AGREE: &str = "[agree]";

/// Begins the line that names the participant whose change is taken: `[take: codex]`.
pub(super) const TAKE: &str = "[take:";

/// Returns the last line of an answer that is not blank.
fn last_line(answer: &str) -> &str {
    answer.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// Returns true if an answer ends with the mark of agreement.
pub(super) fn agrees(answer: &str) -> bool {
    last_line(answer).eq_ignore_ascii_case(AGREE)
}

/// Returns the participant whose change an answer takes, if its last line names one.
#[must_use]
pub fn taken(answer: &str) -> Option<&str> {
    let line = last_line(answer);
    let is_mark = line.get(..TAKE.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(TAKE));
    let name = line.get(TAKE.len()..)?.strip_suffix(']')?.trim();
    (is_mark && !name.is_empty()).then_some(name)
}

/// Returns true if a turn is not needed, because all who replied in the round before have agreed. An omitted round has
/// no replies.
#[must_use]
pub fn is_over(shape: &Shape, answer: impl Fn(&TaskId) -> Option<String>) -> bool {
    match &shape.told {
        // In the first round, participants don't know each other's replies.
        PromptSource::Turn { round, before, .. } if *round > 2 => {
            before.iter().filter_map(|(_, task)| answer(task)).all(|said| agrees(&said))
        }
        PromptSource::Turn { .. }
        | PromptSource::Task
        | PromptSource::Informed { .. }
        | PromptSource::Step { .. }
        | PromptSource::Decision { .. } => false,
    }
}

/// Returns the first round in which all who replied have agreed.
pub(super) fn agreed_round(turns: &[(u32, String, TaskId)], answer: impl Fn(&TaskId) -> Option<String>) -> Option<u32> {
    let last = turns.last().map_or(0, |(round, ..)| *round);
    let is_agreed = |wanted: &u32| {
        let said = turns.iter().filter(|(round, ..)| round == wanted).filter_map(|(_, _, task)| answer(task));
        let said: Vec<_> = said.collect();
        !said.is_empty() && said.iter().all(|said| agrees(said))
    };
    (2..last).find(is_agreed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_line_that_is_not_blank_is_a_mark() {
        assert!(agrees("I see it the same way.\n[agree]\n\n") && agrees("[Agree]"));
        assert!(!agrees("[agree]\nBut not quite.") && !agrees("I [agree]") && !agrees(""));
        assert_eq!(taken("ben is right.\n\n[take: ben]\n"), Some("ben"));
        assert_eq!(taken("[TAKE:codex-2]"), Some("codex-2"));
        for none in ["[take: ben]\nor not", "[take:]", "take: ben", "[take: ben", "", "ä[take: b]"] {
            assert_eq!(taken(none), None, "{none:?}");
        }
    }
}
