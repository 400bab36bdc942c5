//! Topics that come to be by a send or a heartbeat.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

mod harness;

use apogee_remoting::message::batch::BatchMember;
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::protocol::send_back::ConsumerSendMsgBackRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use futures_util::future::join_all;
use harness::{TIMEOUT, TestBroker, TestNameServer, new_client, pull_header, send_header};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Whoever hears of a message asks a name server for the route, any of them and once: a consumer that is told
/// "no such topic" asks again half a minute later.
#[tokio::test(flavor = "multi_thread")]
async fn every_name_server_knows_a_new_topic_when_its_maker_is_answered() {
    let servers = [TestNameServer::start().await, TestNameServer::start().await];
    let addresses = servers.each_ref().map(|server| server.address.as_str()).join(";");
    let broker = TestBroker::start_with(|settings| settings.broker.namesrv_addr = Some(addresses)).await;
    for i in 0..10 {
        let (topic, group) = (format!("T{i}"), format!("G{i}"));
        broker.send(&topic, 0, "m").await;
        broker.ok(heartbeat(&group)).await;
        for server in &servers {
            for name in [&topic, &format!("%RETRY%{group}")] {
                assert_eq!(server.route(name).await, ResponseCode::SUCCESS, "{name}");
            }
        }
    }
    broker.stop().await;
}

/// A name server that is gone must not keep producers from their answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_topic_needs_no_name_server() {
    let nobody = "127.0.0.1:1".to_owned();
    let broker = TestBroker::start_with(|settings| settings.broker.namesrv_addr = Some(nobody)).await;
    assert_eq!(broker.send("T", 0, "m").await, 0);
    broker.ok(heartbeat("G")).await;
    broker.stop().await;
}

/// The reference takes TBW102 its right to be inherited from at the first refusal, for ever; here the switch is one.
#[tokio::test(flavor = "multi_thread")]
async fn automatic_topics_are_switched_off_and_on_at_run_time() {
    let broker = TestBroker::start().await;
    broker.send("before", 0, "m").await;
    broker.ok(switch(false)).await;
    let refused = broker.call(send("off")).await;
    assert_eq!(refused.response_code(), ResponseCode::TOPIC_NOT_EXIST);
    broker.ok(send("before")).await;
    broker.ok(switch(true)).await;
    broker.ok(send("on")).await;
    broker.stop().await;
}

