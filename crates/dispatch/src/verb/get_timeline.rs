//! `get_timeline`: shows the events of a run with their causes.

use switchboard_pipeline::timeline::{Timeline, WorkerTimeline};
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::timeline::{
    DEFAULT_ENTRIES, GetTimelineReply, GetTimelineRequest, MAX_ENTRIES, TimelineEntry, TimelineKind,
};

use super::find_run;
use crate::work::run_id;
use crate::{Dispatch, Error, history};

impl Dispatch {
    /// Shows a page of a run's timeline. For a live run, that is the timeline so far.
    ///
    /// # Errors
    /// An unknown run, `request.bad-args` for a page of no or too many entries, or a failure of the store.
    pub async fn get_timeline(&self, request: &GetTimelineRequest) -> Result<GetTimelineReply, Error> {
        let limit = request.limit.unwrap_or(DEFAULT_ENTRIES);
        if !(1..=MAX_ENTRIES).contains(&limit) {
            let what = format!("a page has 1 to {MAX_ENTRIES} entries");
            return Err(Failure::new("request.bad-args", what).at("limit").into());
        }
        let row = find_run(&self.world, request.run.as_deref())?;
        let (run, state) = (run_id(&row)?, row.try_text("state")?.to_owned());
        let mut timeline = Timeline::default();
        history::events(&self.world.store, &run, |event| {
            timeline.take(event);
            true
        })?;
        let all = timeline.into_entries();
        let from = all.partition_point(|entry| entry.id <= request.after);
        let to = from.saturating_add(limit as usize).min(all.len());
        let next = all[from..to].last().map(|last| last.id).filter(|_| to < all.len());
        let mut entries = Vec::with_capacity(to - from);
        for entry in all.into_iter().take(to).skip(from) {
            match entry.what {
                TimelineKind::Worker => entries.extend(self.with_turns(entry)?),
                TimelineKind::LoopTurn
                | TimelineKind::Run
                | TimelineKind::Turn
                | TimelineKind::Question
                | TimelineKind::Gate
                | TimelineKind::LintFix
                | TimelineKind::Rebase
                | TimelineKind::Hold
                | TimelineKind::Merge
                | TimelineKind::Task
                | TimelineKind::Control
                | TimelineKind::Branch => entries.push(entry),
            }
        }
        Ok(GetTimelineReply { run, state, entries, next })
    }

    /// Returns the entry of a worker, followed by those of its turns.
    fn with_turns(&self, entry: TimelineEntry) -> Result<Vec<TimelineEntry>, Error> {
        let worker = entry.worker.clone();
        let mut timeline = WorkerTimeline::new(entry);
        if let Some(worker) = worker {
            history::events_of_worker(&self.world.store, worker.as_str(), |event| timeline.take(event))?;
        }
        Ok(timeline.into_entries())
    }
}
