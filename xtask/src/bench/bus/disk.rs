//! The baseline: the time that this machine's disk takes for the same bytes and nothing else.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use anyhow::Context as _;

use super::workload::{BODY, MANY};
use crate::bench::stats::{quantile, rate, seconds};

/// Number of appends that are timed one by one.
const APPENDS: usize = 300;

/// Number of appends of each of many writers.
const EACH: usize = 200;

/// Returns a folder on a real disk: the temporary one may lie in memory.
pub(super) fn home() -> anyhow::Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the repository")?;
    let folder = here.join("target/bench");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn preallocated(path: &Path, bytes: usize) -> anyhow::Result<File> {
    let mut file = OpenOptions::new().create_new(true).write(true).open(path)?;
    let zeros = vec![0_u8; 1 << 20];
    for _ in 0..bytes.div_ceil(zeros.len()) {
        file.write_all(&zeros)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Returns the median time of an append with fdatasync, in seconds.
pub(super) fn append_p50(folder: &Path) -> anyhow::Result<f64> {
    let file = preallocated(&folder.join("floor"), APPENDS * BODY)?;
    let body = [7_u8; BODY];
    let mut took = Vec::with_capacity(APPENDS);
    for number in 0..APPENDS {
        let (_, one) = seconds(|| {
            file.write_all_at(&body, (number * BODY) as u64)?;
            Ok(file.sync_data()?)
        })?;
        took.push(one);
    }
    Ok(quantile(took, 0.5))
}

/// Returns the messages per second of a log with one writer and 64 callers who each wait for their own: queued messages
/// are written and synced together.
pub(super) fn group_rate(folder: &Path) -> anyhow::Result<f64> {
    let file = preallocated(&folder.join("group"), MANY * EACH * BODY)?;
    let (queue, inbox) = channel::<Sender<()>>();
    let writer = std::thread::spawn(move || -> anyhow::Result<()> {
        let body = [7_u8; BODY];
        let mut place = 0_u64;
        while let Ok(first) = inbox.recv() {
            let waiting: Vec<_> = std::iter::once(first).chain(inbox.try_iter()).collect();
            for _ in &waiting {
                file.write_all_at(&body, place)?;
                place += BODY as u64;
            }
            file.sync_data()?;
            for caller in waiting {
                caller.send(()).context("a caller is gone")?;
            }
        }
        Ok(())
    });
    let ((), took) = seconds(|| {
        std::thread::scope(|scope| {
            for _ in 0..MANY {
                let queue = queue.clone();
                scope.spawn(move || {
                    let (answer, wait) = channel();
                    for _ in 0..EACH {
                        if queue.send(answer.clone()).is_err() || wait.recv().is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Ok(())
    })?;
    drop(queue);
    writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
    Ok(rate(MANY * EACH, took))
}
