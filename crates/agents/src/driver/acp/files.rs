//! Answers an agent's requests for files, although we offer none: one of the real agents sends them, and hangs without an answer.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::wire::{Fault, INVALID_PARAMS};
use crate::confine;

/// Maximum size of a file that is read for an agent, in bytes.
const MAX_BYTES: u64 = 16 << 20;

pub(super) fn read(cwd: &Path, params: &Value) -> Result<Value, Fault> {
    let file = file(cwd, params)?;
    let size = fs::metadata(&file).map_err(|e| fault(&e.to_string()))?.len();
    if size > MAX_BYTES {
        return Err(fault("the file is too long"));
    }
    let text = fs::read(&file).map_err(|e| fault(&e.to_string()))?;
    let text = String::from_utf8_lossy(&text);
    let from = params["line"].as_u64().unwrap_or(1).saturating_sub(1);
    let limit = params["limit"].as_u64().unwrap_or(u64::MAX);
    let index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let content: String = text.split_inclusive('\n').skip(index(from)).take(index(limit)).collect();
    Ok(json!({ "content": content }))
}

pub(super) fn write(cwd: &Path, params: &Value) -> Result<Value, Fault> {
    let file = file(cwd, params)?;
    let content = params["content"].as_str().ok_or_else(|| fault("content is missing"))?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|e| fault(&e.to_string()))?;
    }
    fs::write(&file, content).map_err(|e| fault(&e.to_string()))?;
    Ok(Value::Null)
}

/// Returns the refusal of a write of an agent without a tool that writes.
pub(super) fn read_only() -> Fault {
    fault("the work tree is read-only for this agent")
}

fn file(cwd: &Path, params: &Value) -> Result<PathBuf, Fault> {
    let path = params["path"].as_str().ok_or_else(|| fault("path is missing"))?;
    confine::inside(cwd, Path::new(path)).map_err(|why| fault(&why))
}

fn fault(why: &str) -> Fault {
    Fault::new(INVALID_PARAMS, why)
}
