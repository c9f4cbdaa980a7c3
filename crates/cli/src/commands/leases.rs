//! `switchboard leases`

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::lease::{Lease, Resource};
use switchboard_protocol::verb::lease::{ListLeases, ListLeasesRequest};

use crate::context::Context;
use crate::output::{Table, one_line};
use crate::report::Outcome;

/// List who holds which files, and for how long
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: list_leases")]
pub(crate) struct Args {
    /// Only the leases of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Maximum number of leases to list, oldest first
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

/// Requests the leases and prints them.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    let agent = args
        .agent
        .map(AgentName::new)
        .transpose()
        .map_err(|error| Failure::new("request.bad-args", "--agent is not the name of an agent").because(&error))?;
    let reply = context.daemon()?.call::<ListLeases>(&ListLeasesRequest { agent, limit: args.limit })?;
    if context.json {
        context.out.json(&reply);
        return Ok(());
    }
    if reply.leases.is_empty() {
        context.out.line("no file is reserved");
        return Ok(());
    }
    let mut table = Table::new(&["LEASE", "HOLDER", "MODE", "LEFT", "ON", "WHY"]);
    reply.leases.iter().for_each(|lease| table.row(row(lease)));
    context.out.table(&table);
    let hidden = reply.total.saturating_sub(reply.leases.len() as u64);
    if hidden > 0 {
        context.out.line(format!("and {hidden} more"));
    }
    Ok(())
}

fn row(lease: &Lease) -> [String; 6] {
    let on = match &lease.resource {
        Resource::Files(globs) => globs.join(", "),
        Resource::Unit(unit) => format!("unit {unit}"),
        Resource::Terminal(agent) => agent.to_string(),
    };
    let seconds = lease.left_ms.div_ceil(1_000);
    let left = format!("{}:{:02}:{:02}", seconds / 3_600, seconds % 3_600 / 60, seconds % 60);
    let (id, holder) = (lease.id.to_string(), lease.holder.to_string());
    [id, holder, lease.mode.as_str().to_owned(), left, one_line(&on, 60), one_line(&lease.reason, 40)]
}
