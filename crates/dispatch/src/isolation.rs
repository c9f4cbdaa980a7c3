//! Constrained workers: whether a run's tasks can be constrained, and the sandbox of a worker.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::isolation::{Host, Isolation, Reach, Tool, WorkerSandbox};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::run::AgentChoice;
use switchboard_protocol::worker::WorkerFact;

use crate::effect::Ctx;
use crate::plan::{RunPart, RunPlan, text};
use crate::world::World;
use crate::{Config, Error};

/// Folders of a home that no sandbox opens as a whole: they hold state, settings and keys of Switchboard and other
/// programs.
const WIDE: &[&str] = &["", ".config", ".gnupg", ".local", ".local/share", ".local/state", ".ssh"];

/// Maximum length of each sentence about what is not enforced, in bytes: one fact of the record holds all of them.
const GAP: usize = 130;

/// Tasks of a run whose workers are constrained, and the consequences on this machine.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) constrained: Vec<String>,
    /// What this machine can't enforce, a sentence each.
    pub(crate) gaps: Vec<String>,
    /// Notes of the run about it.
    pub(crate) notes: Vec<String>,
}

// === impl Held ===

impl Held {
    /// Checks the tasks of a run, and the steps in which another agent judges their changes.
    ///
    /// # Errors
    /// `isolation.tools`, `isolation.network`, `isolation.opens-state`; also `isolation.unsupported`, unless the
    /// request accepts it.
    pub(crate) fn judge(world: &World, run_plan: &RunPlan, parts: &[RunPart<'_>]) -> Result<Self, Error> {
        let (mut held, mut is_held) = (Self::default(), false);
        for RunPart { task: id, settings, choice, work } in parts {
            let narrowing = settings.hosts.as_deref();
            if run_plan.isolation(settings, choice) == Isolation::Full {
                let hosts = narrowing
                    .map(|_| format!("task {id} is not constrained: it reaches every host, whatever `hosts` lists"));
                let notes = hosts.into_iter().chain(is_full_anyway(choice));
                held.notes.extend(notes.filter(|note| !held.notes.contains(note)).collect::<Vec<_>>());
                continue;
            }
            has_four_tools(id, choice)?;
            hosts(choice)?;
            keeps_closed(&world.config, choice)?;
            if work.is_none() {
                held.constrained.push(id.to_string());
            }
            is_held = true;
            let (reached, unlisted) = narrowed(&choice.reach.network, narrowing);
            let unlisted = unlisted
                .map(|host| format!("task {id} does not reach {host}: the settings of {} don't list it", choice.name));
            let notes: Vec<_> = unlisted.chain(reaches_nobody(choice, reached.is_empty())).collect();
            held.notes.extend(notes.into_iter().filter(|note| !held.notes.contains(note)).collect::<Vec<_>>());
        }
        if !is_held {
            return Ok(held);
        }
        held.gaps = world.ports.shims.sandbox_gaps();
        if !held.gaps.is_empty() && !run_plan.unenforced {
            let what = format!("this machine can't enforce constrained work: {}", held.gaps.join("; "));
            let failure = Failure::new("isolation.unsupported", what);
            return Err(failure.hint("--unenforced accepts that; switchboard explain isolation.unsupported").into());
        }
        held.notes.extend(held.gaps.iter().map(|gap| format!("not enforced here: {gap}")));
        Ok(held)
    }
}

/// Returns a note about an agent that is not constrained although it has settings for that.
fn is_full_anyway(choice: &AgentChoice) -> Option<String> {
    // `home` of `reach` may be what a known agent's login needs, without a setting by the user.
    let Reach { read, network, home: _ } = &choice.reach;
    let has = [("read", !read.is_empty()), ("network", !network.is_empty()), ("tools", !choice.tools.is_empty())];
    let has = has.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name);
    let names: BTreeSet<_> = choice.for_constrained.iter().map(String::as_str).chain(has).collect();
    let (name, settings) = (&choice.name, names.iter().copied().collect::<Vec<_>>().join(", "));
    (!names.is_empty() && !choice.scripted)
        .then(|| format!("{name} is not constrained, so that these of its settings have no effect: {settings}"))
}

