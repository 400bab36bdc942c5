//! Sending: codes 10, 310 and 320, and replies: 324 and 325.

mod answer;
mod batch;
mod check;
mod inner_batch;
mod properties;
mod refusal;
mod reply;
mod single;
mod together;

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_config::{BrokerRole, BrokerSettings, FlushDiskType};
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::server::{Answering, Peer, Reply, Ticket};
use apogee_remoting::{Command, ResponseCode};
use apogee_store::AppendError;
use tokio::time::timeout;

use crate::answer::{NotDone, Refusal, when_possible};
use crate::replication::{Quorum, check_members};
use crate::saved_table::Saving;
use crate::settings::Settings;
use crate::thread::in_task;
use crate::{Broker, registration};
use answer::StoredAnswer;

pub(crate) use refusal::refusal;
pub(crate) use reply::reply;
pub(crate) use together::{append, settle};

/// A message or a batch that is in the log.
struct Stored<'a> {
    answer: StoredAnswer<'a>,
    /// Physical offset behind it.
    end: i64,
    /// Whether the producer wants its answer only when the message is where the broker's role says.
    waits: bool,
}

/// What became of a message or a batch.
enum Sent<'a> {
    Stored(Stored<'a>),
    /// It is among those that [`settle`] answers.
    Gathered,
}

/// How a message goes into the log.
#[derive(Clone, Copy)]
enum Way {
    /// With those that came with it, which are answered then.
    Together(Ticket),
    /// At once.
    Alone,
}

/// Stores the message or the batch of a request and answers with its place.
pub(crate) fn send(broker: &Arc<Broker>, peer: &Arc<Peer>, request: Command, answering: Answering<'_>) -> Reply {
    let settings = broker.settings();
    if settings.store.broker_role == BrokerRole::Slave {
        if settings.broker.enable_slave_acting_master {
            let reason = AppendError::NotWritable("this is a slave");
            return Command::from(refusal(broker, &settings, &reason)).into();
        }
        let remark = "[REJECTREQUEST]system busy, start flow control for a while";
        return Command::error(ResponseCode::SYSTEM_BUSY, remark).into();
    }
    let begun = answering.received();
    let way = if together::is_possible(broker, &settings) { Way::Together(answering.ticket()) } else { Way::Alone };
    match store(broker, &settings, peer, &request, way) {
        Ok(Sent::Gathered) => Reply::PutOff,
        Ok(Sent::Stored(stored)) => {
            let unsettled = Unsettled::of(broker, &settings, stored);
            if unsettled.is_settled() {
                broker.stats.put_took(begun.elapsed());
                return unsettled.answer.give(&settings, answering);
            }
            let unsettled = unsettled.detached(&settings);
            let broker = Arc::clone(broker);
            Reply::later(async move { unsettled.settle(&broker, begun).await })
        }
        Err(NotDone::Refused(refusal)) => with_trace(&settings, refusal.into()).into(),
        Err(NotDone::Waits(saving)) => {
            append(broker);
            // Its producer may close the connection at once, above all one that wants no answer.
            Reply::later(in_task(send_behind(saving, Arc::clone(broker), Arc::clone(peer), request)))
        }
    }
}

/// The same when the topic is on disk, and known to the name servers: the producer, or a consumer that it tells, asks for the
/// route next.
async fn send_behind(saving: Saving, broker: Arc<Broker>, peer: Arc<Peer>, request: Command) -> Command {
    let begun = Instant::now();
    let stored = match saving.done().await {
        Ok(()) => when_possible(|| ready(store_alone(&broker, &peer, &request))).await,
        Err(error) => Err(error.into()),
    };
    match stored {
        Ok(unsettled) => {
            let answer = unsettled.settle(&broker, begun).await;
            registration::settled(&broker).await;
            answer
        }
        Err(refusal) => with_trace(&broker.settings(), refusal.into()),
    }
}

fn store_alone(broker: &Broker, peer: &Peer, request: &Command) -> Result<Unsettled<Command>, NotDone> {
    let settings = broker.settings();
    match store(broker, &settings, peer, request, Way::Alone)? {
        Sent::Stored(stored) => Ok(Unsettled::of(broker, &settings, stored).detached(&settings)),
        Sent::Gathered => unreachable!("it goes into the log at once"),
    }
}

fn store<'a>(
    broker: &Broker,
    settings: &Settings,
    peer: &Peer,
    request: &'a Command,
    way: Way,
) -> Result<Sent<'a>, NotDone> {
    let message = SendMessageRequestHeader::of(request)?;
    check_members(broker, settings, message.properties.unwrap_or_default())?;
    if message.batch == Some(true) {
        append(broker);
        batch::send(broker, settings, peer, &message, request).map(Sent::Stored)
    } else {
        single::send(broker, settings, peer, &message, request, way)
    }
}

/// The answer for a message in the log, and what its producer waits for before it.
struct Unsettled<A> {
    answer: A,
    end: i64,
    /// How long to wait until the message is durable.
    limit: Option<Duration>,
    /// The slaves to wait for.
    quorum: Option<Quorum>,
}

impl<'a> Unsettled<StoredAnswer<'a>> {
    fn of(broker: &Broker, settings: &Settings, stored: Stored<'a>) -> Self {
        let limit = (stored.waits && settings.store.flush_disk_type == FlushDiskType::SyncFlush)
            .then(|| Duration::from_millis(settings.store.sync_flush_timeout.max(1) as u64));
        let quorum = if stored.waits { Quorum::of(broker, settings, stored.end) } else { None };
        Self { answer: stored.answer, end: stored.end, limit, quorum }
    }

    fn is_settled(&self) -> bool {
        self.limit.is_none() && self.quorum.is_none()
    }

    /// The same without what the answer borrows from its request.
    fn detached(self, settings: &Settings) -> Unsettled<Command> {
        let Self { answer, end, limit, quorum } = self;
        Unsettled { answer: answer.into_command(settings), end, limit, quorum }
    }
}

impl Unsettled<Command> {
    /// `begun` is when the request was begun with.
    async fn settle(self, broker: &Broker, begun: Instant) -> Command {
        let mut answer = self.answer;
        if let Some(limit) = self.limit {
            match is_durable(broker, self.end, limit).await {
                Ok(true) => {}
                Ok(false) => answer.code = ResponseCode::FLUSH_DISK_TIMEOUT.0,
                Err(refusal) => return with_trace(&broker.settings(), refusal.into()),
            }
        }
        if let Some(quorum) = self.quorum {
            // What the slaves say counts more than what the disk does, as in the reference.
            answer = quorum.wait(broker, answer, self.end).await;
        }
        broker.stats.put_took(begun.elapsed());
        answer
    }
}

/// The client reads region and trace mark from every answer, refusals included (trap 12).
fn with_trace(settings: &BrokerSettings, answer: Command) -> Command {
    answer.with_header(&answer::Trace(settings))
}

/// Waits until a message is durable; `false` for one that is not in time, but stored all the same.
///
/// # Errors
/// The disk failed before the message was in the log: it never will be.
async fn is_durable(broker: &Broker, end: i64, limit: Duration) -> Result<bool, Refusal> {
    if let Ok(Ok(())) = timeout(limit, broker.store.flushed(end)).await {
        return Ok(true);
    }
    match broker.store.check_writable() {
        Err(error) if broker.store.max_physical_offset() < end => Err(refusal(broker, &broker.settings(), &error)),
        _ => Ok(false),
    }
}
