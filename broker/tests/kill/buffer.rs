//! The reference may keep messages in a buffer of its own until they are committed (`transientStorePoolEnable`), and touch the
//! pages of new files (`warmMapedFileEnable`). With these keys, too, a message is read as soon as it is stored, and a kill
//! loses none.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use apogee_remoting::ResponseCode;
use tokio::task::JoinSet;

use crate::harness::site::Site;
use crate::harness::{TIMEOUT, new_client};
use crate::{QUEUES, found, header, send};

const TOPIC: &str = "buffered";
/// More than a file of the log.
const MESSAGES: usize = 400;
const SENDERS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_write_buffer_holds_nothing_back_and_loses_nothing() {
    for flush in ["ASYNC_FLUSH", "SYNC_FLUSH"] {
        // nothing is committed that nobody reads
        let site = Site::new(&format!(
            "flushDiskType={flush}\nsyncFlushTimeout=40000\ntransientStorePoolEnable=true\n\
             transientStorePoolSize=1\nwarmMapedFileEnable=true\ncommitIntervalCommitLog=3600000\ncommitCommitLogThoroughInterval=3600000"
        ));
        let broker = site.start("");
        let (client, address) = (new_client(), site.address());
        // Together, for a disk may take a second for each sync.
        let mut senders = JoinSet::new();
        for first in 0..SENDERS {
            let address = address.clone();
            senders.spawn(async move {
                let client = new_client();
                for number in (first..MESSAGES).step_by(SENDERS) {
                    let header = header(TOPIC, number as i32 % QUEUES, "");
                    let answer = client.call(&address, send(&header, number), TIMEOUT).await.unwrap();
                    assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
                }
            });
        }
        senders.join_all().await;
        let all: BTreeMap<_, _> = (0..MESSAGES).map(|number| (number, 1)).collect();
        let deadline = Instant::now() + TIMEOUT;
        while found(&client, &address, TOPIC).await != all {
            assert!(Instant::now() < deadline, "not all can be read");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(broker);
        let _broker = site.start("");
        assert_eq!(found(&client, &address, TOPIC).await, all, "{flush}");
    }
}
