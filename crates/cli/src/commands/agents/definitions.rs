//! Agents that files of the user and of the repository define.

use serde_json::{Value, json};
use switchboard_protocol::error::Failure;

use crate::available::Available;
use crate::context::Context;
use crate::definitions::{Bad, Definition};
use crate::output::{Output, Table, Tone, one_line};

/// Definitions, separated into those that a task can be given to and the others.
pub(super) struct Listed<'a> {
    usable: Vec<&'a Definition>,
    refused: Vec<Bad>,
}

// === impl Listed ===

impl<'a> Listed<'a> {
    /// Separates the definitions that were found.
    pub(super) fn of(available: &'a Available, context: &Context) -> Self {
        let found = &available.definitions;
        let mut listed = Self { usable: Vec::new(), refused: found.bad.clone() };
        for one in &found.list {
            match available.check_definition(one, context) {
                Ok(()) => listed.usable.push(one),
                Err(failure) => listed.refused.push(Bad { name: one.name.to_string(), failure }),
            }
        }
        listed
    }

    /// Adds the definitions to the reply, if there are any.
    pub(super) fn add(&self, shown: &mut Value) {
        if !self.usable.is_empty() {
            let list = self.usable.iter().map(|one| {
                json!({ "name": one.name, "description": one.description, "origin": one.origin.as_str(),
                    "agent": one.agent, "model": one.model, "tools": one.tools, "isolation": one.isolation, "file": one.path })
            });
            shown["definitions"] = list.collect();
        }
        if !self.refused.is_empty() {
            shown["bad_definitions"] = self.refused.iter().map(|bad| json!(bad.failure)).collect();
        }
    }

    /// Prints the definitions, if there are any: first those that a task can be given to, then the others with their
    /// reasons.
    pub(super) fn show(&self, out: &mut Output) {
        if !self.usable.is_empty() {
            out.line("");
            let mut table = Table::new(&["DEFINITION", "FROM", "AGENT", "TOOLS", "DESCRIPTION"]);
            for one in &self.usable {
                let agent = one.agent.as_ref().map_or_else(|| "the run's".to_owned(), ToString::to_string);
                let tools: Vec<_> = one.tools.iter().map(|tool| tool.as_str()).collect();
                let tools = if tools.is_empty() { "the agent's".to_owned() } else { tools.join(", ") };
                let from = one.origin.as_str().to_owned();
                table.row([one.name.to_string(), from, agent, tools, one_line(&one.description, 80)]);
            }
            out.table(&table);
        }
        if self.refused.is_empty() {
            return;
        }
        out.line("");
        out.line("definitions that can't be used:");
        for bad in &self.refused {
            out.line(out.paint(Tone::Bad, &format!("    {}", refused(&bad.failure))));
        }
    }
}

/// Describes a file that can't be used: its place, the reason, and what to do.
pub(crate) fn refused(failure: &Failure) -> String {
    let hint = if failure.hint.is_empty() { String::new() } else { format!("; {}", failure.hint) };
    format!("{}: {}", one_line(&failure.place, 200), one_line(&format!("{}{hint}", failure.what), 300))
}