/// Checks that an agent can be limited to the four tools. A command has only a shell.
fn has_four_tools(id: &TaskId, choice: &AgentChoice) -> Result<(), Failure> {
    let is_command = matches!(choice.driver, DriverSpec::Exec { .. });
    let lacks_shell = !choice.tools.is_empty() && !choice.tools.contains(&Tool::Shell);
    if is_command && lacks_shell {
        let what = format!("task {id} has a command, which is a shell's, and {} is cut to other tools", choice.name);
        return Err(Failure::new("isolation.tools", what).hint("name another agent for it, or none"));
    }
    if is_command || choice.scripted || choice.four_tools {
        return Ok(());
    }
    let name = &choice.name;
    let what =
        format!("task {id} is constrained, and the tools of {name} can't be cut to read, search, edit and shell");
    let hint = format!("take another agent, or say `four_tools = true` in [agents.{name}] if it has no others");
    Err(Failure::new("isolation.tools", what).hint(hint))
}

fn hosts(choice: &AgentChoice) -> Result<(), Failure> {
    let Some(bad) = choice.reach.network.iter().find(|host| Host::parse(host).is_none()) else { return Ok(()) };
    let what = format!("{:?} in the network of {} is no HOST:PORT", cut(bad, 100), choice.name);
    Err(Failure::new("isolation.network", what).hint("write each host with its port: api.example.com:443"))
}

/// Returns the hosts of an agent's settings that a plan leaves, and those that it names in addition. A plan may only
/// narrow.
fn narrowed<'a>(listed: &[String], by: Option<&'a [String]>) -> (Vec<String>, impl Iterator<Item = &'a String>) {
    let is_listed = |host: &str| listed.iter().any(|other| Host::parse(other) == Host::parse(host));
    let is_left = |host: &&String| by.is_none_or(|by| by.iter().any(|other| Host::parse(other) == Host::parse(host)));
    let unlisted: Vec<_> = by.unwrap_or_default().iter().filter(|host| !is_listed(host)).collect();
    (listed.iter().filter(is_left).cloned().collect(), unlisted.into_iter())
}

fn reaches_nobody(choice: &AgentChoice, is_empty: bool) -> Option<String> {
    let wants = matches!(choice.driver, DriverSpec::Acp { .. }) && !choice.scripted && is_empty;
    wants.then(|| {
        format!(
            "{} reaches no host, not its model's either: its settings list none in `network`, or the plan leaves none",
            choice.name
        )
    })
}

/// Refuses settings of an agent that would open the project's state or all of the user's home.
fn keeps_closed(config: &Config, choice: &AgentChoice) -> Result<(), Failure> {
    let (read, home) = (&choice.reach.read, &choice.reach.home);
    for path in read {
        check(config, choice, path, Path::new(path).is_absolute().then(|| PathBuf::from(path)))?;
    }
    for path in home {
        let is_inside = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let full = config.home.as_deref().filter(|_| is_inside(Path::new(path))).map(|home| home.join(path));
        check(config, choice, path, full)?;
    }
    Ok(())
}

