//! Which agent a program is: the one that it registered last. What the program's connections and its children do is done under that name.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_protocol::agent::Process;
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_store::Store;

/// Programs that are remembered; with more, all are looked up again.
const MOST: usize = 1024;

/// Verbs with which an agent names itself. A terminal is registered by others.
const NAMING: [&str; 2] = ["register_agent", "register_chat_agent"];

/// Whether a verb names its caller.
pub(crate) fn names_its_caller(verb: &str) -> bool {
    NAMING.contains(&verb)
}

/// What was found for programs that have called. The record decides; this only spares the look through the roster.
#[derive(Debug, Default)]
pub(crate) struct Bound(Mutex<HashMap<(u32, u64), Option<AgentName>>>);

// === impl Bound ===

impl Bound {
    /// The caller under the name that its program has registered.
    ///
    /// # Errors
    /// When the roster can't be read.
    pub(crate) fn named(&self, store: &Store, caller: Caller) -> Result<Caller, Failure> {
        let (CallerKind::Agent, Some(program)) = (&caller.kind, &caller.program) else { return Ok(caller) };
        // A program may keep several names; a connection that says one of them means it.
        if switchboard_bus::holds(store, &caller.name, program)? {
            return Ok(caller);
        }
        match self.find(store, program)? {
            Some(name) => Ok(Caller { name, ..caller }),
            None => Ok(caller),
        }
    }

    /// Somebody has registered: whatever was found may be different now.
    pub(crate) fn forget(&self) {
        self.names().clear();
    }

    fn find(&self, store: &Store, program: &Process) -> Result<Option<AgentName>, Failure> {
        let key = (program.pid, program.start);
        let known = self.names().get(&key).cloned();
        match known {
            Some(None) => return Ok(None),
            // A person may have freed the name, or a run taken it.
            Some(Some(name)) if switchboard_bus::holds(store, &name, program)? => return Ok(Some(name)),
            Some(Some(_)) | None => {}
        }
        let found = switchboard_bus::held_by(store, program)?;
        let mut names = self.names();
        if names.len() >= MOST {
            names.clear();
        }
        names.insert(key, found.clone());
        Ok(found)
    }

    fn names(&self) -> MutexGuard<'_, HashMap<(u32, u64), Option<AgentName>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
