//! Comments with the fields that a line can't hold: `<!-- switchboard task {"of":"1.2","set":{…},"if":{…}} -->`.
//!
//! `set` holds the fields in which the plan differs from the line (null: the field is missing), `if` the values of
//! these fields according to the line. If the line now has another value, it was edited by hand, and the edit takes
//! precedence.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The fields of a plan, phase or task that are not the default, without phases and tasks below it.
pub(super) type Sparse = Map<String, Value>;

/// Kind of object that a comment belongs to.
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

    /// Returns the fields whose absence means this value, or an empty list.
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

/// Content of a comment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Carry {
    /// Id in the line above, to find that line again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    set: Sparse,
    #[serde(default, rename = "if", skip_serializing_if = "Map::is_empty")]
    was: Sparse,
    /// Ids of the children, if the plan's order differs from the file's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) order: Vec<Value>,
}

impl Carry {
    /// Returns the comment that turns `line`, the fields in the lines, into `actual`.
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

    /// Applies the comment to the fields of the lines; edited lines take precedence.
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

    /// Returns the comment line; no content can end the comment early.
    pub(super) fn write(&self, level: Level) -> String {
        let json = serde_json::to_string(self).expect("a carried field is JSON");
        let json = json.replace("--", "-\\u002d").replace("--", "-\\u002d");
        format!("<!-- switchboard {} {json} -->", level.word())
    }

    /// Reads a comment line; `None` for any other line.
    pub(super) fn read(line: &str) -> Option<(Level, Result<Self, String>)> {
        let content = line.trim().strip_prefix("<!-- switchboard ")?.strip_suffix("-->")?;
        let (word, json) = content.trim().split_once(' ')?;
        let level = [Level::Plan, Level::Phase, Level::Task].into_iter().find(|level| level.word() == word)?;
        Some((level, serde_json::from_str(json).map_err(|error| error.to_string())))
    }
}

/// Removes the fields that have their default value.
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

/// Returns `original` if it differs from `sorted`, else an empty list.
pub(super) fn order(original: Vec<Value>, sorted: &[Value]) -> Vec<Value> {
    if original == sorted { Vec::new() } else { original }
}

/// Restores a carried order; items that it doesn't name go to the end.
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
