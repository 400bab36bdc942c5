//! The slaves that are connected, how far each has the log, and those who wait for them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::Notify;

use crate::rate::Rate;

/// All slaves of a master.
#[derive(Debug, Default)]
pub struct Slaves {
    state: Mutex<State>,
    /// Tells that one has more of the log, or left.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    connected: Vec<Arc<Slave>>,
    /// Those who wait: a report looks only at those whom it wakes.
    waiters: BTreeMap<Place, Waker>,
    tickets: u64,
    /// How far the slaves are, the furthest first; kept for its memory.
    positions: Vec<i64>,
}

/// Of one who waits: how many slaves have to have everything before which physical offset, and a number of its own.
type Place = (usize, i64, u64);

/// A slave that is connected.
#[derive(Debug)]
pub struct Slave {
    /// Where it comes from.
    pub address: SocketAddr,
    acknowledged: AtomicI64,
    sent: AtomicI64,
    pub(super) rate: Rate,
}

/// A slave says that it has what it was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the slave reports {reported}, and was sent the log up to {sent}: this is no slave of this master")]
pub struct NeverSent {
    /// Physical offset that it says to have.
    pub reported: i64,
    /// Physical offset up to which it can have it.
    pub sent: i64,
}

impl Slave {
    /// Physical offset up to which it has the log.
    pub fn acknowledged(&self) -> i64 {
        self.acknowledged.load(Ordering::Acquire)
    }

    /// Physical offset up to which it was sent.
    pub fn sent(&self) -> i64 {
        self.sent.load(Ordering::Acquire)
    }

    /// Bytes it was sent in the last second.
    pub fn bytes_per_second(&self) -> u64 {
        self.rate.per_second()
    }

    /// It is about to be sent everything before a physical offset.
    pub(super) fn sending(&self, position: i64) {
        self.sent.store(position, Ordering::Release);
    }
}

impl Slaves {
    /// The slaves, in the order in which they came.
    pub fn list(&self) -> Vec<Arc<Slave>> {
        self.state.lock().connected.clone()
    }

    /// Ends when all that are connected have everything before a physical offset.
    pub(super) async fn have_all(&self, position: i64) {
        loop {
            // before the look: what changes from here on ends the wait
            let changed = self.changed.notified();
            if self.state.lock().connected.iter().all(|slave| slave.acknowledged() >= position) {
                return;
            }
            changed.await;
        }
    }

    /// How many have everything before a physical offset but for less than `gap` bytes.
    pub fn count_within(&self, gap: i64, position: i64) -> usize {
        self.state.lock().connected.iter().filter(|slave| position - slave.acknowledged() < gap).count()
    }

    /// A slave whose log ends at `asked` is served from `start` on. It leaves when this is dropped.
    pub(super) fn join(this: &Arc<Self>, address: SocketAddr, asked: i64, start: i64) -> Joined {
        let slave = Arc::new(Slave {
            address,
            acknowledged: AtomicI64::new(0),
            sent: AtomicI64::new(start),
            rate: Rate::default(),
        });
        this.state.lock().connected.push(Arc::clone(&slave));
        let joined = Joined { slaves: Arc::clone(this), slave };
        joined.acknowledge(asked);
        joined
    }

    pub(super) fn acknowledged(this: &Arc<Self>, position: i64, count: usize) -> Acknowledged {
        Acknowledged { slaves: Arc::clone(this), position, count, place: None }
    }

    fn poll(&self, wait: &mut Acknowledged, context: &Context<'_>) -> Poll<()> {
        let state = &mut *self.state.lock();
        if have(&state.connected, wait.position, wait.count) {
            // Who made it true took it from its place.
            wait.place = None;
            return Poll::Ready(());
        }
        let place = *wait.place.get_or_insert_with(|| {
            state.tickets += 1;
            (wait.count, wait.position, state.tickets)
        });
        match state.waiters.entry(place) {
            Entry::Occupied(waiting) => waiting.into_mut().clone_from(context.waker()),
            Entry::Vacant(free) => drop(free.insert(context.waker().clone())),
        }
        Poll::Pending
    }
}

/// Whether at least so many have everything before a physical offset.
fn have(connected: &[Arc<Slave>], position: i64, count: usize) -> bool {
    connected.iter().filter(|slave| slave.acknowledged() >= position).count() >= count
}

/// A slave's place among the others.
pub(super) struct Joined {
    slaves: Arc<Slaves>,
    pub(super) slave: Arc<Slave>,
}

impl Joined {
    /// The slave says that it has everything before a physical offset: who waited for that wakes.
    ///
    /// # Errors
    /// It was not sent that much.
    pub(super) fn report(&self, position: i64) -> Result<(), NeverSent> {
        let sent = self.slave.sent();
        if !(0..=sent).contains(&position) {
            return Err(NeverSent { reported: position, sent });
        }
        self.acknowledge(position);
        Ok(())
    }

