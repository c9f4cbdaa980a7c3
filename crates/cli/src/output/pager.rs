//! A pager for what is longer than a screen, as git has it: `PAGER`, else `less`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::Output;
use crate::environment::Environment;

/// Shows a text in the user's pager, on a terminal only; prints it where there is none.
pub(crate) fn page(text: &str, environment: &Environment, out: &mut Output) {
    let wanted = environment.variable("SWITCHBOARD_PAGER").or_else(|| environment.variable("PAGER"));
    let line = wanted.unwrap_or("less");
    if !environment.stdout_is_terminal || line == "cat" || !show(line, text, environment) {
        out.text(text);
    }
}

/// Returns whether the pager was started. What it doesn't read is dropped: it was left.
fn show(line: &str, text: &str, environment: &Environment) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a pager needs our terminal and our process group")]
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).stdin(Stdio::piped());
    if environment.variable("LESS").is_none() {
        // Leaves at once where all fits on the screen, keeps colours, doesn't clear.
        command.env("LESS", "FRX");
    }
    let Ok(mut pager) = command.spawn() else { return false };
    if let Some(mut to) = pager.stdin.take() {
        let _ = to.write_all(text.as_bytes());
    }
    pager.wait().is_ok_and(|status| status.code() != Some(127))
}
