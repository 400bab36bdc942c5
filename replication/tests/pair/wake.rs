//! That a send waits for nothing but its way to the slave and back: no timer is near that would hide a wake that went missing.

use std::sync::Arc;
use std::time::Duration;

use apogee_replication::Options;
use apogee_replication::slave::Fit;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::pair::{Following, Node, Serving, assert_same, caught_up, draft, until, urgent};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_send_is_woken_by_the_report_that_it_waits_for() {
    let far = Options { heartbeat: Duration::from_hours(1), silence: Duration::from_hours(2), ..urgent() };
    let (master, slave) = (Node::large(), Node::large());
    let serving = Serving::with(&master, far).await;
    let following = Following::with(&slave, &serving.address, Fit::Proved, far);
    until("the slave is there", || !serving.master.slaves().list().is_empty()).await;
    // One that finds everybody asleep each time, and many that meet others at work.
    for producers in [1, 32] {
        let mut sending = JoinSet::new();
        for producer in 0..producers {
            let (store, acknowledged) = (Arc::clone(&master.store), serving.master.clone());
            sending.spawn(async move {
                for n in 0..SENDS / producers {
                    let end = store.append(&draft(&[n as u8; 300])).unwrap().end();
                    let wait = timeout(PATIENCE, acknowledged.acknowledged(end, 1)).await;
                    wait.unwrap_or_else(|_| panic!("producer {producer} of {producers} waits for message {n}"));
                }
            });
        }
        sending.join_all().await;
    }
    caught_up(&master, &slave).await;
    assert_same(&master, &slave);
    following.stop().await;
    serving.stop().await;
}

/// Messages of each kind of load.
const SENDS: usize = 2000;
const PATIENCE: Duration = Duration::from_secs(20);
