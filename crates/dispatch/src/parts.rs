//! Parts of a run that a team leads: questions to roles, and the tasks of its phases.

use std::collections::BTreeMap;

use switchboard_protocol::id::RunId;
use switchboard_store::{Query, Row};

use crate::Error;
use crate::work::{RUNS, run_id};
use crate::world::World;

/// Returns the parts of a run that a team leads, in the order of their starts.
pub(crate) fn parts_of(world: &World, run: &RunId) -> Result<Vec<Row>, Error> {
    Ok(world.store.read(&Query::table(RUNS).eq("part_of", run.as_str()).asc("seq"))?)
}

/// Returns the run whose workers are at work: for a run that a team leads, its live part.
pub(crate) fn at_work(world: &World, row: Row) -> Result<Row, Error> {
    if row.get_text("mode").is_none() {
        return Ok(row);
    }
    let live =
        parts_of(world, &run_id(&row)?)?.into_iter().rev().find(|part| part.get_text("state") == Some("running"));
    Ok(live.unwrap_or(row))
}

/// Returns the parts that carry out the tasks of a phase.
pub(crate) fn phases_of(world: &World, run: &RunId) -> Result<Vec<Row>, Error> {
    let is_phase = |row: &Row| row.get_text("part_work") == Some("phase");
    Ok(parts_of(world, run)?.into_iter().filter(is_phase).collect())
}

/// Returns the last part of each phase that carries out its tasks. A phase that was replanned has several.
pub(crate) fn last_of_phases(world: &World, run: &RunId) -> Result<Vec<Row>, Error> {
    let mut last = BTreeMap::new();
    for row in phases_of(world, run)? {
        let what = row.get_text("part").unwrap_or_default();
        last.insert(what.split(" of plan ").next().unwrap_or_default().to_owned(), row);
    }
    Ok(last.into_values().collect())
}
