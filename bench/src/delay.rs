//! Delayed messages: what delivering them costs. How late they are is what `tail --delay` measures.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::report::{Meter, Report, Usage};
use crate::send;
use crate::server_process::ServerProcess;
use crate::tail::max_offset;
use crate::wire::Caller;

/// Sends delayed messages as fast as answers come, and measures from just before the first of them is due until the last of
/// them is delivered. The load ends before the first one is due.
pub fn measure(load: &send::Options, level: i32, delay: Duration) -> Result<Report> {
    let mut caller = Caller::connect(&load.broker)?;
    let waiting = |caller: &mut Caller| max_offset(caller, SCHEDULE_TOPIC, level - 1);
    let delivered = |caller: &mut Caller| -> Result<i64> {
        (0..load.queues).map(|queue| max_offset(caller, &load.topic, queue)).sum::<Result<i64>>()
    };
    let (delivered_before, waiting_before) = (delivered(&mut caller)?, waiting(&mut caller)?);
    let begun = Instant::now();
    let properties = vec![("DELAY".to_owned(), level.to_string())];
    send::measure(&send::Options { properties, warm_up: 0.0, no_create: true, ..load.clone() })?;
    ensure!(begun.elapsed() + BEFORE < delay, "sending took longer than the delay");
    thread::sleep(delay.saturating_sub(begun.elapsed() + BEFORE));
    let count = waiting(&mut caller)? - waiting_before;
    let meter = Meter::start(load.server_pid.map(ServerProcess))?;
    let due = begun + delay;
    while delivered(&mut caller)? - delivered_before < count {
        ensure!(due.elapsed() < PATIENCE, "not all of {count} messages are delivered");
        thread::sleep(LOOK);
    }
    let messages = count as u64;
    let server: Option<Usage> = meter.stop()?.map(|spent| spent.on(messages));
    let what = format!("delivery of {messages} messages of delay level {level}");
    Ok(Report { server, ..Report::new(what, due.elapsed().as_secs_f64(), messages, 0) })
}

const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
const BEFORE: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_mins(2);
