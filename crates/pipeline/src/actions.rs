//! Reads the structured output of a worker: a fenced block in its answer that lists the actions it requests.

use serde::Deserialize as _;
use serde_json::{Map, Value};
use switchboard_protocol::action::WorkerAction;
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::Verb;
use switchboard_protocol::verb::step::{Fence, ProposeTask, ReportStep};

/// The info string of the block.
const INFO: &str = "switchboard";

/// Minimum number of backticks of a fence.
const FENCE: usize = 3;

/// Maximum number of actions in one output.
const MAX_ACTIONS: usize = 20;

/// An action of an output.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedAction {
    /// Number of the action within its output, from 1.
    pub index: u32,
    /// Verb that carries out the action.
    pub verb: &'static str,
    /// Arguments of the verb.
    pub args: Value,
    /// The action as the worker wrote it.
    pub action: WorkerAction,
    /// Task and attempt that the worker claims to belong to.
    pub fence: Fence,
}

/// Reads the actions of an answer; empty if the answer has no such block.
///
/// # Errors
/// `agent.bad-output` with the number of the action that does not fit, and why.
pub fn read(answer: &str) -> Result<Vec<RequestedAction>, Failure> {
    let Some(text) = block(answer)? else { return Ok(Vec::new()) };
    let list: Vec<Map<String, Value>> =
        serde_json::from_str(&text).map_err(|error| bad(format!("its block is no list of actions: {error}")))?;
    if list.len() > MAX_ACTIONS {
        return Err(bad(format!("it has {} actions, and at most {MAX_ACTIONS} are taken", list.len())));
    }
    (1..).zip(list).map(|(index, action)| one(index, action)).collect()
}

/// Returns the text of the only action block of an answer, if there is one.
fn block(answer: &str) -> Result<Option<String>, Failure> {
    let mut lines = answer.lines();
    let mut found = None;
    while let Some(line) = lines.next() {
        let Some((length, info)) = fence(line) else { continue };
        // The lines of any other block are skipped, so a fence inside them opens nothing.
        let text = inside(length, &mut lines);
        if info != INFO {
            continue;
        }
        let Some(text) = text else { return Err(bad("its block has no end".to_owned())) };
        if found.replace(text).is_some() {
            return Err(bad("it has more than one block of actions".to_owned()));
        }
    }
    Ok(found)
}

/// Returns the length of the fence in a line and its info string, which holds no backtick.
fn fence(line: &str) -> Option<(usize, &str)> {
    let info = line.trim().trim_start_matches('`');
    let length = line.trim().len() - info.len();
    (length >= FENCE && !info.contains('`')).then_some((length, info.trim()))
}

/// Collects the lines up to the closing fence, which is at least `length` long; `None` if the block isn't closed.
fn inside<'a>(length: usize, lines: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    let mut text = String::new();
    for line in lines {
        if fence(line).is_some_and(|(end, info)| end >= length && info.is_empty()) {
            return Some(text);
        }
        text.push_str(line);
        text.push('\n');
    }
    None
}

fn one(index: u32, action: Map<String, Value>) -> Result<RequestedAction, Failure> {
    let mut fields = action.into_iter();
    let (Some((name, args)), None) = (fields.next(), fields.next()) else {
        return Err(bad(format!("action {index} is not one verb with its arguments")));
    };
    let (verb, action, fence) = match name.as_str() {
        ReportStep::NAME => {
            let (action, fence) = typed::<ReportStep>(index, &args)?.into_parts();
            (ReportStep::NAME, action, fence)
        }
        ProposeTask::NAME => {
            let (action, fence) = typed::<ProposeTask>(index, &args)?.into_parts();
            (ProposeTask::NAME, action, fence)
        }
        other => {
            let near = near_matches(other, [ReportStep::NAME, ProposeTask::NAME]);
            let near = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return Err(bad(format!(
                "action {index} is {:?}, which is none that a worker may ask for{near}",
                cut(other, 60)
            )));
        }
    };
    action.check().map_err(|failure| bad(format!("action {index} ({verb}): {}", failure.what)))?;
    Ok(RequestedAction { index, verb, args, action, fence })
}

