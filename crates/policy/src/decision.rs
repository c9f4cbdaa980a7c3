//! What the rules answer, read with suspicion: anything that is not understood is a refusal.

use regorus::Value;
use switchboard_protocol::error::Failure;

/// Longest text that a rule may give as a reason or hint, in bytes; a project's is not our text.
const MAX_TEXT_CHARS: usize = 240;

/// What must happen before or around a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obligation {
    /// The call waits until a person says yes to it.
    RequireApproval,
}

/// What is to become of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Allow,
    /// It is refused.
    Deny,
    /// It waits until a person says yes to it.
    Ask,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether the call may go on.
    pub allow: bool,
    /// Name of the rule that decided.
    pub rule: String,
    /// Why, when it may not.
    pub reason: String,
    /// What to do instead; may be empty.
    pub hint: String,
    /// What must happen; with [`Obligation::RequireApproval`], `allow` is false until it has.
    pub obligations: Vec<Obligation>,
    /// The code of a refusal: `policy.denied`, or `policy.invalid` when the rules failed.
    pub code: Option<&'static str>,
}

impl Decision {
    /// What is to become of the call.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.allow, self.obligations.contains(&Obligation::RequireApproval)) {
            (true, _) => Verdict::Allow,
            (false, true) => Verdict::Ask,
            (false, false) => Verdict::Deny,
        }
    }

    /// The failure to answer with; `None` if the call may go on.
    #[must_use]
    pub fn refused(&self, verb: &str) -> Option<Failure> {
        let code = self.code?;
        let what = format!("the policy does not allow {verb}: {}", self.reason);
        Some(Failure::new(code, what).at(format!("rule {}", self.rule)).hint(self.hint.clone()))
    }

    /// A refusal because the rules failed.
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

/// The refusal that a project's `deny` texts make, if any; the first by order, since they are a set.
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

/// A text of the decision; left out, it is empty.
fn text(value: &Value) -> Result<String, String> {
    if *value == Value::Undefined {
        return Ok(String::new());
    }
    value.as_string().map(|text| clean(text)).map_err(|_| "a text of the decision is none".to_owned())
}

/// One line without control characters.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_TEXT_CHARS).collect()
}
