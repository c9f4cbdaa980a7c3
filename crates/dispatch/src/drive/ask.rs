//! Questions to a role: each is a run with one task whose answer is data.

use std::collections::BTreeSet;

use serde_json::json;
use switchboard_pipeline::modes::{Ask, ModeInput, facts_of};
use switchboard_protocol::answer::{Answer, Docs};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest, RunId, WorkerId};
use switchboard_protocol::modes::{ModeEvent, PartWork};
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::{TaskState, TaskView};
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::run::StartRunRequest;
use switchboard_store::Query;

use super::phase::is_of_tasks;
use super::{Driver, Follows, Waited, earlier, role_prompts};
use crate::work::WORKERS;
use crate::{Error, answer, report};

/// Maximum length of a title, in bytes.
const TITLE: usize = 80;

/// Files that the docs role may write.
const DOCUMENTS: [&str; 6] = ["docs/**", "doc/**", "**/*.md", "**/*.mdx", "**/*.rst", "**/*.adoc"];

// === impl Driver ===

impl Driver {
    /// Asks a role and returns its answer.
    pub(super) async fn ask(
        &mut self,
        step: u32,
        ask: &Ask,
        inputs: &[ModeInput],
        refused: Option<String>,
    ) -> Result<Follows, Error> {
        let (role, kind) = (ask.role(), ask.answer());
        let text = self.question(ask, inputs, refused.as_deref()).await?;
        let task = json!({ "id": format!("ask-{step}"), "phase": 1, "description": text,
            "x-switchboard": { "result": "report", "asks": { "role": role.as_str(), "answer": kind.as_str() } } });
        let request = self.request_of(&format!("{role}: {kind}"), &task, role);
        let part = match self.start_part(step, (PartWork::Question, format!("{role}: {kind}")), request).await? {
            Ok(part) => part,
            Err(failure) => return Ok(unanswered(step, &failure)),
        };
        let state = match self.end_of_part(&part).await? {
            Waited::For(state) => state,
            Waited::Changed => return Ok(Follows::Changed),
            Waited::Stop(stop) => return Ok(Follows::Stop(stop)),
            Waited::Down => return Ok(Follows::Down),
        };
        if state != "succeeded" {
            let why = self.why_not(&part.run).await?;
            return Ok(Follows::Event(ModeEvent::Unanswered { step, why }, String::new()));
        }
        let given = match self.worker_of(&part.run)? {
            Some(worker) => answer::read_answer(&self.dispatch.world, &part.run, &worker, kind).await?,
            None => Err("nobody answered".to_owned()),
        };
        Ok(match given {
            Ok(answer) => answered(step, &answer),
            Err(why) => Follows::Event(ModeEvent::Unanswered { step, why }, String::new()),
        })
    }

    /// Returns the question to a role, with the known texts that it needs.
    pub(super) async fn question(
        &self,
        ask: &Ask,
        inputs: &[ModeInput],
        refused: Option<&str>,
    ) -> Result<String, Error> {
        let text = role_prompts::question(&self.dispatch.world.store, &self.record, ask, inputs, refused)?;
        Ok(match ask {
            Ask::Retrospective { phase } => format!("{text}\n\nThe record: {}", self.counted(*phase).await?),
            Ask::Briefing => {
                let mut text = text;
                let earlier = earlier::retrospectives(&self.dispatch.world.store, Some(&self.run))?.join("\n");
                role_prompts::quote(&mut text, "retrospectives", &earlier, &Digest::of(earlier.as_bytes()));
                text
            }
            Ask::Plan => format!("{text}\n\n{}", self.coders()),
            Ask::Questions
            | Ask::Discover
            | Ask::Reality
            | Ask::Consult { .. }
            | Ask::Spec
            | Ask::Critique
            | Ask::Decision { .. }
            | Ask::Rescan { .. }
            | Ask::Docs { .. }
            | Ask::Drift { .. }
            | Ask::Hallucination { .. } => text,
        })
    }

    /// Has the documentation brought in line with a phase, by a task whose change passes the gates like any other. An
    /// empty change is a valid answer, so there is only one attempt: a second worker would find the same.
    pub(super) async fn document(&mut self, step: u32, phase: u64) -> Result<Follows, Error> {
        let text = role_prompts::documentation(
            &self.dispatch.world.store,
            &self.record,
            phase,
            self.own_text(RoleName::Docs),
        )?;
        let task = json!({ "id": format!("docs-{phase}"), "phase": 1, "description": text, "files_touched": DOCUMENTS,
            "x-switchboard": { "attempts": 1 } });
        let request = self.request_of(&format!("docs of phase {phase}"), &task, RoleName::Docs);
        let part = match self.start_part(step, (PartWork::Docs, format!("docs: phase {phase}")), request).await? {
            Ok(part) => part,
            Err(failure) => return Ok(unanswered(step, &failure)),
        };
        let state = match self.end_of_part(&part).await? {
            Waited::For(state) => state,
            Waited::Changed => return Ok(Follows::Changed),
            Waited::Stop(stop) => return Ok(Follows::Stop(stop)),
            Waited::Down => return Ok(Follows::Down),
        };
        let Some(view) = self.dispatch.views(&part.run).await?.into_iter().next() else {
            return Err(Error::Missing(format!("the task of {}", part.run)));
        };
        if state != "succeeded" {
            let why = self.why_not(&part.run).await?;
            return Ok(Follows::Event(ModeEvent::Unanswered { step, why }, String::new()));
        }
        let files = report::files(&self.dispatch.world, &part.run)?.remove(&view.task).unwrap_or_default();
        let files = if matches!(view.state, TaskState::Merged { .. }) { files } else { Vec::new() };
        let summary = match files.len() {
            0 => "nothing had to be changed".to_owned(),
            1 => "1 file was brought in line".to_owned(),
            count => format!("{count} files were brought in line"),
        };
        Ok(answered(step, &Answer::Docs(Docs { summary, files })))
    }

