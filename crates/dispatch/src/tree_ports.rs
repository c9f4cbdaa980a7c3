//! TCP ports of work trees: each tree has its own ports as long as its task is not settled.
//!
//! Ports are leased in blocks. Within this daemon a table records the leases; among the user's daemons a lock in a file
//! does, which the kernel releases when a daemon dies. The record names the ports of each worker, so that a new daemon
//! has the same ones for the trees that it takes up. A port that is bound by any process is never leased.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::worker::PortRange;

use crate::Error;
use crate::lock::lock;
use crate::port::PortClaims;

/// First port: below are those of well-known services and of databases.
const FIRST_PORT: u16 = 20_000;

/// End of the ports, exclusive: from here on Linux assigns ports to outgoing connections
/// (`net.ipv4.ip_local_port_range`).
const END: u16 = 32_760;

/// Number of ports in a block, the unit of a claim.
const BLOCK: u16 = 10;

/// Number of blocks.
pub(crate) const BLOCKS: u32 = ((END - FIRST_PORT) / BLOCK) as u32;

/// Run and task of a tree.
type Tree = (RunId, TaskId);

/// Lease of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Leased {
    blocks: Range<u32>,
    ports: PortRange,
}

/// Port leases by tree.
pub(crate) struct TreePorts {
    claims: Arc<dyn PortClaims>,
    /// Block at which the search begins, so that daemons of different repositories rarely collide.
    start: u32,
    leased: Mutex<BTreeMap<Tree, Leased>>,
}

// === impl TreePorts ===

impl TreePorts {
    pub(crate) fn new(claims: Arc<dyn PortClaims>, seed: u64) -> Self {
        let start = u32::try_from(seed % u64::from(BLOCKS)).unwrap_or(0);
        Self { claims, start, leased: Mutex::default() }
    }

    /// Leases `count` ports to a tree; returns the present ones if it has some.
    ///
    /// # Errors
    /// `dispatch.no-ports` if not enough are free; [`Error::Process`].
    pub(crate) fn lease(&self, run: &RunId, task: &TaskId, count: u16) -> Result<Option<PortRange>, Error> {
        if count == 0 {
            return Ok(None);
        }
        let tree = (run.clone(), task.clone());
        let mut leased = lock(&self.leased);
        if let Some(known) = leased.get(&tree) {
            return Ok(Some(known.ports));
        }
        let wanted = u32::from(count.div_ceil(BLOCK));
        let Some(blocks) = self.find(&leased, wanted)? else { return Err(none_left(count)) };
        let ports = PortRange { first: first_port(blocks.start), count };
        leased.insert(tree, Leased { blocks, ports });
        Ok(Some(ports))
    }

    /// Returns the ports of a tree.
    pub(crate) fn of(&self, run: &RunId, task: &TaskId) -> Option<PortRange> {
        lock(&self.leased).get(&(run.clone(), task.clone())).map(|lease| lease.ports)
    }

    /// Restores a lease from the record, unless the tree has another one by then or another tree has one of its ports.
    ///
    /// # Errors
    /// [`Error::Process`].
    pub(crate) fn restore(&self, run: &RunId, task: &TaskId, ports: PortRange) -> Result<(), Error> {
        let Some(start) = ports.first.checked_sub(FIRST_PORT).map(|above| u32::from(above / BLOCK)) else {
            return Ok(());
        };
        let blocks = start..(start + u32::from(ports.count.div_ceil(BLOCK))).min(BLOCKS);
        let tree = (run.clone(), task.clone());
        let mut leased = lock(&self.leased);
        // A lease of an earlier worker of the tree: it ended when the task was settled in between.
        if leased.contains_key(&tree) {
            return Ok(());
        }
        if leased.values().any(|lease| lease.blocks.start < blocks.end && blocks.start < lease.blocks.end) {
            return Ok(());
        }
        for block in blocks.clone() {
            if !self.claims.claim(block)? {
                tracing::warn!(%run, %task, first = ports.first, "another daemon has taken ports of this tree");
            }
        }
        leased.insert(tree, Leased { blocks, ports });
        Ok(())
    }

    /// Releases the ports of a run's trees, except those that `keep` accepts.
    pub(crate) fn retain(&self, run: &RunId, keep: impl Fn(&TaskId) -> bool) {
        let mut leased = lock(&self.leased);
        let over: Vec<_> = leased.keys().filter(|(of, task)| of == run && !keep(task)).cloned().collect();
        over.iter().for_each(|tree| self.give_back(&mut leased, tree));
    }

    /// Releases the ports of a task's work tree.
    pub(crate) fn release_task(&self, run: &RunId, task: &TaskId) {
        self.give_back(&mut lock(&self.leased), &(run.clone(), task.clone()));
    }

