//! Connections of shims: authentication, frames to the daemon, commands to the shim.

use std::sync::Arc;
use std::time::Duration;

use switchboard_process::lines::{Line, Lines};
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::{Beat, FRAME_VERSION, Frame, MAX_FRAME_BYTES, ShimCommand};
use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::secret;
use switchboard_protocol::wire::Hello;
use switchboard_store::Query;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::identity::{WorkerIdentity, identity};
use crate::json;
use crate::link::{Link, Signal};
use crate::world::World;
use crate::{Dispatch, Error, plan};

/// Maximum number of queued commands for one shim.
const COMMANDS: usize = 64;

/// Time between asking an agent to end and ending it, when its worker is no longer part of a run.
const EXIT_GRACE: Duration = Duration::from_secs(2);

impl Dispatch {
    /// Serves a shim's connection until it closes: authenticates the shim, then passes frames up and commands down.
    ///
    /// # Errors
    /// A refusal (`auth.bad-token`, a different version, a worker that has ended) or a broken connection.
    pub async fn attach(
        &self,
        hello: &Hello,
        read: impl AsyncBufRead + Unpin + Send,
        write: impl AsyncWrite + Unpin + Send,
    ) -> Result<(), Error> {
        let Hello::Shim { v, worker, epoch, token, beats } = hello else {
            return Err(Failure::new("request.malformed", "not a shim's hello").into());
        };
        if *v > FRAME_VERSION || *v + 1 < FRAME_VERSION {
            return Err(Failure::new(
                "daemon.other-version",
                format!("the shim speaks version {v}, this daemon {FRAME_VERSION}"),
            )
            .into());
        }
        admit(&self.world, worker, token)?;
        // The socket accepts connections before the runs are taken up again, so a shim may connect too early.
        tokio::select! {
            biased;
            () = self.world.booted.cancelled() => {}
            () = self.world.stop.cancelled() => return Err(Error::Stopping),
        }
        let Some(link) = self.world.link(worker) else {
            return turn_away(write).await;
        };
        serve(link, (*epoch, *beats), read, write).await
    }
}

impl Dispatch {
    /// Returns the live worker to which a capability token belongs.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn worker_of(&self, token: &str) -> Result<Option<WorkerIdentity>, Error> {
        let digest = Digest::of(token.as_bytes()).hex();
        let query = Query::table(crate::work::WORKERS).eq("token", digest).eq("exited", 0_i64).limit(1);
        let Some(row) = self.world.store.read(&query)?.into_iter().next() else { return Ok(None) };
        identity(&row).map(Some)
    }
}

impl Dispatch {
    /// Returns the live worker whose shim is the process with this pid and start time. The shim's lock, taken before
    /// its agent starts, identifies it, so this also works for a shim that has not connected yet.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn worker_of_shim(&self, pid: u32, start: u64) -> Result<Option<WorkerId>, Error> {
        for link in self.world.links() {
            let Some(found) = self.worker(link.worker())? else { continue };
            let folder = plan::worker_folder(&self.world.config, &found.run, &found.worker);
            if self.world.ports.shims.process(&folder) == Some((pid, start)) {
                return Ok(Some(found.worker));
            }
        }
        Ok(None)
    }

    /// Returns true if the token belongs to the shim of this worker.
    #[must_use]
    pub fn is_shim(&self, worker: &WorkerId, token: &str) -> bool {
        admit(&self.world, worker, token).is_ok()
    }

    /// Returns a live worker by its id.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn worker(&self, worker: &WorkerId) -> Result<Option<WorkerIdentity>, Error> {
        let row = self.world.store.get(crate::work::WORKERS, &[worker.as_str().into()])?;
        row.filter(|row| row.get_int("exited") == Some(0)).map(|row| identity(&row)).transpose()
    }
}

/// Checks that a shim brings the token whose digest is recorded for its worker.
fn admit(world: &World, worker: &WorkerId, token: &str) -> Result<(), Error> {
    let row = world.store.get(crate::work::WORKERS, &[worker.as_str().into()])?;
    let fits =
        row.is_some_and(|row| row.get_text("token").is_some_and(|digest| secret::has_digest(token.as_bytes(), digest)));
    if fits { Ok(()) } else { Err(Failure::new("auth.bad-token", format!("{worker} did not prove who it is")).into()) }
}

/// Rejects a shim whose worker was replaced: its task went on without it.
async fn turn_away(mut write: impl AsyncWrite + Unpin) -> Result<(), Error> {
    let grace_ms = u64::try_from(EXIT_GRACE.as_millis()).unwrap_or(u64::MAX);
    let text = line(&ShimCommand::Stop { grace_ms })?;
    write.write_all(&text).await.map_err(|_| Error::Stopping)?;
    Ok(())
}

async fn serve(
    link: Arc<Link>,
    (epoch, beats): (u32, bool),
    mut read: impl AsyncBufRead + Unpin,
    mut write: impl AsyncWrite + Unpin,
) -> Result<(), Error> {
    let (sender, mut commands) = mpsc::channel::<ShimCommand>(COMMANDS);
    link.send(Signal::Attached { epoch, beats, commands: sender }).await?;
    let _connection = link.connection();
    let mut lines = Lines::new(MAX_FRAME_BYTES);
    loop {
        tokio::select! {
            biased;
            command = commands.recv() => {
                let Some(command) = command else { break };
                if write.write_all(&line(&command)?).await.is_err() {
                    break;
                }
            }
            got = lines.read_async(&mut read) => {
                let Ok(Line::Whole(text)) = got else { break };
                if Beat::is_in(&text) {
                    link.send(Signal::Beat).await?;
                    continue;
                }
                match json::from_slice::<Frame>(&text) {
                    Ok(frame) if frame.worker == *link.worker() => {
                        link.send(Signal::Frame(Box::new(frame))).await?;
                    }
                    Ok(_) | Err(_) => tracing::warn!(worker = %link.worker(), "a frame that does not parse or is another worker's is skipped"),
                }
            }
        }
    }
    // Closed first, so that the watch can tell this connection from a newer one.
    drop(commands);
    if link.send(Signal::Detached).await.is_err() {
        tracing::debug!(worker = %link.worker(), "the worker's watch ended before its shim");
    }
    Ok(())
}

fn line(command: &ShimCommand) -> Result<Vec<u8>, Error> {
    let mut text = serde_json::to_vec(command).map_err(crate::error::shape("a command"))?;
    text.push(b'\n');
    Ok(text)
}
