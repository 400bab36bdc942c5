//! A producer ends a transaction: code 37.

use std::sync::Arc;

use apogee_config::{BrokerRole, BrokerSettings};
use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, Record};
use apogee_remoting::message::sys_flag;
use apogee_remoting::protocol::transaction::EndTransactionRequestHeader;
use apogee_remoting::server::{Answering, Reply};
use apogee_remoting::{Command, ResponseCode};
use apogee_store::{Appended, Marks};

use super::{HALF_TOPIC, immunity, notes};
use crate::answer::{NOT_SET, Refusal};
use crate::thread::on_thread;
use crate::{Broker, names, send};

/// Commits or rolls back (37). A producer that does not know yet is not answered.
pub(crate) fn end(broker: &Arc<Broker>, request: Command, answering: Answering<'_>) -> Reply {
    let settings = broker.settings();
    let header: EndTransactionRequestHeader<'_> = match request.header() {
        Ok(header) => header,
        Err(error) => return Command::from(Refusal::from(error)).into(),
    };
    let is_commit = match header.commit_or_rollback {
        sys_flag::TRANSACTION_COMMIT => true,
        sys_flag::TRANSACTION_ROLLBACK => false,
        _ if is_slave(&settings) => return slave().into(),
        _ => return Reply::Never,
    };
    if is_slave(&settings) {
        return slave().into();
    }
    let decide = |half: Option<&[u8]>| decide(broker, &settings, &header, is_commit, half);
    let ended = match broker.store.read_record_at_once(header.commit_log_offset, decide) {
        Ok(Some(ended)) => ended,
        Ok(None) => return Reply::later(end_on_thread(Arc::clone(broker), request, is_commit)),
        Err(error) => Err(error.into()),
    };
    match ended {
        Ok(Ended::Well) => answering.write_code(ResponseCode::SUCCESS),
        Ok(other) => Command::from(other).into(),
        Err(refusal) => Command::from(refusal).into(),
    }
}

/// Ends a transaction whose half is no longer in memory.
async fn end_on_thread(broker: Arc<Broker>, request: Command, is_commit: bool) -> Command {
    let end = move || {
        let header: EndTransactionRequestHeader<'_> = request.header()?;
        let half = broker.store.record_at(header.commit_log_offset)?;
        decide(&broker, &broker.settings(), &header, is_commit, half.as_deref())
    };
    on_thread(move || end().map_or_else(Command::from, Command::from)).await
}

/// What a producer is told of the end of a transaction.
enum Ended {
    /// It is committed, or had ended before.
    Well,
    RolledBack,
    /// The producer is asked first.
    TooLate,
}

impl From<Ended> for Command {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Well => Self::response(ResponseCode::SUCCESS),
            Ended::RolledBack => Self::response(ResponseCode::SUCCESS).with_remark(NOT_SET),
            Ended::TooLate => Self::response(ResponseCode::ILLEGAL_OPERATION).with_remark(NOT_SET),
        }
    }
}

fn decide(
    broker: &Broker,
    settings: &BrokerSettings,
    header: &EndTransactionRequestHeader<'_>,
    is_commit: bool,
    half: Option<&[u8]>,
) -> Result<Ended, Refusal> {
    let error = |remark| Refusal::new(ResponseCode::SYSTEM_ERROR, remark);
    let not_found = || error("Find prepared transaction message failed");
    let bytes = half.ok_or_else(not_found)?;
    let half = Record::parse(bytes).map_err(|_| not_found())?;
    if half.topic != HALF_TOPIC {
        return Err(not_found());
    }
    let sent = half.draft();
    let (transaction, properties) = Transaction::of(sent.properties, header.topic);
    if !header.from_transaction_check && transaction.is_too_late(broker, settings, &half) {
        return Ok(Ended::TooLate);
    }
    if transaction.group != Some(header.producer_group.unwrap_or_default().as_bytes()) {
        return Err(error("The producer group wrong"));
    }
    if half.queue_offset != header.tran_state_table_offset {
        return Err(error("The transaction state table offset wrong"));
    }
    if half.physical_offset != header.commit_log_offset {
        return Err(error("The commit log offset wrong"));
    }
    let topic = transaction.topic.ok_or_else(not_found)?;

    let mut halves = broker.transactions.halves.lock();
    if halves.is_ended(half.queue_offset) {
        // A second answer of the producer, to a check for instance.
        return Ok(Ended::Well);
    }
    let now = if is_commit {
        let draft =
            Draft { topic, queue_id: transaction.queue_id, prepared_transaction_offset: half.physical_offset, ..sent };
        commit(broker, settings, &draft, properties, &transaction)?.store_timestamp
    } else {
        broker.now()
    };
    halves.end(half.queue_offset);
    broker.transactions.metrics.add(topic, -1, now);
    if notes::are_full(settings, &halves)
        && let Err(error) = notes::write(broker, &mut halves)
    {
        tracing::warn!(%error, "ends of transactions are not noted yet");
    }
    drop(halves);
    broker.transactions.unwritten.notify_one();
    Ok(if is_commit { Ended::Well } else { Ended::RolledBack })
}

