//! Signed heads: a statement that the log had exactly these events, and the check that it still has them.

use std::fmt;

use serde::{Deserialize, Serialize};
use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::merkle::Frontier;
use crate::{Envelope, Error, Key, PublicKey, Statement, sign, verify};

/// Predicate type of a signed head.
pub const HEAD_TYPE: &str = "https://switchboard.dev/predicate/signed-head/v1";

/// State of a log at one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedHead {
    /// Id of the chain.
    pub chain_id: String,
    /// Last event that it covers; all before it are covered too.
    pub lsn: Lsn,
    /// Hash of that event.
    pub head_hash: Digest,
    /// Root of the Merkle tree over the hashes of events 1 to `lsn`.
    pub merkle_root: Digest,
    /// Time of the signature.
    pub ts: Millis,
}

/// Result of a check of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The hash chain is intact; no signature covers it.
    HashChain,
    /// A signed head covers the events up to `lsn`, and the chain the rest.
    SignedHead {
        /// Last event that is covered.
        lsn: Lsn,
        /// Last event of the record.
        of: Lsn,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HashChain => f.write_str("hash chain verified"),
            Self::SignedHead { lsn, of } if lsn == of => f.write_str("signed head verified"),
            Self::SignedHead { lsn, of } => {
                write!(f, "signed head verified up to event {lsn}, hash chain verified up to event {of}")
            }
        }
    }
}

/// Signs a head.
///
/// # Errors
/// [`Error::Malformed`] if the chain's id does not fit into a payload.
pub fn sign_head(key: &Key, head: &SignedHead) -> Result<Envelope, Error> {
    sign(key, &Statement::new(HEAD_TYPE, head.clone()).about(format!("chain/{}", head.chain_id), head.merkle_root))
}

/// Checks a record against a signed head. The record's chain must have been verified; these are its hashes in order.
/// Without an envelope, the verdict is only [`Verdict::HashChain`].
///
/// # Errors
/// Those of [`HeadCheck`].
pub fn verify_head(
    chain_id: &str,
    hashes: impl IntoIterator<Item = Digest>,
    signed: Option<(&Envelope, &PublicKey)>,
) -> Result<Verdict, Error> {
    let Some((envelope, key)) = signed else { return Ok(Verdict::HashChain) };
    let mut check = HeadCheck::new(envelope, key)?;
    hashes.into_iter().for_each(|hash| check.push(&hash));
    check.finish(chain_id)
}

/// Stepwise form of [`verify_head`], for records that are read as a stream.
#[derive(Debug)]
pub struct HeadCheck {
    head: SignedHead,
    frontier: Frontier,
    covered: Option<Digest>,
    seen: Lsn,
}

// === impl HeadCheck ===

impl HeadCheck {
    /// Verifies and opens a signed head.
    ///
    /// # Errors
    /// [`Error::OtherKey`], [`Error::BadSignature`], [`Error::Malformed`].
    pub fn new(envelope: &Envelope, key: &PublicKey) -> Result<Self, Error> {
        let statement: Statement<SignedHead> = verify(envelope, key)?;
        let head = &statement.predicate;
        if statement.predicate_type != HEAD_TYPE
            || !statement.is_about(&format!("chain/{}", head.chain_id), &head.merkle_root)
        {
            return Err(Error::Malformed("the statement is not a signed head".to_owned()));
        }
        Ok(Self { head: statement.predicate, frontier: Frontier::new(), covered: None, seen: 0 })
    }

    /// Returns the signed head.
    #[must_use]
    pub fn head(&self) -> &SignedHead {
        &self.head
    }

    /// Adds the next event's hash.
    pub fn push(&mut self, hash: &Digest) {
        self.seen += 1;
        if self.seen <= self.head.lsn {
            self.frontier.push(hash);
        }
        if self.seen == self.head.lsn {
            self.covered = Some(*hash);
        }
    }

