//! Delayed messages: what delivering them costs. How late they are is what `tail --delay` measures.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::report::{Meter, Report, Usage};
use crate::send;
use crate::server_process::ServerProcess;
use crate::tail::max_offset;
use crate::wire::Caller;

/// Delayed messages that were sent and wait.
pub struct Waiting<'a> {
    load: &'a send::Options,
    caller: Caller,
    /// Messages delivered before these.
    before: i64,
    count: i64,
    /// When the first of them is due, or a little before.
    due: Instant,
    level: i32,
}

impl<'a> Waiting<'a> {
    /// Sends delayed messages as fast as answers come. The load ends before the first one is due.
    pub fn send(load: &'a send::Options, level: i32, delay: Duration) -> Result<Self> {
        let mut caller = Caller::connect(&load.broker)?;
        let before = delivered(&mut caller, load)?;
        let waiting = max_offset(&mut caller, SCHEDULE_TOPIC, level - 1)?;
        let due = Instant::now() + delay;
        let properties = vec![("DELAY".to_owned(), level.to_string())];
        send::measure(&send::Options { properties, warm_up: 0.0, no_create: true, ..load.clone() })?;
        ensure!(Instant::now() + BEFORE < due, "sending took longer than the delay");
        let count = max_offset(&mut caller, SCHEDULE_TOPIC, level - 1)? - waiting;
        Ok(Self { load, caller, before, count, due, level })
    }

    /// Waits until just before the first of them is due.
    pub fn wait(&self) -> Result<()> {
        let wait = self.due.checked_duration_since(Instant::now() + BEFORE);
        thread::sleep(wait.context("messages became due before they were waited for")?);
        Ok(())
    }

    /// Measures until the last of them is delivered.
    pub fn delivered(mut self) -> Result<Report> {
        let meter = Meter::start(self.load.server_pid.map(ServerProcess))?;
        while delivered(&mut self.caller, self.load)? - self.before < self.count {
            ensure!(self.due.elapsed() < PATIENCE, "not all of {} messages are delivered", self.count);
            thread::sleep(LOOK);
        }
        let messages = self.count as u64;
        let server: Option<Usage> = meter.stop()?.map(|spent| spent.on(messages));
        let what = format!("delivery of {messages} messages of delay level {}", self.level);
        Ok(Report { server, ..Report::new(what, self.due.elapsed().as_secs_f64(), messages, 0) })
    }
}

fn delivered(caller: &mut Caller, load: &send::Options) -> Result<i64> {
    (0..load.queues).map(|queue| max_offset(caller, &load.topic, queue)).sum()
}

const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
const BEFORE: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_mins(2);
