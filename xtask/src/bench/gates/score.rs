//! Accuracy of a check, computed from counts.

use serde_json::{Value, json};

/// Counts of secrets found, secrets missed, and wrong findings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Score {
    pub(super) found: usize,
    pub(super) missed: usize,
    pub(super) wrong: usize,
}

// === impl Score ===

impl Score {
    pub(super) fn count(&mut self, is_told: bool, is_true: bool) {
        match (is_told, is_true) {
            (true, true) => self.found += 1,
            (false, true) => self.missed += 1,
            (true, false) => self.wrong += 1,
            (false, false) => {}
        }
    }

    fn recall(self) -> f64 {
        share(self.found, self.missed)
    }

    fn precision(self) -> f64 {
        share(self.found, self.wrong)
    }

    pub(super) fn to_json(self) -> Value {
        let (recall, precision) = (self.recall(), self.precision());
        let f1 = 2.0 * recall * precision / (recall + precision).max(f64::MIN_POSITIVE);
        let exact = |value: f64| (value * 10_000.0).round() / 10_000.0;
        json!({
            "recall": exact(recall),
            "precision": exact(precision),
            "f1": exact(f1),
            "found": self.found,
            "missed": self.missed,
            "wrong": self.wrong,
        })
    }
}

fn share(yes: usize, no: usize) -> f64 {
    if yes + no == 0 { 1.0 } else { yes as f64 / (yes + no) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_counts_what_is_told_and_what_is_true() {
        let mut score = Score::default();
        for (is_told, is_true, times) in [(true, true, 3), (false, true, 1), (true, false, 1), (false, false, 9)] {
            (0..times).for_each(|_| score.count(is_told, is_true));
        }

        assert_eq!(score, Score { found: 3, missed: 1, wrong: 1 });
        assert_eq!(score.to_json()["f1"], json!(0.75));
    }
}
