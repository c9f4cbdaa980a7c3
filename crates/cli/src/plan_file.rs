//! Reads the text of a plan file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::plan::MAX_PLAN_BYTES;

use crate::context::Context;

/// Reads the text of a plan, which may also come through a pipe.
///
/// # Errors
/// `io.denied` for a missing or unreadable file, `plan.schema` for one that is too large, `plan.syntax` for one that is not UTF-8.
pub(crate) fn read(path: &Path, context: &Context) -> Result<String, Failure> {
    let name = path.display().to_string();
    let full = context.resolve(path);
    let bytes = bytes(&full).map_err(|error| {
        let failure = Failure::new("io.denied", "the plan can't be read").at(name.clone()).because(&error);
        failure.hint(hint(&full, &name))
    })?;
    if bytes.len() > MAX_PLAN_BYTES {
        return Err(Failure::new("plan.schema", format!("a plan has at most {MAX_PLAN_BYTES} bytes")).at(name));
    }
    String::from_utf8(bytes).map_err(|error| {
        let read = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = read.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Failure::new("plan.syntax", "the plan is not UTF-8").at(format!("{name}:{line}"))
    })
}

/// Suggests what may have been meant by a name that is no plan file.
fn hint(path: &Path, name: &str) -> String {
    if path.is_dir() {
        return "name the plan's file in this folder".to_owned();
    }
    if name.contains(char::is_whitespace) {
        return "if it is a request: add --team, and a team plans it and carries it out; one job without a plan is `switchboard dispatch \"…\"`".to_owned();
    }
    let Some((folder, file)) = path.parent().zip(path.file_name()) else { return String::new() };
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
    let near = near_matches(&file.to_string_lossy(), names.iter().map(String::as_str));
    let work_without_plan = "a plan is a plan.json or plan.md; one job without a plan: switchboard dispatch \"…\"";
    near.first().map_or_else(|| work_without_plan.to_owned(), |near| format!("did you mean {near}?"))
}

/// Reads the file, up to a little more than the maximum size of a plan.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_PLAN_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
