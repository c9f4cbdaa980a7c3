//! Strongly connected components, by the algorithm of Tarjan (1972).

use std::collections::{BTreeMap, BTreeSet};

/// Returns the rings of two files or more, the largest first.
pub(super) fn of(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let mut search =
        Search { imports, order: BTreeMap::new(), low: BTreeMap::new(), stack: Vec::new(), rings: Vec::new() };
    for file in imports.keys() {
        if !search.order.contains_key(file.as_str()) {
            search.visit(file);
        }
    }
    let mut rings = search.rings;
    rings.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    rings
}

struct Search<'a> {
    imports: &'a BTreeMap<String, BTreeSet<String>>,
    /// Order in which each file was visited.
    order: BTreeMap<&'a str, usize>,
    /// Earliest file on the stack that each file reaches.
    low: BTreeMap<&'a str, usize>,
    /// Files whose ring is not known yet.
    stack: Vec<&'a str>,
    rings: Vec<Vec<String>>,
}

// === impl Search ===

impl<'a> Search<'a> {
    fn visit(&mut self, file: &'a str) {
        let number = self.order.len();
        self.order.insert(file, number);
        self.low.insert(file, number);
        self.stack.push(file);
        let imports = self.imports;
        for other in imports.get(file).into_iter().flatten() {
            let reached = match self.order.get(other.as_str()) {
                None => {
                    self.visit(other);
                    self.low.get(other.as_str()).copied()
                }
                Some(order) => self.stack.contains(&other.as_str()).then_some(*order),
            };
            if let (Some(reached), Some(low)) = (reached, self.low.get_mut(file)) {
                *low = reached.min(*low);
            }
        }
        if self.low.get(file) == Some(&number) {
            let from = self.stack.iter().position(|waiting| *waiting == file).unwrap_or_default();
            let mut ring: Vec<_> = self.stack.drain(from..).map(ToOwned::to_owned).collect();
            ring.sort();
            if ring.len() > 1 {
                self.rings.push(ring);
            }
        }
    }
}