    fn give_back(&self, leased: &mut BTreeMap<Tree, Leased>, tree: &Tree) {
        for block in leased.remove(tree).into_iter().flat_map(|lease| lease.blocks) {
            if let Err(error) = self.claims.release(block) {
                tracing::warn!(%error, block, "a block of ports stays claimed until the daemon ends");
            }
        }
    }

    /// Claims adjacent blocks without any bound port: preferably blocks that were released, else blocks that another
    /// daemon left behind.
    fn find(&self, leased: &BTreeMap<Tree, Leased>, wanted: u32) -> Result<Option<Range<u32>>, Error> {
        let mut is_used = vec![false; BLOCKS as usize];
        for block in leased.values().flat_map(|lease| lease.blocks.clone()) {
            is_used[block as usize] = true;
        }
        for takes_anothers in [false, true] {
            let starts = (self.start..BLOCKS).chain(0..self.start);
            for start in starts.filter(|start| start + wanted <= BLOCKS) {
                let blocks = start..start + wanted;
                if blocks.clone().any(|block| is_used[block as usize]) {
                    continue;
                }
                if self.claim_all(blocks.clone(), takes_anothers)? {
                    return Ok(Some(blocks));
                }
            }
        }
        Ok(None)
    }

    /// Claims all blocks of a range, or none.
    fn claim_all(&self, blocks: Range<u32>, takes_anothers: bool) -> Result<bool, Error> {
        for block in blocks.clone() {
            let is_ours = (takes_anothers || !self.claims.is_of_other_daemon(block)?) && self.claims.claim(block)?;
            let mut ports = first_port(block)..first_port(block) + BLOCK;
            if is_ours && ports.all(|port| self.claims.is_free(port)) {
                continue;
            }
            let claimed = if is_ours { blocks.start..block + 1 } else { blocks.start..block };
            for block in claimed {
                self.claims.release(block)?;
            }
            return Ok(false);
        }
        Ok(true)
    }
}

fn first_port(block: u32) -> u16 {
    FIRST_PORT + u16::try_from(block).unwrap_or(0) * BLOCK
}

