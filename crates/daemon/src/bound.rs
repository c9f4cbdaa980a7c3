//! Maps a program to the agent that it registered last. The program's connections and children act under that name.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_protocol::agent::Process;
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_store::Store;

/// Maximum number of remembered programs; beyond it, all are looked up again.
const MAX_PROGRAMS: usize = 1024;

/// Verbs with which an agent names itself. A terminal is registered by others.
const NAMING: [&str; 2] = ["register_agent", "register_chat_agent"];

/// Returns true if a verb registers its caller's name.
pub(crate) fn names_its_caller(verb: &str) -> bool {
    NAMING.contains(&verb)
}

/// Cache of the names of programs that have called. The record is authoritative; this only saves the search of the roster.
#[derive(Debug, Default)]
pub(crate) struct Bound(Mutex<HashMap<(u32, u64), Option<AgentName>>>);

// === impl Bound ===

impl Bound {
    /// Returns the caller of a verb under the name that its program has registered. `is_alive` checks whether the program
    /// of another agent still runs.
    ///
    /// # Errors
    /// `bus.name-taken` if the caller claims a name that another program has; a failure to read the roster.
    pub(crate) fn named(
        &self,
        store: &Store,
        verb: &str,
        caller: Caller,
        is_alive: impl Fn(&Process) -> bool,
    ) -> Result<Caller, Failure> {
        if caller.kind != CallerKind::Agent {
            return Ok(caller);
        }
        let holder = switchboard_bus::holder(store, &caller.name)?;
        if holder.is_some() && holder == caller.program {
            return Ok(caller);
        }
        // A program may hold several names; a connection that claims none of them acts under the one registered last.
        if let Some(program) = &caller.program
            && let Some(name) = self.find(store, program)?
        {
            return Ok(Caller { name, ..caller });
        }
        // A caller without a name of its own is about to get one.
        if names_its_caller(verb) {
            return Ok(caller);
        }
        match holder.filter(is_alive) {
            None => Ok(caller),
            Some(holder) => Err(switchboard_bus::name_taken(&caller.name, &holder)),
        }
    }

    /// Clears the cache after a registration, which may change any result.
    pub(crate) fn forget(&self) {
        self.names().clear();
    }

    fn find(&self, store: &Store, program: &Process) -> Result<Option<AgentName>, Failure> {
        let key = (program.pid, program.start);
        let known = self.names().get(&key).cloned();
        match known {
            Some(None) => return Ok(None),
            // Checked again, because a person may have freed the name, or a run taken it.
            Some(Some(name)) if switchboard_bus::holder(store, &name)?.as_ref() == Some(program) => {
                return Ok(Some(name));
            }
            Some(Some(_)) | None => {}
        }
        let found = switchboard_bus::held_by(store, program)?;
        let mut names = self.names();
        if names.len() >= MAX_PROGRAMS {
            names.clear();
        }
        names.insert(key, found.clone());
        Ok(found)
    }

    fn names(&self) -> MutexGuard<'_, HashMap<(u32, u64), Option<AgentName>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
