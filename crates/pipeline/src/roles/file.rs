//! Parses one role file: the values of its keys, with the line of each.

use std::collections::BTreeSet;

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::frontmatter::{self, Document, Field, Value};
use switchboard_protocol::role::{MAX_FALLBACK_MODELS, Zone};
use switchboard_protocol::run::way::RoleId;

use super::bad::{BadRole, Reason};
use crate::paths::Pattern;

/// Maximum size of a role file in bytes; more would fill most of a small model's context.
pub const MAX_ROLE_BYTES: usize = 16 << 10;

/// The keys of a frontmatter.
const KEYS: [&str; 16] = [
    "name",
    "description",
    "model",
    "fallback_models",
    "temperature",
    "disabled",
    "tool_calls",
    "minutes",
    "errors",
    "warn_at",
    "rights",
    "write",
    "write_only",
    "write_except",
    "answers",
    "prompt",
];

/// Values of `prompt`: whether the text below replaces the prompt of the role, or is appended to it.
const PROMPTS: [&str; 2] = ["replace", "append"];

/// Rights that are single words; the rights to write have keys of their own.
const RIGHTS: [&str; 3] = ["read", "execute", "delegate"];

/// A role file: its displayed path and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleFile<'a> {
    /// Path of the file.
    pub file: &'a str,
    /// Text of the file.
    pub text: &'a str,
}

/// Rights that are single words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Words {
    pub(super) read: bool,
    pub(super) execute: bool,
    pub(super) delegate: bool,
}

/// Values in a file; `None` for a missing key.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct FileValues {
    pub(super) description: Option<String>,
    pub(super) model: Option<String>,
    pub(super) fallback_models: Option<Vec<String>>,
    pub(super) temperature: Option<f64>,
    pub(super) disabled: Option<bool>,
    pub(super) tool_calls: Option<u32>,
    pub(super) minutes: Option<u32>,
    pub(super) errors: Option<u32>,
    pub(super) warn_at: Option<u8>,
    pub(super) rights: Option<Words>,
    pub(super) write: Option<BTreeSet<Zone>>,
    pub(super) write_only: Option<Vec<String>>,
    pub(super) write_except: Option<Vec<String>>,
    pub(super) answers: Option<Vec<AnswerKind>>,
    pub(super) appends: bool,
    pub(super) body: String,
}

/// A parsed file.
#[derive(Debug, Clone)]
pub(super) struct Read<'a> {
    pub(super) file: &'a str,
    pub(super) id: RoleId,
    pub(super) said: FileValues,
    lines: Vec<(String, usize)>,
}

// === impl Read ===

impl<'a> Read<'a> {
    /// Parses a file.
    pub(super) fn of(source: RoleFile<'a>) -> Result<Self, BadRole> {
        let stem = source.file.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
        let whole =
            |reason| BadRole { role: stem.into(), file: source.file.into(), line: None, reason, hint: Box::default() };
        if source.text.len() > MAX_ROLE_BYTES {
            return Err(whole(Reason::TooLarge { bytes: source.text.len() }));
        }
        let document = frontmatter::read(source.text).map_err(|problem| BadRole {
            line: (problem.line > 0).then_some(problem.line),
            hint: problem.hint.unwrap_or_default().into(),
            ..whole(Reason::Frontmatter(problem.what))
        })?;
        let keys = Keys { file: source.file, stem, document: &document };
        keys.known()?;
        let id = keys.id()?;
        let said = keys.values().map_err(|bad| BadRole { role: id.as_str().into(), ..bad })?;
        let lines = document.fields.iter().map(|field| (field.key.clone(), field.line)).collect();
        Ok(Self { file: source.file, id, said, lines })
    }

    /// Returns an error about a key.
    pub(super) fn refuse(&self, key: Option<&str>, reason: Reason) -> BadRole {
        let line = key.and_then(|key| self.lines.iter().find(|(name, _)| name == key)).map(|(_, line)| *line);
        BadRole { role: self.id.as_str().into(), file: self.file.into(), line, reason, hint: Box::default() }
    }

    /// Returns the first of the keys that the file has.
    pub(super) fn first_of(&self, keys: &[&'static str]) -> Option<&'static str> {
        keys.iter().copied().find(|key| self.lines.iter().any(|(name, _)| name == key))
    }
}

/// Keys of a file during parsing.
struct Keys<'a> {
    file: &'a str,
    stem: &'a str,
    document: &'a Document<'a>,
}

// === impl Keys ===

impl Keys<'_> {
    fn known(&self) -> Result<(), BadRole> {
        let Some(field) = self.document.fields.iter().find(|field| !KEYS.contains(&field.key.as_str())) else {
            return Ok(());
        };
        Err(self.bad(Some(field), Reason::UnknownKey(field.key.clone()), near(&field.key, &KEYS)))
    }

    fn id(&self) -> Result<RoleId, BadRole> {
        let name = self.text("name")?.ok_or_else(|| self.bad(None, Reason::Missing("name"), String::new()))?;
        let folded = super::names::fold(&name);
        RoleId::new(folded).map_err(|error| self.value("name", error.to_string(), String::new()))
    }

    fn values(&self) -> Result<FileValues, BadRole> {
        Ok(FileValues {
            description: self.text("description")?,
            model: self.text("model")?,
            fallback_models: self.fallback_models()?,
            temperature: self.temperature()?,
            disabled: self.word("disabled", &["true", "false"])?.map(|word| word == "true"),
            tool_calls: self.number("tool_calls")?,
            minutes: self.number("minutes")?,
            errors: self.number("errors")?,
            warn_at: self.percent("warn_at")?,
            rights: self.rights()?,
            write: self.write()?,
            write_only: self.globs("write_only")?,
            write_except: self.globs("write_except")?,
            answers: self.answers()?,
            appends: self.word("prompt", &PROMPTS)?.is_some_and(|word| word == "append"),
            body: self.document.body.to_owned(),
        })
    }

