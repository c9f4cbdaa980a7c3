//! Finds dependency cycles among tasks.

use std::collections::BTreeMap;

use switchboard_protocol::plan::TaskId;

/// Returns tasks of which each waits for the next, and the last for the first, the smallest id first; `None` if all can be brought into an order.
/// Ids that are no key of `waits` are skipped.
pub(crate) fn circle<'a>(waits: &BTreeMap<&'a TaskId, Vec<&'a TaskId>>) -> Option<Vec<&'a TaskId>> {
    /// State of a task that the search has reached.
    #[derive(PartialEq)]
    enum Seen {
        /// The task is on the current path.
        OnPath,
        /// No cycle can be reached from the task.
        Clear,
    }
    let mut seen: BTreeMap<&TaskId, Seen> = BTreeMap::new();
    for start in waits.keys().copied() {
        if seen.contains_key(start) {
            continue;
        }
        // Each task of the path with the number of its dependencies followed so far.
        let mut path: Vec<(&TaskId, usize)> = vec![(start, 0)];
        seen.insert(start, Seen::OnPath);
        while let Some((at, followed)) = path.last_mut() {
            let Some(next) = waits.get(*at).and_then(|on| on.get(*followed)).copied() else {
                seen.insert(at, Seen::Clear);
                path.pop();
                continue;
            };
            *followed += 1;
            match seen.get(next) {
                Some(Seen::Clear) => {}
                Some(Seen::OnPath) => return Some(closed(&path, next)),
                None if !waits.contains_key(next) => {}
                None => {
                    seen.insert(next, Seen::OnPath);
                    path.push((next, 0));
                }
            }
        }
    }
    None
}

/// Returns the end of the path, from the task that its last one waits for.
fn closed<'a>(path: &[(&'a TaskId, usize)], back_to: &TaskId) -> Vec<&'a TaskId> {
    let begin = path.iter().position(|(id, _)| *id == back_to).unwrap_or(0);
    let mut circle: Vec<_> = path[begin..].iter().map(|(id, _)| *id).collect();
    let smallest = circle.iter().enumerate().min_by_key(|(_, id)| **id).map_or(0, |(at, _)| at);
    circle.rotate_left(smallest);
    circle
}
