//! The sandbox of a constrained worker: its tree and a scratch folder to write in, the paths it may read, and a matching environment.

mod home;
mod programs;

use std::path::{Path, PathBuf};

use switchboard_process::env::Env;
use switchboard_process::sandbox::{self, Sandbox};
use switchboard_protocol::frame::WorkerSpec;
use switchboard_protocol::isolation::{Host, WorkerSandbox};

use super::files::{SCRATCH, TASK};
use crate::{Error, Result};

/// Variables that would lead the agent out of its home.
const LEADING_OUT: &[&str] = &[
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Sandbox and environment of a constrained agent.
#[derive(Debug)]
pub(super) struct Confined {
    pub(super) sandbox: Sandbox,
    pub(super) hosts: Vec<Host>,
    pub(super) env: Env,
}

/// Creates a worker's scratch folder anew, with its home, and lists what its agent may access.
///
/// # Errors
/// A folder can't be made, or a file of the home can't be copied.
pub(super) fn confined(spec: &WorkerSpec, wanted: &WorkerSandbox, argv: &[String], env: Env) -> Result<Confined> {
    let scratch = PathBuf::from(&spec.folder).join(SCRATCH);
    let (home, temporary) = (scratch.join("home"), scratch.join("tmp"));
    for folder in [&home, &temporary] {
        std::fs::create_dir_all(folder).map_err(Error::io(format!("make {}", folder.display())))?;
    }
    let closed: Vec<_> = wanted.closed.iter().map(PathBuf::from).collect();
    if let Some(user) = switchboard_process::env::var("HOME") {
        home::fill(&home, Path::new(&user), &wanted.reach.home)?;
    }
    let mut sandbox = Sandbox { closed, allow_unenforced: wanted.allow_unenforced, ..Sandbox::system() };
    sandbox.write = vec![scratch];
    let tree = if wanted.is_read_only() { &mut sandbox.read } else { &mut sandbox.write };
    tree.push(PathBuf::from(&spec.cwd));
    sandbox.read.push(PathBuf::from(&spec.folder).join(TASK));
    sandbox.read.extend(wanted.read.iter().chain(&wanted.reach.read).map(PathBuf::from));
    let path = env.get("PATH").unwrap_or_default().to_owned();
    sandbox.read.extend(programs::of(argv, &path, &sandbox));
    sandbox.sockets.push(PathBuf::from(&spec.socket));
    // Without namespaces it uses our network, which its run has accepted.
    let is_own = sandbox::supported().no_namespaces.is_none();
    let hosts = wanted.reach.network.iter().filter(|_| is_own);
    let hosts = hosts.map(|host| Host::parse(host).ok_or_else(|| Error::Spec { why: format!("{host:?} is no host") }));
    let hosts = hosts.collect::<Result<Vec<_>>>()?;
    let env = led_home(env, &home, &temporary);
    let env = if hosts.is_empty() { env } else { led_through_proxy(env, &hosts) };
    Ok(Confined { sandbox, hosts, env })
}

/// Sets the variables by which programs find the proxy to listed hosts. Its own loopback needs no proxy, unless ours is listed.
fn led_through_proxy(env: Env, hosts: &[Host]) -> Env {
    let proxy = format!("http://127.0.0.1:{}", sandbox::PORT);
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let env = names.iter().fold(env, |env, name| env.set(*name, &proxy)).set("NODE_USE_ENV_PROXY", "1");
    let is_ours = hosts.iter().any(|host| matches!(host.name.as_str(), "localhost" | "127.0.0.1" | "::1"));
    let direct = if is_ours { "" } else { "localhost,127.0.0.1,::1" };
    env.set("NO_PROXY", direct).set("no_proxy", direct)
}

/// Removes a worker's scratch folder, which holds copies of logins, once none of its processes is left.
pub(super) fn clear(spec: &WorkerSpec) {
    let scratch = PathBuf::from(&spec.folder).join(SCRATCH);
    if let Err(error) = std::fs::remove_dir_all(&scratch) {
        tracing::warn!(folder = %scratch.display(), %error, "a worker's scratch folder stays behind");
    }
}

fn led_home(env: Env, home: &Path, temporary: &Path) -> Env {
    let env = LEADING_OUT.iter().fold(env, |env, name| env.without(name));
    let env = ["TMPDIR", "TMP", "TEMP"].iter().fold(env, |env, name| env.set(*name, temporary.display().to_string()));
    // Git would refresh its index, which lies where the agent may not write.
    env.set("HOME", home.display().to_string()).set("GIT_OPTIONAL_LOCKS", "0")
}
