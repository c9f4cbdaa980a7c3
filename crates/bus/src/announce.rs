//! Announces mail after a commit, for all readers.
//!
//! The store wakes subscribers of the rows that a commit changed ([`Store::subscribe`]). This file defines which rows announce an agent's
//! mail: for readers that wait ([`receive_messages`](crate::receive_messages), [`read_inbox_events`](crate::read_inbox_events)), and for those
//! that show mail to an agent, such as hooks and the dispatcher ([`announcements`]).

use std::collections::BTreeSet;
use std::time::Duration;

use switchboard_protocol::id::AgentName;
use switchboard_store::{Interest, Store, Subscription};

use crate::Error;
use crate::check_inbox::inbox;
use crate::deliver::unseen_ids;
use crate::mail::MESSAGES;

/// Maximum interval between two checks of delayed mail: the time of day may jump.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Returns the interest in changes of mail for an agent: it arrives, is taken, returns, ends.
pub(crate) fn received_by(name: &AgentName) -> Interest {
    Interest::rows(MESSAGES, "recipient", name.folded())
}

/// Returns the interest in changes of mail from an agent.
pub(crate) fn sent_by(name: &AgentName) -> Interest {
    Interest::rows(MESSAGES, "sender_id", name.folded())
}

/// Announcements of one agent's incoming mail.
pub struct Announcements {
    store: Store,
    agent: AgentName,
    mail: Subscription,
    /// Ids of the messages that waited at the last check.
    known: BTreeSet<String>,
}

/// Announces mail for an agent from now on, starting with the mail that waits already.
#[must_use]
pub fn announcements(store: &Store, agent: &AgentName) -> Announcements {
    let mail = store.subscribe([received_by(agent)]);
    Announcements { store: store.clone(), agent: agent.clone(), mail, known: BTreeSet::new() }
}

// === impl Announcements ===

impl Announcements {
    /// Waits for a message that may be delivered, that the agent has not seen, and that was not announced before.
    /// [`waiting`](crate::waiting) returns it. Dropping the future loses nothing.
    ///
    /// # Errors
    /// When the store can't be read or has been closed.
    pub async fn next(&mut self) -> Result<(), Error> {
        loop {
            let head = self.store.head().lsn;
            let waiting = unseen_ids(&self.store, &self.agent)?;
            let is_fresh = !waiting.is_subset(&self.known);
            self.known = waiting;
            self.mail.mark_seen(head);
            if is_fresh {
                return Ok(());
            }
            let pause = self.next_due()?;
            // After the pause, a delayed or returned message may be deliverable.
            if let Ok(changed) = tokio::time::timeout(pause, self.mail.changed()).await {
                changed?;
            }
        }
    }

    /// Returns the time until a delayed or returned message may be delivered.
    fn next_due(&self) -> Result<Duration, Error> {
        let now = self.store.now();
        let later = inbox(&self.agent).gt("not_before", now.0).asc("not_before").limit(1);
        let due = self.store.read(&later)?.first().and_then(|row| row.get_int("not_before"));
        let pause = due.map(|at| Duration::from_millis(u64::try_from(at - now.0).unwrap_or(0)));
        Ok(pause.map_or(MAX_PAUSE, |pause| pause.clamp(Duration::from_millis(1), MAX_PAUSE)))
    }
}
