//! The scripted agent: it speaks ACP on its standard streams, edits files and calls MCP tools as a real agent does, but follows a script instead of a
//! model. It is the example and the test double, and says so wherever it is shown.
//!
//! A script is JSON with sections, each for a task, an attempt and a turn; each section has steps ([`Step`]).
//! ```json
//! { "sections": [
//!   { "task": "1.1", "attempt": 1, "steps": [
//!     { "do": "wait_mail", "from": "Bea", "timeout_s": 20 },
//!     { "do": "write", "path": "src/answer.rs", "content": "pub const ANSWER: &str = \"{{mail.payload}}\";\n" },
//!     { "do": "reply", "text": "thanks" } ] },
//!   { "task": "1.1", "steps": [ { "do": "lie", "text": "All done." } ] } ] }
//! ```

mod name;
mod play;
mod rpc;
mod server;
mod text;
mod tools;

use std::path::Path;
use std::process::ExitCode;

pub use name::{GREETING, NAME};
pub use text::{OnReject, PromptKey, Script, Section, Step};

use crate::{Error, Result};

/// Plays a script as an agent on standard input and output, until the input ends.
#[must_use]
pub fn run(path: &Path) -> ExitCode {
    match Script::read(path).and_then(|script| serve(path, script)) {
        Ok(code) => code,
        Err(error) => {
            tracing::error!(code = error.code(), %error, script = %path.display(), "the scripted agent ends early");
            eprintln!("{}: {error}", path.display());
            ExitCode::from(2)
        }
    }
}

fn serve(path: &Path, script: Script) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::io("start the runtime"))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let code = runtime.block_on(server::serve(script, name));
    runtime.shutdown_background();
    code
}
