//! Pulling: codes 11 and 361, with long polling.

mod answer;
mod check;
mod filter;
mod hold;

use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::Command;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::server::{Answering, Peer, Reply};
use tokio::time::{Instant, timeout_at};

use crate::Broker;
use crate::answer::Refusal;
use answer::PullAnswer;

pub(crate) use filter::{PullFilter, TagFilter};
pub(crate) use hold::HeldPulls;

/// Answers with the messages behind an offset, at once or when one arrives.
pub(crate) fn pull(broker: &Arc<Broker>, peer: &Arc<Peer>, request: Command, answering: Answering<'_>) -> Reply {
    match attempt(broker, peer, &request, Mode { is_first: true, may_hold: true, may_wait_for_disk: false }) {
        Attempt::Answer(answer) => answer.give(answering),
        unfinished => Reply::later(finish(Arc::clone(broker), Arc::clone(peer), Arc::new(request), unfinished)),
    }
}

/// What an attempt to answer a pull may do.
#[derive(Clone, Copy)]
struct Mode {
    /// Whether this is the first attempt: what the pull brings along is taken up once.
    is_first: bool,
    /// Whether the pull may wait for a message; not so once its time is over.
    may_hold: bool,
    /// Whether the thread may wait for the disk.
    may_wait_for_disk: bool,
}

/// How far an attempt came.
enum Attempt {
    Answer(PullAnswer),
    /// The messages are not in memory: somebody who may wait has to read them.
    Cold,
    /// Nothing there yet.
    Hold(HoldPlan),
}

/// What a pull without messages waits for.
struct HoldPlan {
    topic: Arc<str>,
    queue_id: i32,
    offset: i64,
    filter: PullFilter,
    time: Duration,
}

fn attempt(broker: &Broker, peer: &Peer, request: &Command, mode: Mode) -> Attempt {
    let header = match request.header::<PullMessageRequestHeader>() {
        Ok(header) => header,
        Err(error) => return check::Refused::from(Refusal::from(error)).into(),
    };
    match check::check(broker, peer, request, header) {
        Ok(pull) => pull.read(broker, mode),
        Err(refused) => refused.into(),
    }
}

/// Brings a pull to its end that could not be answered at once.
async fn finish(broker: Arc<Broker>, peer: Arc<Peer>, request: Arc<Command>, mut state: Attempt) -> Command {
    let mut deadline = None;
    // End of the queue at the last attempt that was made in place of a wait.
    let mut looked_at = None;
    let may_hold = |deadline: Option<Instant>| {
        !broker.held_pulls.has_ended() && deadline.is_none_or(|deadline| Instant::now() < deadline)
    };
    loop {
        state = match state {
            Attempt::Answer(answer) => return answer.into(),
            Attempt::Cold => {
                // A first attempt that came this far has taken up nothing; one after a hold has a deadline.
                let mode = Mode { is_first: deadline.is_none(), may_hold: may_hold(deadline), may_wait_for_disk: true };
                let (attending, peer, request) = (Arc::clone(&broker), Arc::clone(&peer), Arc::clone(&request));
                let attempting = move || attempt(&attending, &peer, &request, mode);
                broker.readers.read(attempting).await.unwrap_or_else(|busy| Refusal::from(busy).into())
            }
            Attempt::Hold(plan) => {
                let until = *deadline.get_or_insert_with(|| Instant::now() + plan.time);
                let mut hold = broker.held_pulls.hold(&plan.topic, plan.queue_id, plan.offset, plan.filter);
                // A message that came before the hold was in place has woken nobody. One that cannot be read, because
                // a file of the queue is missing, is looked for once.
                let max = broker.store.max_offset(&plan.topic, plan.queue_id);
                let has_news = max > plan.offset && looked_at.replace(max) != Some(max);
                if !has_news && !broker.held_pulls.has_ended() {
                    let _ = timeout_at(until, hold.woken()).await;
                }
                drop(hold);
                let mode = Mode { is_first: false, may_hold: may_hold(deadline), may_wait_for_disk: false };
                attempt(&broker, &peer, &request, mode)
            }
        };
    }
}
