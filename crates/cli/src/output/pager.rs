//! Shows text that is longer than a screen in a pager, chosen as git does: `PAGER`, else `less`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::Output;
use crate::environment::Environment;

/// Shows a text in the user's pager if the output is a terminal; otherwise prints it.
pub(crate) fn page(text: &str, environment: &Environment, out: &mut Output) {
    let wanted = environment.variable("SWITCHBOARD_PAGER").or_else(|| environment.variable("PAGER"));
    let line = wanted.unwrap_or("less");
    if !environment.stdout_is_terminal || line == "cat" || !show(line, text, environment) {
        out.text(text);
    }
}

/// Returns true if the pager was started. Text that it doesn't read is dropped, because the user has left it.
fn show(line: &str, text: &str, environment: &Environment) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a pager needs our terminal and our process group")]
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).stdin(Stdio::piped());
    if environment.variable("LESS").is_none() {
        // Quits at once if all fits on the screen, keeps colours, doesn't clear the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut pager) = command.spawn() else { return false };
    if let Some(mut to) = pager.stdin.take() {
        let _ = to.write_all(text.as_bytes());
    }
    pager.wait().is_ok_and(|status| status.code() != Some(127))
}
