//! Removes and archives handled files; keys and defaults are those of `housekeeping.policy.json`. Unresolved files are
//! never touched: an unacknowledged message stays where it is, however old.

use std::time::{Duration, Instant};

use crate::Folder;
use serde::Deserialize;
use switchboard_protocol::file::Gone;
use switchboard_protocol::time::Millis;

use crate::archive::{At, archive};
use crate::deliver::Deliver;
use crate::service::Service;
use crate::{Error, receipts};

/// Delay of the first round after the start.
const FIRST_ROUND_DELAY: Duration = Duration::from_secs(15);

/// Maximum size of the policy file, in bytes.
const MAX_POLICY: usize = 64 << 10;

const HOUR_S: i64 = 3600;

/// Content of `housekeeping.policy.json`. An unknown key makes the whole file invalid: a misspelt `enabled` must not be
/// taken for a yes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Rules {
    /// False to do nothing.
    enabled: bool,
    /// Minutes between rounds, at least 5.
    run_interval_minutes: u64,
    /// Hours after which acknowledged messages and receipts are removed.
    processed_message_retention_hours: i64,
    /// Number of acknowledged messages kept per agent, the newest.
    keep_recent_processed_per_agent: usize,
    /// Days after which `*.done` files are archived.
    stale_signal_retention_days: i64,
    /// No effect here, like the next field: a file for an unknown agent is refused on arrival.
    stale_unprocessed_inbox_retention_hours: Option<i64>,
    stale_unprocessed_unknown_agents_only: Option<bool>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            enabled: true,
            run_interval_minutes: 60,
            processed_message_retention_hours: 24,
            keep_recent_processed_per_agent: 50,
            stale_signal_retention_days: 3,
            stale_unprocessed_inbox_retention_hours: None,
            stale_unprocessed_unknown_agents_only: None,
        }
    }
}

/// Time of the next round.
pub(super) struct Housekeeping {
    next: Instant,
}

// === impl Housekeeping ===

impl Housekeeping {
    pub(super) fn new() -> Self {
        Self { next: Instant::now() + FIRST_ROUND_DELAY }
    }

    pub(super) fn pass(&mut self, service: &Service, root: &Folder, deliver: &mut Deliver) -> Result<(), Error> {
        if Instant::now() < self.next {
            return Ok(());
        }
        let rules = rules(root);
        self.next = Instant::now() + Duration::from_secs(rules.run_interval_minutes.clamp(5, 10_080) * 60);
        if rules.enabled { tidy(service, root, deliver, &rules) } else { Ok(()) }
    }
}

fn rules(root: &Folder) -> Rules {
    let Ok(bytes) = root.read("housekeeping.policy.json", MAX_POLICY) else { return Rules::default() };
    let rules = serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        tracing::warn!(%error, "housekeeping.policy.json can't be used; nothing is tidied until it can");
        Rules { enabled: false, ..Rules::default() }
    });
    for key in without_meaning(&rules) {
        tracing::warn!(key, "this key of housekeeping.policy.json means nothing here");
    }
    rules
}

/// Returns what a person has to know about the text of a `housekeeping.policy.json`: why it can't be used, or which of its keys have no effect.
#[must_use]
pub fn policy_problem(text: &[u8]) -> Option<String> {
    match serde_json::from_slice::<Rules>(text) {
        Err(error) => Some(format!("it can't be used, so nothing is tidied: {error}")),
        Ok(rules) => {
            let keys = without_meaning(&rules);
            (!keys.is_empty()).then(|| format!("keys without effect here: {}", keys.join(", ")))
        }
    }
}

/// Returns the keys of a policy that are accepted without effect: a file for an unknown agent is refused on arrival,
/// and never becomes stale.
fn without_meaning(rules: &Rules) -> Vec<&'static str> {
    let keys = [
        (rules.stale_unprocessed_inbox_retention_hours.is_some(), "staleUnprocessedInboxRetentionHours"),
        (rules.stale_unprocessed_unknown_agents_only.is_some(), "staleUnprocessedUnknownAgentsOnly"),
    ];
    keys.into_iter().filter_map(|(is_said, key)| is_said.then_some(key)).collect()
}

fn tidy(service: &Service, root: &Folder, deliver: &mut Deliver, rules: &Rules) -> Result<(), Error> {
    service.runtime.block_on(crate::forget_nonces(&service.store))?;
    archive_acknowledged(service, root, deliver, rules)?;
    let now = service.now().0 / 1000;
    let old = now - rules.processed_message_retention_hours.max(1) * HOUR_S;
    remove_receipts(root, old)?;
    prune(root)?;
    let stale = now - rules.stale_signal_retention_days.max(1) * 24 * HOUR_S;
    for entry in root.entries()?.iter().filter(|entry| !entry.is_folder && entry.name.ends_with(".done")) {
        if root.changed_at(&entry.name)? < stale {
            archive(root, At { folder: root, path: "", name: &entry.name }, service.now())?;
        }
    }
    if let Some(sessions) = root.sub("sessions")? {
        remove_older(&sessions, old, |name| name.ends_with(".jsonl") && name != "activity.jsonl")?;
    }
    Ok(())
}

