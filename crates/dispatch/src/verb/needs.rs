//! `list_needs`, `approve`, `deny`, `answer`: questions of workers to a person.

use switchboard_protocol::error::Failure;
use switchboard_protocol::need::Need;
use switchboard_protocol::verb::need::{ListNeedsReply, ListNeedsRequest, SettleReply};
use switchboard_store::{Idempotency, Query, Row};

use crate::event::cut;
use crate::needs::{self, Settle};
use crate::work::NEEDS;
use crate::world::World;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Lists questions, oldest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn list_needs(&self, request: &ListNeedsRequest) -> Result<ListNeedsReply, Error> {
        let query = Query::table(NEEDS).asc("seq").limit(1000);
        let query = if request.include_settled { query } else { query.eq("outcome", "") };
        let needs =
            self.world.store.read(&query)?.iter().map(|row| needs::need(&self.world, row)).collect::<Result<_, _>>()?;
        Ok(ListNeedsReply { needs })
    }

    /// Settles a question and tells the worker that waits.
    ///
    /// # Errors
    /// A refusal (unknown, settled before, no such option) or the store's failure.
    pub async fn settle_need(
        &self,
        id: &str,
        how: Settle,
        by: &str,
        call: Option<Idempotency>,
    ) -> Result<SettleReply, Error> {
        let need = find(&self.world, id)?;
        let (outcome, option) = needs::choose(&need, how)?;
        needs::settle(&self.world, &need.id, outcome, option.clone(), by, call).await?;
        needs::tell(&self.world, &need.id, option).await?;
        Ok(SettleReply { id: need.id, outcome: outcome.to_owned() })
    }
}

fn find(world: &World, id: &str) -> Result<Need, Error> {
    if let Some(row) = world.store.get(NEEDS, &[id.into()])? {
        return needs::need(world, &row);
    }
    let rows = world.store.read(&Query::table(NEEDS).desc("seq").limit(10_000))?;
    let fits = |row: &&Row| {
        row.get_text("id")
            .is_some_and(|known| known.starts_with(id) || known.trim_start_matches("need_").starts_with(id))
    };
    let found: Vec<_> = rows.iter().filter(fits).collect();
    match found.as_slice() {
        [row] if !id.is_empty() => needs::need(world, row),
        [] => Err(Failure::new("need.unknown", format!("there is no question {}", cut(id, 40)))
            .hint("switchboard needs")
            .into()),
        _ => Err(Failure::new("need.unknown", format!("{} fits several questions", cut(id, 40)))
            .hint("give more of its id")
            .into()),
    }
}
