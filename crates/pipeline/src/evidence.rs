//! Rules for evidence: which entries a task's bundle accepts, how bundles are named, and which gates a task needs.

use std::collections::BTreeSet;

use serde_json::value::{RawValue, to_raw_value};
use switchboard_protocol::evidence::{
    Bundle, Detail, Evidence, MAX_BUNDLE_BYTES, MAX_ENTRIES, MAX_PATCH_BYTES, MAX_TASK_FOLDER_BYTES, Retrospective,
    TOOL_IDS, Verdict,
};
use switchboard_protocol::plan::{SchemaVersion, TaskId};

/// Why evidence can always be written as JSON.
const WRITABLE: &str = "evidence has only texts, numbers and lists";

/// Why evidence is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    /// The id is not a safe folder name.
    #[error("{0:?} is no id of evidence: {rule}", rule = switchboard_protocol::plan::BadTaskId)]
    UnsafeId(String),
    /// An entry belongs to another bundle.
    #[error("the entry is about {found}, the bundle about {expected}")]
    OtherTask {
        /// Task of the bundle.
        expected: String,
        /// Task of the entry.
        found: String,
    },
    /// An entry, a bundle or a patch exceeds its size limit.
    #[error("{what} has {size} bytes, at most {limit} are allowed")]
    TooLarge {
        /// Name of the item that is too large.
        what: &'static str,
        /// Size of the item in bytes.
        size: usize,
        /// Size limit in bytes.
        limit: usize,
    },
    /// A field has a value outside its range.
    #[error("{field} must be {expected}")]
    OutOfRange {
        /// Name of the field.
        field: &'static str,
        /// Allowed values.
        expected: &'static str,
    },
}

/// Subject of a bundle, derived from its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A task with a numeric id, such as `1.2` or `1.2.3`.
    Task,
    /// The retrospective of a phase, such as `retro-3`.
    Retrospective,
    /// A tool's own bundle, such as `sast_scan`.
    Tool,
    /// Any other id.
    General,
}

/// Returns the subject that an id of evidence stands for.
///
/// # Errors
/// When the id could leave the evidence folder or be taken for an option.
pub fn subject(id: &str) -> Result<Subject, EvidenceError> {
    TaskId::new(id).map_err(|_| EvidenceError::UnsafeId(id.to_owned()))?;
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if TOOL_IDS.contains(&id) {
        Ok(Subject::Tool)
    } else if id.strip_prefix("retro-").is_some_and(number) {
        Ok(Subject::Retrospective)
    } else if id.contains('.') && id.split('.').all(number) {
        Ok(Subject::Task)
    } else {
        Ok(Subject::General)
    }
}

/// Adds entries about one task to its bundle, or starts a bundle; returns `None` if there is neither. Keeps the newest
/// [`MAX_ENTRIES`] entries, fewer if the file would exceed [`MAX_BUNDLE_BYTES`]; those that are there stay as they are
/// written.
///
/// # Errors
/// When the id is unsafe, an entry belongs to another task, a field is out of range, or an entry alone is too large.
pub fn append(
    bundle: Option<Bundle<Box<RawValue>>>,
    entries: impl IntoIterator<Item = Evidence>,
) -> Result<Option<Bundle<Box<RawValue>>>, EvidenceError> {
    let mut appended = bundle;
    let mut added = 0;
    for entry in entries {
        subject(&entry.task_id)?;
        check(&entry)?;
        let bundle = appended.get_or_insert_with(|| Bundle {
            schema_version: SchemaVersion::V1,
            task_id: entry.task_id.clone(),
            entries: Vec::new(),
            created_at: entry.timestamp.clone(),
            updated_at: entry.timestamp.clone(),
        });
        if bundle.task_id != entry.task_id {
            return Err(EvidenceError::OtherTask { expected: bundle.task_id.clone(), found: entry.task_id });
        }
        bundle.entries.push(to_raw_value(&entry).expect(WRITABLE));
        bundle.updated_at = entry.timestamp;
        added += 1;
    }
    if let Some(bundle) = appended.as_mut().filter(|_| added > 0) {
        shorten(bundle, added)?;
    }
    Ok(appended)
}

/// Drops the oldest entries until the bundle is within its limits. Each of the last `added` entries must fit alone.
fn shorten(bundle: &mut Bundle<Box<RawValue>>, added: usize) -> Result<(), EvidenceError> {
    let sizes: Vec<_> = bundle.entries.iter().map(|entry| entry.get().len() + 1).collect();
    let entries = std::mem::take(&mut bundle.entries);
    let frame = write(bundle).len();
    bundle.entries = entries;
    if let Some(size) = sizes.iter().rev().take(added).map(|entry| frame + entry).find(|size| *size > MAX_BUNDLE_BYTES)
    {
        return Err(EvidenceError::TooLarge { what: "the entry", size, limit: MAX_BUNDLE_BYTES });
    }
    let (mut kept, mut size) = (0, frame);
    for entry in sizes.iter().rev().take(MAX_ENTRIES) {
        if size + entry > MAX_BUNDLE_BYTES {
            break;
        }
        size += entry;
        kept += 1;
    }
    bundle.entries.drain(..bundle.entries.len() - kept);
    Ok(())
}