/// Archives acknowledged messages beyond the newest ones or older than the retention time.
fn archive_acknowledged(service: &Service, root: &Folder, deliver: &mut Deliver, rules: &Rules) -> Result<(), Error> {
    let old = service.now().0 / 1000 - rules.processed_message_retention_hours.max(1) * HOUR_S;
    let mut done = Vec::new();
    for (name, files) in deliver.acked() {
        let Some(inbox) = root.sub("inbox")? else { continue };
        let Some(folder) = inbox.sub(&name)? else { continue };
        let mut aged: Vec<_> =
            files.into_iter().map(|file| (folder.changed_at(&file.name()).unwrap_or(0), file)).collect();
        aged.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let (keep, path) = (rules.keep_recent_processed_per_agent, format!("inbox/{name}"));
        for (_, file) in
            aged.into_iter().enumerate().filter(|(i, (at, _))| *i >= keep || *at < old).map(|(_, pair)| pair)
        {
            archive(root, At { folder: &folder, path: &path, name: &file.name() }, service.now())?;
            done.push(file);
        }
    }
    deliver.forget(service, &done, Gone::Archived)
}

/// Removes old receipts.
fn remove_receipts(root: &Folder, old: i64) -> Result<(), Error> {
    let Some(outbox) = root.sub("outbox")? else { return Ok(()) };
    for entry in outbox.entries()?.iter().filter(|entry| entry.is_folder) {
        if let Some(folder) = outbox.sub(&entry.name)? {
            remove_older(&folder, old, receipts::is_receipt)?;
            receipts::forget_older(&folder, Millis(old * 1000))?;
        }
    }
    Ok(())
}

fn remove_older(folder: &Folder, old: i64, is_meant: impl Fn(&str) -> bool) -> Result<(), Error> {
    for entry in folder.entries()?.iter().filter(|entry| !entry.is_folder && is_meant(&entry.name)) {
        if folder.changed_at(&entry.name)? < old {
            folder.remove(&entry.name)?;
        }
    }
    Ok(())
}

/// Removes empty months of the archive and empty folders of files set aside. An agent's inbox is kept, even if empty.
fn prune(root: &Folder) -> Result<(), Error> {
    for name in ["archive", "set-aside"] {
        let Some(folder) = root.sub(name)? else { continue };
        for entry in folder.entries()?.iter().filter(|entry| entry.is_folder) {
            let is_gone = folder.remove_empty(&entry.name);
            tracing::trace!(folder = entry.name, is_gone, "an empty folder goes");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Folder) -> Vec<String> {
        folder.entries().unwrap().into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn only_old_receipts_leave_an_outbox() {
        let place = tempfile::tempdir().unwrap();
        let root = Folder::root(place.path()).unwrap();
        let ada = root.make_all(["outbox", "ada"]).unwrap();
        for name in ["receipt_msg_1.json", "msg_1.result.json", "notes.json"] {
            ada.replace(name, b"{}").unwrap();
        }
        let changed = ada.changed_at("receipt_msg_1.json").unwrap();

        remove_receipts(&root, changed).unwrap();
        assert_eq!(names(&ada).len(), 3, "it is not old yet");
        remove_receipts(&root, changed + 1).unwrap();

        assert_eq!(names(&ada), ["msg_1.result.json", "notes.json"]);
    }

    #[test]
    fn empty_folders_of_the_archive_go_and_inboxes_stay() {
        let place = tempfile::tempdir().unwrap();
        let root = Folder::root(place.path()).unwrap();
        drop(root.make_all(["archive", "2026-01"]).unwrap());
        root.make_all(["archive", "2026-02"]).unwrap().replace("x.json", b"{}").unwrap();
        drop(root.make_all(["inbox", "ada"]).unwrap());

        prune(&root).unwrap();

        assert_eq!(names(&root.sub("archive").unwrap().unwrap()), ["2026-02"]);
        assert_eq!(names(&root.sub("inbox").unwrap().unwrap()), ["ada"]);
    }

    #[test]
    fn a_policy_file_changes_what_it_names_and_with_a_broken_one_nothing_is_tidied() {
        let place = tempfile::tempdir().unwrap();
        let root = Folder::root(place.path()).unwrap();
        assert_eq!(rules(&root), Rules::default());

        let read = |text: &str| {
            root.replace("housekeeping.policy.json", text.as_bytes()).unwrap();
            rules(&root)
        };
        let all = read(r#"{"runIntervalMinutes":5,"staleUnprocessedUnknownAgentsOnly":true}"#);
        assert!(all.enabled && all.run_interval_minutes == 5, "{all:?}");
        assert_eq!(without_meaning(&all), ["staleUnprocessedUnknownAgentsOnly"]);

        for broken in ["{", r#"{"enabld":false}"#, r#"{"enabled":"no"}"#] {
            assert!(!read(broken).enabled, "{broken}");
            assert!(policy_problem(broken.as_bytes()).unwrap().starts_with("it can't be used"), "{broken}");
        }
        assert_eq!(policy_problem(br#"{"enabled":true}"#), None);
        let without = policy_problem(br#"{"staleUnprocessedUnknownAgentsOnly":true}"#);
        assert_eq!(without.as_deref(), Some("keys without effect here: staleUnprocessedUnknownAgentsOnly"));
    }

    #[test]
    fn every_key_of_the_policy_refuses_a_wrong_type_and_a_misspelling() {
        let read = |text: String| serde_json::from_str::<Rules>(&text).map_err(|error| error.to_string());
        let unknown = read(r#"{"zz":1}"#.to_owned()).unwrap_err();
        let (_, known) = unknown.split_once("expected one of").unwrap();
        let keys: Vec<_> = known.split('`').skip(1).step_by(2).collect();
        assert!(keys.len() >= 7 && keys.contains(&"enabled"), "{unknown}");

        for key in keys {
            assert!(read(format!(r#"{{"{key}":{{"no":1}}}}"#)).unwrap_err().contains("invalid type"), "{key}");
            assert!(read(format!(r#"{{"{key}Zz":1}}"#)).unwrap_err().contains(&format!("{key}Zz")), "{key}");
        }
    }
}
