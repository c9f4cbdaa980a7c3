//! A running child that answers requests, for callers that block: each exchange has a deadline.

use std::io::{self, BufReader};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use super::builder::Spawn;
use super::leader::Leader;
use super::thread::thread;
use crate::clock::Deadline;
use crate::orphans::Hold;
use crate::{Error, Result};

/// A child whose standard input and output are pipes of ours. Dropping it kills its group.
#[derive(Debug)]
pub struct Duplex {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    leader: Arc<Mutex<Leader>>,
    watch: SyncSender<Option<Deadline>>,
    is_late: Arc<AtomicBool>,
}

pub(super) fn start(spawn: &Spawn) -> Result<Duplex> {
    let mut command = spawn.command()?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = spawn.start(&mut command, Hold::Owned)?;
    let leader = Arc::new(Mutex::new(Leader::new(&child)));
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::io("open a pipe")(io::ErrorKind::BrokenPipe.into()));
    };
    let (watch, orders) = sync_channel(2);
    let is_late = Arc::new(AtomicBool::new(false));
    let (watched, late) = (Arc::clone(&leader), Arc::clone(&is_late));
    thread("watch-answers", move || end_when_late(&orders, &watched, &late))?;
    Ok(Duplex { stdin, stdout: BufReader::new(stdout), leader, watch, is_late })
}

// === impl Duplex ===

impl Duplex {
    /// Lets `talk` write a request and read its answer. At the limit the child's group is killed, which ends the reading.
    ///
    /// # Errors
    /// The error of `talk`; [`io::ErrorKind::TimedOut`] at the limit. After an error the child can't be used any more.
    pub fn exchange<T>(
        &mut self,
        limit: Duration,
        talk: impl FnOnce(&mut ChildStdin, &mut BufReader<ChildStdout>) -> io::Result<T>,
    ) -> io::Result<T> {
        let gone = |_| io::Error::from(io::ErrorKind::TimedOut);
        self.watch.send(Some(Deadline::after(limit))).map_err(gone)?;
        let answer = talk(&mut self.stdin, &mut self.stdout);
        let told = self.watch.send(None);
        if self.is_late.load(Ordering::SeqCst) || told.is_err() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        answer
    }
}

impl Drop for Duplex {
    fn drop(&mut self) {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner).finish();
    }
}

/// Kills the group at each deadline that is not lifted in time; ends with the handle.
fn end_when_late(orders: &Receiver<Option<Deadline>>, leader: &Mutex<Leader>, is_late: &AtomicBool) {
    let mut deadline: Option<Deadline> = None;
    loop {
        let order = match deadline {
            Some(deadline) => orders.recv_timeout(deadline.left()),
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match order {
            Ok(next) => deadline = next,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                is_late.store(true, Ordering::SeqCst);
                leader.lock().unwrap_or_else(PoisonError::into_inner).signal_group(Signal::KILL);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, Write as _};

    use super::*;
    use crate::env::Env;

    fn ask(child: &mut Duplex, limit: Duration) -> io::Result<String> {
        child.exchange(limit, |stdin, stdout| {
            stdin.write_all(b"hello\n")?;
            let mut line = String::new();
            stdout.read_line(&mut line)?;
            Ok(line)
        })
    }

    #[test]
    fn a_child_answers_as_often_as_it_is_asked() {
        let mut child = Spawn::new(["cat"]).env_only(Env::plain()).duplex().unwrap();

        for _ in 0..100 {
            assert_eq!(ask(&mut child, Duration::from_secs(60)).unwrap(), "hello\n");
        }
    }

    #[test]
    fn a_child_that_does_not_answer_is_ended() {
        let mut child = Spawn::new(["sleep", "600"]).env_only(Env::plain()).duplex().unwrap();

        let error = ask(&mut child, Duration::from_millis(50)).unwrap_err();

        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(ask(&mut child, Duration::from_secs(60)).is_err());
    }
}
