//! `switchboard up`

use std::sync::Arc;
use std::time::Duration;

use switchboard_daemon::{Ended, Launch, Options, Owner, ReadLimits, ReadSettings, ReadWorktrees, RootPaths, serve};
use switchboard_protocol::definition::AgentScope;
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::system::{GetStatus, GetStatusRequest};

use crate::available::Available;
use crate::context::Context;
use crate::report::{Ending, Outcome};
use crate::settings::Agents;

/// Run the daemon of this repository, here or in the background
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run in the background; returns when the daemon is ready
    #[arg(long)]
    detach: bool,
    /// Port of the loopback HTTP server; a free one when left out
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// End after so many idle minutes; 0: never
    #[arg(long, value_name = "MINUTES")]
    idle: Option<u64>,
    /// Started by another command: prints nothing.
    #[arg(long, hide = true)]
    foreground_internal: bool,
    /// Ends together with the run that it was started for.
    #[arg(long, hide = true)]
    ends_with_run: bool,
}

/// Idle minutes after which a daemon ends that another command has started.
const IDLE_MINUTES: u64 = 15;

/// Runs the daemon here, or starts one in the background.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    if switchboard_daemon::is_below_a_worker() {
        let what = "a worker may not start a daemon";
        return Err(Failure::new("agent.unmanaged", what).hint("start it in a terminal of your own").into());
    }
    if args.detach { detach(context) } else { foreground(args, context) }
}

fn foreground(args: &Args, context: &mut Context) -> Outcome {
    let place = context.place()?;
    if !args.foreground_internal {
        refuse_second(&place)?;
    }
    // A daemon that a person started in a terminal stays until that person ends it.
    let minutes = args.idle.unwrap_or(if args.foreground_internal { IDLE_MINUTES } else { 0 });
    let idle = (minutes > 0).then(|| Duration::from_secs(minutes.saturating_mul(60)));
    if !args.foreground_internal && !context.json {
        context.out.line(format!("switchboard for {} (Ctrl-C ends it)", place.root.display()));
    }
    let options = Options { ends_with_run: args.ends_with_run, idle, port: args.port };
    let folder = place.settings.clone();
    let limits = ReadLimits(Arc::new(move || Ok(Agents::read(&folder)?.limits)));
    let (folder, root, home) = (place.settings.clone(), place.root.clone(), context.environment.home());
    let worktrees = ReadWorktrees(Arc::new(move || {
        Available::of(Some(&folder), Some(&root), AgentScope::User)?.worktrees(&root, home.as_deref())
    }));
    match serve(place, options, ReadSettings { limits, worktrees }).map_err(Failure::from)? {
        Ended::Asked { .. } => Ok(()),
        Ended::Terminated => Err(Ending::Signal(143)),
        Ended::Interrupted => Err(Ending::Signal(130)),
    }
}

fn detach(context: &mut Context) -> Outcome {
    refuse_second(&context.place()?)?;
    let status = context.daemon_for(Launch::default())?.0.call::<GetStatus>(&GetStatusRequest {})?;
    if context.json {
        context.out.json(&status);
    } else {
        context.out.line(format!("a daemon runs as process {}, {}", status.pid, status.http));
    }
    Ok(())
}

/// Fails with the process of a daemon that already runs. The daemon itself would also refuse, but only in its log.
fn refuse_second(place: &RootPaths) -> Result<(), Failure> {
    let Some(owner) = Owner::of(place)? else { return Ok(()) };
    let what = format!("a daemon (process {}) already runs for {}", owner.pid, place.root.display());
    Err(Failure::new("daemon.running", what).at(place.socket.display().to_string()).hint("switchboard status"))
}
