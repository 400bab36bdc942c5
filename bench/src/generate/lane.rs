//! One thread of the generator with its connections.

use std::num::NonZeroU64;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::set_current_timer_slack;

use super::connection::Connection;
use super::{Course, Outcome, Template};
use crate::clock::{nanos, wall_millis};

/// When requests are sent.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// The next one when an answer comes, so many in flight on each connection.
    Closed(usize),
    /// One each so many nanoseconds whatever comes back. Latencies count from the time when a request was due,
    /// not from when it could be written: a server that stalls does not hide what waits behind the stall.
    Open(f64),
}

/// Sends to all templates in turn over its own connections.
pub struct Lane {
    connections: Vec<Connection>,
    templates: Arc<[Template]>,
    pace: Pace,
    course: Arc<Course>,
    /// Messages in each request.
    batch: u64,
    next_key: u64,
    next_template: usize,
    started: u64,
    issued: u64,
}

impl Lane {
    /// Connects; `number` tells the lanes of one generator apart.
    pub fn new(
        number: usize,
        (broker, connections): (&str, usize),
        templates: Arc<[Template]>,
        batch: usize,
        pace: Pace,
        course: Arc<Course>,
    ) -> Result<Self> {
        let connections = (0..connections).map(|_| Connection::new(broker)).collect::<Result<_>>()?;
        Ok(Self {
            connections,
            next_template: number * 17 % templates.len(),
            templates,
            pace,
            course,
            batch: batch as u64,
            next_key: (number as u64) << 56,
            started: 0,
            issued: 0,
        })
    }

    /// Sends until the course ends. In an open loop the answers to what was sent are then awaited for a while.
    pub fn run(mut self) -> Result<Outcome> {
        let outcome = self.send();
        if outcome.is_err() {
            // The others need not go on.
            self.course.end();
        }
        outcome
    }

    fn send(&mut self) -> Result<Outcome> {
        // A late wake-up of the generator would count as the server's latency.
        set_current_timer_slack(NonZeroU64::new(1)).context("cannot have timers that are in time")?;
        let mut outcome = Outcome::default();
        self.started = nanos();
        loop {
            let now = nanos();
            if now >= self.course.until() {
                break;
            }
            self.issue(now);
            self.turn(self.next_event(nanos()), &mut outcome)?;
        }
        if matches!(self.pace, Pace::Open(_)) {
            self.drain(&mut outcome)?;
        }
        Ok(outcome)
    }

    fn issue(&mut self, now: u64) {
        let before = self.issued;
        let born = wall_millis();
        match self.pace {
            Pace::Closed(in_flight) => {
                for at in 0..self.connections.len() {
                    while self.connections[at].open() < in_flight {
                        self.push(at, now, born);
                    }
                }
            }
            Pace::Open(interval) => {
                while self.due(interval) <= now {
                    let at = self.issued as usize % self.connections.len();
                    self.push(at, self.due(interval), born);
                }
            }
        }
        let bytes = (self.issued - before) * self.templates[0].len() as u64;
        self.course.count_sent(bytes);
    }

    fn push(&mut self, connection: usize, time: u64, born: i64) {
        self.connections[connection].push(&self.templates[self.next_template], self.next_key, time, born);
        self.next_template = (self.next_template + 1) % self.templates.len();
        self.next_key += self.batch;
        self.issued += 1;
    }

    fn due(&self, interval: f64) -> u64 {
        self.started + (self.issued as f64 * interval) as u64
    }

    /// Nanoseconds from `now` until something is to be done though no answer came.
    fn next_event(&self, now: u64) -> u64 {
        let end = self.course.until();
        let next = match self.pace {
            Pace::Closed(_) => end,
            Pace::Open(interval) => self.due(interval).min(end),
        };
        next.saturating_sub(now)
    }

    /// Writes, waits for at most `wait` nanoseconds, and reads.
    fn turn(&mut self, wait: u64, outcome: &mut Outcome) -> Result<()> {
        for connection in &mut self.connections {
            connection.flush()?;
        }
        let readable: Vec<bool> = {
            let mut waiting: Vec<PollFd> =
                self.connections.iter().map(|c| PollFd::new(c.stream(), events(c))).collect();
            let wait = Timespec { tv_sec: (wait / NANOS) as i64, tv_nsec: (wait % NANOS) as i64 };
            match poll(&mut waiting, Some(&wait)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
                Ok(_) => waiting.iter().map(|w| w.revents().intersects(!PollFlags::OUT)).collect(),
                Err(error) => return Err(error).context("cannot wait for answers"),
            }
        };
        let (closed, from, until) = (matches!(self.pace, Pace::Closed(_)), self.course.from, self.course.until());
        for (connection, _) in self.connections.iter_mut().zip(readable).filter(|(_, readable)| *readable) {
            let mut now = 0;
            connection.receive(|code, time| {
                if now == 0 {
                    now = nanos();
                }
                // A closed loop counts what was answered in time, an open one what was due in time.
                let counted = if closed { now } else { time };
                if (from..until).contains(&counted) {
                    outcome.record(code, now - time.min(now), self.batch);
                }
            })?;
        }
        Ok(())
    }

    fn drain(&mut self, outcome: &mut Outcome) -> Result<()> {
        let deadline = nanos() + PATIENCE;
        while self.connections.iter().any(|c| c.open() > 0) && nanos() < deadline {
            self.turn(NANOS / 100, outcome)?;
        }
        let now = nanos();
        for time in self.connections.iter().flat_map(Connection::unanswered).filter(|time| *time >= self.course.from) {
            outcome.record(NO_ANSWER, now - time, self.batch);
        }
        Ok(())
    }
}

impl Outcome {
    /// Counts an answer.
    pub fn record(&mut self, code: i32, latency: u64, messages: u64) {
        self.latency.saturating_record(latency.max(1));
        if code == 0 {
            self.messages += messages;
        } else {
            *self.failures.entry(code).or_default() += messages;
        }
    }
}

fn events(connection: &Connection) -> PollFlags {
    if connection.has_output() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
}

const NANOS: u64 = 1_000_000_000;
/// How long answers are awaited after the end.
const PATIENCE: u64 = 10 * NANOS;
const NO_ANSWER: i32 = -1;
