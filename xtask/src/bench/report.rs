//! Report of a benchmark: prints each figure when it is measured, and at the end all of them as one JSON object.

use serde_json::{Map, Value, json};

use super::stats::rounded;

/// Figures of one benchmark so far.
pub(super) struct Report {
    /// True if only the JSON object is printed.
    json: bool,
    rows: Vec<(&'static str, f64)>,
    /// Details behind the figures.
    details: Map<String, Value>,
}

// === impl Report ===

impl Report {
    pub(super) fn new(json: bool) -> Self {
        Self { json, rows: Vec::new(), details: Map::new() }
    }

    /// Adds a figure; `line` is its row of the printed table.
    pub(super) fn row(&mut self, name: &'static str, measured: f64, line: &str) {
        if !self.json {
            println!("{line}");
        }
        self.rows.push((name, measured));
    }

    pub(super) fn detail(&mut self, name: &str, value: impl Into<Value>) {
        self.details.insert(name.to_owned(), value.into());
    }

    pub(super) fn print(self) {
        let rows = self.rows.into_iter().map(|(name, measured)| (name.to_owned(), json!(rounded(measured))));
        println!("{}", Value::Object(rows.chain(self.details).collect()));
    }
}