    fn acknowledge(&self, position: i64) {
        let mut ready = Vec::new();
        {
            let State { connected, waiters, positions, .. } = &mut *self.slaves.state.lock();
            self.slave.acknowledged.store(position, Ordering::Release);
            positions.clear();
            positions.extend(connected.iter().map(|slave| slave.acknowledged()));
            positions.sort_unstable_by(|one, other| other.cmp(one));
            // As many slaves as there are up to here have everything before this position.
            for (count, position) in (1..).zip(&*positions) {
                let served = (count, i64::MIN, 0)..=(count, *position, u64::MAX);
                ready.extend(waiters.extract_if(served, |_, _| true).map(|(_, waker)| waker));
            }
        }
        ready.into_iter().for_each(Waker::wake);
        self.slaves.changed.notify_waiters();
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.slaves.state.lock().connected.retain(|slave| !Arc::ptr_eq(slave, &self.slave));
        self.slaves.changed.notify_waiters();
    }
}

/// Waits until so many slaves have everything before a physical offset; dropping it gives the wait up.
#[derive(Debug)]
pub struct Acknowledged {
    slaves: Arc<Slaves>,
    position: i64,
    count: usize,
    /// Where it waits, unless it was woken.
    place: Option<Place>,
}

impl Future for Acknowledged {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let slaves = Arc::clone(&self.slaves);
        slaves.poll(&mut self, context)
    }
}

impl Drop for Acknowledged {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.slaves.state.lock().waiters.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(slaves: &Arc<Slaves>, asked: i64, sent: i64) -> Joined {
        Slaves::join(slaves, ([127, 0, 0, 1], 1).into(), asked, sent)
    }

    fn is_ready(wait: &mut Acknowledged) -> bool {
        Pin::new(wait).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_wait_ends_with_the_report_that_makes_it_true() {
        let slaves = Arc::new(Slaves::default());
        let mut one = Slaves::acknowledged(&slaves, 100, 1);
        let mut two = Slaves::acknowledged(&slaves, 100, 2);
        assert!(is_ready(&mut Slaves::acknowledged(&slaves, 100, 0)));
        assert!(!is_ready(&mut one) && !is_ready(&mut two));
        let (first, second) = (join(&slaves, 50, 200), join(&slaves, 0, 200));
        first.report(100).unwrap();
        assert!(is_ready(&mut one) && !is_ready(&mut two) && !is_ready(&mut two));
        second.report(99).unwrap();
        assert!(!is_ready(&mut two));
        second.report(150).unwrap();
        assert!(is_ready(&mut two));
        drop((one, two));
        assert!(slaves.state.lock().waiters.is_empty());
    }

    #[test]
    fn a_report_wakes_those_whom_it_concerns() {
        let slaves = Arc::new(Slaves::default());
        let mut waits: Vec<_> =
            (0..60).map(|n| Slaves::acknowledged(&slaves, n / 2 * 10, 1 + n as usize % 2)).collect();
        assert!(waits.iter_mut().all(|wait| !is_ready(wait)));
        let still = || slaves.state.lock().waiters.len();
        let (first, second) = (join(&slaves, 0, 1000), join(&slaves, 0, 1000));
        assert_eq!(still(), 58, "everything before 0");
        first.report(105).unwrap();
        assert_eq!(still(), 48);
        second.report(200).unwrap();
        assert_eq!(still(), 28, "one has it up to 200, both up to 105");
        waits.truncate(50);
        assert_eq!(still(), 18);
        drop(second);
        assert_eq!(waits.iter_mut().filter_map(|wait| is_ready(wait).then_some(())).count(), 11, "up to 105, for one");
        assert_eq!(still(), 39, "the others wait again");
        drop(waits);
        assert_eq!(still(), 0);
    }

    #[test]
    fn who_comes_with_it_or_goes_counts() {
        let slaves = Arc::new(Slaves::default());
        let mut wait = Slaves::acknowledged(&slaves, 100, 1);
        assert!(!is_ready(&mut wait));
        let slave = join(&slaves, 120, 120);
        assert!(is_ready(&mut wait));
        assert_eq!((slaves.count_within(10, 129), slaves.count_within(10, 130)), (1, 0));
        drop(slave);
        assert!(!is_ready(&mut Slaves::acknowledged(&slaves, 100, 1)) && slaves.list().is_empty());
    }

    #[tokio::test]
    async fn all_have_it_when_the_last_reports_or_leaves() {
        let slaves = Arc::new(Slaves::default());
        slaves.have_all(100).await;
        let (first, second, third) = (join(&slaves, 0, 100), join(&slaves, 100, 100), join(&slaves, 0, 100));
        let waiting = Arc::clone(&slaves);
        let all = tokio::spawn(async move { waiting.have_all(100).await });
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        first.report(100).unwrap();
        tokio::task::yield_now().await;
        assert!(!all.is_finished());
        drop(third);
        all.await.unwrap();
        drop(second);
    }

    #[test]
    fn what_was_not_sent_is_not_believed() {
        let slaves = Arc::new(Slaves::default());
        let slave = join(&slaves, 0, 100);
        assert_eq!(slave.report(101), Err(NeverSent { reported: 101, sent: 100 }));
        assert_eq!(slave.report(-1), Err(NeverSent { reported: -1, sent: 100 }));
        assert_eq!(slave.slave.acknowledged(), 0);
        slave.slave.sending(150);
        assert_eq!(slave.report(101), Ok(()));
    }
}
