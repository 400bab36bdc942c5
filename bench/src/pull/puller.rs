//! One connection that pulls several queues at the same time.

use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use apogee_remoting::protocol::pull::{PullMessageRequestHeader, PullMessageResponseHeader};
use apogee_remoting::{Command, RequestCode, Serialization};

use crate::clock::nanos;
use crate::wire::{Input, connect_patiently, decode};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct PullShape {
    /// Messages at once.
    pub most: i32,
    /// Which messages are asked for.
    pub filter: Filter,
    /// How long the broker is to hold a request for which there is nothing, ms; 0: not at all.
    pub hold_millis: i64,
}

/// Which messages are asked for.
#[derive(Clone, Debug)]
pub enum Filter {
    /// Those with these tags; the request says so.
    Tags(String),
    /// Those that an SQL-92 expression accepts, which the group's heartbeat told in this version, as push consumers do.
    Subscribed(i64),
}

/// Has one request open for each queue.
pub struct Puller {
    broker: String,
    stream: TcpStream,
    input: Input,
    shape: PullShape,
    queues: Vec<Queue>,
    open: usize,
    /// Of which queue the last answer was.
    current: usize,
}

struct Queue {
    topic: String,
    number: i32,
    offset: i64,
    asked: u64,
}

/// An answer; `records` borrows from the connection's buffer.
pub struct Pulled<'a> {
    /// Response code.
    pub code: i32,
    /// Since the request, in nanoseconds.
    pub latency: u64,
    /// The records, one behind the other.
    pub records: &'a [u8],
}

impl Pulled<'_> {
    /// Number of records, by their lengths.
    pub fn count_records(&self) -> u64 {
        let (mut rest, mut count) = (self.records, 0);
        while let Some(length) = rest.first_chunk().map(|word| u32::from_be_bytes(*word) as usize) {
            let Some(behind) = rest.get(length.max(4)..) else { break };
            rest = behind;
            count += 1;
        }
        count
    }
}

impl Puller {
    /// Connects; the queues are given as topic, number and offset to start at.
    pub fn connect(
        broker: &str,
        queues: impl IntoIterator<Item = (String, i32, i64)>,
        shape: PullShape,
    ) -> Result<Self> {
        // Longer than a broker holds a request.
        let stream = connect_patiently(broker, Duration::from_millis(shape.hold_millis as u64) + PATIENCE)?;
        let queue = |(topic, number, offset)| Queue { topic, number, offset, asked: 0 };
        let queues = queues.into_iter().map(queue).collect();
        let broker = broker.to_owned();
        Ok(Self { broker, stream, input: Input::default(), shape, queues, open: 0, current: 0 })
    }

    /// Requests without an answer.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Messages before the offsets that the answers led to: what was looked at, where queues were read from 0.
    pub fn passed(&self) -> u64 {
        self.queues.iter().map(|queue| queue.offset.max(0) as u64).sum()
    }

    /// Asks for all queues.
    pub fn ask_all(&mut self) -> Result<()> {
        (0..self.queues.len()).try_for_each(|at| self.ask(at))
    }

    /// Asks once more for the queue of the last answer, where that one said to go on.
    pub fn ask_again(&mut self) -> Result<()> {
        self.ask(self.current)
    }

    /// Asks for all queues so many times, or until the server takes no more requests, and keeps the connection until it is
    /// `over` without taking any answer.
    pub fn take_nothing(mut self, times: usize, over: impl Fn() -> bool) -> Result<()> {
        self.stream.set_write_timeout(Some(FULL)).context("cannot set up a connection")?;
        if let Err(error) = (0..times).try_for_each(|_| self.ask_all()) {
            let reason = error.root_cause().downcast_ref().map(io::Error::kind);
            ensure!(matches!(reason, Some(ErrorKind::WouldBlock | ErrorKind::TimedOut)), error);
        }
        while !over() {
            thread::sleep(FULL);
        }
        Ok(())
    }

    /// Waits for the next answer of any queue.
    pub fn next<T>(&mut self, see: impl FnOnce(Pulled<'_>) -> T) -> Result<T> {
        loop {
            if let Some(content) = self.input.next_frame() {
                let word = content.first_chunk::<4>().context("frame without header")?;
                let head = 4 + (u32::from_be_bytes(*word) as usize & 0xFF_FFFF);
                ensure!(head <= content.len(), "frame shorter than its header");
                let (head, records) = content.split_at(head);
                let answer = decode(head)?;
                if !answer.is_response() {
                    continue;
                }
                self.current = answer.opaque as usize;
                let queue = self.queues.get_mut(self.current).context("an answer nobody waits for")?;
                self.open -= 1;
                if let Ok(header) = answer.header::<PullMessageResponseHeader>() {
                    queue.offset = header.next_begin_offset;
                }
                return Ok(see(Pulled { code: answer.code, latency: nanos() - queue.asked, records }));
            }
            if self.input.fill(&mut self.stream).with_context(|| format!("no answer from {}", self.broker))? == 0 {
                bail!("{} closed the connection", self.broker);
            }
        }
    }

    fn ask(&mut self, at: usize) -> Result<()> {
        let queue = &mut self.queues[at];
        let hold = if self.shape.hold_millis > 0 { SUSPEND } else { 0 };
        let (in_request, subscription, version, kind) = match &self.shape.filter {
            Filter::Tags(tags) => (SUBSCRIPTION, Some(tags.as_str()), 0, "TAG"),
            Filter::Subscribed(version) => (0, None, *version, "SQL92"),
        };
        let header = PullMessageRequestHeader {
            consumer_group: GROUP,
            topic: &queue.topic,
            lite_topic: None,
            queue_id: queue.number,
            queue_offset: queue.offset,
            max_msg_nums: self.shape.most,
            sys_flag: in_request | hold,
            commit_offset: Some(0),
            suspend_timeout_millis: Some(self.shape.hold_millis),
            subscription,
            sub_version: Some(version),
            expression_type: Some(kind),
            max_msg_bytes: None,
            request_source: None,
            proxy_froward_client_id: None,
        };
        let mut request = Command::request(RequestCode::PULL_MESSAGE).with_header(&header);
        request.opaque = at as i32;
        queue.asked = nanos();
        let request = request.encode(Serialization::Json);
        self.stream.write_all(&request).with_context(|| format!("cannot write to {}", self.broker))?;
        self.open += 1;
        Ok(())
    }
}

/// The group that pulls.
pub const GROUP: &str = "apogee-bench-consumer";
/// Bits of a pull's system flag: the broker may hold the request; the filter is in the header.
const SUSPEND: i32 = 2;
const SUBSCRIPTION: i32 = 4;
/// A request that is not taken for so long will not be.
const FULL: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(20);