    /// Builds the request for a run of one task, done by the agent of a role.
    fn request_of(&self, title: &str, task: &serde_json::Value, role: RoleName) -> StartRunRequest {
        let mut task = task.clone();
        let choice = self.setup.template.roles.iter().find(|choice| choice.role == role.id());
        let is_asked = task["x-switchboard"].get("asks").is_some();
        if let (false, Some(choice)) = (is_asked, choice) {
            // Work names an agent, not a role.
            if let Some(agent) = &choice.agent {
                task["x-switchboard"]["agent"] = json!(agent);
            }
            if let Some(model) = &choice.model {
                task["x-switchboard"]["model"] = json!(model);
            }
        }
        let title = cut(&format!("{}: {title}", self.setup.title), TITLE);
        let phase = json!({ "id": 1, "name": title, "tasks": [task] });
        let plan = json!({ "schema_version": "1.0.0", "title": title, "swarm": self.run, "phases": [phase] });
        let roles = match is_asked {
            true => choice.into_iter().cloned().collect(),
            false => self.setup.template.roles.iter().filter(|choice| is_of_tasks(choice)).cloned().collect(),
        };
        StartRunRequest {
            plan: plan.to_string(),
            source: "team.json".to_owned(),
            team: !is_asked,
            turbo: !is_asked && self.setup.template.turbo,
            roles,
            ..self.template()
        }
    }

    /// Returns the text that the user's files hold for a role; empty if there is none.
    fn own_text(&self, role: RoleName) -> &str {
        let choice = self.setup.template.roles.iter().find(|choice| choice.role == role.id());
        choice.map(|choice| choice.instructions.as_str()).unwrap_or_default()
    }

    /// Lists the agents that may be given tasks, for the architect.
    fn coders(&self) -> String {
        let StartRunRequest { agents, roles, default_agent, .. } = &self.setup.template;
        let has_role = |name: &AgentName| roles.iter().any(|choice| choice.agent.as_ref() == Some(name));
        let coders = agents.iter().map(|agent| &agent.name).filter(|name| !has_role(name));
        let coders: BTreeSet<_> = coders.chain(default_agent).map(ToString::to_string).collect();
        let names = coders.into_iter().collect::<Vec<_>>().join(", ");
        let usual = default_agent.as_ref().map(|name| format!("; without it, {name} does a task")).unwrap_or_default();
        format!("`x-switchboard.agent` of a task names who does it, one of: {names}{usual}.")
    }

    /// Returns the request with which every part is started.
    pub(super) fn template(&self) -> StartRunRequest {
        StartRunRequest { base: Some(self.branch()), roles: Vec::new(), ..self.setup.template.clone() }
    }

    /// Returns the last worker of a part with one task.
    fn worker_of(&self, part: &RunId) -> Result<Option<WorkerId>, Error> {
        let query = Query::table(WORKERS).eq("run", part.as_str()).desc("seq").limit(1);
        let rows = self.dispatch.world.store.read(&query)?;
        Ok(rows.first().and_then(|row| WorkerId::new(row.get_text("id")?).ok()))
    }

    /// Explains why a part did not succeed, from its failed tasks.
    pub(super) async fn why_not(&self, part: &RunId) -> Result<String, Error> {
        let views = self.dispatch.views(part).await?;
        Ok(format!("{} ({part})", why_not(&views)))
    }
}

/// Returns why tasks did not succeed. Those that failed because of another one don't matter.
fn why_not(views: &[TaskView]) -> String {
    let why = |view: &TaskView| match view.state == TaskState::Stopped {
        true => Some(format!("task {} was stopped", view.task)),
        false => Some(format!("task {}: {}", view.task, report::ending(&view.state)?)),
    };
    let own = views.iter().filter(|view| !matches!(view.state, TaskState::DepFailed { .. }));
    let whys: Vec<_> = own.filter_map(why).collect();
    if whys.is_empty() { "it was stopped".to_owned() } else { whys.join("; ") }
}

fn answered(step: u32, answer: &Answer) -> Follows {
    match facts_of(answer) {
        Ok((answer, body)) => Follows::Event(ModeEvent::Answered { step, answer }, body),
        Err(error) => Follows::Event(ModeEvent::Unanswered { step, why: error.to_string() }, String::new()),
    }
}

fn unanswered(step: u32, failure: &Failure) -> Follows {
    Follows::Event(ModeEvent::Unanswered { step, why: super::phase::format_failure(failure) }, String::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::view;

    #[test]
    fn why_a_part_failed_is_what_its_tasks_say_that_ended_by_themselves() {
        let root = || switchboard_protocol::plan::TaskId::new("1.1").unwrap();
        let blocked = view("1.1", TaskState::Blocked { reason: "no way".to_owned() });
        let of_it = view("1.2", TaskState::DepFailed { root: root() });
        let (stopped, merged) =
            (view("1.3", TaskState::Stopped), view("1.4", TaskState::Merged { commit: "c".to_owned() }));

        assert_eq!(why_not(&[blocked.clone(), of_it.clone(), merged.clone()]), "task 1.1: blocked: no way");
        assert_eq!(why_not(&[blocked, of_it, stopped]), "task 1.1: blocked: no way; task 1.3 was stopped");
        assert_eq!(why_not(&[merged]), "it was stopped");
    }
}
