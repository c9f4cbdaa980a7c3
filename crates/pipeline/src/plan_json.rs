//! Reading, checking and writing `plan.json`.

mod error;
mod graph;
mod locate;
mod read;
mod schema;
mod times;
mod violation;

pub use error::{PlanError, Position};
pub use schema::UnknownField;
use serde_json::Value;
use switchboard_protocol::plan::{MAX_PLAN_BYTES, Plan};

/// Reads a `plan.json` and checks everything that a run depends on.
///
/// # Errors
/// The first error, in this order: the text (`plan.syntax`), the shape of fields (`plan.schema`, `plan.unknown-field`,
/// `plan.unsafe-id`, `plan.unsafe-path`), then `plan.empty`, `plan.duplicate-task`, `plan.unknown-dependency` and
/// `plan.cycle`.
pub fn parse(text: &str) -> Result<Plan, PlanError> {
    check_text(text)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value = read::parse(text)?;
    read(value, |pointer| locate::locate(text, pointer))
}

/// Reads a plan that [`write`] or a run's record wrote, which was checked then.
///
/// # Errors
/// When it does not have the shape of a plan.
pub fn recorded(text: &str) -> serde_json::Result<Plan> {
    // Through a value, as in `read`, so that the type's code is compiled once.
    serde_json::from_str(text).and_then(serde_json::from_value::<Plan>)
}

/// Returns the unknown fields of a plan, which a run ignores, in their order.
#[must_use]
pub fn unknown_fields(plan: &Plan) -> Vec<UnknownField> {
    schema::unknown_fields(&serde_json::to_value(plan).expect("a plan has only texts, numbers and lists"))
}

/// Serialises a plan as `plan.json`: indented by two spaces, with a trailing line break.
#[must_use]
pub fn write(plan: &Plan) -> String {
    let mut text = serde_json::to_string_pretty(plan).expect("a plan has only texts, numbers and lists");
    text.push('\n');
    text
}

/// Checks a plan that was not read from a text.
///
/// # Errors
/// As for [`parse`], without positions.
pub fn validate(plan: &Plan) -> Result<(), PlanError> {
    let value = serde_json::to_value(plan).expect("a plan has only texts, numbers and lists");
    read(value, |_| None).map(|_| ())
}

/// Checks the shape of a plan and reads it; `place` returns the position of a JSON pointer in the file.
pub(crate) fn read(mut value: Value, place: impl Fn(&str) -> Option<Position>) -> Result<Plan, PlanError> {
    let located = |mut error: PlanError| {
        error.place = error.place.or_else(|| place(&error.pointer));
        error
    };
    schema::check(&mut value).map_err(located)?;
    let odd = |error: serde_json::Error| PlanError::new("plan.schema", "", "a plan", error.to_string());
    let plan = serde_json::from_value(value).map_err(odd).map_err(located)?;
    graph::check(&plan).map_err(located)?;
    times::check(&plan).map_err(located)?;
    violation::check(&plan).map_err(located)?;
    Ok(plan)
}

/// Rejects texts that are too large or hold characters that only damaged files contain.
pub(crate) fn check_text(text: &str) -> Result<(), PlanError> {
    if text.len() > MAX_PLAN_BYTES {
        let found = format!("{} bytes", text.len());
        return Err(PlanError::syntax(None, "at most 4 MB of text", found).hint("split the plan"));
    }
    let broken = text.char_indices().find(|(_, c)| matches!(c, '\0' | '\u{fffd}'));
    let Some((at, c)) = broken else { return Ok(()) };
    let found = if c == '\0' { "a NUL character" } else { "the sign of a character that could not be read (U+FFFD)" };
    Err(PlanError::syntax(Some(locate::place(text, at)), "UTF-8 text", found).hint("restore the file, it is damaged"))
}

#[cfg(test)]
mod tests;
