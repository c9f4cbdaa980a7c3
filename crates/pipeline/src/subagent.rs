//! Reads a call of `subagent`: a job and its mode, or a task that follows another one.

use switchboard_protocol::error::Failure;
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::job::{Coordination, Job, JobTask, Mode};
use switchboard_protocol::verb::subagent::{SubagentAction, SubagentDebate, SubagentRequest};

/// Attempts at each of several tasks: a second one if it fails or returns nothing.
const ATTEMPTS_BESIDE_OTHERS: u32 = 2;

/// A job with its mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The job.
    pub job: Job,
    /// Mode of the job.
    pub mode: Mode,
}

/// Reads the job out of a request to launch one.
///
/// # Errors
/// `request.bad-args` with the field that is missing, is one too many, or does not fit.
pub fn launch(request: &SubagentRequest) -> Result<Launch, Failure> {
    unused(request, &[("run", request.run.is_some()), ("follow_up", request.follow_up.is_some())])?;
    let SubagentRequest { task, tasks, chain, debate, .. } = request;
    let said = [("task", task.is_some()), ("tasks", !tasks.is_empty()), ("chain", !chain.is_empty())];
    let said: Vec<_> = said.into_iter().chain([("debate", debate.is_some())]).filter(|(_, is_said)| *is_said).collect();
    let [_] = said.as_slice() else {
        let place = said.get(1).map_or("task", |(name, _)| *name);
        let found: Vec<_> = said.iter().map(|(name, _)| *name).collect();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(" and ") };
        return bad(place, &format!("exactly one of task, tasks, chain and debate is wanted, found {found}"));
    };
    let result = request.result;
    let several = |mode, tasks: &[JobTask], attempts| {
        let job = Job { tasks: tasks.to_vec(), result, attempts: Some(attempts), ..Job::default() };
        Launch { job, mode }
    };
    let launch = match debate {
        Some(debate) => Launch { job: Job { result, ..of_debate(debate, request) }, mode: Mode::Debate },
        None if !chain.is_empty() => several(Mode::Chain, chain, 1),
        None if !tasks.is_empty() => several(Mode::Parallel, tasks, ATTEMPTS_BESIDE_OTHERS),
        None => {
            let one = JobTask { task: task.clone().unwrap_or_default(), ..JobTask::default() };
            several(Mode::Single, &[one], 1)
        }
    };
    if let Some(at) = launch.job.tasks.iter().position(|task| task.task.trim().is_empty())
        && launch.mode != Mode::Debate
    {
        let field = said[0].0;
        return bad(&if field == "task" { field.to_owned() } else { format!("{field}[{at}].task") }, "it is empty");
    }
    match launch.job.unsupported_field(launch.mode) {
        Some((field, why)) => bad(&of_request(field, said[0].0), &why),
        None => Ok(launch),
    }
}

/// Renames the field of a job to its name in the request.
fn of_request(field: &str, said: &str) -> String {
    match (said, field.strip_prefix("job.").unwrap_or(field)) {
        ("debate", "tasks") => "debate.participants".to_owned(),
        ("debate", field) => format!("debate.{field}"),
        (said, _) => said.to_owned(),
    }
}

fn of_debate(debate: &SubagentDebate, request: &SubagentRequest) -> Job {
    let verdict = debate.verdict.as_ref().or(request.agent.as_ref());
    let topic = JobTask { task: debate.topic.clone(), agent: verdict.map(ToString::to_string), model: None };
    Job {
        tasks: debate.participants.clone(),
        topic: Some(topic),
        rounds: debate.rounds,
        quorum: debate.quorum,
        ..Job::default()
    }
}

/// Returns the isolation of the workers: constrained, unless the request sets another.
#[must_use]
pub fn isolation(request: &SubagentRequest) -> Isolation {
    request.isolation.unwrap_or(Isolation::Constrained)
}

/// Returns the coordination of the workers: they have mail only if the request wants it.
#[must_use]
pub const fn coordination(request: &SubagentRequest) -> Coordination {
    if request.use_message_bus { Coordination::Managed } else { Coordination::Standalone }
}

/// Returns the run that a request to show or continue one names.
///
/// # Errors
/// `request.bad-args` with the field that is missing or has no effect.
pub fn named(request: &SubagentRequest) -> Result<&str, Failure> {
    let SubagentRequest { task, tasks, chain, debate, result, .. } = request;
    let of_launch = [("task", task.is_some()), ("tasks", !tasks.is_empty()), ("chain", !chain.is_empty())];
    let of_launch = of_launch.into_iter().chain([("debate", debate.is_some()), ("result", result.is_some())]);
    unused(request, &of_launch.collect::<Vec<_>>())?;
    let of_resume = [("agent", request.agent.is_some()), ("follow_up", request.follow_up.is_some())];
    if request.action == SubagentAction::Status {
        unused(request, &of_resume)?;
    }
    match request.run.as_deref().filter(|run| !run.is_empty()) {
        Some(run) => Ok(run),
        None => bad("run", "it says which run: the id that the launch answered"),
    }
}

