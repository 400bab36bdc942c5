//! Reading for a pull, and what the client is told of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apogee_remoting::protocol::pull::PullMessageResponseHeader;
use apogee_remoting::server::{Answering, Reply};
use apogee_remoting::{Body, Command, ResponseCode};
use apogee_store::{GetRequest, GetResult, GetStatus};

use super::check::{FLAG_COMMIT_OFFSET, FLAG_SUSPEND, Pull};
use super::{Attempt, HoldPlan, Mode};
use crate::Broker;
use crate::answer::Refusal;
use crate::readers::Weighs;
use crate::replication::MASTER_ID;

/// What a pull is told of what was read, or why it was not.
pub(super) enum PullAnswer {
    /// Of such answers there are many.
    Read(ReadAnswer),
    Other(Command),
}

/// What a pull is told of what was read.
pub(super) struct ReadAnswer {
    code: ResponseCode,
    remark: &'static str,
    header: PullMessageResponseHeader,
    body: Body,
}

impl PullAnswer {
    /// Answers at once.
    pub(super) fn give(self, answering: Answering<'_>) -> Reply {
        match self {
            Self::Read(ReadAnswer { code, remark, header, body }) => answering.write(code, Some(remark), &header, body),
            Self::Other(command) => command.into(),
        }
    }
}

impl From<PullAnswer> for Command {
    fn from(answer: PullAnswer) -> Self {
        match answer {
            PullAnswer::Read(ReadAnswer { code, remark, header, body }) => {
                Self::response(code).with_remark(remark).with_header(&header).with_body(body)
            }
            PullAnswer::Other(command) => command,
        }
    }
}

impl Weighs for Attempt {
    fn weight(&self) -> usize {
        match self {
            Self::Answer(PullAnswer::Read(answer)) => answer.body.len(),
            Self::Answer(PullAnswer::Other(answer)) => answer.weight(),
            Self::Cold | Self::Hold(_) => 0,
        }
    }
}

impl<C: Into<Command>> From<C> for Attempt {
    fn from(answer: C) -> Self {
        Self::Answer(PullAnswer::Other(answer.into()))
    }
}

