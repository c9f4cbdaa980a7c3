//! Call chains: names joined by arrows, on one line or over several.

use super::violation::{Rule, Violation};
use crate::team::prose::{Line, LineKind};

/// Maximum number of names in a call chain; deeper chains need a scan of their own.
pub const CHAIN_LEVELS: usize = 3;

/// Arrows that join the names of a chain.
const ARROWS: [&str; 6] = ["-->", "->", "=>", "→", "⇒", "↳"];

/// Lines that a later line may continue, each indented further than the one before.
#[derive(Debug, Default)]
struct Open(Vec<Level>);

/// A line of a chain.
#[derive(Debug)]
struct Level {
    indent: usize,
    /// Number of names from the beginning of the chain to the end of the line.
    depth: usize,
    /// True if the line begins with an arrow.
    goes_on: bool,
}

// === impl Open ===

impl Open {
    /// Folds a line and returns its depth.
    fn depth(&mut self, line: &str) -> usize {
        let indent = line.chars().take_while(|c| c.is_whitespace()).count();
        let text = line.trim_start().trim_start_matches(['-', '*', '+', '│', '├', '└', '─', ' ', '`']);
        let text = if line.trim_start().starts_with("->") { line.trim_start() } else { text };
        let goes_on = ARROWS.iter().any(|arrow| text.starts_with(arrow));
        // Lines with the same indent that begin with arrows are branches of the line above them.
        let is_above = |level: &Level| level.indent < indent || (goes_on && !level.goes_on && level.indent == indent);
        self.0.retain(is_above);
        let above = if goes_on { self.0.last().map_or(1, |level| level.depth) } else { 1 };
        let depth = above + deepest(text);
        self.0.push(Level { indent, depth, goes_on });
        depth
    }
}

/// Returns a violation for each line that extends a chain beyond [`CHAIN_LEVELS`] names.
pub(super) fn violations(lines: &[Line<'_>]) -> Vec<Violation> {
    let mut open = Open::default();
    let mut found = Vec::new();
    for line in lines.iter().filter(|line| line.kind != LineKind::Quoted) {
        if line.raw.trim().is_empty() || is_signature(line.raw) {
            open = Open::default();
            continue;
        }
        let depth = open.depth(line.raw);
        if depth > CHAIN_LEVELS {
            found.push(Violation {
                line: Some(line.number),
                rule: Rule::Chain,
                found: format!("a call chain of {depth} names"),
                instead: format!("the first {CHAIN_LEVELS}; a deeper one is another scan"),
            });
        }
    }
    found
}

/// Returns the number of arrows in the longest chain of a line. `;`, `,` and `|` outside brackets begin another chain.
fn deepest(text: &str) -> usize {
    let (mut brackets, mut arrows, mut most, mut rest) = (0_usize, 0, 0, text);
    while let Some(c) = rest.chars().next() {
        let arrow = ARROWS.iter().find(|arrow| rest.starts_with(**arrow));
        if let Some(arrow) = arrow {
            arrows += usize::from(brackets == 0);
            most = most.max(arrows);
            rest = &rest[arrow.len()..];
            continue;
        }
        match c {
            '(' | '[' | '{' => brackets += 1,
            ')' | ']' | '}' => brackets = brackets.saturating_sub(1),
            ';' | ',' | '|' if brackets == 0 => arrows = 0,
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    most
}

/// Returns true if a line holds the type of a curried function, whose arrows are not calls:
/// `map :: (a -> b) -> [a] -> [b]`.
fn is_signature(line: &str) -> bool {
    line.contains(" :: ") || line.trim_start().trim_start_matches('`').starts_with("val ")
}
