//! Asks a person about a task or its change. The answer is a row of the questions, and becomes a step of the run.

use std::time::Duration;

use switchboard_process::git::Oid;
use switchboard_protocol::id::{Digest, NeedId};
use switchboard_protocol::need::NeedAbout;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_store::{Batch, Interest};

use super::context::Ctx;
use crate::error::shape;
use crate::handle::{Outcome, Record};
use crate::{Error, needs};

/// Number of bytes shown with the question from each end of a change.
const DIFF_BYTES: usize = 8 << 10;

/// Pause after a failure of the store, before the run's engine is asked again what to do.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Question to a person about a change.
pub(super) struct Question<'a> {
    pub(super) commit: &'a str,
    pub(super) base: &'a str,
    /// Digest of the question's subject.
    pub(super) input: Digest,
    /// Question given by the plan.
    pub(super) question: Option<String>,
    /// Findings of the gates.
    pub(super) findings: Vec<String>,
}

// === impl Question ===

impl Question<'_> {
    /// Returns the question in one line.
    fn title(&self) -> String {
        match (&self.question, self.findings.as_slice()) {
            (Some(question), []) => question.clone(),
            (Some(question), findings) => format!("{question} ({} found by gates)", findings.len()),
            (None, [only]) => format!("merge it in spite of {only}?"),
            (None, findings) => format!("merge it in spite of {} findings?", findings.len()),
        }
    }
}

/// Asks a person whether a change may be merged, and shows the change.
pub(super) async fn ask(ctx: &Ctx, task: &TaskId, attempt: u32, asked: Question<'_>) -> Result<(), Error> {
    let (old, new) = (Oid::parse(asked.base)?, Oid::parse(asked.commit)?);
    let diff = ctx.world.git(move |git| git.diff_text(&old, &new, DIFF_BYTES)).await?;
    let found: String = asked.findings.iter().map(|finding| format!("{finding}\n")).collect();
    let (run, need, title) = (ctx.plan.run.clone(), ctx.world.fresh_need()?, asked.title());
    let about = NeedAbout::Change { run, task: task.to_string(), commit: asked.commit.to_owned() };
    let expires_at = needs::expiry(&ctx.world);
    let event = switchboard_needs::ask_about_change(need.clone(), about, (&title, found + &diff), expires_at)?;
    let step = RunEvent::ConfirmationAsked { task: task.clone(), attempt, need, input: asked.input, reason: title };
    let record = Record { steps: vec![step], beside: vec![event], ..Record::default() };
    ctx.engine.record(record).await?;
    Ok(())
}

/// Waits until the question is answered by a person or expires.
pub(super) async fn wait(ctx: &Ctx, task: TaskId, need: NeedId) -> Outcome {
    let mut answered = ctx.world.store.subscribe([Interest::Kind("need_settled".to_owned())]);
    loop {
        match answer(ctx, &task, &need) {
            Ok(Some(step)) => return Outcome::step(step),
            Ok(None) => {}
            Err(error) => return again(ctx, &need, &error).await,
        }
        tokio::select! {
            biased;
            // The next daemon waits again.
            () = ctx.world.stop.cancelled() => return Outcome::default(),
            changed = answered.changed() => if changed.is_err() { return Outcome::default() },
        }
    }
}

/// Withdraws a question; one answered meanwhile stays as it is.
pub(super) async fn withdraw(ctx: &Ctx, task: TaskId, need: NeedId) -> Outcome {
    let done = match answer(ctx, &task, &need) {
        Ok(None) => take_back(ctx, &need).await.and_then(|()| answer(ctx, &task, &need)),
        known => known,
    };
    match done {
        Ok(step) => step.map_or_else(Outcome::default, Outcome::step),
        Err(error) => again(ctx, &need, &error).await,
    }
}

async fn take_back(ctx: &Ctx, need: &NeedId) -> Result<(), Error> {
    let settled = switchboard_needs::resolved(need, "withdrawn", None, "daemon");
    let (event, guard) = settled.map_err(shape("an answer"))?;
    match ctx.world.commit(Batch::synced().event(event).guard(guard)).await {
        // A person answered first.
        Ok(_) | Err(switchboard_store::Error::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn answer(ctx: &Ctx, task: &TaskId, need: &NeedId) -> Result<Option<RunEvent>, Error> {
    let answer = switchboard_needs::answer_about_task(&ctx.world.store, need)?;
    Ok(answer.map(|(answer, note)| RunEvent::PersonAnswered { task: task.clone(), need: need.clone(), answer, note }))
}

async fn again(ctx: &Ctx, need: &NeedId, error: &Error) -> Outcome {
    tracing::error!(%need, %error, "a question about a task can't be read or taken back now");
    tokio::select! {
        biased;
        () = ctx.world.stop.cancelled() => {}
        () = tokio::time::sleep(RETRY_PAUSE) => {}
    }
    Outcome::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_the_plans_own_or_about_what_gates_have_found() {
        let title = |question: Option<&str>, findings: &[&str]| {
            let question = question.map(str::to_owned);
            let findings = findings.iter().map(ToString::to_string).collect();
            Question { commit: "c", base: "b", input: Digest::ZERO, question, findings }.title()
        };

        assert_eq!(title(Some("does it read well?"), &[]), "does it read well?");
        assert_eq!(title(Some("does it read well?"), &["a", "b"]), "does it read well? (2 found by gates)");
        assert_eq!(title(None, &["fewer tests"]), "merge it in spite of fewer tests?");
        assert_eq!(title(None, &["a", "b"]), "merge it in spite of 2 findings?");
    }
}