fn none_left(count: u16) -> Error {
    let what =
        format!("no {count} TCP ports next to each other are left for a work tree, from {FIRST_PORT} to {}", END - 1);
    Failure::new("dispatch.no-ports", what)
        .hint("let other runs end, or say `\"ports\": 0` in the plan's x-switchboard")
        .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::port::claims::SharedFile;

    fn table(folder: &tempfile::TempDir, owner: u64) -> TreePorts {
        let claims = SharedFile::new(folder.path().join("tree-ports"), BLOCKS, owner);
        TreePorts::new(Arc::new(claims), owner * 100)
    }

    fn task(n: usize) -> TaskId {
        TaskId::new(format!("1.{n}")).unwrap()
    }

    /// Binds ports as another process would: one in each of some blocks that would be leased.
    fn bound_by_others() -> Vec<(TcpListener, u16)> {
        let ports = (0..BLOCKS).step_by(60).map(|block| first_port(block) + 3);
        ports.filter_map(|port| Some((TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?, port))).collect()
    }

    #[test]
    fn a_thousand_trees_of_four_daemons_at_once_share_no_port_with_each_other_or_with_what_others_have_bound() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = bound_by_others();
        assert!(foreign.len() > 10, "the machine has no ports left to test with");
        let tables: Vec<_> = (1..=4).map(|owner| Arc::new(table(&folder, owner))).collect();
        let run = RunId::from_bits(1);

        let threads: Vec<_> = (0..20)
            .map(|thread| {
                let (tables, run) = (tables.clone(), run.clone());
                std::thread::spawn(move || -> Vec<PortRange> {
                    let numbers = (thread * 50)..(thread * 50 + 50);
                    numbers.map(|n| tables[n % 4].lease(&run, &task(n), 10).unwrap().unwrap()).collect()
                })
            })
            .collect();
        let ranges: Vec<PortRange> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();

        assert_eq!(ranges.len(), 1000);
        let mut seen = BTreeSet::new();
        for port in ranges.iter().flat_map(|range| range.first..range.first + range.count) {
            assert!(seen.insert(port), "{port} was leased twice");
        }
        for (_, port) in &foreign {
            assert!(!seen.contains(port), "{port} is bound by somebody else");
        }
    }

    #[test]
    fn a_tree_keeps_its_ports_until_its_task_is_settled() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (table(&folder, 1), table(&folder, 1));
        let run = RunId::from_bits(1);

        let first = one.lease(&run, &task(1), 10).unwrap().unwrap();
        assert_eq!(one.lease(&run, &task(1), 10).unwrap(), Some(first));
        let second = other.lease(&run, &task(2), 25).unwrap().unwrap();
        assert!(second.first >= first.first + 10 && second.count == 25, "{first:?} {second:?}");
        assert_eq!(one.lease(&run, &task(3), 0).unwrap(), None);

        one.release_task(&run, &task(1));
        assert_eq!(one.lease(&run, &task(4), 10).unwrap(), Some(first));
        one.retain(&run, |task| task.as_str() != "1.4");
        assert_eq!(one.lease(&run, &task(5), 10).unwrap(), Some(first));
    }

    #[test]
    fn a_daemon_that_starts_again_has_the_same_ports_and_others_leave_them_alone_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId::from_bits(1);
        let ports = {
            let dead = table(&folder, 1);
            dead.lease(&run, &task(1), 10).unwrap().unwrap()
        };
        // Starts its search at the ports of the dead daemon.
        let neighbour = TreePorts::new(
            Arc::new(SharedFile::new(folder.path().join("tree-ports"), BLOCKS, 2)),
            u64::from(u32::from(ports.first - FIRST_PORT) / u32::from(BLOCK)),
        );
        let theirs = neighbour.lease(&run, &task(1), 10).unwrap().unwrap();
        assert_ne!(theirs, ports);

        let again = table(&folder, 1);
        again.restore(&run, &task(1), ports).unwrap();

        assert_eq!(again.lease(&run, &task(1), 10).unwrap(), Some(ports));
        assert_ne!(again.lease(&run, &task(2), 10).unwrap(), Some(ports));
    }

    #[test]
    fn restored_ports_are_one_trees() {
        let folder = tempfile::tempdir().unwrap();
        let (table, run) = (table(&folder, 1), RunId::from_bits(1));
        table.restore(&run, &task(7), PortRange { first: FIRST_PORT, count: 15 }).unwrap();
        table.restore(&run, &task(1), PortRange { first: FIRST_PORT + BLOCK, count: 10 }).unwrap();

        assert_eq!(table.of(&run, &task(7)), Some(PortRange { first: FIRST_PORT, count: 15 }));
        assert_eq!(table.of(&run, &task(1)), None);

        table.restore(&run, &task(7), PortRange { first: FIRST_PORT + 9 * BLOCK, count: 10 }).unwrap();
        assert_eq!(table.of(&run, &task(7)), Some(PortRange { first: FIRST_PORT, count: 15 }), "the newer claim holds");
    }

    #[test]
    fn what_a_crashed_daemon_had_is_leased_again_once_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId::from_bits(1);
        drop({
            let dead = table(&folder, 1);
            for n in 0..600 {
                dead.lease(&run, &task(n), 10).unwrap();
            }
            dead
        });
        let other = table(&folder, 2);

        let leased = (0..900).filter_map(|n| other.lease(&run, &task(n), 10).ok().flatten()).count();

        assert_eq!(leased, 900, "{BLOCKS} blocks, of which 600 bear the mark of a daemon that is gone");
    }

    /// Claims of one daemon, a block of which another process has a port, and one that another daemon has.
    struct Contended {
        taken: u32,
        of_other: u32,
        claimed: Mutex<BTreeSet<u32>>,
    }

    impl PortClaims for Contended {
        fn is_of_other_daemon(&self, _block: u32) -> Result<bool, Error> {
            Ok(false)
        }

        fn claim(&self, block: u32) -> Result<bool, Error> {
            Ok(block != self.of_other && lock(&self.claimed).insert(block))
        }

        fn release(&self, block: u32) -> Result<(), Error> {
            assert!(lock(&self.claimed).remove(&block), "block {block} is another daemon's");
            Ok(())
        }

        fn is_free(&self, port: u16) -> bool {
            port != first_port(self.taken) + 2
        }
    }

    #[test]
    fn of_blocks_that_can_not_be_had_together_none_is_kept() {
        let claims = Arc::new(Contended { taken: 2, of_other: 4, claimed: Mutex::default() });
        let table = TreePorts::new(Arc::clone(&claims) as Arc<dyn PortClaims>, 0);

        let leased = table.lease(&RunId::from_bits(1), &task(1), 3 * BLOCK).unwrap().unwrap();

        let first = u32::from((leased.first - FIRST_PORT) / BLOCK);
        assert!([claims.taken, claims.of_other].iter().all(|block| !(first..first + 3).contains(block)), "{leased:?}");
        assert_eq!(*lock(&claims.claimed), (first..first + 3).collect());
    }
}