impl Pull<'_> {
    /// Reads what the pull asks for, unless that needs a thread that may wait.
    pub(super) fn read(self, broker: &Broker, mode: Mode) -> Attempt {
        let header = &self.header;
        let (topic, queue_id, offset) = (header.topic, header.queue_id, header.queue_offset);
        if let Some(offset) = broker.offsets.take_reset(header.consumer_group, topic, queue_id) {
            return self.moved(broker, offset);
        }
        let request = GetRequest {
            topic,
            queue_id,
            offset,
            max_count: header.max_msg_nums.max(0) as usize,
            max_bytes: header.max_msg_bytes.filter(|bytes| *bytes > 0).map_or(usize::MAX, |bytes| bytes as usize),
        };
        let begun = Instant::now();
        let found = if mode.may_wait_for_disk {
            broker.store.get(&request, Some(&self.filter)).map(Some)
        } else {
            broker.store.get_at_once(&request, Some(&self.filter))
        };
        let found = match found {
            Ok(Some(found)) => found,
            Ok(None) => return Attempt::Cold,
            Err(error) => return Refusal::from(error).into(),
        };
        broker.stats.read_took(begun.elapsed(), found.status == GetStatus::Found);
        self.note_offsets(broker, mode, found.next_offset);
        let code = response_code(found.status, header.queue_offset);
        let is_held_elsewhere = broker.replication.has_living_master() && !found.suggest_slave;
        if code == ResponseCode::PULL_NOT_FOUND && mode.may_hold && header.sys_flag & FLAG_SUSPEND != 0 {
            let mut plan = self.hold_plan(broker);
            if is_held_elsewhere {
                // One that does not find the master yet would ask again and again, as it does with the reference's slave.
                plan.time = plan.time.min(BEFORE_SENT_BACK);
            }
            return Attempt::Hold(plan);
        }
        Attempt::Answer(PullAnswer::Read(self.answer(broker, code, found)))
    }

    /// The offsets that a pull brings: where the group is with the queue, and how far it has pulled.
    fn note_offsets(&self, broker: &Broker, mode: Mode, next_offset: i64) {
        let header = &self.header;
        broker.offsets.note_pulled(header.consumer_group, header.topic, header.queue_id, next_offset);
        // A pull that was held brought its offset when it came.
        if mode.is_first
            && header.sys_flag & FLAG_COMMIT_OFFSET != 0
            && let Some(consumed) = header.commit_offset
        {
            broker.commit_offset(header.consumer_group, header.topic, header.queue_id, consumed);
        }
    }

    /// Sends the client to the offset that its group was reset to. What the pull would commit is from before the reset.
    fn moved(&self, broker: &Broker, offset: i64) -> Attempt {
        let header = &self.header;
        broker.offsets.note_pulled(header.consumer_group, header.topic, header.queue_id, offset);
        let min = broker.store.min_offset(header.topic, header.queue_id);
        let max = broker.store.max_offset(header.topic, header.queue_id);
        let found = GetResult::empty(GetStatus::OffsetTooSmall, offset, min, max);
        let answer = self.answer(broker, ResponseCode::PULL_OFFSET_MOVED, found);
        Attempt::Answer(PullAnswer::Read(ReadAnswer { remark: "OFFSET_RESET", ..answer }))
    }

    fn hold_plan(self, broker: &Broker) -> HoldPlan {
        let settings = broker.settings();
        let time = if settings.broker.long_polling_enable {
            self.header.suspend_timeout_millis.unwrap_or(0)
        } else {
            settings.broker.short_polling_time_mills
        };
        HoldPlan {
            topic: Arc::from(self.header.topic),
            queue_id: self.header.queue_id,
            offset: self.header.queue_offset,
            filter: self.filter,
            time: Duration::from_millis(time.max(0) as u64),
        }
    }

    fn answer(&self, broker: &Broker, code: ResponseCode, found: GetResult) -> ReadAnswer {
        let settings = broker.settings();
        let mut code = code;
        let mut broker_id = match (settings.broker.slave_read_enable, found.suggest_slave) {
            (false, _) => MASTER_ID,
            (true, true) => self.group.which_broker_when_consume_slowly,
            (true, false) => self.group.broker_id,
        };
        // The master is preferred where this is a slave that need not help out. While it is gone this slave answers as a
        // master does: the reference's lets consumers ask again and again, without a pause.
        if broker.replication.has_living_master() && !found.suggest_slave {
            broker_id = MASTER_ID;
            if found.status != GetStatus::Found {
                code = ResponseCode::PULL_RETRY_IMMEDIATELY;
            }
        }
        let header = PullMessageResponseHeader {
            suggest_which_broker_id: broker_id,
            next_begin_offset: found.next_offset,
            min_offset: found.min_offset,
            max_offset: found.max_offset,
            offset_delta: None,
            topic_sys_flag: Some(self.topic.topic_sys_flag),
            group_sys_flag: Some(self.group.group_sys_flag),
            forbidden_type: None,
        };
        let mut answer = ReadAnswer { code, remark: name(found.status), header, body: Body::default() };
        if code == ResponseCode::SUCCESS {
            broker.stats.pulled(self.header.consumer_group, self.header.topic, found.count, found.bytes);
            answer.body = found.runs.into();
        }
        if code == ResponseCode::PULL_OFFSET_MOVED {
            tracing::warn!(
                topic = self.header.topic,
                queue = self.header.queue_id,
                group = self.header.consumer_group,
                asked = self.header.queue_offset,
                next = found.next_offset,
                "a pull outside the queue was moved"
            );
        }
        answer
    }
}

/// The status as the reference names it; clients see it as remark.
fn name(status: GetStatus) -> &'static str {
    match status {
        GetStatus::Found => "FOUND",
        GetStatus::NoMatchedMessage => "NO_MATCHED_MESSAGE",
        GetStatus::MessageWasRemoving => "MESSAGE_WAS_REMOVING",
        GetStatus::OffsetFoundNull => "OFFSET_FOUND_NULL",
        GetStatus::OffsetOverflowBadly => "OFFSET_OVERFLOW_BADLY",
        GetStatus::OffsetOverflowOne => "OFFSET_OVERFLOW_ONE",
        GetStatus::OffsetTooSmall => "OFFSET_TOO_SMALL",
        // The topic is known here, and the reference makes a queue of it come to be by looking for it.
        GetStatus::NoMatchedLogicQueue | GetStatus::NoMessageInQueue => "NO_MESSAGE_IN_QUEUE",
    }
}

fn response_code(status: GetStatus, asked: i64) -> ResponseCode {
    match status {
        GetStatus::Found => ResponseCode::SUCCESS,
        GetStatus::MessageWasRemoving | GetStatus::NoMatchedMessage => ResponseCode::PULL_RETRY_IMMEDIATELY,
        GetStatus::NoMatchedLogicQueue | GetStatus::NoMessageInQueue if asked != 0 => ResponseCode::PULL_OFFSET_MOVED,
        GetStatus::NoMatchedLogicQueue
        | GetStatus::NoMessageInQueue
        | GetStatus::OffsetFoundNull
        | GetStatus::OffsetOverflowOne => ResponseCode::PULL_NOT_FOUND,
        GetStatus::OffsetOverflowBadly | GetStatus::OffsetTooSmall => ResponseCode::PULL_OFFSET_MOVED,
    }
}

/// How long a slave holds a pull that its master should hold.
const BEFORE_SENT_BACK: Duration = Duration::from_millis(200);
