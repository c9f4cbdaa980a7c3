//! Signs the record's head with the root's own key, outside of the writer.

use std::path::Path;

use switchboard_ledger::{Frontier, Key, SignedHead};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;
use switchboard_protocol::record::RecordEvent;
use switchboard_protocol::verb::system::SignHeadReply;
use switchboard_store::{Filter, Store};

/// Maximum number of events per read.
const PAGE: usize = 1000;

/// Folds all events into a Merkle head and signs it.
///
/// # Errors
/// When the log can't be read or the key can't be used.
pub(crate) fn sign(store: &Store, keys: &Path) -> Result<(RecordEvent, SignHeadReply), Failure> {
    let key = Key::load_or_create(keys).map_err(|error| error.failure())?;
    let mut tree = Frontier::new();
    let (mut lsn, mut head_hash) = (0, Digest::ZERO);
    loop {
        let page = store.events(lsn, &Filter::all(), PAGE).map_err(|error| error.failure())?;
        let Some(last) = page.last() else { break };
        (lsn, head_hash) = (last.lsn, last.hash);
        page.iter().for_each(|event| tree.push(&event.hash));
    }
    let merkle_root = tree.root();
    let head = SignedHead { chain_id: store.chain_id().to_owned(), lsn, head_hash, merkle_root, ts: store.now() };
    let envelope = switchboard_ledger::sign_head(&key, &head).map_err(|error| error.failure())?;
    let envelope = serde_json::to_value(envelope).map_err(|error| Failure::new("internal.bug", error.to_string()))?;
    let public_key = key.public().to_string();
    let fact = RecordEvent::HeadSigned { lsn, head_hash, merkle_root, public_key: public_key.clone() };
    Ok((fact, SignHeadReply { envelope, public_key }))
}
