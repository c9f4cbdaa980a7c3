//! `switchboard explain`

mod pages;

use switchboard_protocol::error::{Code, Failure, TABLE, find, near};

use crate::context::Context;
use crate::output::Table;
use crate::report::Outcome;

/// Explain an error code: its cause and what to do
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The code, such as `plan.cycle`; all codes when left out
    code: Option<String>,
}

/// Prints the page of a code, or the list of codes.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    match &args.code {
        None => list(context),
        Some(code) => {
            let row = find(code).ok_or_else(|| unknown(code))?;
            page(row, context);
        }
    }
    Ok(())
}

fn list(context: &mut Context) {
    let mut table = Table::new(&["CODE", "WHAT IT MEANS"]);
    for row in TABLE {
        if context.json {
            context.out.json(&serde_json::json!({ "code": row.code, "title": row.title, "exit": row.exit as u8 }));
        } else {
            table.row([row.code, row.title]);
        }
    }
    if !context.json {
        context.out.table(&table);
    }
}

fn page(row: &Code, context: &mut Context) {
    let text = pages::page(row.code).unwrap_or(row.title);
    if context.json {
        let value = serde_json::json!({
            "code": row.code, "title": row.title, "exit": row.exit as u8, "aliases": row.aliases, "page": text,
        });
        context.out.json(&value);
    } else {
        context.out.line(text.trim_end());
    }
}

fn unknown(code: &str) -> Failure {
    let failure = Failure::new("request.bad-args", format!("there is no code {code}"));
    match near(code).as_slice() {
        [] => failure.hint("all codes: switchboard explain"),
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    }
}
