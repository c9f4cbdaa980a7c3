//! Ports of the dispatcher to its environment, each a small trait: git, shims, checks, mail, files, threads, the
//! record's commits, randomness, the set-up of trees, TCP ports. The daemon provides the real ones; a simulation
//! provides its own. Timers are tokio's, which a simulation pauses; the time of day is the store's clock.

pub(crate) mod checks;
pub(crate) mod claims;
pub(crate) mod commits;
pub(crate) mod files;
pub(crate) mod git;
pub(crate) mod leases;
pub(crate) mod mail;
pub(crate) mod random;
pub(crate) mod rules;
pub(crate) mod setups;
pub(crate) mod shims;
pub(crate) mod threads;

use std::sync::Arc;

use switchboard_process::git::Repo;
use switchboard_store::Store;

pub(crate) use checks::Checks;
pub(crate) use claims::PortClaims;
pub(crate) use commits::Commits;
pub(crate) use files::Files;
pub(crate) use git::Git;
pub use leases::FileLeases;
pub use mail::WorkerMail;
pub(crate) use random::Random;
pub use rules::WorkerRules;
pub(crate) use setups::Setups;
pub(crate) use shims::Shims;
pub(crate) use threads::Threads;

use crate::{Config, tree_ports};

/// Services that other parts provide to the dispatcher.
#[derive(Clone)]
pub struct Others {
    /// Mail of workers.
    pub mail: Arc<dyn WorkerMail>,
    /// Leases on files.
    pub leases: Arc<dyn FileLeases>,
    /// Policy for the actions of workers.
    pub rules: Arc<dyn WorkerRules>,
}

/// Ports of one dispatcher.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) git: Arc<dyn Git>,
    pub(crate) shims: Arc<dyn Shims>,
    pub(crate) checks: Arc<dyn Checks>,
    pub(crate) mail: Arc<dyn WorkerMail>,
    pub(crate) leases: Arc<dyn FileLeases>,
    pub(crate) rules: Arc<dyn WorkerRules>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) threads: Arc<dyn Threads>,
    pub(crate) commits: Arc<dyn Commits>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) setups: Arc<dyn Setups>,
    pub(crate) claims: Arc<dyn PortClaims>,
}

// === impl Ports ===

impl Ports {
    /// Creates the real ports.
    pub(crate) fn real(config: &Config, repo: Repo, store: &Store, others: Others) -> Self {
        let Others { mail, leases, rules } = others;
        Self {
            git: Arc::new(repo),
            shims: Arc::new(shims::Processes::new(config.binary.clone())),
            checks: Arc::new(checks::Children::new(config.binary.clone())),
            mail,
            leases,
            rules,
            files: Arc::new(files::Disk),
            threads: Arc::new(threads::Pool),
            commits: Arc::new(store.clone()),
            random: Arc::new(random::System),
            setups: Arc::new(setups::Machine),
            claims: Arc::new(claims::SharedFile::new(config.tree_ports.clone(), tree_ports::BLOCKS, config.seed())),
        }
    }
}
