//! A producer ends a transaction: code 37.

use std::sync::Arc;

use apogee_config::BrokerRole;
use apogee_remoting::message::properties::{PropertiesBuf, key};
use apogee_remoting::message::record::{Draft, Record};
use apogee_remoting::message::sys_flag;
use apogee_remoting::protocol::transaction::EndTransactionRequestHeader;
use apogee_remoting::server::Reply;
use apogee_remoting::{Command, ResponseCode};
use bytes::Bytes;

use super::{HALF_TOPIC, immunity, notes};
use crate::answer::{Answer, NOT_SET, Refusal};
use crate::thread::on_thread;
use crate::{Broker, names, send};

/// Commits or rolls back (37). A producer that does not know yet is not answered.
pub(crate) fn end(broker: &Arc<Broker>, request: Command) -> Reply {
    let header: EndTransactionRequestHeader<'_> = match request.header() {
        Ok(header) => header,
        Err(error) => return Command::from(Refusal::from(error)).into(),
    };
    let is_commit = match header.commit_or_rollback {
        sys_flag::TRANSACTION_COMMIT => true,
        sys_flag::TRANSACTION_ROLLBACK => false,
        _ if is_slave(broker) => return slave().into(),
        _ => return Reply::Never,
    };
    if is_slave(broker) {
        return slave().into();
    }
    let decided = match broker.store.record_at_once(header.commit_log_offset) {
        Ok(Some(half)) => decide(broker, &header, is_commit, half),
        Ok(None) => return Reply::later(end_on_thread(Arc::clone(broker), request, is_commit)),
        Err(error) => Err(error.into()),
    };
    decided.unwrap_or_else(Command::from).into()
}

/// Ends a transaction whose half is no longer in memory.
async fn end_on_thread(broker: Arc<Broker>, request: Command, is_commit: bool) -> Command {
    let end = move || {
        let header: EndTransactionRequestHeader<'_> = request.header()?;
        let half = broker.store.record_at(header.commit_log_offset)?;
        decide(&broker, &header, is_commit, half)
    };
    on_thread(move || end().unwrap_or_else(Command::from)).await
}

fn decide(broker: &Broker, header: &EndTransactionRequestHeader<'_>, is_commit: bool, half: Option<Bytes>) -> Answer {
    let error = |remark| Refusal::new(ResponseCode::SYSTEM_ERROR, remark);
    let not_found = || error("Find prepared transaction message failed");
    let bytes = half.ok_or_else(not_found)?;
    let half = Record::parse(&bytes).map_err(|_| not_found())?;
    if half.topic != HALF_TOPIC {
        return Err(not_found());
    }
    let sent = half.draft();
    let (transaction, properties) = Transaction::of(sent.properties);
    if !header.from_transaction_check && transaction.is_too_late(broker, &half) {
        return Ok(Command::response(ResponseCode::ILLEGAL_OPERATION).with_remark(NOT_SET));
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
        return Ok(Command::response(ResponseCode::SUCCESS));
    }
    if is_commit {
        let draft =
            Draft { topic, queue_id: transaction.queue_id, prepared_transaction_offset: half.physical_offset, ..sent };
        commit(broker, &draft, properties, transaction.delay_level)?;
    }
    halves.end(half.queue_offset);
    broker.transactions.metrics.add(topic, -1);
    if notes::are_full(broker, &halves)
        && let Err(error) = notes::write(broker, &mut halves)
    {
        tracing::warn!(%error, "ends of transactions are not noted yet");
    }
    drop(halves);
    broker.transactions.unwritten.notify_one();
    let answer = Command::response(ResponseCode::SUCCESS);
    Ok(if is_commit { answer } else { answer.with_remark(NOT_SET) })
}

/// Stores the message where it was meant for.
fn commit(broker: &Broker, half: &Draft<'_>, mut properties: PropertiesBuf, delay_level: i32) -> Result<(), Refusal> {
    let settings = broker.settings();
    let mut target = (half.topic, half.queue_id);
    if let Some(queue) = broker.schedule.delay(&mut properties, delay_level, half.topic, half.queue_id) {
        target = (names::SCHEDULE_TOPIC, queue);
    }
    let draft = Draft {
        topic: target.0,
        queue_id: target.1,
        sys_flag: sys_flag::with_transaction_type(half.sys_flag, sys_flag::TRANSACTION_COMMIT),
        properties: properties.as_bytes(),
        ..*half
    };
    let appended = broker.store.append(&draft).map_err(|error| send::refusal(broker, &settings, &error))?;
    broker.stats.stored(target.0, 1, appended.size);
    Ok(())
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
}

impl<'a> Transaction<'a> {
    /// What properties of a half say, and those that its message has when it is committed.
    fn of(half: &'a [u8]) -> (Self, PropertiesBuf) {
        let mut transaction = Self::default();
        let properties = PropertiesBuf::of_those(half, |name, value| {
            let text = || str::from_utf8(value).ok();
            let number = || text().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            match name {
                REAL_TOPIC => transaction.topic = text(),
                REAL_QID => transaction.queue_id = number(),
                PGROUP => transaction.group = Some(value),
                DELAY => transaction.delay_level = number(),
                IMMUNITY => transaction.immunity = text(),
                _ => {}
            }
            name != REAL_TOPIC && name != REAL_QID
        });
        (transaction, properties)
    }

    /// Whether the time in which the producer wanted to decide by itself has run out: then it is asked.
    fn is_too_late(&self, broker: &Broker, half: &Record<'_>) -> bool {
        let Some(asked) = self.immunity else { return false };
        let least = broker.settings().broker.transaction_time_out;
        broker.now() - half.born_timestamp > immunity(asked).unwrap_or(0).max(least)
    }
}

fn is_slave(broker: &Broker) -> bool {
    broker.settings().store.broker_role == BrokerRole::Slave
}

fn slave() -> Command {
    Command::response(ResponseCode::SLAVE_NOT_AVAILABLE).with_remark(NOT_SET)
}

const REAL_TOPIC: &[u8] = key::REAL_TOPIC.as_bytes();
const REAL_QID: &[u8] = key::REAL_QID.as_bytes();
const PGROUP: &[u8] = key::PGROUP.as_bytes();
const DELAY: &[u8] = key::DELAY.as_bytes();
const IMMUNITY: &[u8] = key::CHECK_IMMUNITY_TIME_IN_SECONDS.as_bytes();
