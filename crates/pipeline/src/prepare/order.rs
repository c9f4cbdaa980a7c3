//! Orders nodes by their dependencies.

use std::collections::BTreeSet;

use super::Nodes;

/// Returns all nodes, each after those it depends on, otherwise in their natural order. Nodes of a cycle are left out.
pub(super) fn topological(nodes: &Nodes<'_>) -> Vec<usize> {
    let mut unmet: Vec<_> = nodes.depends.iter().map(Vec::len).collect();
    let mut ready: BTreeSet<_> = (0..nodes.len()).filter(|at| unmet[*at] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for dependent in &nodes.dependents[at] {
            unmet[*dependent] -= 1;
            if unmet[*dependent] == 0 {
                ready.insert(*dependent);
            }
        }
    }
    order
}

/// Records which nodes precede which, with one bit per pair.
pub(super) struct Ancestors {
    words: usize,
    bits: Vec<u64>,
}

impl Ancestors {
    pub(super) fn new(nodes: &Nodes<'_>) -> Self {
        let words = nodes.len().div_ceil(64);
        let mut bits = vec![0; words * nodes.len()];
        for at in topological(nodes) {
            for on in &nodes.depends[at] {
                for word in 0..words {
                    let inherited: u64 = bits[on * words + word];
                    bits[at * words + word] |= inherited;
                }
                bits[at * words + on / 64] |= 1 << (on % 64);
            }
        }
        Self { words, bits }
    }

    /// Returns true if one of the two nodes must be merged before the other starts.
    pub(super) fn are_ordered(&self, a: usize, b: usize) -> bool {
        let before = |a: usize, b: usize| self.bits[b * self.words + a / 64] >> (a % 64) & 1 == 1;
        before(a, b) || before(b, a)
    }
}
