//! Stops early if attempts end alike: a task whose attempt ends like the one before is held before its attempts are
//! used up.
//!
//! Workers end alike if they fail for the same reason with the same text, apart from ids, times and standard error. Gates end attempts alike if the same gates
//! refuse the same tree with the same text. If a worker leaves a refused change as it is, that counts as the same
//! refusal. A different text, a different tree, or a retry that a person requested counts as a new try.

use switchboard_protocol::plan::RetryFrom;
use switchboard_protocol::run::{RefusalCause, Verdict};

use super::RunState;
use super::attempt_end::{self, Alike, AttemptEnd};
use super::record::Record;
use crate::way::{Hold, Moved};

impl RunState {
    /// Records that a worker has failed; returns why the task is held if that happened too often.
    pub(super) fn worker_failed(
        &mut self,
        at: usize,
        step: usize,
        cause: &RefusalCause,
        reasons: &[String],
    ) -> Option<Hold> {
        let record = &mut self.records[at];
        let limits = record.unit.way().steps()[step].limits;
        if !cause.is_of_agent() {
            record.alike = None;
            return None;
        }
        if *cause == RefusalCause::NothingChanged
            && record.retry_from() == RetryFrom::Change
            && let Some(Alike { end: AttemptEnd::Gates { .. }, times }) = &mut record.alike
        {
            // The worker left the refused change as it was.
            *times += 1;
            return held(step, limits.refusals, *times);
        }
        let reasons = match limits.is_lenient {
            true => reasons.iter().map(|reason| attempt_end::essence(reason)).collect(),
            false => reasons.to_vec(),
        };
        let times = Alike::after(&mut record.alike, AttemptEnd::Worker { cause: cause.clone(), reasons });
        held(step, limits.repeats, times)
    }

    /// Records that gates have refused a change; returns why the task is held if they refused it too often.
    pub(super) fn gates_refused(&mut self, at: usize) -> Option<Hold> {
        let record = &mut self.records[at];
        let step = record.unit.way().maker()?;
        let tree = record.unit.change()?.tree.clone();
        let limit = record.unit.way().steps()[step].limits.refusals;
        let refusing = record
            .reports
            .iter()
            .filter(|reported| record.is_refused_by(&reported.report.gate, reported.report.verdict));
        let said = refusing.map(|reported| (reported.report.gate.clone(), reported.report.reasons.clone())).collect();
        let times = Alike::after(&mut record.alike, AttemptEnd::Gates { tree, said });
        held(step, limit, times)
    }

    /// Holds a task whose gates repeated a refusal. The unit is reset to its state before the last verdict.
    pub(super) fn hold_if_alike(&mut self, at: usize, before: Option<crate::way::Unit>, moved: Moved) -> Moved {
        let hold = match moved {
            Moved::Back { .. } | Moved::Held => self.gates_refused(at),
            Moved::On | Moved::Done => None,
        };
        match (moved, hold, before) {
            (Moved::Back { .. }, Some(hold), Some(before)) => {
                self.records[at].unit = before;
                self.records[at].unit.hold(hold)
            }
            (Moved::Back { .. } | Moved::Held | Moved::On | Moved::Done, _, _) => moved,
        }
    }
}

impl Record {
    /// Returns true if a gate with this verdict refuses the change.
    pub(super) fn is_refused_by(&self, gate: &str, verdict: Verdict) -> bool {
        let way = self.unit.way();
        way.check_of(gate).is_some_and(|step| !way.steps()[step].need.accepts(verdict))
    }
}

fn held(step: usize, limit: u32, times: u32) -> Option<Hold> {
    (limit > 0 && times >= limit).then_some(Hold::Repeated { step, limit })
}
