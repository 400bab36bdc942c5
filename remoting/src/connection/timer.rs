//! The clock of a connection: idle close, stalled writes, memory of quiet times.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::end::End;
use super::{Connection, ConnectionOptions};
use crate::server::Service;

/// While there is traffic this ticks slowly and is never moved; once quiet, it waits for the end of
/// the idle time.
pub(super) struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// Set by traffic, looked at by ticks.
    active: bool,
    /// When a tick last saw traffic.
    last_active: Instant,
    ticking: bool,
    tick: Duration,
}

impl Timer {
    pub fn new(options: &ConnectionOptions) -> Self {
        let mut tick = TICK.min(options.stall);
        if !options.idle.is_zero() {
            tick = tick.min(options.idle);
        }
        let now = Instant::now();
        Self {
            sleep: Box::pin(tokio::time::sleep_until(now + tick)),
            active: false,
            last_active: now,
            ticking: true,
            tick,
        }
    }

    /// There was traffic.
    pub fn active(&mut self) {
        self.active = true;
        if !self.ticking {
            self.ticking = true;
            self.sleep.as_mut().reset(Instant::now() + self.tick);
        }
    }

    fn wait_until(&mut self, at: Instant) {
        self.sleep.as_mut().reset(at);
    }
}

impl<S: Service + ?Sized> Connection<S> {
    /// Waits; ends when the connection has been idle or stalled for too long.
    pub(super) fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        loop {
            ready!(self.timer.sleep.as_mut().poll(cx));
            let now = Instant::now();
            if std::mem::take(&mut self.timer.active) {
                self.timer.last_active = now;
                self.timer.wait_until(now + self.timer.tick);
                continue;
            }
            let quiet = now - self.timer.last_active;
            if !self.output.is_empty() {
                if quiet >= self.options.stall {
                    return Poll::Ready(End::Stalled { unsent: self.output.len() });
                }
                self.timer.wait_until(now + self.timer.tick);
                continue;
            }
            self.release();
            let idle = self.options.idle;
            let pending = !self.flight.is_empty() || self.peer.has_calls();
            if !idle.is_zero() && quiet >= idle && !pending {
                return Poll::Ready(End::Idle);
            }
            self.timer.ticking = false;
            self.timer.wait_until(if idle.is_zero() {
                now + FAR
            } else if pending {
                now + idle
            } else {
                self.timer.last_active + idle
            });
        }
    }

    fn release(&mut self) {
        self.input.release();
        self.output.release();
        self.peer.release();
    }
}

const TICK: Duration = Duration::from_secs(1);
/// Never, for a timer.
const FAR: Duration = Duration::from_hours(24 * 365);
