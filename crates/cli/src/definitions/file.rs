//! One file: read without following it out of its folder, and held to what a definition may say.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::id::AgentName;
use switchboard_protocol::isolation::{Isolation, Tool};

use super::frontmatter::{self, Document, Field, Value};
use super::{Definition, Origin};

/// Most bytes of a file: more would be most of what a small model can take.
const MOST: u64 = 16 << 10;

/// The keys of a frontmatter.
const KEYS: [&str; 6] = ["name", "description", "tools", "model", "agent", "isolation"];

/// A file that can't be used: the name by which it would be asked for, and why.
#[derive(Debug, Clone)]
pub(crate) struct Bad {
    pub(crate) name: String,
    pub(crate) failure: Failure,
}

/// Reads a definition.
pub(super) fn read(path: &Path, folder: &Path, origin: Origin) -> Result<Definition, Bad> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let bad =
        |name: &str, line: Option<usize>, what: &str| Bad { name: name.to_owned(), failure: refused(path, line, what) };
    let text = contents(path, folder).map_err(|what| bad(&stem, None, &what))?;
    let document = frontmatter::read(&text).map_err(|problem| bad(&stem, Some(problem.line), &problem.what))?;
    let named = document.fields.iter().find(|field| field.key == "name");
    let name = match named.map(|field| &field.value) {
        Some(Value::Text(name)) if !name.is_empty() => name.clone(),
        Some(_) | None => stem,
    };
    let read = definition(path, &document, origin);
    read.map_err(|(line, failure)| Bad { name: name.clone(), failure: at(failure, path, line) })
}

/// A failure about a file.
pub(super) fn refused(path: &Path, line: Option<usize>, what: &str) -> Failure {
    let failure = Failure::new("agent.bad-definition", format!("the definition of an agent can't be used: {what}"));
    at(failure.hint("switchboard explain agent.bad-definition"), path, line)
}

fn at(failure: Failure, path: &Path, line: Option<usize>) -> Failure {
    failure.at(line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display())))
}

/// The text of a plain file that lies in the folder, also where a link leads to it.
fn contents(path: &Path, folder: &Path) -> Result<String, String> {
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
    if found.len() > MOST {
        return Err(format!("it has {} bytes, and at most {MOST} are taken", found.len()));
    }
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// A refusal with the line that it is about.
type Refusal = (Option<usize>, Failure);

fn refusal(line: Option<usize>, what: &str) -> Refusal {
    (line, refused(Path::new(""), None, what))
}

fn definition(path: &Path, document: &Document<'_>, origin: Origin) -> Result<Definition, Refusal> {
    for field in &document.fields {
        known(field)?;
    }
    let text = |key: &str| text_of(document, key);
    let wanted = |key: &str| text(key)?.ok_or_else(|| refusal(Some(1), &format!("it has no `{key}`")));
    let line = |key: &str| document.fields.iter().find(|field| field.key == key).map(|field| field.line);
    let name = |key: &str, name: String| {
        AgentName::new(name).map_err(|error| refusal(line(key), &format!("`{key}`: {error}")))
    };
    let tools = tools(document)?;
    let isolation = text("isolation")?.map(|word| {
        Isolation::of(&word).ok_or_else(|| refusal(line("isolation"), "`isolation` is `full` or `constrained`"))
    });
    let isolation = isolation.transpose()?;
    if isolation == Some(Isolation::Full) && !tools.is_empty() {
        let what = "`tools` cut a constrained worker, and `isolation` says full";
        return Err(refusal(line("isolation"), what));
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

/// Refuses a key that does not exist.
fn known(field: &Field) -> Result<(), Refusal> {
    if KEYS.contains(&field.key.as_str()) {
        return Ok(());
    }
    let (line, mut failure) = refusal(Some(field.line), &format!("it has no key `{}`", field.key));
    if let Some(near) = near_matches(&field.key, KEYS).first() {
        failure = failure.hint(format!("did you mean `{near}`?"));
    }
    Err((line, failure))
}

fn text_of(document: &Document<'_>, key: &str) -> Result<Option<String>, Refusal> {
    let Some(field) = document.fields.iter().find(|field| field.key == key) else { return Ok(None) };
    match &field.value {
        Value::Text(text) if text.is_empty() => Err(refusal(Some(field.line), &format!("`{key}` is empty"))),
        Value::Text(text) => Ok(Some(text.clone())),
        Value::List(_) => Err(refusal(Some(field.line), &format!("`{key}` takes a text, not a list"))),
    }
}

/// The tools, as a list or as words with commas between; empty where nothing is said.
fn tools(document: &Document<'_>) -> Result<Vec<Tool>, Refusal> {
    let Some(field) = document.fields.iter().find(|field| field.key == "tools") else { return Ok(Vec::new()) };
    let words: Vec<&str> = match &field.value {
        Value::Text(text) => text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
        Value::List(list) => list.iter().map(String::as_str).collect(),
    };
    let names = Tool::ALL.map(Tool::as_str);
    if words.is_empty() {
        return Err(refusal(Some(field.line), &format!("`tools` names none of {}", names.join(", "))));
    }
    let tool = |word: &&str| {
        Tool::of(word).ok_or_else(|| {
            let what = format!("there is no tool `{word}`, only {}", names.join(", "));
            let (line, failure) = refusal(Some(field.line), &what);
            match near_matches(word, names).first() {
                Some(near) => (line, failure.hint(format!("did you mean `{near}`?"))),
                None => (line, failure),
            }
        })
    };
    let mut tools = words.iter().map(tool).collect::<Result<Vec<_>, _>>()?;
    tools.sort_unstable();
    tools.dedup();
    Ok(tools)
}
