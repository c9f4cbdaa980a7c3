//! Answers that judge a change, its security, a plan, or what was built or claimed.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schemas")]
use super::limits::{MAX_LIST, MAX_PATH, MAX_TEXT};
pub use crate::evidence::{Risk, Severity};
use crate::schema::JsonSchema;

/// Review of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Whether the change may proceed.
    pub verdict: ReviewVerdict,
    /// Risk of the change.
    pub risk: Risk,
    /// Problems found in the change.
    #[schemars(length(max = MAX_LIST))]
    pub issues: Vec<Issue>,
    /// What the reviewer looked at.
    pub checked: Checked,
    /// What has to be fixed before the next review; required if the change is rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_TEXT))]
    pub required_fix: Option<String>,
}

/// Whether a change may proceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ReviewVerdict {
    Approved,
    Rejected,
}

/// A problem found in a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// Severity of the problem.
    pub severity: Severity,
    /// Description of the problem.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub message: String,
    /// File with the problem, relative to the repository's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_PATH))]
    pub file: Option<String>,
    /// Line of the problem, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub line: Option<u64>,
}

/// What a reviewer looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checked {
    /// Whether the change does what the task asks for.
    pub correctness: bool,
    /// Empty, large, malformed and concurrent input; failures of called code.
    pub edge_cases: bool,
    /// Cost in time and memory.
    pub performance: bool,
}

/// Review of a change for security alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecurityReview {
    /// Whether the change may proceed.
    pub verdict: ReviewVerdict,
    /// Categories that were looked at; all ten if the change is approved.
    #[schemars(length(max = 10))]
    pub categories: Vec<Owasp>,
    /// Security findings.
    #[schemars(length(max = MAX_LIST))]
    pub findings: Vec<SecurityFinding>,
}

/// A security finding of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecurityFinding {
    /// Category of the finding.
    pub category: Owasp,
    /// Severity of the finding.
    pub severity: Risk,
    /// Description of the finding; never the secret itself.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub message: String,
    /// File with the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_PATH))]
    pub file: Option<String>,
    /// Line of the finding, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub line: Option<u64>,
    /// What to do about the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_TEXT))]
    pub fix: Option<String>,
}

/// The categories of the OWASP Top 10 of 2021 (<https://owasp.org/Top10/2021/>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Owasp {
    /// A01: Broken Access Control.
    BrokenAccessControl,
    /// A02: Cryptographic Failures.
    CryptographicFailures,
    /// A03: Injection.
    Injection,
    /// A04: Insecure Design.
    InsecureDesign,
    /// A05: Security Misconfiguration.
    SecurityMisconfiguration,
    /// A06: Vulnerable and Outdated Components.
    VulnerableComponents,
    /// A07: Identification and Authentication Failures.
    AuthenticationFailures,
    /// A08: Software and Data Integrity Failures.
    IntegrityFailures,
    /// A09: Security Logging and Monitoring Failures.
    LoggingFailures,
    /// A10: Server-Side Request Forgery.
    ServerSideRequestForgery,
}

/// A critic's review of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanReview {
    /// Whether work may begin.
    pub verdict: PlanVerdict,
    /// Reasons for the verdict.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_TEXT)))]
    pub reasons: Vec<String>,
    /// What has to change; required if the plan needs revision.
    #[serde(default)]
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_TEXT)))]
    pub required_changes: Vec<String>,
}

/// Whether work on a plan may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PlanVerdict {
    Approved,
    NeedsRevision,
    Rejected,
}

/// A verifier's answer about a phase: whether it was built as asked, or whether claims about the code are true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// Whether the verification succeeded.
    pub verdict: VerifierVerdict,
    /// What does not hold.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_TEXT)))]
    pub findings: Vec<String>,
}

/// Result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum VerifierVerdict {
    Approved,
    NeedsRevision,
}

// === impl Review ===

impl Review {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let is_error = |issue: &Issue| issue.severity == Severity::Error;
        let Checked { correctness, edge_cases, performance } = self.checked;
        match self.verdict {
            ReviewVerdict::Approved if self.issues.iter().any(is_error) => {
                Some("APPROVED, and an issue has severity `error`")
            }
            ReviewVerdict::Approved if !(correctness && edge_cases && performance) => {
                Some("APPROVED, and `checked` says that something was not looked at")
            }
            ReviewVerdict::Rejected if is_blank(self.required_fix.as_deref()) => {
                Some("REJECTED without a `required_fix`")
            }
            ReviewVerdict::Approved | ReviewVerdict::Rejected => None,
        }
    }
}

// === impl SecurityReview ===

impl SecurityReview {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let is_grave = |finding: &SecurityFinding| matches!(finding.severity, Risk::High | Risk::Critical);
        match self.verdict {
            ReviewVerdict::Approved if self.findings.iter().any(is_grave) => {
                Some("APPROVED, and a finding has severity `high` or `critical`")
            }
            ReviewVerdict::Approved if !Owasp::ALL.iter().all(|one| self.categories.contains(one)) => {
                Some("APPROVED, and `categories` does not name all ten")
            }
            ReviewVerdict::Rejected if self.findings.is_empty() => Some("REJECTED without a finding"),
            ReviewVerdict::Approved | ReviewVerdict::Rejected => None,
        }
    }
}

// === impl Owasp ===

impl Owasp {
    /// All categories, A01 to A10.
    pub const ALL: [Self; 10] = [
        Self::BrokenAccessControl,
        Self::CryptographicFailures,
        Self::Injection,
        Self::InsecureDesign,
        Self::SecurityMisconfiguration,
        Self::VulnerableComponents,
        Self::AuthenticationFailures,
        Self::IntegrityFailures,
        Self::LoggingFailures,
        Self::ServerSideRequestForgery,
    ];
}

// === impl PlanReview ===

impl PlanReview {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match self.verdict {
            PlanVerdict::Approved if !self.required_changes.is_empty() => Some("APPROVED with `required_changes`"),
            PlanVerdict::NeedsRevision if self.required_changes.is_empty() => {
                Some("NEEDS_REVISION without `required_changes`")
            }
            PlanVerdict::Rejected if self.reasons.is_empty() => Some("REJECTED without `reasons`"),
            PlanVerdict::Approved | PlanVerdict::NeedsRevision | PlanVerdict::Rejected => None,
        }
    }
}

// === impl Verification ===

impl Verification {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match self.verdict {
            VerifierVerdict::NeedsRevision if self.findings.is_empty() => Some("NEEDS_REVISION without `findings`"),
            VerifierVerdict::Approved | VerifierVerdict::NeedsRevision => None,
        }
    }
}

// === impl Issue ===

impl From<Issue> for crate::evidence::Issue {
    fn from(Issue { severity, message, file, line }: Issue) -> Self {
        Self { severity, message, file, line }
    }
}

/// Returns true if a text is missing or blank.
pub(super) fn is_blank(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}
