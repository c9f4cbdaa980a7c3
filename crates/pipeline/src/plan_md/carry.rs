//! Comments that carry what a line can't: `<!-- switchboard task {"of":"1.2","set":{…},"if":{…}} -->`.
//!
//! `set` holds the fields in which the plan differs from what the line says (null: the field is not there), `if` what the line said
//! about them. A field whose line says something else by now was edited by hand, and the edit stands.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The fields of a plan, phase or task that are not the default, without phases and tasks below it.
pub(super) type Sparse = Map<String, Value>;

/// What a comment is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Plan,
    Phase,
    Task,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Phase => "phase",
            Self::Task => "task",
        }
    }

    /// Fields whose absence means this word, or an empty list.
    fn defaults(self) -> &'static [(&'static str, Option<&'static str>)] {
        match self {
            Self::Plan => &[("schema_version", Some("1.0.0"))],
            Self::Phase => &[("status", Some("pending"))],
            Self::Task => {
                &[("status", Some("pending")), ("size", Some("small")), ("depends", None), ("files_touched", None)]
            }
        }
    }
}

/// A comment's content.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Carry {
    /// The id that the line above shows, to find it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    set: Sparse,
    #[serde(default, rename = "if", skip_serializing_if = "Map::is_empty")]
    was: Sparse,
    /// Ids of what is below, where the plan has them in another order than the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) order: Vec<Value>,
}

impl Carry {
    /// What is to be carried so that `line`, which the lines say, becomes `actual`.
    pub(super) fn between(line: &Sparse, actual: &Sparse, of: Option<Value>, order: Vec<Value>) -> Self {
        let mut carry = Self { of, order, ..Self::default() };
        for (name, value) in actual {
            if line.get(name) != Some(value) {
                carry.set(line, name, value.clone());
            }
        }
        for name in line.keys().filter(|name| !actual.contains_key(*name)) {
            carry.set(line, name, Value::Null);
        }
        carry
    }

    fn set(&mut self, line: &Sparse, name: &str, value: Value) {
        self.set.insert(name.to_owned(), value);
        if let Some(said) = line.get(name) {
            self.was.insert(name.to_owned(), said.clone());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.order.is_empty()
    }

    /// Puts what is carried into what the lines say; edited lines win.
    pub(super) fn apply(self, line: &mut Sparse) {
        let Self { set, was, .. } = self;
        let said = line.clone();
        for (name, value) in set {
            if said.get(&name) != was.get(&name) {
                continue;
            }
            if value.is_null() && said.contains_key(&name) {
                line.shift_remove(&name);
            } else {
                line.insert(name, value);
            }
        }
    }

    /// The comment line; nothing in it can end the comment early.
    pub(super) fn write(&self, level: Level) -> String {
        let json = serde_json::to_string(self).expect("a carried field is JSON");
        let json = json.replace("--", "-\\u002d").replace("--", "-\\u002d");
        format!("<!-- switchboard {} {json} -->", level.word())
    }

    /// Reads a comment line; nothing when it is another kind of line.
    pub(super) fn read(line: &str) -> Option<(Level, Result<Self, String>)> {
        let content = line.trim().strip_prefix("<!-- switchboard ")?.strip_suffix("-->")?;
        let (word, json) = content.trim().split_once(' ')?;
        let level = [Level::Plan, Level::Phase, Level::Task].into_iter().find(|level| level.word() == word)?;
        Some((level, serde_json::from_str(json).map_err(|error| error.to_string())))
    }
}

/// Takes the fields that have their default value out.
pub(super) fn sparse(level: Level, value: &impl Serialize) -> Sparse {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(value) else { return Sparse::new() };
    fields.shift_remove("phases");
    fields.shift_remove("tasks");
    for (name, default) in level.defaults() {
        let is_default = match fields.get(*name) {
            Some(Value::Array(list)) => default.is_none() && list.is_empty(),
            Some(value) => value.as_str().is_some() && value.as_str() == *default,
            None => false,
        };
        if is_default {
            fields.shift_remove(*name);
        }
    }
    fields
}

/// What `items` are called in the order they have, if that is another than `sorted`.
pub(super) fn order(original: Vec<Value>, sorted: &[Value]) -> Vec<Value> {
    if original == sorted { Vec::new() } else { original }
}

/// Puts items back into a carried order; those that it doesn't name go to the end.
pub(super) fn reorder<T>(items: Vec<T>, order: &[Value], id: impl Fn(&T) -> Option<Value>) -> Vec<T> {
    if order.is_empty() {
        return items;
    }
    let mut places: std::collections::BTreeMap<String, std::collections::VecDeque<usize>> = Default::default();
    for (place, id) in order.iter().enumerate() {
        places.entry(id.to_string()).or_default().push_back(place);
    }
    let mut placed: Vec<_> = items
        .into_iter()
        .map(|item| {
            let place = id(&item).and_then(|id| places.get_mut(&id.to_string())?.pop_front());
            (place.unwrap_or(usize::MAX), item)
        })
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, item)| item).collect()
}
