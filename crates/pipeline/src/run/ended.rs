//! How many tasks have ended in which way, kept up to date so that nobody has to count.

use super::record::Ending;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) blocked: usize,
    pub(super) dep_failed: usize,
    pub(super) stopped: usize,
    done: usize,
}

impl Ended {
    pub(super) fn add(&mut self, ending: &Ending) {
        *self.of(ending) += 1;
    }

    pub(super) fn remove(&mut self, ending: &Ending) {
        *self.of(ending) -= 1;
    }

    fn of(&mut self, ending: &Ending) -> &mut usize {
        match ending {
            Ending::Done { .. } => &mut self.done,
            Ending::Blocked { .. } => &mut self.blocked,
            Ending::DepFailed { .. } => &mut self.dep_failed,
            Ending::Stopped => &mut self.stopped,
        }
    }
}
