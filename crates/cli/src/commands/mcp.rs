//! `switchboard mcp`: the bridge, and its installation in a client.

mod install;

use std::process::ExitCode;

use switchboard_daemon::Launch;
use switchboard_protocol::error::Failure;
use switchboard_protocol::wire::{Hello, WIRE_VERSION};

use crate::context::{Context, Shared};
use crate::environment::Environment;
use crate::report::{self, Outcome};
use crate::session::At;
use crate::{bridge, client};

/// Serve MCP on standard input and output, or install that in a client
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Install(install::Args),
}

/// Serves MCP, or installs the bridge.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    match args.command {
        None => carry(context).map_err(Into::into),
        Some(Command::Install(args)) => install::run(&args, context),
    }
}

/// Serves MCP without the argument parser.
pub(crate) fn serve(environment: &Environment) -> ExitCode {
    let context = Context::new(&Shared::default(), environment.clone());
    match carry(&context) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report::end(&failure.into(), &context),
    }
}

fn carry(context: &Context) -> Result<(), Failure> {
    let bridge = client::new_key()?;
    let is_worker = context.environment.worker().is_some();
    let open = |at: &At| {
        let token = at.credentials.token.clone();
        // The agent's name comes from the environment only, never from the user's name.
        let name = context.environment.variable("SWITCHBOARD_AGENT").map(str::to_owned);
        let folder = at.credentials.folder.clone();
        let hello = Hello::Mcp { v: WIRE_VERSION, token, name, bridge: bridge.clone(), folder };
        client::open(&at.socket, &hello)
    };
    // A worker's daemon may return within a minute; the worker must not start one, so it only waits.
    let connect = || match context.reach(open) {
        Err(failure) if failure.code == "daemon.not-running" && !is_worker => {
            open(&context.start_daemon(Launch::default())?)
        }
        other => other,
    };
    bridge::carry(std::io::stdin(), std::io::stdout(), connect)
}
