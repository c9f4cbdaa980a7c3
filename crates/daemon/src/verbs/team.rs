//! Handlers of agents, teams and leases.

use switchboard_process::fingerprint::Fingerprint;
use switchboard_protocol::agent::Process;
use switchboard_protocol::error::Failure;
use switchboard_protocol::lease::LeaseId;
use switchboard_protocol::verb::{agent, lease, team};

use super::Verbs;
use super::context::Context;
use super::route::Handle;
use crate::blocking::blocking;
use crate::expiry::is_alive;

impl Handle<agent::GetTeamRoster> for Verbs {
    async fn handle(&self, _: &Context, _: agent::GetTeamRosterRequest) -> Result<agent::GetTeamRosterReply, Failure> {
        let (agents, teams) = (switchboard_bus::roster(&self.store)?, switchboard_bus::teams(&self.store)?);
        Ok(agent::GetTeamRosterReply { agents, teams })
    }
}

impl Handle<agent::RegisterAgent> for Verbs {
    async fn handle(
        &self,
        call: &Context,
        request: agent::RegisterAgentRequest,
    ) -> Result<agent::RegisterAgentReply, Failure> {
        Ok(switchboard_bus::register_agent(&self.store, &call.on_bus(self), request).await?)
    }
}

impl Handle<agent::RegisterChatAgent> for Verbs {
    async fn handle(
        &self,
        call: &Context,
        request: agent::RegisterChatAgentRequest,
    ) -> Result<agent::RegisterAgentReply, Failure> {
        Ok(switchboard_bus::register_chat_agent(&self.store, &call.on_bus(self), request).await?)
    }
}

impl Handle<agent::RegisterTerminal> for Verbs {
    async fn handle(
        &self,
        call: &Context,
        request: agent::RegisterTerminalRequest,
    ) -> Result<agent::RegisterAgentReply, Failure> {
        let pid = request.pid;
        let process = blocking(move || running(pid)).await?;
        Ok(switchboard_bus::register_terminal(&self.store, &call.on_bus(self), request, process, is_alive).await?)
    }
}

impl Handle<agent::SetAgentStatus> for Verbs {
    async fn handle(
        &self,
        call: &Context,
        request: agent::SetAgentStatusRequest,
    ) -> Result<agent::SetAgentStatusReply, Failure> {
        Ok(switchboard_bus::set_agent_status(&self.store, &call.on_bus(self), request).await?)
    }
}

impl Handle<team::RemoveTeam> for Verbs {
    async fn handle(&self, call: &Context, request: team::RemoveTeamRequest) -> Result<team::RemoveTeamReply, Failure> {
        Ok(switchboard_bus::remove_team(&self.store, &call.on_bus(self), request).await?)
    }
}

impl Handle<team::SetTeam> for Verbs {
    async fn handle(&self, call: &Context, request: team::SetTeamRequest) -> Result<team::SetTeamReply, Failure> {
        Ok(switchboard_bus::set_team(&self.store, &call.on_bus(self), request).await?)
    }
}

impl Handle<lease::ListLeases> for Verbs {
    async fn handle(&self, _: &Context, request: lease::ListLeasesRequest) -> Result<lease::ListLeasesReply, Failure> {
        Ok(self.leases.list_leases(&request).await?)
    }
}

impl Handle<lease::ReleaseFiles> for Verbs {
    async fn handle(
        &self,
        call: &Context,
        request: lease::ReleaseFilesRequest,
    ) -> Result<lease::ReleaseFilesReply, Failure> {
        Ok(self.leases.release_files(&call.on_bus(self), request).await?)
    }
}

impl Handle<lease::RenewLease> for Verbs {
    async fn handle(
        &self,
        call: &Context,
        request: lease::RenewLeaseRequest,
    ) -> Result<lease::RenewLeaseReply, Failure> {
        Ok(self.leases.renew_lease(&call.on_bus(self), request).await?)
    }
}

impl Handle<lease::ReserveAgent> for Verbs {
    async fn handle(
        &self,
        call: &Context,
        request: lease::ReserveAgentRequest,
    ) -> Result<lease::ReserveAgentReply, Failure> {
        let fresh = LeaseId::from_bits(call.fresh_bits()?);
        Ok(self.leases.reserve_agent(&call.on_bus(self), request, fresh).await?)
    }
}

impl Handle<lease::ReserveFiles> for Verbs {
    async fn handle(
        &self,
        call: &Context,
        mut request: lease::ReserveFilesRequest,
    ) -> Result<lease::ReserveFilesReply, Failure> {
        for glob in &mut request.globs {
            self.count_from_root(glob);
        }
        let fresh = LeaseId::from_bits(call.fresh_bits()?);
        Ok(self.leases.reserve_files(&call.on_bus(self), request, fresh).await?)
    }
}

// === impl Verbs ===

impl Verbs {
    /// Makes an absolute path inside the work tree relative to its top.
    fn count_from_root(&self, glob: &mut String) {
        let root = self.place.root.to_str().map(|root| glob.strip_prefix(root));
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
            Err(failure.hint("give the pid of the terminal's shell"))
        }
    }
}
