//! Merkle tree of RFC 6962 over the log's hashes, grown one leaf at a time in logarithmic space.

use serde::{Deserialize, Serialize};
use switchboard_protocol::id::Digest;

use crate::Error;

/// Domain of a leaf's hash (RFC 6962 §2.1).
const LEAF: u8 = 0x00;

/// Domain of an inner node's hash.
const NODE: u8 = 0x01;

/// Right edge of a growing tree: the roots of its full subtrees, largest first. It can be stored as JSON between
/// runs, so that a new head costs only the events since the last one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub struct Frontier {
    size: u64,
    peaks: Vec<Digest>,
}

/// Stored form of a frontier.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    size: u64,
    peaks: Vec<Digest>,
}

// === impl Frontier ===

impl Frontier {
    /// Returns the tree without leaves.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of leaves.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds an event by its hash.
    pub fn push(&mut self, hash: &Digest) {
        self.push_leaf(&hash.0);
    }

    /// Adds a leaf by its data.
    pub fn push_leaf(&mut self, data: &[u8]) {
        let mut node = hash(LEAF, &[data]);
        // Full subtrees of the same size are joined, as a binary counter carries.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                node = hash(NODE, &[&left.0, &node.0]);
            }
        }
        self.peaks.push(node);
        self.size += 1;
    }

    /// Returns the tree's root; for an empty tree, the hash of nothing.
    #[must_use]
    pub fn root(&self) -> Digest {
        let join = |right: Digest, left: &Digest| hash(NODE, &[&left.0, &right.0]);
        let mut peaks = self.peaks.iter().rev();
        peaks.next().map_or_else(|| Digest::of(b""), |smallest| peaks.fold(*smallest, join))
    }
}

impl TryFrom<Kept> for Frontier {
    type Error = Error;

    fn try_from(kept: Kept) -> Result<Self, Error> {
        if kept.peaks.len() as u32 != kept.size.count_ones() {
            return Err(Error::Malformed(format!("{} leaves don't have {} peaks", kept.size, kept.peaks.len())));
        }
        Ok(Self { size: kept.size, peaks: kept.peaks })
    }
}

impl From<Frontier> for Kept {
    fn from(frontier: Frontier) -> Self {
        Self { size: frontier.size, peaks: frontier.peaks }
    }
}

fn hash(domain: u8, parts: &[&[u8]]) -> Digest {
    use sha2::Digest as _;
    let mut hasher = sha2::Sha256::new();
    hasher.update([domain]);
    parts.iter().for_each(|part| hasher.update(part));
    Digest(hasher.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the root by the literal definition of RFC 6962 §2.1: split at the largest power of two below the number
    /// of leaves.
    fn slow_root(leaves: &[Vec<u8>]) -> Digest {
        match leaves {
            [] => Digest::of(b""),
            [leaf] => Digest::of(&[&[0], leaf.as_slice()].concat()),
            more => {
                let mut split = 1;
                while split * 2 < more.len() {
                    split *= 2;
                }
                let (left, right) = (slow_root(&more[..split]), slow_root(&more[split..]));
                Digest::of(&[&[1], left.0.as_slice(), right.0.as_slice()].concat())
            }
        }
    }

    /// Returns the test leaves of Certificate Transparency implementations.
    fn leaves() -> Vec<Vec<u8>> {
        let bytes = |from: u8, count: u8| (from..from + count).collect();
        vec![
            vec![],
            vec![0],
            vec![0x10],
            bytes(0x20, 2),
            bytes(0x30, 2),
            bytes(0x40, 4),
            bytes(0x50, 8),
            bytes(0x60, 16),
        ]
    }

    #[test]
    fn agrees_with_the_definition_at_every_size() {
        let leaves: Vec<Vec<u8>> = (0..130_u32).map(|leaf| leaf.to_le_bytes().to_vec()).collect();
        let mut frontier = Frontier::new();
        assert_eq!(frontier.root(), slow_root(&[]));

        for (size, leaf) in (1..).zip(&leaves) {
            frontier.push_leaf(leaf);
            assert_eq!(frontier.root(), slow_root(&leaves[..size]), "{size} leaves");
            assert_eq!(frontier.size(), size as u64);
        }
    }

    #[test]
    fn gives_the_published_roots() {
        let published = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let mut frontier = Frontier::new();

        for (leaf, root) in leaves().iter().zip(published) {
            frontier.push_leaf(leaf);
            assert_eq!(frontier.root().hex(), root);
        }
    }

    #[test]
    fn goes_on_where_it_was_kept() {
        let mut whole = Frontier::new();
        let mut kept = serde_json::to_string(&whole).unwrap();

        for leaf in leaves() {
            whole.push_leaf(&leaf);
            let mut resumed: Frontier = serde_json::from_str(&kept).unwrap();
            resumed.push_leaf(&leaf);
            assert_eq!(resumed, whole);
            kept = serde_json::to_string(&resumed).unwrap();
        }
        assert!(serde_json::from_str::<Frontier>(r#"{"size":3,"peaks":[]}"#).is_err());
    }
}
