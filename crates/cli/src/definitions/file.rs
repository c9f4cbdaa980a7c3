//! Reads one definition file, without following links out of its folder, and validates its frontmatter.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use switchboard_protocol::error::Failure;
use switchboard_protocol::frontmatter::{self, Document, Field, Problem, Value};
use switchboard_protocol::id::AgentName;
use switchboard_protocol::isolation::{Isolation, Tool};

use super::{Definition, Origin};

/// Maximum size of a file in bytes: more would fill most of a small model's context.
const MAX_FILE_BYTES: u64 = 16 << 10;

/// Keys that the frontmatter may have.
pub(super) const KEYS: [&str; 6] = ["name", "description", "tools", "model", "agent", "isolation"];

/// A file that can't be used: the name that it would define, and the reason.
#[derive(Debug, Clone)]
pub(crate) struct Bad {
    pub(crate) name: String,
    pub(crate) failure: Failure,
}

/// Reads a definition.
pub(super) fn read(path: &Path, folder: &Path, origin: Origin) -> Result<Definition, Box<Bad>> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let bad = |name: String, problem: Problem| {
        let failure = refused(path, (problem.line > 0).then_some(problem.line), &problem.what);
        let failure = problem.hint.into_iter().fold(failure, Failure::hint);
        Box::new(Bad { name, failure })
    };
    let text = contents(path, folder).map_err(|what| bad(stem.clone(), Problem::at(0, what)))?;
    let document = frontmatter::read(&text).map_err(|problem| bad(stem.clone(), problem))?;
    let named = document.fields.iter().find(|field| field.key == "name");
    let name = match named.map(|field| &field.value) {
        Some(Value::Text(name)) if !name.is_empty() => name.clone(),
        Some(_) | None => stem,
    };
    definition(path, &document, origin).map_err(|problem| bad(name, problem))
}

/// Builds a failure about a definition file.
pub(super) fn refused(path: &Path, line: Option<usize>, what: &str) -> Failure {
    let place = line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display()));
    let failure = Failure::new("agent.bad-definition", format!("the definition of an agent can't be used: {what}"));
    failure.at(place)
}

/// Returns the text of a regular file inside the folder, also through a symlink that stays inside.
pub(crate) fn contents(path: &Path, folder: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("it can't be read: {error}");
    let real = path.canonicalize().map_err(unreadable)?;
    if !real.starts_with(folder.canonicalize().map_err(unreadable)?) {
        return Err("it is a link that leads out of its folder".to_owned());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(&real, flags, Mode::empty()).map_err(|error| unreadable(error.into()))?);
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err("it is no plain file".to_owned());
    }
    if found.len() > MAX_FILE_BYTES {
        return Err(format!("it has {} bytes, and at most {MAX_FILE_BYTES} are taken", found.len()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

fn definition(path: &Path, document: &Document<'_>, origin: Origin) -> Result<Definition, Problem> {
    for field in &document.fields {
        known(field)?;
    }
    let text = |key: &str| text_of(document, key);
    let wanted = |key: &str| text(key)?.ok_or_else(|| Problem::at(1, format!("it has no `{key}`")));
    let line = |key: &str| document.fields.iter().find(|field| field.key == key).map_or(1, |field| field.line);
    let name = |key: &str, name: String| {
        AgentName::new(name).map_err(|error| Problem::at(line(key), format!("`{key}`: {error}")))
    };
    let tools = tools(document)?;
    let isolation = text("isolation")?.map(|word| {
        Isolation::of(&word)
            .ok_or_else(|| Problem::at(line("isolation"), "`isolation` is `full` or `constrained`".to_owned()))
    });
    let isolation = isolation.transpose()?;
    if isolation == Some(Isolation::Full) && !tools.is_empty() {
        let what = "`tools` cut a constrained worker, and `isolation` says full".to_owned();
        return Err(Problem::at(line("isolation"), what));
    }
    let held = if tools.is_empty() { Isolation::Full } else { Isolation::Constrained };
    Ok(Definition {
        name: name("name", wanted("name")?)?,
        description: wanted("description")?,
        tools,
        model: text("model")?,
        agent: text("agent")?.map(|agent| name("agent", agent)).transpose()?,
        isolation: isolation.unwrap_or(held),
        instructions: document.body.to_owned(),
        path: path.to_owned(),
        origin,
    })
}

/// Rejects a key that does not exist.
fn known(field: &Field) -> Result<(), Problem> {
    if KEYS.contains(&field.key.as_str()) {
        return Ok(());
    }
    let mut problem = Problem::at(field.line, format!("it has no key `{}`", field.key)).near(&field.key, &KEYS);
    problem.hint.get_or_insert_with(|| format!("the keys are {}", KEYS.join(", ")));
    Err(problem)
}

fn text_of(document: &Document<'_>, key: &str) -> Result<Option<String>, Problem> {
    let Some(field) = document.fields.iter().find(|field| field.key == key) else { return Ok(None) };
    match &field.value {
        Value::Text(text) if text.is_empty() => Err(Problem::at(field.line, format!("`{key}` is empty"))),
        Value::Text(text) => Ok(Some(text.clone())),
        Value::List(_) => Err(Problem::at(field.line, format!("`{key}` takes a text, not a list"))),
    }
}

/// Parses the tools, a list or words separated by commas; empty if not set.
fn tools(document: &Document<'_>) -> Result<Vec<Tool>, Problem> {
    let Some(field) = document.fields.iter().find(|field| field.key == "tools") else { return Ok(Vec::new()) };
    let words: Vec<&str> = match &field.value {
        Value::Text(text) => text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
        Value::List(list) => list.iter().map(String::as_str).collect(),
    };
    let names = Tool::ALL.map(Tool::as_str);
    if words.is_empty() {
        return Err(Problem::at(field.line, format!("`tools` names none of {}", names.join(", "))));
    }
    let tool = |word: &&str| {
        Tool::of(word).ok_or_else(|| {
            let what = format!("there is no tool `{word}`, only {}", names.join(", "));
            Problem::at(field.line, what).near(word, &names)
        })
    };
    let mut tools = words.iter().map(tool).collect::<Result<Vec<_>, _>>()?;
    tools.sort_unstable();
    tools.dedup();
    Ok(tools)
}
