//! Tables of detectors, one for each group of vendors.
//!
//! Patterns are written from the vendors' public descriptions of their token formats. Keywords are in lower case.

use crate::detector::Detector;

mod ai;
mod cloud;
mod forge;
mod generic;
mod hosted;
mod messaging;
mod operations;
mod payment;
mod services;

/// Detector of a file that consists of a key.
pub(crate) static KEY_FILE: Detector =
    Detector::reader("key-file", "Private key or store of keys", &["key file"], |_| None).critical();

/// Returns all detectors that have keywords.
pub(crate) fn all() -> Vec<&'static Detector> {
    [
        ai::DETECTORS,
        cloud::DETECTORS,
        forge::DETECTORS,
        generic::DETECTORS,
        hosted::DETECTORS,
        messaging::DETECTORS,
        operations::DETECTORS,
        payment::DETECTORS,
        services::DETECTORS,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Lists the rules, each with what it finds.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    all().into_iter().chain([&KEY_FILE]).map(|detector| (detector.rule, detector.title))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::{Find, build};

    #[test]
    fn every_pattern_builds_and_every_keyword_is_small() {
        for detector in all() {
            if let Find::Token(pattern) | Find::Assigned(pattern) = detector.find {
                assert!(build(&["^(?:", pattern, ")"]).is_some(), "{}", detector.rule);
            }
            assert!(!detector.keywords.is_empty(), "{}", detector.rule);
            for word in detector.keywords {
                assert!(word.len() >= 3 && *word == word.to_ascii_lowercase(), "{}: {word}", detector.rule);
            }
        }
    }

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let mut rules: Vec<&str> = all().iter().map(|detector| detector.rule).collect();
        let all = rules.len();
        rules.sort_unstable();
        rules.dedup();

        assert_eq!(rules.len(), all);
    }
}
