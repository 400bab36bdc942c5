//! A topic that is made anew while one of its name is being deleted keeps what it acknowledges.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod harness;

use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apogee_remoting::{Command, RequestCode, ResponseCode};
use apogee_store::watch::{Act, Answer, Holding, Watch, Watcher};
use futures_util::future::join_all;
use harness::{TIMEOUT, TestBroker, log, new_client, pull_header, send_header, topic};

/// Longer than anything takes that is not held up. Who answers too early in spite of that is found out behind it.
const WHILE: Duration = Duration::from_millis(500);

/// A topic whose deletion is held up: it keeps the next one from removing queues.
const HELD: &str = "zHeld";
/// A topic that a heartbeat makes.
const RETRY: &str = "%RETRY%G";

fn is_removal_of_held(act: Act<'_>, path: &Path) -> bool {
    matches!(act, Act::Remove) && path.components().any(|part| part.as_os_str() == HELD)
}

/// Holds the disk up in the deletion of [`HELD`].
async fn hold(broker: &TestBroker) -> (Arc<Holding>, Watch, impl Future<Output = Command> + use<>) {
    let disk = Holding::new(is_removal_of_held);
    let watch = Watch::new(broker.store(), Arc::clone(&disk) as _);
    disk.set(true);
    let deletion = call(broker, delete(HELD));
    broker.wait_for("the deletion", async |_| (disk.count() > 0).then_some(())).await;
    (disk, watch, deletion)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_makes_it_waits_until_it_is_gone() {
    let broker = TestBroker::start().await;
    for topic in ["sent", "made", RETRY, HELD] {
        for _ in 0..3 {
            broker.send(topic, 0, "old").await;
        }
    }
    // After that there are files of its queue.
    let broker = broker.restart().await;
    let (disk, _watch, first) = hold(&broker).await;
    let deletions = ["sent", "made", "sent", "made", RETRY].map(|topic| call(&broker, delete(topic)));
    for topic in ["sent", "made", RETRY] {
        broker.wait_for("its end in the table", async |broker| (!is_there(broker, topic).await).then_some(())).await;
    }
    let sent = call(&broker, send("sent"));
    let made = call(&broker, topic("made", 4));
    let also_made = call(&broker, send("made"));
    let beaten = call(&broker, heartbeat());
    let mut makers = Box::pin(join_all([sent, made, also_made, beaten]));
    let early = tokio::time::timeout(WHILE, &mut makers).await;
    disk.set(false);
    assert_eq!(first.await.response_code(), ResponseCode::SUCCESS);
    for deleted in join_all(deletions).await {
        assert_eq!(deleted.response_code(), ResponseCode::SUCCESS, "{:?}", deleted.remark);
    }
    let answers = match early {
        Ok(answers) => answers,
        Err(_) => makers.await,
    };
    for answer in &answers {
        assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
    }
    for (topic, sent) in [("sent", &answers[0]), ("made", &answers[2])] {
        assert_eq!(sent.field("queueOffset"), Some("0"), "{topic} begins anew");
        is_kept(&broker, topic, "new").await;
    }
    assert!(is_there(&broker, RETRY).await, "the heartbeat has made it");
    broker.send(RETRY, 0, "new").await;
    is_kept(&broker, RETRY, "new").await;
    broker.stop().await;
}

/// Queues are left without a topic where a file of topics was lost.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_while_leftover_queues_are_removed_is_kept() {
    log::keep();
    let topics = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let broker = TestBroker::start().await;
    for topic in topics.into_iter().chain([HELD]) {
        broker.send(topic, 0, "old").await;
    }
    let lose_topics = |store: &Path| {
        for name in ["topics.json", "topics.json.bak"] {
            std::fs::remove_file(store.join("config").join(name)).unwrap();
        }
    };
    let broker = broker.restart_after(lose_topics).await.unwrap();
    let (disk, _watch, first) = hold(&broker).await;
    let cleaning = call(&broker, Command::request(RequestCode::CLEAN_UNUSED_TOPIC));
    // It has looked at one of them, and not yet at the others.
    let has_begun = async |_: &TestBroker| (log::count("removing the queues of a topic") > 0).then_some(());
    broker.wait_for("the first of them", has_begun).await;
    let sends: Vec<_> = topics.map(|topic| call(&broker, send(topic))).into();
    let mut sends = Box::pin(join_all(sends));
    let early = tokio::time::timeout(WHILE, &mut sends).await;
    disk.set(false);
    for answer in [first.await, cleaning.await] {
        assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
    }
    let sent = match early {
        Ok(answers) => answers,
        Err(_) => sends.await,
    };
    for (topic, sent) in topics.into_iter().zip(sent) {
        assert_eq!(sent.response_code(), ResponseCode::SUCCESS, "{:?}", sent.remark);
        is_kept(&broker, topic, "new").await;
    }
    broker.stop().await;
}

struct Failing;

impl Watcher for Failing {
    fn before(&self, act: Act<'_>, path: &Path) -> io::Result<Answer> {
        if is_removal_of_held(act, path) { Err(io::ErrorKind::Other.into()) } else { Ok(Answer::GoOn) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_fails_keeps_nobody_waiting() {
    let broker = TestBroker::start().await;
    broker.send(HELD, 0, "old").await;
    let broker = broker.restart().await;
    let watch = Watch::new(broker.store(), Arc::new(Failing));
    assert_eq!(broker.call(delete(HELD)).await.response_code(), ResponseCode::SYSTEM_ERROR);
    drop(watch);
    broker.ok(send(HELD)).await;
    is_kept(&broker, HELD, "new").await;
    broker.stop().await;
}

/// Sends a request now, on a connection of its own.
fn call(broker: &TestBroker, request: Command) -> impl Future<Output = Command> + use<> {
    let address = broker.address.clone();
    let answered = tokio::spawn(async move { new_client().call(&address, request, TIMEOUT).await.unwrap() });
    async { answered.await.unwrap() }
}

/// A message with this body can be consumed of the topic.
async fn is_kept(broker: &TestBroker, topic: &str, message: &str) {
    let pull = || TestBroker::request(RequestCode::PULL_MESSAGE, &pull_header("G", topic));
    let answer = broker
        .wait_for("the message", async |broker| {
            let answer = broker.call(pull()).await;
            (answer.response_code() == ResponseCode::SUCCESS).then_some(answer)
        })
        .await;
    let body = answer.body.bytes();
    let text = String::from_utf8_lossy(&body);
    assert!(text.contains(message), "{topic}: {text}");
}

async fn is_there(broker: &TestBroker, topic: &str) -> bool {
    let look = Command::request(RequestCode::GET_TOPIC_CONFIG).with_field("topic", topic);
    broker.call(look).await.response_code() == ResponseCode::SUCCESS
}

fn delete(topic: &str) -> Command {
    Command::request(RequestCode::DELETE_TOPIC_IN_BROKER).with_field("topic", topic)
}

fn send(topic: &str) -> Command {
    TestBroker::request(RequestCode::SEND_MESSAGE, &send_header(topic)).with_body("new".to_owned())
}

fn heartbeat() -> Command {
    let body = r#"{"clientID":"c","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","subscriptionDataSet":[],"unitMode":false}],"producerDataSet":[]}"#;
    Command::request(RequestCode::HEART_BEAT).with_body(body.to_owned())
}
