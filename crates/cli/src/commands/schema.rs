//! `switchboard schema`

use crate::context::Context;
use crate::report::Outcome;

/// Print the JSON Schema of a file that you write, to point an editor at
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file
    #[arg(value_enum)]
    of: Of,
}

/// A file that a person writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Of {
    /// A plan.json, with `x-switchboard`.
    Plan,
    /// The config.toml of the user or of a repository.
    Config,
}

/// Prints the schema.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    context.out.text(&match args.of {
        Of::Plan => switchboard_protocol::plan::SCHEMA.to_owned(),
        Of::Config => format!("{:#}\n", crate::settings::schema()),
    });
    Ok(())
}
