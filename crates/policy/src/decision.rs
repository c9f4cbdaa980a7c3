//! Reads the answer of the rules defensively: an unknown form is a refusal.

use regorus::Value;
use switchboard_protocol::error::Failure;

use crate::input::{MAX_DEPTH, MAX_VALUES};

/// Maximum length of a rule's reason or hint, in characters; a project's text is not ours.
const MAX_TEXT_CHARS: usize = 240;

/// Requirement before or around a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obligation {
    /// The call waits until a person approves it.
    RequireApproval,
}

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The call goes on.
    Allow,
    /// The call is refused.
    Deny,
    /// The call waits until a person approves it.
    Ask,
}

/// Decision on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// True if the call may go on.
    pub allow: bool,
    /// Name of the rule that decided.
    pub rule: String,
    /// Reason of a refusal.
    pub reason: String,
    /// What to do instead; may be empty.
    pub hint: String,
    /// Requirements; with [`Obligation::RequireApproval`], `allow` is false until it is met.
    pub obligations: Vec<Obligation>,
    /// Code of a refusal: `policy.denied`, or `policy.invalid` if the rules failed.
    pub code: Option<&'static str>,
}

impl Decision {
    /// Returns the outcome of the call.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.allow, self.obligations.contains(&Obligation::RequireApproval)) {
            (true, _) => Verdict::Allow,
            (false, true) => Verdict::Ask,
            (false, false) => Verdict::Deny,
        }
    }

    /// Returns the failure to answer with; `None` if the call may go on.
    #[must_use]
    pub fn refused(&self, verb: &str) -> Option<Failure> {
        let code = self.code?;
        let what = format!("the policy does not allow {verb}: {}", self.reason);
        Some(Failure::new(code, what).at(format!("rule {}", self.rule)).hint(self.hint.clone()))
    }

    /// Returns the refusal of a call whose arguments are too many or too deep for the rules.
    pub(crate) fn too_large() -> Self {
        Self {
            allow: false,
            rule: "too-large".to_owned(),
            reason: format!(
                "its arguments have more than {MAX_VALUES} values, more than {MAX_DEPTH} levels or very long names, which no rule can judge"
            ),
            hint: "send less in one call".to_owned(),
            obligations: Vec::new(),
            code: Some("policy.denied"),
        }
    }

    /// Returns the refusal for rules that failed.
    pub(crate) fn invalid(why: String) -> Self {
        Self {
            allow: false,
            rule: "none".to_owned(),
            reason: format!("the rules failed: {}", clean(&why)),
            hint: "correct the policy; `switchboard doctor` names its folder".to_owned(),
            obligations: Vec::new(),
            code: Some("policy.invalid"),
        }
    }
}

/// Reads the value of `decision`.
pub(crate) fn read(value: &Value) -> Result<Decision, String> {
    if *value == Value::Undefined {
        return Err("they give no decision".to_owned());
    }
    let allow = *value["allow"].as_bool().map_err(|_| "`allow` is not a boolean".to_owned())?;
    let obligations = read_obligations(&value["obligations"])?;
    if allow && obligations.contains(&Obligation::RequireApproval) {
        return Err("a call that is allowed needs no approval".to_owned());
    }
    Ok(Decision {
        allow,
        rule: text(&value["rule"])?,
        reason: text(&value["reason"])?,
        hint: text(&value["hint"])?,
        obligations,
        code: (!allow).then_some("policy.denied"),
    })
}

/// Returns the refusal from a project's `deny` texts, if any: the first in order, because they are a set.
pub(crate) fn project_refusal(value: &Value) -> Result<Option<Decision>, String> {
    if *value == Value::Undefined {
        return Ok(None);
    }
    let texts = value.as_set().map_err(|_| "the project's `deny` is not a set".to_owned())?;
    let Some(first) = texts.iter().next() else { return Ok(None) };
    let reason = first.as_string().map_err(|_| "the project's `deny` holds more than texts".to_owned())?;
    Ok(Some(Decision {
        allow: false,
        rule: "project".to_owned(),
        reason: clean(reason),
        hint: format!("it stands in this project's {}", crate::PROJECT_FILE),
        obligations: Vec::new(),
        code: Some("policy.denied"),
    }))
}

fn read_obligations(value: &Value) -> Result<Vec<Obligation>, String> {
    if *value == Value::Undefined {
        return Ok(Vec::new());
    }
    let words = value.as_array().map_err(|_| "`obligations` is not an array".to_owned())?;
    words
        .iter()
        .map(|word| match word.as_string().map(AsRef::as_ref) {
            Ok("require_approval") => Ok(Obligation::RequireApproval),
            Ok(_) | Err(_) => Err("an obligation is not known".to_owned()),
        })
        .collect()
}

/// Returns a text of the decision; empty if it is left out.
fn text(value: &Value) -> Result<String, String> {
    if *value == Value::Undefined {
        return Ok(String::new());
    }
    value.as_string().map(|text| clean(text)).map_err(|_| "a text of the decision is none".to_owned())
}

/// Reduces a text to one line without control characters.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_TEXT_CHARS).collect()
}
