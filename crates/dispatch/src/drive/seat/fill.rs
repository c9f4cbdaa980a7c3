//! Vacant seat: asks a person who leads the run, unless an agent takes the seat meanwhile.

use switchboard_pipeline::modes::Action;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::{AgentName, NeedId};
use switchboard_protocol::modes::ModeEvent;
use switchboard_protocol::need::NeedAbout;

use super::super::person::{Asking, chosen_by};
use super::super::{Driver, Follows, Waited};
use crate::Error;

/// Id of the option by which the engine drives the run.
const DRIVE: &str = "drive";

/// Id of the option by which the run ends.
const STOP: &str = "stop";

impl Driver {
    /// Asks a person, once for each loss of the seat.
    pub(in crate::drive) async fn fill_seat(
        &mut self,
        step: u32,
        (agent, fence): (&AgentName, u64),
    ) -> Result<Follows, Error> {
        let id = NeedId::derived(&[b"seat", self.run.as_str().as_bytes(), &fence.to_le_bytes()]);
        let option =
            |id: &str, name: &str, kind: &str| PermissionOption { id: id.into(), name: name.into(), kind: kind.into() };
        let asking = Asking {
            id: id.clone(),
            about: NeedAbout::Team { run: self.run.clone(), mode_step: step },
            title: format!("{agent} has lost the architect's seat of {}: who leads it now?", self.run),
            detail: format!(
                "Nothing was heard of {agent} for longer than its lease. What workers do goes on; nothing new begins. An agent takes the seat with: switchboard lead {} AGENT",
                self.run
            ),
            options: vec![option(DRIVE, "the engine", "allow_once"), option(STOP, "end the run", "reject_once")],
        };
        match self.ask_need(asking).await? {
            Waited::For(row) => {
                let by = chosen_by(&self.dispatch.world.store, &row)?.unwrap_or_else(|| self.setup.by.clone());
                let event = match (row.get_text("outcome"), row.get_text("option")) {
                    (Some("expired" | "withdrawn"), _) => {
                        ModeEvent::Stopped { by, why: "nobody took the architect's seat in time".to_owned() }
                    }
                    (_, Some(DRIVE)) => ModeEvent::SeatLeft { fence, by },
                    (_, _) => ModeEvent::Stopped { by, why: "its architect's seat was vacant".to_owned() },
                };
                Ok(Follows::Event(event, String::new()))
            }
            Waited::Changed => {
                if !matches!(self.record.state().next(), Action::FillSeat { .. }) {
                    self.take_back(&id).await?;
                }
                Ok(Follows::Changed)
            }
            Waited::Stop(stop) => {
                self.take_back(&id).await?;
                Ok(Follows::Stop(stop))
            }
            Waited::Down => Ok(Follows::Down),
        }
    }
}
