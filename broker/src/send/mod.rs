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

use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_config::{BrokerRole, BrokerSettings, FlushDiskType};
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::server::{Answering, Peer, Reply, Ticket};
use apogee_remoting::{Command, ResponseCode};
use apogee_store::AppendError;
use tokio::time::timeout;

use crate::answer::Refusal;
use crate::replication::{Quorum, check_members};
use crate::settings::Settings;
use crate::thread::on_thread;
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
    /// Whether the topic was made for it: then the producer, or a consumer that it tells, asks for the route next.
    is_topic_new: bool,
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
    /// At once, on a thread that may wait for the disk.
    OnThread,
}

impl Way {
    fn may_wait_for_disk(self) -> bool {
        matches!(self, Self::OnThread)
    }
}

/// Why a message or a batch is not in the log.
enum NotStored {
    Refused(Refusal),
    /// A topic or a group has to be made and written down first, which takes a thread that may wait.
    NeedsThread,
}

impl NotStored {
    /// What it is on a thread that may wait.
    fn on_thread(self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            Self::NeedsThread => unreachable!("this is a thread that may wait"),
        }
    }
}

impl From<Refusal> for NotStored {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
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
        Err(NotStored::Refused(refusal)) => with_trace(&settings, refusal.into()).into(),
        Err(NotStored::NeedsThread) => {
            append(broker);
            Reply::later(send_on_thread(Arc::clone(broker), Arc::clone(peer), request))
        }
    }
}

async fn send_on_thread(broker: Arc<Broker>, peer: Arc<Peer>, request: Command) -> Command {
    let begun = Instant::now();
    let storing = Arc::clone(&broker);
    let unsettled = on_thread(move || {
        let settings = storing.settings();
        match store(&storing, &settings, &peer, &request, Way::OnThread) {
            Ok(Sent::Stored(stored)) => Unsettled::of(&storing, &settings, stored).detached(&settings),
            Ok(Sent::Gathered) => unreachable!("it goes into the log at once"),
            Err(not_stored) => Unsettled::refused(with_trace(&settings, not_stored.on_thread().into())),
        }
    });
    unsettled.await.settle(&broker, begun).await
}

fn store<'a>(
    broker: &Broker,
    settings: &Settings,
    peer: &Peer,
    request: &'a Command,
    way: Way,
) -> Result<Sent<'a>, NotStored> {
    let message = SendMessageRequestHeader::of(request).map_err(Refusal::from)?;
    check_members(broker, settings, message.properties.unwrap_or_default())?;
    if message.batch == Some(true) {
        append(broker);
        batch::send(broker, settings, peer, &message, request, way.may_wait_for_disk()).map(Sent::Stored)
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
    is_topic_new: bool,
}

impl<'a> Unsettled<StoredAnswer<'a>> {
    fn of(broker: &Broker, settings: &Settings, stored: Stored<'a>) -> Self {
        let limit = (stored.waits && settings.store.flush_disk_type == FlushDiskType::SyncFlush)
            .then(|| Duration::from_millis(settings.store.sync_flush_timeout.max(1) as u64));
        let quorum = if stored.waits { Quorum::of(broker, settings, stored.end) } else { None };
        Self { answer: stored.answer, end: stored.end, limit, quorum, is_topic_new: stored.is_topic_new }
    }

    fn is_settled(&self) -> bool {
        self.limit.is_none() && self.quorum.is_none() && !self.is_topic_new
    }

    /// The same without what the answer borrows from its request.
    fn detached(self, settings: &Settings) -> Unsettled<Command> {
        let Self { answer, end, limit, quorum, is_topic_new } = self;
        Unsettled { answer: answer.into_command(settings), end, limit, quorum, is_topic_new }
    }
}

impl Unsettled<Command> {
    /// Nothing is in the log, so there is nothing to wait for.
    fn refused(answer: Command) -> Self {
        Self { answer, end: 0, limit: None, quorum: None, is_topic_new: false }
    }

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
        if self.is_topic_new {
            registration::settled(broker).await;
        }
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