    /// Compares the record with the signed head.
    ///
    /// # Errors
    /// [`Error::OtherHead`] with the difference between the record and the signed head.
    pub fn finish(self, chain_id: &str) -> Result<Verdict, Error> {
        let other = |what: String| Err(Error::OtherHead(what));
        if self.head.chain_id != chain_id {
            return other(format!("it is of {}, the record of {chain_id}", self.head.chain_id));
        }
        if self.seen < self.head.lsn {
            return other(format!("it covers {} events, the record has {}", self.head.lsn, self.seen));
        }
        if self.covered.unwrap_or(Digest::ZERO) != self.head.head_hash {
            return other(format!("event {} is not the one that was signed", self.head.lsn));
        }
        if self.frontier.root() != self.head.merkle_root {
            return other(format!("some event before {} is not the one that was signed", self.head.lsn));
        }
        Ok(Verdict::SignedHead { lsn: self.head.lsn, of: self.seen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(count: u64) -> Vec<Digest> {
        (1..=count).map(|lsn| Digest::of(&lsn.to_le_bytes())).collect()
    }

    fn signed(hashes: &[Digest]) -> (Key, Envelope) {
        let key = Key::from_seed(&[5; 32]);
        let mut frontier = Frontier::new();
        hashes.iter().for_each(|hash| frontier.push(hash));
        let head = SignedHead {
            chain_id: "chain_1".to_owned(),
            lsn: hashes.len() as u64,
            head_hash: hashes.last().copied().unwrap_or(Digest::ZERO),
            merkle_root: frontier.root(),
            ts: Millis(1_772_186_400_123),
        };
        let envelope = sign_head(&key, &head).unwrap();
        (key, envelope)
    }

    #[test]
    fn says_signed_head_only_when_one_covers_the_record() {
        let all = hashes(7);
        let (key, envelope) = signed(&all[..5]);
        let public = key.public();
        let verdict = |count: usize, signed| verify_head("chain_1", all[..count].to_vec(), signed).unwrap().to_string();

        assert_eq!(verdict(7, None), "hash chain verified");
        assert_eq!(verdict(5, Some((&envelope, &public))), "signed head verified");
        assert_eq!(
            verdict(7, Some((&envelope, &public))),
            "signed head verified up to event 5, hash chain verified up to event 7"
        );
    }

    #[test]
    fn finds_a_record_that_was_rewritten_cut_or_swapped() {
        let all = hashes(5);
        let (key, envelope) = signed(&all);
        let check =
            |chain: &str, hashes: Vec<Digest>| match verify_head(chain, hashes, Some((&envelope, &key.public()))) {
                Err(Error::OtherHead(what)) => what,
                other => panic!("{other:?}"),
            };

        for at in 0..4 {
            let mut rewritten = all.clone();
            rewritten[at] = Digest::of(b"another event");
            assert_eq!(check("chain_1", rewritten), "some event before 5 is not the one that was signed");
        }
        let mut swapped = all.clone();
        swapped[4] = Digest::of(b"another event");
        assert_eq!(check("chain_1", swapped), "event 5 is not the one that was signed");
        assert_eq!(check("chain_1", all[..4].to_vec()), "it covers 5 events, the record has 4");
        assert_eq!(check("chain_2", all), "it is of chain_1, the record of chain_2");
    }

    #[test]
    fn a_head_of_the_empty_log_fits_every_log_of_its_chain() {
        let (key, envelope) = signed(&[]);

        let verdict = verify_head("chain_1", hashes(2), Some((&envelope, &key.public()))).unwrap();

        assert_eq!(verdict, Verdict::SignedHead { lsn: 0, of: 2 });
    }

    #[test]
    fn another_signed_statement_is_not_a_head() {
        let key = Key::from_seed(&[5; 32]);
        let head = signed(&hashes(1)).1;
        let head: Statement<SignedHead> = verify(&head, &key.public()).unwrap();
        let receipt =
            Statement { predicate_type: "https://switchboard.dev/predicate/merge/v1".to_owned(), ..head.clone() };
        let about_other = Statement { subject: vec![], ..head }.about("chain/other", Digest::of(b""));

        for statement in [receipt, about_other] {
            let envelope = sign(&key, &statement).unwrap();
            assert!(matches!(HeadCheck::new(&envelope, &key.public()), Err(Error::Malformed(_))));
        }
    }
}