/// Stores the message where it was meant for.
fn commit(
    broker: &Broker,
    settings: &BrokerSettings,
    half: &Draft<'_>,
    mut properties: PropertiesBuf,
    transaction: &Transaction<'_>,
) -> Result<Appended, Refusal> {
    let mut target = (half.topic, half.queue_id);
    if let Some(queue) = broker.schedule.delay(&mut properties, transaction.delay_level, half.topic, half.queue_id) {
        target = (names::SCHEDULE_TOPIC, queue);
    }
    let draft = Draft {
        topic: target.0,
        queue_id: target.1,
        sys_flag: sys_flag::with_transaction_type(half.sys_flag, sys_flag::TRANSACTION_COMMIT),
        properties: properties.as_bytes(),
        ..*half
    };
    let appended = broker.store.append_marked(&draft, &transaction.marks);
    let appended = appended.map_err(|error| send::refusal(broker, settings, &error))?;
    broker.stats.stored(target.0, 1, appended.size);
    Ok(appended)
}

/// What a half says of its transaction.
#[derive(Default)]
struct Transaction<'a> {
    topic: Option<&'a str>,
    queue_id: i32,
    group: Option<&'a [u8]>,
    delay_level: i32,
    /// The time in which the producer wants to decide by itself.
    immunity: Option<&'a str>,
    /// What queue and index of the message are made of.
    marks: Marks<'a>,
}

impl<'a> Transaction<'a> {
    /// What properties of a half say, and those that its message has when it is committed. `topic` is likely the one that it is
    /// for.
    fn of(half: &'a [u8], topic: Option<&'a str>) -> (Self, PropertiesBuf) {
        let mut transaction = Self::default();
        let properties = PropertiesBuf::of_those(half, |name, value| {
            let text = || str::from_utf8(value).ok();
            let number = || text().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            match name {
                REAL_TOPIC => transaction.topic = topic.filter(|topic| topic.as_bytes() == value).or_else(text),
                REAL_QID => transaction.queue_id = number(),
                PGROUP => transaction.group = Some(value),
                DELAY => transaction.delay_level = number(),
                IMMUNITY => transaction.immunity = text(),
                _ => {
                    transaction.marks.take(name, value);
                }
            }
            name != REAL_TOPIC && name != REAL_QID
        });
        (transaction, properties)
    }

    /// Whether the time in which the producer wanted to decide by itself has run out: then it is asked.
    fn is_too_late(&self, broker: &Broker, settings: &BrokerSettings, half: &Record<'_>) -> bool {
        let Some(asked) = self.immunity else { return false };
        let least = settings.broker.transaction_time_out;
        broker.now() - half.born_timestamp > immunity(asked).unwrap_or(0).max(least)
    }
}

fn is_slave(settings: &BrokerSettings) -> bool {
    settings.store.broker_role == BrokerRole::Slave
}

fn slave() -> Command {
    Command::response(ResponseCode::SLAVE_NOT_AVAILABLE).with_remark(NOT_SET)
}

const REAL_TOPIC: &[u8] = key::REAL_TOPIC.as_bytes();
const REAL_QID: &[u8] = key::REAL_QID.as_bytes();
const PGROUP: &[u8] = key::PGROUP.as_bytes();
const DELAY: &[u8] = key::DELAY.as_bytes();
const IMMUNITY: &[u8] = key::CHECK_IMMUNITY_TIME_IN_SECONDS.as_bytes();
