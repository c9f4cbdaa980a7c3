//! Names of the steps in which other workers judge a change.

/// Analysis of who is affected by changes to anything that others may call.
pub const IMPACT: &str = "impact";
/// The review of correctness, edge cases and performance.
pub const REVIEW: &str = "review";
/// A second review by another reviewer, for critical changes only.
pub const SECOND_REVIEW: &str = "second_review";
/// Review of security only.
pub const SECURITY: &str = "security_review";
/// Tests of the task's requirements.
pub const TESTS: &str = "tests";
/// Second tests by another test engineer, for critical changes only.
pub const SECOND_TESTS: &str = "second_tests";
/// Tests that attack the change.
pub const ADVERSARIAL: &str = "adversarial_tests";
