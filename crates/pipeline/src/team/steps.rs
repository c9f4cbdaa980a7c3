//! Names of the steps in which others than its maker judge a change.

/// Who is affected by what the change alters that others may call.
pub const IMPACT: &str = "impact";
/// The review of correctness, edge cases and performance.
pub const REVIEW: &str = "review";
/// The same by another reviewer; only of a critical change.
pub const SECOND_REVIEW: &str = "second_review";
/// The review of security alone.
pub const SECURITY: &str = "security_review";
/// Tests of what the task asks for.
pub const TESTS: &str = "tests";
/// The same by another test engineer; only of a critical change.
pub const SECOND_TESTS: &str = "second_tests";
/// Tests that attack the change.
pub const ADVERSARIAL: &str = "adversarial_tests";
