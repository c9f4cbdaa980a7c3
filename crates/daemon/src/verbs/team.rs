//! Agents, teams and leases.

use serde_json::Value;
use switchboard_process::fingerprint::Fingerprint;
use switchboard_protocol::agent::Process;
use switchboard_protocol::error::Failure;
use switchboard_protocol::lease::LeaseId;
use switchboard_protocol::verb::{Verb, agent, lease, team};

use super::{Call, typed, value};
use crate::roll::is_alive;

// === impl Call ===

impl Call<'_> {
    pub(super) async fn agent(&self, args: Value) -> Result<Value, Failure> {
        let (store, asker) = (&self.verbs.store, self.asker());
        match self.verb {
            agent::GetTeamRoster::NAME => {
                typed::<agent::GetTeamRoster>(args)?;
                let reply = agent::GetTeamRosterReply {
                    agents: switchboard_bus::roster(store)?,
                    teams: switchboard_bus::teams(store)?,
                };
                value::<agent::GetTeamRoster>(reply)
            }
            agent::RegisterAgent::NAME => {
                let request = typed::<agent::RegisterAgent>(args)?;
                value::<agent::RegisterAgent>(switchboard_bus::register_agent(store, &asker, request).await?)
            }
            agent::RegisterChatAgent::NAME => {
                let request = typed::<agent::RegisterChatAgent>(args)?;
                value::<agent::RegisterChatAgent>(switchboard_bus::register_chat_agent(store, &asker, request).await?)
            }
            agent::RegisterTerminal::NAME => {
                let request = typed::<agent::RegisterTerminal>(args)?;
                let process = running(request.pid)?;
                let reply = switchboard_bus::register_terminal(store, &asker, request, process, is_alive).await?;
                value::<agent::RegisterTerminal>(reply)
            }
            _ => {
                let request = typed::<agent::SetAgentStatus>(args)?;
                value::<agent::SetAgentStatus>(switchboard_bus::set_agent_status(store, &asker, request).await?)
            }
        }
    }

    pub(super) async fn team(&self, args: Value) -> Result<Value, Failure> {
        let (store, asker) = (&self.verbs.store, self.asker());
        match self.verb {
            team::RemoveTeam::NAME => value::<team::RemoveTeam>(
                switchboard_bus::remove_team(store, &asker, typed::<team::RemoveTeam>(args)?).await?,
            ),
            _ => value::<team::SetTeam>(switchboard_bus::set_team(store, &asker, typed::<team::SetTeam>(args)?).await?),
        }
    }

    pub(super) async fn lease(&self, args: Value) -> Result<Value, Failure> {
        let (book, asker) = (&self.verbs.leases, self.asker());
        match self.verb {
            lease::ListLeases::NAME => {
                value::<lease::ListLeases>(book.list_leases(&typed::<lease::ListLeases>(args)?).await?)
            }
            lease::ReleaseFiles::NAME => {
                value::<lease::ReleaseFiles>(book.release_files(&asker, typed::<lease::ReleaseFiles>(args)?).await?)
            }
            lease::RenewLease::NAME => {
                value::<lease::RenewLease>(book.renew_lease(&asker, typed::<lease::RenewLease>(args)?).await?)
            }
            lease::ReserveAgent::NAME => {
                let fresh = LeaseId::from_bits(self.fresh_bits()?);
                let request = typed::<lease::ReserveAgent>(args)?;
                value::<lease::ReserveAgent>(book.reserve_agent(&asker, request, fresh).await?)
            }
            _ => {
                let mut request = typed::<lease::ReserveFiles>(args)?;
                for glob in &mut request.globs {
                    self.count_from_root(glob);
                }
                let fresh = LeaseId::from_bits(self.fresh_bits()?);
                value::<lease::ReserveFiles>(book.reserve_files(&asker, request, fresh).await?)
            }
        }
    }

    /// An absolute path inside the work tree counts from its top.
    fn count_from_root(&self, glob: &mut String) {
        let root = self.verbs.place.root.to_str().map(|root| glob.strip_prefix(root));
        match root.flatten() {
            Some("" | "/") => *glob = ".".to_owned(),
            Some(rest) if rest.starts_with('/') => *glob = rest.trim_start_matches('/').to_owned(),
            Some(_) | None => {}
        }
    }
}

fn running(pid: u32) -> Result<Process, Failure> {
    match Fingerprint::of(pid).filter(Fingerprint::is_alive) {
        Some(Fingerprint { pid, start, boot }) => Ok(Process { pid, start, boot }),
        None => {
            let failure = Failure::new("bus.dead-process", format!("no process with the pid {pid} runs"));
            Err(failure.hint("say the pid of the terminal's shell"))
        }
    }
}
