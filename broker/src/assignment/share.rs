//! How the queues of a topic are shared out among the clients of a group.

use apogee_remoting::protocol::message_queue::MessageQueue;

/// The queues of one client. All who ask have to see `queues` and `clients` in the same order. `None` for an unknown strategy,
/// a client without id, or where there is nothing to share.
pub(super) fn share(
    strategy: &str,
    queues: &[MessageQueue],
    clients: &[String],
    client: &str,
) -> Option<Vec<MessageQueue>> {
    let choose: fn(usize, usize, usize) -> Vec<usize> = match strategy {
        "AVG" => in_blocks,
        "AVG_BY_CIRCLE" => in_turn,
        _ => return None,
    };
    if queues.is_empty() || clients.is_empty() || client.is_empty() {
        return None;
    }
    let Some(at) = clients.iter().position(|id| id == client) else { return Some(Vec::new()) };
    Some(choose(queues.len(), clients.len(), at).into_iter().map(|queue| queues[queue].clone()).collect())
}

/// Neighbours go together; the first clients get one more each where it does not come out even.
fn in_blocks(queues: usize, clients: usize, at: usize) -> Vec<usize> {
    let (each, more) = (queues / clients, queues % clients);
    let start = at * each + at.min(more);
    (start..start + each + usize::from(at < more)).collect()
}

/// As cards are dealt.
fn in_turn(queues: usize, clients: usize, at: usize) -> Vec<usize> {
    (at..queues).step_by(clients).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_shared_once() {
        let blocks: Vec<_> = (0..3).map(|at| in_blocks(8, 3, at)).collect();
        assert_eq!(blocks, [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7]]);
        let turns: Vec<_> = (0..3).map(|at| in_turn(8, 3, at)).collect();
        assert_eq!(turns, [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5]]);
        for more_clients in [in_blocks, in_turn] {
            let shares: Vec<_> = (0..3).map(|at| more_clients(2, 3, at)).collect();
            assert_eq!(shares, [vec![0], vec![1], vec![]]);
        }
    }
}
