//! Which agents a job needs, and how they are started. A child of our own binary finds out, since only the command line knows settings, definitions and
//! trust.

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

/// How long the child may take: it reads a few small files.
const LIMIT: Duration = Duration::from_secs(20);

/// Bytes of its answer that are kept: instructions of all agents of a job, and more than twice that.
const MAX_ANSWER: usize = 4 << 20;

/// The hidden command that answers.
pub const COMMAND: &str = "agents-of-job";

/// A job whose agents are wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wanted {
    /// The job.
    pub job: Job,
    /// Its mode.
    pub mode: Mode,
    /// Who does the tasks that name nobody.
    pub agent: Option<AgentName>,
    /// Whose definitions count.
    pub scope: AgentScope,
}

/// The agents of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    /// How each is started.
    pub agents: Vec<AgentChoice>,
    /// Who does the tasks that name nobody.
    pub default: Option<AgentName>,
}

/// What the child answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The agents.
    Found(Found),
    /// Why they can't be had.
    Failed(Failure),
}

/// Finds the agents of a job as a command in a folder would. They inherit from the daemon's environment, which has no keys.
///
/// # Errors
/// What the command line refuses an agent for; `internal.bug` where the child broke.
pub(crate) async fn found(binary: &Path, folder: &Path, wanted: Wanted) -> Result<Found, Failure> {
    let (binary, folder) = (binary.display().to_string(), folder.to_owned());
    blocking(move || ask(binary, folder, &wanted)).await
}

fn ask(binary: String, folder: PathBuf, wanted: &Wanted) -> Result<Found, Failure> {
    let broken = |why: String| Failure::new("internal.bug", format!("the agents of a job can't be found: {why}"));
    let question = serde_json::to_vec(wanted).map_err(|error| broken(error.to_string()))?;
    let spawn = Spawn::new([binary, COMMAND.to_owned()]).cwd(folder).env_only(Env::plain()).ends_with_us();
    let spawn = spawn.wall(LIMIT).keep(MAX_ANSWER).input(question);
    let output = spawn.output().map_err(|error| broken(error.to_string()))?;
    let answer = output.stdout.whole().ok_or_else(|| broken("its answer is too long".to_owned()))?;
    match serde_json::from_slice(&answer) {
        Ok(Answer::Found(found)) => Ok(found),
        Ok(Answer::Failed(failure)) => Err(failure),
        // The parser's message could quote a variable's value.
        Err(_) => Err(broken(format!("it ended with {:?}", output.exit))),
    }
}
