//! Many clients of one daemon: threads of this process, or separate processes.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::workload::{AGENTS, BODY};
use crate::bench::daemon::Client;
use crate::bench::stats::seconds;
use crate::command::command;

/// Sends messages as one client, one after the other; returns how long each took.
pub(super) fn sends(repo: &Path, name: &str, count: usize) -> anyhow::Result<Vec<f64>> {
    let mut client = Client::connect(repo, name)?;
    let body = "x".repeat(BODY);
    (0..count)
        .map(|number| {
            let args = json!({ "recipient": format!("agent-{}", number % AGENTS), "payload": body });
            let (reply, took) = seconds(|| client.call("send_message", args, None))?;
            match reply {
                Ok(_) => Ok(took),
                Err(failure) => bail!("{}: {}", failure.code, failure.what),
            }
        })
        .collect()
}

/// Runs many clients at once, each in a thread with its own connection; returns the total time.
pub(super) fn threads(many: usize, work: impl Fn(usize) -> anyhow::Result<()> + Sync) -> anyhow::Result<f64> {
    let ((), took) = seconds(|| {
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..many)
                .map(|number| {
                    scope.spawn({
                        let work = &work;
                        move || work(number)
                    })
                })
                .collect();
            for client in clients {
                client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
            }
            anyhow::Ok(())
        })
    })?;
    Ok(took)
}

/// Starts processes of this binary that send at the same time; returns the time of every send.
pub(super) fn processes(repo: &Path, many: usize, count: usize) -> anyhow::Result<Vec<f64>> {
    let me = std::env::current_exe()?;
    let client = |number: usize| {
        let mut client = command(&me, repo);
        client.args(["bench", "bus", "--client"]).arg(repo).arg(format!("client-{number}")).arg(count.to_string());
        client.stdout(Stdio::piped()).spawn()
    };
    let clients: std::io::Result<Vec<_>> = (0..many).map(client).collect();
    let mut all = Vec::new();
    for client in clients? {
        let output = client.wait_with_output()?;
        anyhow::ensure!(output.status.success(), "a client ended with {}", output.status);
        let times: Vec<f64> = serde_json::from_slice(&output.stdout)?;
        all.extend(times);
    }
    Ok(all)
}

/// Acts as such a sending process.
pub(super) fn run_as_client(client: &[String]) -> anyhow::Result<()> {
    let [repo, name, count] = client else { bail!("--client REPO NAME COUNT") };
    let times = sends(Path::new(repo), name, count.parse().context("COUNT")?)?;
    println!("{}", serde_json::to_string(&times)?);
    Ok(())
}