/// Serialises a bundle in its file format, without spaces.
#[must_use]
pub fn write(bundle: &Bundle<Box<RawValue>>) -> String {
    serde_json::to_string(bundle).expect(WRITABLE)
}

/// Checks that a patch and the folder that it goes into stay within their limits.
///
/// # Errors
/// [`EvidenceError::TooLarge`].
pub fn check_patch(patch_bytes: usize, folder_bytes: usize) -> Result<(), EvidenceError> {
    let too_large = |what, size, limit| Err(EvidenceError::TooLarge { what, size, limit });
    if patch_bytes > MAX_PATCH_BYTES {
        return too_large("the patch", patch_bytes, MAX_PATCH_BYTES);
    }
    let folder = folder_bytes.saturating_add(patch_bytes);
    if folder > MAX_TASK_FOLDER_BYTES {
        return too_large("the task's evidence", folder, MAX_TASK_FOLDER_BYTES);
    }
    Ok(())
}

/// Checks what the types don't express: that verdicts are consistent and counters in range.
fn check(entry: &Evidence) -> Result<(), EvidenceError> {
    let verdict = |allowed: &[Verdict], expected| match allowed.contains(&entry.verdict) {
        true => Ok(()),
        false => Err(EvidenceError::OutOfRange { field: "verdict", expected }),
    };
    match &entry.detail {
        Detail::MutationGate { .. } => {
            verdict(&[Verdict::Pass, Verdict::Warn, Verdict::Fail, Verdict::Skip], "pass, warn, fail or skip")
        }
        Detail::DriftVerification { .. } | Detail::HallucinationVerification { .. } => {
            verdict(&[Verdict::Approved, Verdict::Rejected], "approved or rejected")
        }
        Detail::Retrospective(retrospective) => check_retrospective(retrospective),
        Detail::Review { .. }
        | Detail::Test { .. }
        | Detail::Diff { .. }
        | Detail::Approval
        | Detail::Note
        | Detail::Syntax { .. }
        | Detail::Placeholder { .. }
        | Detail::Sast { .. }
        | Detail::Sbom { .. }
        | Detail::Build { .. }
        | Detail::QualityBudget { .. }
        | Detail::Secretscan { .. } => Ok(()),
    }
}

fn check_retrospective(r: &Retrospective) -> Result<(), EvidenceError> {
    let few = "at most 999";
    let many = "at most 9999";
    let rules = [
        ("phase_number", (1..=99).contains(&r.phase_number), "1 to 99"),
        ("task_count", (1..=9999).contains(&r.task_count), "1 to 9999"),
        ("total_tool_calls", r.total_tool_calls <= 9999, many),
        ("test_failures", r.test_failures <= 9999, many),
        ("loop_detections", r.loop_detections.unwrap_or(0) <= 9999, many),
        ("circuit_breaker_trips", r.circuit_breaker_trips.unwrap_or(0) <= 9999, many),
        ("coder_revisions", r.coder_revisions <= 999, few),
        ("reviewer_rejections", r.reviewer_rejections <= 999, few),
        ("security_findings", r.security_findings <= 999, few),
        ("integration_issues", r.integration_issues <= 999, few),
        ("lessons_learned", r.lessons_learned.len() <= 5, "at most 5"),
        ("approaches_tried", r.approaches_tried.len() <= 10, "at most 10"),
    ];
    match rules.iter().find(|(_, holds, _)| !holds) {
        Some((field, _, expected)) => Err(EvidenceError::OutOfRange { field, expected }),
        None => Ok(()),
    }
}

/// Returns the gates that a task needs once these agents have worked on it, sorted. Ignores a swarm's name before the
/// role (`mega_coder`).
#[must_use]
pub fn required_gates<'a>(agents: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    const ITSELF: [&str; 6] = ["docs", "explorer", "sme", "reviewer", "test_engineer", "designer"];
    let mut gates = BTreeSet::new();
    for agent in agents {
        let agent = agent.to_lowercase().replace(['-', ' '], "_");
        let own = ITSELF.into_iter().find(|role| is_role(&agent, role)).map(str::to_owned);
        let own = own.or_else(|| critic(&agent).map(str::to_owned));
        if own.as_deref().is_none_or(|own| own == "designer") {
            gates.extend(["reviewer".to_owned(), "test_engineer".to_owned()]);
        }
        gates.extend(own);
    }
    gates.into_iter().collect()
}

fn is_role(agent: &str, role: &str) -> bool {
    agent.strip_suffix(role).is_some_and(|swarm| swarm.is_empty() || swarm.ends_with('_'))
}

/// Returns the critic's role (`critic`, `critic_oversight`, …) without a swarm's name before it, or `None` for another
/// agent.
fn critic(agent: &str) -> Option<&str> {
    let at = agent.find("critic").filter(|at| *at == 0 || agent[..*at].ends_with('_'))?;
    let rest = &agent[at + "critic".len()..];
    (rest.is_empty() || rest.starts_with('_')).then_some(&agent[at..])
}

#[cfg(test)]
mod tests;
