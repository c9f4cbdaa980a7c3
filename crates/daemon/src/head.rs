//! Signs the record's head: outside of the writer, with the root's own key.

use std::path::Path;

use protocol::error::Failure;
use protocol::verb::system::SignHeadReply;
use store::{Filter, Store};

/// Events that one look takes.
const PAGE: u64 = 1000;

/// Folds all events into a Merkle head and signs it.
pub(crate) fn sign(store: &Store, keys: &Path) -> Result<SignHeadReply, Failure> {
    let key = ledger::Key::load_or_make(keys).map_err(|error| error.failure())?;
    let mut tree = ledger::Frontier::default();
    let (mut after, mut head) = (0, protocol::id::Digest::ZERO);
    loop {
        let page = store.events(after, &Filter::all(), PAGE).map_err(|error| error.failure())?;
        let Some(last) = page.last() else { break };
        after = last.lsn;
        for event in &page {
            tree.push(event.hash);
            head = event.hash;
        }
    }
    let statement = ledger::Head {
        chain_id: store.chain_id(),
        lsn: after,
        head_hash: head,
        merkle_root: tree.root(),
        ts: store.now(),
    };
    let envelope = key.sign_head(&statement).map_err(|error| error.failure())?;
    let envelope = serde_json::to_value(envelope).map_err(|error| Failure::new("internal.bug", error.to_string()))?;
    Ok(SignHeadReply { envelope, public_key: key.public_hex() })
}
