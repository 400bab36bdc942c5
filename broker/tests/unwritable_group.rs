//! A full disk is named once, not with each pull of a group that cannot be written down.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod harness;

use std::fs;

use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::log::{self, count, text};
use harness::{TestBroker, pull_header};

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_cannot_be_written_down_is_logged_once_until_it_can() {
    log::keep();
    let broker = TestBroker::start().await;
    // A folder where the writer wants its temporary file.
    let obstacle = broker.store().join("config/subscriptionGroup.json.tmp");
    for round in 1..=2 {
        fs::create_dir_all(&obstacle).unwrap();
        for _ in 0..5 {
            let pull = PullMessageRequestHeader { sub_version: Some(round), ..pull_header("Unwritable", "TBW102") };
            let pull = TestBroker::request(RequestCode::PULL_MESSAGE, &pull);
            assert_eq!(broker.call(pull).await.response_code(), ResponseCode::PULL_NOT_FOUND);
            broker.wait_for("the end of the group", async |broker| (!is_there(broker).await).then_some(())).await;
        }
        assert_eq!(count("cannot be written down"), round as usize, "{}", text());
        fs::remove_dir(&obstacle).unwrap();
        // Another group is the first that is written again.
        let other = pull_header(["First", "Second"][round as usize - 1], "TBW102");
        broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &other)).await;
        broker
            .wait_for("the write", async |_| (count("can be written down again") == round as usize).then_some(()))
            .await;
    }
    assert_eq!(
        count("creating a consumer group") - count("group=\"First\"") - count("group=\"Second\""),
        2,
        "{}",
        text()
    );
    broker.stop().await;
}

async fn is_there(broker: &TestBroker) -> bool {
    let answer = broker.ok(Command::request(RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG)).await;
    String::from_utf8_lossy(&answer.body.bytes()).contains("Unwritable")
}