fn check(config: &Config, choice: &AgentChoice, listed: &str, full: Option<PathBuf>) -> Result<(), Failure> {
    let shown = cut(listed, 200);
    let Some(full) = full else {
        let what = format!("{shown:?} of {} is no path that a sandbox can open", choice.name);
        return Err(Failure::new("config.bad-value", what)
            .hint("`read` takes absolute paths and ~/..., `home` paths inside the home"));
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let full = real(&full);
    let opens = closed(config).iter().any(|closed| real(closed).starts_with(&full));
    if opens || config.private.iter().any(|private| full.starts_with(real(private))) {
        let what = format!("{shown:?} of {} would open what no constrained worker may see", choice.name);
        return Err(Failure::new("isolation.opens-state", what).hint("list the files that are needed, one by one"));
    }
    Ok(())
}

/// Returns the folders that no sandbox opens as a whole.
fn closed(config: &Config) -> Vec<PathBuf> {
    let of_home = config.home.iter().flat_map(|home| WIDE.iter().map(move |folder| home.join(folder)));
    config.private.iter().cloned().chain(of_home).collect()
}

/// Returns the sandbox of a worker; `None` for a full one. Its git folder is readable, unless the worker is kept out of
/// the repository, and we commit for it.
pub(crate) fn sandbox(
    ctx: &Ctx,
    isolation: Isolation,
    choice: &AgentChoice,
    hosts: Option<&[String]>,
    is_kept_out: bool,
) -> Option<WorkerSandbox> {
    let config = &ctx.world.config;
    (isolation == Isolation::Constrained).then(|| WorkerSandbox {
        reach: Reach { network: narrowed(&choice.reach.network, hosts).0, ..choice.reach.clone() },
        read: [(&config.git_dir, !is_kept_out), (&config.binary, true)]
            .into_iter()
            .filter(|(_, may_read)| *may_read)
            .map(|(path, _)| text(path))
            .collect(),
        closed: closed(config).iter().map(|path| text(path)).collect(),
        allow_unenforced: ctx.plan.unenforced,
        tools: choice.tools.clone(),
    })
}

/// Returns the fact that a worker's sandbox is incomplete, if it is; `gaps` says what this machine's sandboxes lack.
pub(crate) fn unenforced(gaps: &[String], isolation: Isolation, worker: &WorkerId) -> Option<WorkerFact> {
    if isolation == Isolation::Full || gaps.is_empty() {
        return None;
    }
    let gaps = gaps.iter().map(|gap| cut(gap, GAP)).collect();
    Some(WorkerFact::WorkerUnenforced { worker: worker.clone(), gaps })
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::AgentName;

    use super::*;

    fn agent() -> AgentChoice {
        let driver = DriverSpec::Acp { argv: vec!["ann".to_owned()] };
        AgentChoice { four_tools: true, ..AgentChoice::new(AgentName::new("ann").unwrap(), driver) }
    }

    fn command() -> AgentChoice {
        let driver = DriverSpec::Exec { argv: vec!["make".to_owned()] };
        AgentChoice { four_tools: false, driver, ..agent() }
    }

    fn scripted(choice: AgentChoice) -> AgentChoice {
        AgentChoice { scripted: true, ..choice }
    }

    #[test]
    fn an_agent_that_can_not_be_limited_to_the_four_tools_does_no_constrained_task() {
        let task = TaskId::new("1.1").unwrap();
        let judged = |choice: &AgentChoice| has_four_tools(&task, choice).map_err(|failure| failure.code.to_string());
        let with = |tools: &[Tool], choice: AgentChoice| AgentChoice { tools: tools.to_vec(), ..choice };
        let unlimited = AgentChoice { four_tools: false, ..agent() };

        for fits in [agent(), scripted(unlimited.clone()), with(&[Tool::Read], agent()), command()] {
            assert_eq!(judged(&fits), Ok(()), "{fits:?}");
        }
        assert_eq!(judged(&with(&[Tool::Read, Tool::Shell], command())), Ok(()));
        for other in [unlimited, with(&[Tool::Read, Tool::Edit], command())] {
            assert_eq!(judged(&other), Err("isolation.tools".to_owned()), "{other:?}");
        }
    }

    #[test]
    fn every_host_of_an_agent_has_a_port() {
        let judged = |listed: &[&str]| {
            let mut choice = agent();
            choice.reach.network = listed.iter().map(ToString::to_string).collect();
            hosts(&choice).map_err(|failure| failure.what)
        };

        assert_eq!(judged(&[]), Ok(()));
        assert_eq!(judged(&["api.example.com:443", "localhost:80"]), Ok(()));
        let refused = judged(&["localhost:80", "api.example.com"]).unwrap_err();
        assert!(refused.contains("\"api.example.com\""), "{refused}");
    }

    #[test]
    fn settings_for_constrained_work_are_named_for_an_agent_that_is_not_constrained() {
        let mut choice = AgentChoice { tools: vec![Tool::Read], for_constrained: vec!["memory".to_owned()], ..agent() };
        choice.reach.read = vec!["/opt".to_owned()];
        let mut with_home = agent();
        with_home.reach.home = vec![".ann".to_owned()];

        let note = is_full_anyway(&choice).unwrap();

        assert!(note.starts_with("ann ") && note.ends_with(": memory, read, tools"), "{note}");
        assert_eq!([agent(), with_home, scripted(choice)].map(|choice| is_full_anyway(&choice)), [None, None, None]);
    }

    #[test]
    fn an_agent_with_a_model_needs_a_host() {
        assert!(reaches_nobody(&agent(), true).is_some_and(|note| note.starts_with("ann reaches no host")));
        let others = [(agent(), false), (command(), true), (scripted(agent()), true)];
        assert_eq!(others.map(|(choice, is_empty)| reaches_nobody(&choice, is_empty)), [None, None, None]);
    }

    #[test]
    fn a_plan_takes_hosts_away_and_adds_none() {
        let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let listed = texts(&["api.example.com:443", "localhost:8080"]);
        let of = |by: Option<&[String]>| {
            let (left, unlisted) = narrowed(&listed, by);
            (left, unlisted.cloned().collect::<Vec<_>>())
        };

        assert_eq!(of(None), (listed.clone(), Vec::new()));
        assert_eq!(of(Some(&[])), (Vec::new(), Vec::new()));
        assert_eq!(of(Some(&texts(&["API.example.com:443"]))), (texts(&["api.example.com:443"]), Vec::new()));
        let other = texts(&["api.example.com:80", "evil.example:443"]);
        assert_eq!(of(Some(&other)), (Vec::new(), other.clone()));
    }

    #[test]
    fn only_a_sandbox_can_be_incomplete() {
        let worker = WorkerId::new("w-1").unwrap();
        let gaps = ["no Landlock".to_owned(), "x".repeat(GAP + 1)];

        assert!(unenforced(&gaps, Isolation::Full, &worker).is_none());
        assert!(unenforced(&[], Isolation::Constrained, &worker).is_none());

        let Some(WorkerFact::WorkerUnenforced { worker: of, gaps: told }) =
            unenforced(&gaps, Isolation::Constrained, &worker)
        else {
            panic!("an incomplete sandbox is not recorded");
        };
        assert_eq!((of, &told[0], told.len()), (worker, &gaps[0], 2));
        assert!(told[1].len() <= GAP + '…'.len_utf8(), "{}", told[1].len());
    }

    #[test]
    fn settings_of_an_agent_open_neither_our_state_nor_a_whole_home() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (home, state) = (base.join("home"), base.join("home/.local/state/switchboard"));
        for folder in [home.join(".ann"), state.join("runs")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::os::unix::fs::symlink(&state, base.join("link")).unwrap();
        let limits = crate::config::ReadLimits(std::sync::Arc::new(|| Ok(Default::default())));
        let config = Config { home: Some(home), private: vec![state.clone()], ..crate::simulate::config_with(limits) };
        let judged = |read: &[&str], in_home: &[&str]| {
            let mut choice = agent();
            choice.reach.read = read.iter().map(|path| base.join(path).display().to_string()).collect();
            choice.reach.home = in_home.iter().map(ToString::to_string).collect();
            keeps_closed(&config, &choice).map_err(|failure| failure.code.to_string())
        };

        assert_eq!(judged(&["tools", "home/.ann"], &[".ann", ".config/ann"]), Ok(()));
        let state = "home/.local/state/switchboard";
        for path in ["", "home", "home/.local", state, &format!("{state}/runs"), "link", "link/runs"] {
            assert_eq!(judged(&["tools", path], &[]), Err("isolation.opens-state".to_owned()), "{path}");
        }
        for path in [".config", ".local/state", ".ssh"] {
            assert_eq!(judged(&[], &[".ann", path]), Err("isolation.opens-state".to_owned()), "{path}");
        }
        for path in ["../other", "/etc"] {
            assert_eq!(judged(&[], &[path]), Err("config.bad-value".to_owned()), "{path}");
        }
        let mut relative = agent();
        relative.reach.read = vec!["y".repeat(300)];
        let failure = keeps_closed(&config, &relative).unwrap_err();
        assert_eq!(failure.code, "config.bad-value");
        assert_eq!(failure.what.matches('y').count(), 200, "{}", failure.what);
    }
}