/// A topic that cannot be written down is refused, and nobody has to wait for a restart. A group is not needed on disk to read.
#[tokio::test(flavor = "multi_thread")]
async fn a_topic_or_group_that_cannot_be_written_down_is_not_there() {
    let broker = TestBroker::start().await;
    let group = || Command::request(RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG);
    let is_listed = |answer: &Command| String::from_utf8_lossy(&answer.body.bytes()).contains(r#""G""#);
    let config = broker.store().join("config");
    // A folder where the writer wants its temporary file.
    let obstacles = ["topics.json.tmp", "subscriptionGroup.json.tmp"].map(|name| config.join(name));
    for path in &obstacles {
        std::fs::create_dir_all(path).unwrap();
    }
    let answer = broker.call(send("T")).await;
    assert_eq!(answer.response_code(), ResponseCode::SYSTEM_ERROR);
    assert!(answer.remark.unwrap().starts_with("cannot write "));
    assert_eq!(broker.call(look_for("T")).await.response_code(), ResponseCode::TOPIC_NOT_EXIST);
    // Who consumes does not wait for the disk: the next one makes again what was taken back.
    let is_gone = async |broker: &TestBroker| (!is_listed(&broker.ok(group()).await)).then_some(());
    assert_eq!(broker.call(pull("G")).await.response_code(), ResponseCode::PULL_NOT_FOUND);
    broker.wait_for("the end of the puller's group", is_gone).await;
    broker.ok(heartbeat("G")).await;
    broker.wait_for("the end of the consumer's group", is_gone).await;

    for path in &obstacles {
        std::fs::remove_dir(path).unwrap();
    }
    broker.ok(send("T")).await;
    broker.ok(heartbeat("G")).await;
    broker.ok(look_for("T")).await;
    assert!(is_listed(&broker.ok(group()).await));
    let broker = broker.restart().await;
    broker.ok(look_for("T")).await;
    assert!(is_listed(&broker.ok(group()).await));
    broker.stop().await;
}

/// A second message comes while the topic of the first is being written down: when that fails, neither may be acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn no_message_is_acknowledged_whose_topic_is_not_on_disk() {
    let broker = TestBroker::start().await;
    let config = broker.store().join("config");
    let first = broker.ok(send("M")).await.field("msgId").unwrap().parse::<OffsetMessageId>().unwrap();
    let retry = "%RETRY%G";
    // A pipe where the writer wants its temporary file: opening it lasts until somebody reads, and it cannot be synced.
    let obstacle = config.join("topics.json.tmp");
    mknodat(CWD, &obstacle, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let makers = tokio::spawn({
        let (client, address) = (new_client(), broker.address.clone());
        async move { join_all([send("T"), send(retry)].map(|send| client.call(&address, send, TIMEOUT))).await }
    });
    for topic in ["T", retry] {
        let is_there = async |broker: &TestBroker| {
            (broker.call(look_for(topic)).await.response_code() == ResponseCode::SUCCESS).then_some(())
        };
        broker.wait_for("the topic", is_there).await;
    }
    let others = [("T", send("T")), ("T", batch("T")), (retry, send(retry)), (retry, send_back("G", first.offset))];
    let topics = others.each_ref().map(|(topic, _)| *topic);
    let mut answers = Box::pin(join_all(others.map(|(_, request)| broker.call(request))));
    tokio::select! {
        biased;
        _ = &mut answers => panic!("acknowledged"),
        // It comes behind them, and what they find is not on disk.
        _ = broker.call(look_for("T")) => {}
    }
    drop(std::fs::File::open(&obstacle).unwrap());
    // Who came so late that the pipe was gone has made the topic again.
    for (topic, answer) in topics.into_iter().zip(answers.await) {
        let is_kept = std::fs::read_to_string(config.join("topics.json")).unwrap().contains(&format!("\"{topic}\""));
        assert!(is_kept || answer.response_code() != ResponseCode::SUCCESS, "{topic} is lost");
    }
    for answer in makers.await.unwrap() {
        assert!(answer.unwrap().remark.unwrap().starts_with("cannot write "));
    }
    broker.ok(send("T")).await;
    broker.stop().await;
}

/// Who makes topics waits for the disk without a thread of its own: as many of them may wait as come.
#[test]
fn topics_and_groups_are_made_while_every_thread_that_may_wait_is_busy() {
    let runtime = tokio::runtime::Builder::new_multi_thread().max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let broker = TestBroker::start().await;
        let (busy, is_over) = std::sync::mpsc::channel::<()>();
        let holding = tokio::task::spawn_blocking(move || is_over.recv().is_err());
        let given_up = SendMessageRequestHeader { reconsume_times: Some(17), ..send_header("%RETRY%G") };
        for request in [
            send("sent"),
            batch("batch"),
            TestBroker::request(RequestCode::SEND_MESSAGE, &given_up).with_body("m".to_owned()),
            harness::topic("made", 4),
            Command::request(RequestCode::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
                .with_body(r#"{"groupName":"H"}"#.to_owned()),
        ] {
            broker.ok(request).await;
        }
        for topic in ["sent", "batch", "%RETRY%G", "%DLQ%G", "made"] {
            broker.ok(look_for(topic)).await;
        }
        drop(busy);
        assert!(holding.await.unwrap());
        broker.stop().await;
    });
}

/// Its producer need not stay: nobody tells it anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_one_way_message_makes_its_topic_though_its_producer_is_gone() {
    let broker = TestBroker::start().await;
    for round in 0..20 {
        let topic = format!("T{round}");
        let producer = new_client();
        producer.send_one_way(&broker.address, send(&topic), TIMEOUT).await.unwrap();
        drop(producer);
        let max = Command::request(RequestCode::GET_MAX_OFFSET).with_field("topic", &topic).with_field("queueId", "0");
        let is_stored =
            async |broker: &TestBroker| (broker.call(max.clone()).await.field("offset") == Some("1")).then_some(());
        broker.wait_for("the message", is_stored).await;
    }
    broker.stop().await;
}

fn send(topic: &str) -> Command {
    TestBroker::request(RequestCode::SEND_MESSAGE, &send_header(topic)).with_body("m".to_owned())
}

fn batch(topic: &str) -> Command {
    let mut batch = Vec::new();
    BatchMember { flag: 0, body: b"m", properties: b"" }.encode(&mut batch).unwrap();
    let header = SendMessageRequestHeader { batch: Some(true), ..send_header(topic) };
    TestBroker::request(RequestCode::SEND_MESSAGE, &header).with_body(batch)
}

fn send_back(group: &str, offset: i64) -> Command {
    TestBroker::request(
        RequestCode::CONSUMER_SEND_MSG_BACK,
        &ConsumerSendMsgBackRequestHeader {
            offset,
            group,
            delay_level: 0,
            origin_msg_id: None,
            origin_topic: None,
            unit_mode: false,
            max_reconsume_times: Some(16),
        },
    )
}

fn look_for(topic: &str) -> Command {
    Command::request(RequestCode::GET_TOPIC_CONFIG).with_field("topic", topic)
}

fn switch(on: bool) -> Command {
    Command::request(RequestCode::UPDATE_BROKER_CONFIG).with_body(format!("autoCreateTopicEnable={on}\n"))
}

/// A consumer of `group` that subscribes to T.
fn heartbeat(group: &str) -> Command {
    let body = format!(
        r#"{{"clientID":"c","consumerDataSet":[{{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"{group}","messageModel":"CLUSTERING","subscriptionDataSet":[{{"classFilterMode":false,"codeSet":[],"expressionType":"TAG","subString":"*","subVersion":1,"tagsSet":[],"topic":"T"}}],"unitMode":false}}],"producerDataSet":[]}}"#
    );
    Command::request(RequestCode::HEART_BEAT).with_body(body)
}

fn pull(group: &str) -> Command {
    TestBroker::request(RequestCode::PULL_MESSAGE, &pull_header(group, "TBW102"))
}
