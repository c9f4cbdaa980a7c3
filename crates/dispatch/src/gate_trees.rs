//! Gate trees of this daemon that are in use.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use switchboard_protocol::id::RunId;

use crate::lock::lock;

/// Gate trees in which gates judge now, by run and number.
#[derive(Debug, Clone, Default)]
pub(crate) struct GateTrees(Arc<Mutex<BTreeSet<(RunId, u32)>>>);

/// Gate tree held exclusively until this is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    trees: GateTrees,
    key: (RunId, u32),
}

// === impl GateTrees ===

impl GateTrees {
    /// Takes the first free gate tree of a run. A run has never more than judge at the same time.
    pub(crate) fn take(&self, run: &RunId) -> Slot {
        let mut taken = lock(&self.0);
        let free = (1..).find(|number| !taken.contains(&(run.clone(), *number)));
        let key = (run.clone(), free.unwrap_or(u32::MAX));
        taken.insert(key.clone());
        Slot { trees: self.clone(), key }
    }
}

// === impl Slot ===

impl Slot {
    /// Number of the tree, from 1.
    pub(crate) const fn number(&self) -> u32 {
        self.key.1
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.trees.0).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tree_that_is_free_is_taken() {
        let trees = GateTrees::default();
        let (one, other) = (RunId::from_bits(1), RunId::from_bits(2));

        let (first, second) = (trees.take(&one), trees.take(&one));

        assert_eq!((first.number(), second.number(), trees.take(&other).number()), (1, 2, 1));
        drop(first);
        assert_eq!(trees.take(&one).number(), 1);
    }
}