    fn rights(&self) -> Result<Option<Words>, BadRole> {
        let Some(words) = self.words("rights", &RIGHTS)? else { return Ok(None) };
        let has = |right: &str| words.iter().any(|word| word == right);
        Ok(Some(Words { read: has("read"), execute: has("execute"), delegate: has("delegate") }))
    }

    fn write(&self) -> Result<Option<BTreeSet<Zone>>, BadRole> {
        let names = Zone::ALL.map(Zone::as_str);
        let Some(words) = self.words("write", &names)? else { return Ok(None) };
        Ok(Some(words.iter().filter_map(|word| Zone::of(word)).collect()))
    }

    fn answers(&self) -> Result<Option<Vec<AnswerKind>>, BadRole> {
        let names: Vec<_> = AnswerKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let Some(words) = self.words("answers", &names)? else { return Ok(None) };
        Ok(Some(words.iter().filter_map(|word| AnswerKind::of(word)).collect()))
    }

    fn fallback_models(&self) -> Result<Option<Vec<String>>, BadRole> {
        let Some(models) = self.list("fallback_models") else { return Ok(None) };
        if models.len() > MAX_FALLBACK_MODELS {
            let what = format!("names {} models, and at most {MAX_FALLBACK_MODELS} are taken", models.len());
            return Err(self.value("fallback_models", what, String::new()));
        }
        Ok(Some(models))
    }

    fn temperature(&self) -> Result<Option<f64>, BadRole> {
        let Some(text) = self.text("temperature")? else { return Ok(None) };
        // The range that the APIs of model services accept.
        let number = text.parse().ok().filter(|number| (0.0..=2.0).contains(number));
        let what = || self.value("temperature", format!("is a number from 0 to 2, not `{text}`"), String::new());
        number.map(Some).ok_or_else(what)
    }

    fn number(&self, key: &'static str) -> Result<Option<u32>, BadRole> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let what = || self.value(key, format!("is a whole number, 0 for no limit, not `{text}`"), String::new());
        text.parse().map(Some).map_err(|_| what())
    }

    fn percent(&self, key: &'static str) -> Result<Option<u8>, BadRole> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (1..=100).contains(number));
        let what = || self.value(key, format!("is a share in percent, 1 to 100, not `{text}`"), String::new());
        number.map(Some).ok_or_else(what)
    }

    fn globs(&self, key: &'static str) -> Result<Option<Vec<String>>, BadRole> {
        let Some(globs) = self.list(key) else { return Ok(None) };
        let read = |glob: &String| {
            let what = |error| self.value(key, format!("`{glob}` can't be used: {error}"), String::new());
            Pattern::parse(glob).map(|pattern| pattern.as_str().to_owned()).map_err(what)
        };
        globs.iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    fn word(&self, key: &'static str, words: &[&str]) -> Result<Option<String>, BadRole> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        if words.contains(&text.as_str()) {
            return Ok(Some(text));
        }
        Err(self.value(key, format!("is one of {}, not `{text}`", words.join(", ")), near(&text, words)))
    }

    /// Reads a list of words, each from a fixed set; `[]` for none.
    fn words(&self, key: &'static str, words: &[&str]) -> Result<Option<Vec<String>>, BadRole> {
        let Some(list) = self.list(key) else { return Ok(None) };
        match list.iter().find(|word| !words.contains(&word.as_str())) {
            Some(word) => {
                let what = format!("there is no `{word}`, only {}", words.join(", "));
                Err(self.value(key, what, near(word, words)))
            }
            None => Ok(Some(list)),
        }
    }

    /// Reads a list, or words separated by commas; drops empty ones.
    fn list(&self, key: &str) -> Option<Vec<String>> {
        let mut list: Vec<String> = match &self.field(key)?.value {
            Value::Text(text) => text.split(',').map(|word| word.trim().to_owned()).collect(),
            Value::List(list) => list.clone(),
        };
        list.retain(|word| !word.is_empty());
        Some(list)
    }

    fn text(&self, key: &'static str) -> Result<Option<String>, BadRole> {
        let Some(field) = self.field(key) else { return Ok(None) };
        match &field.value {
            Value::Text(text) if text.is_empty() => Err(self.value(key, "is empty".to_owned(), String::new())),
            Value::Text(text) => Ok(Some(text.clone())),
            Value::List(_) => Err(self.value(key, "takes a text, not a list".to_owned(), String::new())),
        }
    }

    fn field(&self, key: &str) -> Option<&Field> {
        self.document.fields.iter().find(|field| field.key == key)
    }

    fn value(&self, key: &'static str, what: String, hint: String) -> BadRole {
        self.bad(self.field(key), Reason::BadValue { key, what }, hint)
    }

    fn bad(&self, field: Option<&Field>, reason: Reason, hint: String) -> BadRole {
        let named = self.field("name").and_then(|field| match &field.value {
            Value::Text(name) if !name.is_empty() => Some(super::names::fold(name)),
            Value::Text(_) | Value::List(_) => None,
        });
        let role = named.map_or_else(|| self.stem.into(), Into::into);
        let line = Some(field.map_or(1, |field| field.line));
        BadRole { role, file: self.file.into(), line, reason, hint: hint.into() }
    }
}

fn near(word: &str, words: &[&str]) -> String {
    let near = switchboard_protocol::error::near_matches(word, words.iter().copied());
    near.first().map(|near| format!("did you mean `{near}`?")).unwrap_or_default()
}
