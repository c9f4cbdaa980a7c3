//! Agents that files of the user and of the repository define.

use serde_json::{Value, json};
use switchboard_protocol::error::Failure;

use crate::available::Available;
use crate::definitions::{Definition, Origin};
use crate::output::{Output, Table, one_line};

/// Adds the definitions to the reply, if there are any.
pub(super) fn add(shown: &mut Value, available: &Available) {
    let definitions = &available.definitions;
    if !definitions.list.is_empty() {
        let list = definitions.list.iter().map(|one| {
            json!({ "name": one.name, "description": one.description, "origin": one.origin.as_str(),
                "trusted": is_trusted(one, available), "agent": one.agent, "model": one.model, "tools": one.tools,
                "isolation": one.isolation, "file": one.path })
        });
        shown["definitions"] = list.collect();
    }
    if !definitions.bad.is_empty() {
        shown["bad_definitions"] = definitions.bad.iter().map(|bad| json!(bad.failure)).collect();
    }
}

/// Prints the definitions, if there are any.
pub(super) fn show(available: &Available, out: &mut Output) {
    let definitions = &available.definitions;
    if !definitions.list.is_empty() {
        out.line("");
        let mut table = Table::new(&["DEFINITION", "FROM", "AGENT", "TOOLS", "DESCRIPTION"]);
        for one in &definitions.list {
            let from = if is_trusted(one, available) { one.origin.as_str() } else { "project, not trusted" };
            let agent = one.agent.as_ref().map_or_else(|| "the run's".to_owned(), ToString::to_string);
            let tools: Vec<_> = one.tools.iter().map(|tool| tool.as_str()).collect();
            let tools = if tools.is_empty() { "the agent's".to_owned() } else { tools.join(", ") };
            table.row([one.name.to_string(), from.to_owned(), agent, tools, one_line(&one.description, 80)]);
        }
        out.table(&table);
    }
    for bad in &definitions.bad {
        out.line(refused(&bad.failure));
    }
}

/// Describes a file that can't be used: its place, the reason, and what to do.
pub(crate) fn refused(failure: &Failure) -> String {
    let hint = if failure.hint.is_empty() { String::new() } else { format!("; {}", failure.hint) };
    format!("{}: {}", one_line(&failure.place, 200), one_line(&format!("{}{hint}", failure.what), 300))
}

fn is_trusted(one: &Definition, available: &Available) -> bool {
    one.origin == Origin::User || available.is_project_trusted()
}
