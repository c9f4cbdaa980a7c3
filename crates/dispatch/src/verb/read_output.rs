//! `read_output`: reads a bounded part of what a worker's agent has printed.

use std::path::PathBuf;

use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::run::{MAX_OUTPUT_BYTES, OUTPUT_BYTES, ReadOutputReply, ReadOutputRequest};
use switchboard_store::{Query, Row};

use super::find_target;
use super::show_task::worker_folder;
use crate::identity::{run_of, worker_id};
use crate::port::shims::Shim;
use crate::spool::{self, RequestedPart};
use crate::work::{WORKERS, run_id};
use crate::{Dispatch, Error};

/// Minimum of the byte limit: fewer bytes might not hold a character.
const FEWEST_BYTES: u64 = 4;

impl Dispatch {
    /// Reads a part of a worker's raw output.
    ///
    /// # Errors
    /// An unknown run, task or worker, bad bounds, or a spool that can't be read.
    pub async fn read_output(&self, request: &ReadOutputRequest) -> Result<ReadOutputReply, Error> {
        let most = request.bytes.unwrap_or(OUTPUT_BYTES);
        if !(FEWEST_BYTES..=MAX_OUTPUT_BYTES).contains(&most) {
            let what = format!("{most} bytes are not between {FEWEST_BYTES} and {MAX_OUTPUT_BYTES}");
            return Err(Failure::new("request.bad-args", what).at("bytes").into());
        }
        let wanted = match (request.from, request.part) {
            (Some(_), Some(_)) => {
                let what = "an offset and an end can't be asked for together";
                return Err(Failure::new("request.bad-args", what).at("part").into());
            }
            (Some(from), None) => RequestedPart::From(from),
            (None, Some(part)) => RequestedPart::Part(part),
            (None, None) => RequestedPart::Ends,
        };
        let row = self.worker_row(request)?;
        let run = run_of(&row)?;
        let folder = PathBuf::from(worker_folder(&self.world, &run, &row)?);
        let has_ended = row.get_bool("exited");
        let shims = std::sync::Arc::clone(&self.world.ports.shims);
        let read = self.world.blocking(move || {
            // The end is checked first: output written in between is read as well.
            let is_complete = match shims.state(&folder) {
                Shim::Alive => false,
                Shim::Gone => true,
                Shim::NotBegun => has_ended,
            };
            Ok((is_complete, spool::read(&folder, wanted, most, !is_complete)?))
        });
        let (is_complete, output) = read.await?;
        Ok(ReadOutputReply {
            run,
            task: row.try_text("task")?.to_owned(),
            worker: worker_id(&row)?,
            attempt: u32::try_from(row.try_u64("attempt")?).unwrap_or(u32::MAX),
            pieces: output.pieces,
            elided_bytes: output.elided,
            total_bytes: output.total,
            dropped_bytes: output.dropped,
            next_offset: output.next,
            is_complete,
        })
    }

    /// Returns the row of the worker that a request names.
    fn worker_row(&self, request: &ReadOutputRequest) -> Result<Row, Error> {
        let store = &self.world.store;
        let (task, attempt) = match (&request.worker, &request.task) {
            (Some(worker), None) if request.attempt.is_none() => {
                let row = store.get(WORKERS, &[worker.as_str().into()])?;
                let unknown = || Failure::new("dispatch.no-worker", format!("there is no worker {worker}"));
                return row.ok_or_else(|| unknown().into());
            }
            (None, Some(task)) => (task, request.attempt),
            (Some(_), _) => {
                let what = "a worker is named by its id alone, without task and attempt";
                return Err(Failure::new("request.bad-args", what).at("worker").into());
            }
            (None, None) => {
                return Err(Failure::new("request.bad-args", "name a task or a worker").at("task").into());
            }
        };
        let (row, Some(id)) = find_target(&self.world, task)? else {
            return Err(Failure::new("request.bad-args", "name a task: RUN/TASK").at("task").into());
        };
        let run = run_id(&row)?;
        let query = Query::table(WORKERS).eq("run", run.as_str()).eq("task", id.as_str()).desc("seq");
        let of_attempt = |row: &Row| attempt.is_none_or(|attempt| row.get_int("attempt") == Some(i64::from(attempt)));
        store.read(&query)?.into_iter().find(of_attempt).ok_or_else(|| {
            let which = attempt.map(|attempt| format!("attempt {attempt} of ")).unwrap_or_default();
            Failure::new("dispatch.no-worker", format!("{which}task {id} of {run} has had no worker")).into()
        })
    }
}