fn typed<V: Verb>(index: u32, args: &Value) -> Result<V::Request, Failure> {
    V::Request::deserialize(args).map_err(|error| bad(format!("action {index} ({}): {error}", V::NAME)))
}

fn bad(what: String) -> Failure {
    Failure::new("agent.bad-output", cut(&what, 300))
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::action::StepState;
    use switchboard_protocol::plan::TaskId;

    use super::*;

    fn answer(block: &str) -> String {
        format!("I am done.\n\n```switchboard\n{block}\n```\nThat is all.")
    }

    fn why(answer: &str) -> String {
        let failure = read(answer).unwrap_err();
        assert_eq!(failure.code, "agent.bad-output");
        failure.what
    }

    #[test]
    fn actions_are_read_in_their_order_with_their_numbers() {
        let asked = read(&answer(
            r#"[{"report_step": {"state": "done", "note": "it works", "attempt": 2}},
                {"propose_task": {"description": "document it", "files": ["README.md"], "after": ["1.1"]}}]"#,
        ))
        .unwrap();

        let note = WorkerAction::ReportStep { state: StepState::Done, note: "it works".to_owned(), answer: None };
        let after = vec![TaskId::new("1.1").unwrap()];
        let files = vec!["README.md".to_owned()];
        let task = WorkerAction::ProposeTask { description: "document it".to_owned(), files, after };
        let found: Vec<_> = asked.iter().map(|asked| (asked.index, asked.verb, &asked.action)).collect();
        assert_eq!(found, [(1, "report_step", &note), (2, "propose_task", &task)]);
        assert_eq!(asked[0].fence, Fence { task: None, attempt: Some(2) });
        assert_eq!(asked[0].args["note"], "it works");
    }

    #[test]
    fn an_answer_without_a_block_asks_for_nothing() {
        for none in ["", "just words", "```json\n[{\"report_step\": {}}]\n```", "say ```switchboard in a line"] {
            assert_eq!(read(none), Ok(Vec::new()), "{none:?}");
        }
        assert_eq!(read(&answer("[]")), Ok(Vec::new()));
        let quoted = "````\nno\n```\n```text\n```switchboard\n```\nafter";
        assert_eq!(read(quoted), Ok(Vec::new()), "a block inside another one is none");
    }

    #[test]
    fn a_block_after_other_fences_is_found() {
        let asks = answer(r#"[{"report_step":{"state":"done","note":"x"}}]"#);
        for before in ["````text\n```\n````", "```cargo test```", "``", "```\ncode\n````"] {
            assert_eq!(read(&format!("{before}\n{asks}")).map(|asked| asked.len()), Ok(1), "{before:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let note = r#"{"report_step":{"state":"done","note":"x"}}"#;
        for (block, words) in [
            ("{}", "no list of actions"),
            ("[1]", "no list of actions"),
            ("[{}]", "action 1 is not one verb"),
            (r#"[{"a":1,"b":2}]"#, "action 1 is not one verb"),
            (r#"[{"report_stp":{}}]"#, "did you mean report_step?"),
            (r#"[{"merge_run":{}}]"#, "none that a worker may ask for"),
            (
                &format!(r#"[{note},{{"report_step":{{"state":"finished","note":"x"}}}}]"#),
                "action 2 (report_step): unknown variant",
            ),
            (r#"[{"report_step":{"state":"done","note":"x","nte":1}}]"#, "unknown field `nte`"),
            (r#"[{"report_step":{"state":"done"}}]"#, "missing field `note`"),
            (r#"[{"report_step":{"state":"done","note":" "}}]"#, "action 1 (report_step): note has"),
            (r#"[{"propose_task":{"description":"x","after":["a b c !"]}}]"#, "action 1 (propose_task)"),
        ] {
            let found = why(&answer(block));
            assert!(found.contains(words), "{block}: {found}");
        }
        let list = |count: usize| answer(&format!("[{}]", vec![note; count].join(",")));
        assert_eq!(read(&list(MAX_ACTIONS)).unwrap().len(), MAX_ACTIONS);
        assert!(why(&list(MAX_ACTIONS + 1)).contains("21 actions"));
        assert!(why("```switchboard\n[]").contains("no end"));
        assert!(why(&(answer("[]") + "\n" + &answer("[]"))).contains("more than one"));
    }
}
