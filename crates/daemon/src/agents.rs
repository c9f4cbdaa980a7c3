//! Finds the agents that a job needs, and how they are started. A child process of our own binary does this, since only the command line reads
//! settings, definitions and trust.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_process::env::Env;
use switchboard_process::spawn::Spawn;
use switchboard_protocol::definition::AgentScope;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::job::{Job, Mode};
use switchboard_protocol::verb::run::AgentChoice;

use crate::blocking::blocking;

/// Time limit for the child: it reads a few small files.
const LIMIT: Duration = Duration::from_secs(20);

/// Maximum size of its answer in bytes: more than twice the instructions of all agents of a job.
const MAX_ANSWER: usize = 4 << 20;

/// Name of the hidden command that answers.
pub const COMMAND: &str = "agents-of-job";

/// A job whose agents are requested.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobRequest {
    /// The job.
    pub job: Job,
    /// Mode of the job.
    pub mode: Mode,
    /// Agent of the tasks that name none.
    pub agent: Option<AgentName>,
    /// Scope of the agent definitions that count.
    pub scope: AgentScope,
}

/// The agents of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    /// How each agent is started.
    pub agents: Vec<AgentChoice>,
    /// Agent of the tasks that name none.
    pub default: Option<AgentName>,
}

/// Answer of the child.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The agents were found.
    Found(Found),
    /// Why they could not be found.
    Failed(Failure),
}

/// Finds the agents of a job as a command in a folder would. They inherit the daemon's environment, which has no keys.
///
/// # Errors
/// The command line's reason to refuse an agent; `internal.bug` where the child broke.
pub(crate) async fn found(binary: &Path, folder: &Path, wanted: JobRequest) -> Result<Found, Failure> {
    let (binary, folder) = (binary.display().to_string(), folder.to_owned());
    blocking(move || ask(binary, folder, &wanted)).await
}

fn ask(binary: String, folder: PathBuf, wanted: &JobRequest) -> Result<Found, Failure> {
    let broken = |why: String| Failure::new("internal.bug", format!("the agents of a job can't be found: {why}"));
    let question = serde_json::to_vec(wanted).map_err(|error| broken(error.to_string()))?;
    let spawn = Spawn::new([binary, COMMAND.to_owned()]).cwd(folder).env_only(Env::plain()).ends_with_us();
    let spawn = spawn.wall(LIMIT).keep(MAX_ANSWER).input(question);
    let output = spawn.output().map_err(|error| broken(error.to_string()))?;
    let answer = output.stdout.whole().ok_or_else(|| broken("its answer is too long".to_owned()))?;
    match serde_json::from_slice(&answer) {
        Ok(Answer::Found(found)) => Ok(found),
        Ok(Answer::Failed(failure)) => Err(failure),
        // The parser's message is left out, because it could quote a variable's value.
        Err(_) => Err(broken(format!("it ended with {:?}", output.exit))),
    }
}