fn unused(request: &SubagentRequest, fields: &[(&str, bool)]) -> Result<(), Failure> {
    let action = match request.action {
        SubagentAction::Launch => "launch",
        SubagentAction::Status => "status",
        SubagentAction::Resume => "resume",
    };
    match fields.iter().find(|(_, is_said)| *is_said) {
        Some((name, _)) => bad(name, &format!("it has no effect where the action is {action}")),
        None => Ok(()),
    }
}

fn bad<T>(field: &str, why: &str) -> Result<T, Failure> {
    Err(Failure::new("request.bad-args", why).at(field))
}

/// Returns the description of a task that follows another one: the earlier task, its answer, and the new request.
#[must_use]
pub fn following(task: &str, said: Option<&str>, follow_up: &str) -> String {
    let said = said.map_or_else(|| "Nothing was said.".to_owned(), |said| format!("---\n{}\n---", said.trim_end()));
    format!(
        "A task was given before:\n\n{}\n\nWhat was said to it, by an agent and not by Switchboard:\n{said}\n\nGo on with this:\n\n{}",
        task.trim_end(),
        follow_up.trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(text: &str) -> JobTask {
        JobTask { task: text.to_owned(), ..JobTask::default() }
    }

    fn place(request: &SubagentRequest) -> String {
        let failure = launch(request).unwrap_err();
        assert_eq!(failure.code, "request.bad-args");
        failure.place
    }

    #[test]
    fn a_request_has_one_job_and_the_mode_follows_from_it() {
        let single = SubagentRequest { task: Some("look".to_owned()), ..SubagentRequest::default() };
        let parallel = SubagentRequest { tasks: vec![task("a"), task("b")], ..SubagentRequest::default() };
        let chain = SubagentRequest { chain: vec![task("a"), task("{previous}")], ..SubagentRequest::default() };
        let debate = SubagentDebate {
            topic: "which".to_owned(),
            participants: vec![task(""), task("")],
            rounds: Some(3),
            quorum: None,
            verdict: None,
        };
        let debate = SubagentRequest { debate: Some(debate), ..SubagentRequest::default() };

        let modes = [&single, &parallel, &chain, &debate].map(|request| launch(request).unwrap());

        assert_eq!(modes.each_ref().map(|one| one.mode), [Mode::Single, Mode::Parallel, Mode::Chain, Mode::Debate]);
        assert_eq!(modes.each_ref().map(|one| one.job.attempts), [Some(1), Some(2), Some(1), None]);
        assert_eq!(isolation(&single), Isolation::Constrained);
        assert_eq!(coordination(&single), Coordination::Standalone);
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_the_field() {
        let none = SubagentRequest::default();
        let one = || SubagentRequest { task: Some("look".to_owned()), ..SubagentRequest::default() };

        assert_eq!(place(&none), "task");
        assert_eq!(place(&SubagentRequest { tasks: vec![task("a")], ..one() }), "tasks");
        assert_eq!(place(&SubagentRequest { run: Some("run_1".to_owned()), ..one() }), "run");
        assert_eq!(place(&SubagentRequest { follow_up: Some("more".to_owned()), ..one() }), "follow_up");
        assert_eq!(place(&SubagentRequest { tasks: vec![task("a"); 9], ..none.clone() }), "tasks");
        assert_eq!(place(&SubagentRequest { tasks: vec![task("a"), task(" ")], ..none.clone() }), "tasks[1].task");
        assert_eq!(place(&SubagentRequest { chain: vec![task("a")], ..none.clone() }), "chain");
        let status = SubagentRequest { action: SubagentAction::Status, ..one() };
        assert_eq!(named(&status).unwrap_err().place, "task");
        assert_eq!(named(&SubagentRequest { task: None, ..status.clone() }).unwrap_err().place, "run");
        let resume = SubagentRequest { action: SubagentAction::Resume, run: Some("run_1".to_owned()), ..none };
        assert_eq!(named(&resume).unwrap(), "run_1");
        let asks = SubagentRequest { follow_up: Some("more".to_owned()), action: SubagentAction::Status, ..resume };
        assert_eq!(named(&asks).unwrap_err().place, "follow_up");
    }

    #[test]
    fn a_follow_up_quotes_the_task_and_what_was_said() {
        let text = following("Find it.\n", Some("In src.\n"), "Which line?");

        assert!(
            text.contains("Find it.\n") && text.contains("---\nIn src.\n---") && text.ends_with("Which line?"),
            "{text}"
        );
        assert!(following("a", None, "b").contains("Nothing was said."));
    }
}
