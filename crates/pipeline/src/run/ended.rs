//! Number of ended tasks by outcome, updated incrementally.

use super::record::Counted;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) blocked: usize,
    pub(super) dep_failed: usize,
    pub(super) stopped: usize,
    done: usize,
}

impl Ended {
    pub(super) fn add(&mut self, counted: Counted) {
        *self.of(counted) += 1;
    }

    pub(super) fn remove(&mut self, counted: Counted) {
        *self.of(counted) -= 1;
    }

    fn of(&mut self, counted: Counted) -> &mut usize {
        match counted {
            Counted::Done => &mut self.done,
            Counted::Blocked => &mut self.blocked,
            Counted::DepFailed => &mut self.dep_failed,
            Counted::Stopped => &mut self.stopped,
        }
    }
}
