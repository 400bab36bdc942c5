//! Requests that come together on one connection.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers, too")]

mod harness;

use apogee_remoting::frame::{self, DEFAULT_MAX_FRAME};
use apogee_remoting::message::batch::BatchMember;
use apogee_remoting::message::record::{Record, entries};
use apogee_remoting::protocol::kv::KVTable;
use apogee_remoting::protocol::pull::PullMessageRequestHeader;
use apogee_remoting::protocol::query::ViewMessageRequestHeader;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode, Serialization, json};
use bytes::BytesMut;
use futures_util::future::join_all;
use harness::{TIMEOUT, TestBroker, pull_header, send_header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

fn send(header: &SendMessageRequestHeader<'_>, body: impl Into<Vec<u8>>) -> Command {
    Command::request(RequestCode::SEND_MESSAGE).with_header(header).with_body(body.into())
}

fn batch(header: &SendMessageRequestHeader<'_>, bodies: &[&str]) -> Command {
    let mut batch = Vec::new();
    for body in bodies {
        BatchMember { flag: 0, body: body.as_bytes(), properties: b"" }.encode(&mut batch).unwrap();
    }
    send(&SendMessageRequestHeader { batch: Some(true), ..*header }, batch)
}

/// What comes in one write, the server reads at once.
async fn exchange(broker: &TestBroker, requests: &[Command], answers: usize) -> Vec<Command> {
    let mut stream = TcpStream::connect(&broker.address).await.unwrap();
    let frames: Vec<_> = requests.iter().map(|request| request.encode(Serialization::Json)).collect();
    stream.write_all(&frames.concat()).await.unwrap();
    let mut buffer = BytesMut::new();
    let mut all = Vec::new();
    while all.len() < answers {
        while let Some(content) = frame::take(&mut buffer, DEFAULT_MAX_FRAME).unwrap() {
            all.push(Command::decode(content).unwrap().0);
        }
        if all.len() < answers {
            let read = timeout(TIMEOUT, stream.read_buf(&mut buffer)).await.unwrap().unwrap();
            assert!(read > 0, "the connection ended after {all:?}");
        }
    }
    assert!(buffer.is_empty());
    all.sort_by_key(|answer| requests.iter().position(|request| request.opaque == answer.opaque));
    all
}

fn offset(answer: &Command) -> i64 {
    assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
    answer.field("queueOffset").unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn other_requests_find_what_came_before_them() {
    let broker = TestBroker::start().await;
    broker.send("T", 0, "creates the topic").await;
    let looks_at = |offset| ViewMessageRequestHeader { topic: Some("T"), offset };
    let view = |offset| TestBroker::request(RequestCode::VIEW_MESSAGE_BY_ID, &looks_at(offset));
    // where the record behind these will be
    let header = send_header("T");
    let stored = exchange(&broker, &[send(&header, "x"), send(&header, "x")], 2).await;
    let places: Vec<_> =
        stored.iter().map(|one| i64::from_str_radix(&one.field("msgId").unwrap()[16..], 16).unwrap()).collect();
    let next = 2 * places[1] - places[0];
    let requests = [send(&header, "y"), view(next), send(&header, "z")];
    let answers = exchange(&broker, &requests, 3).await;
    assert_eq!((offset(&answers[0]), offset(&answers[2])), (3, 4));
    let viewed = answers[1].body.bytes();
    assert_eq!(Record::parse(&viewed).unwrap().body, b"y", "{:?}", answers[1].remark);
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_bytes_halves_and_other_topics_come_together() {
    let broker = TestBroker::start_with(|settings| settings.store.mapped_file_size_commit_log = 1 << 20).await;
    for topic in ["T", "U"] {
        broker.send(topic, 0, "creates the topic").await;
    }
    let (own, other) = (send_header("T"), send_header("U"));
    let half =
        SendMessageRequestHeader { properties: Some("TRAN_MSG\u{1}true\u{2}PGROUP\u{1}g\u{2}"), ..send_header("T") };
    let large = vec![b'x'; 100_000];
    let requests = [
        send(&own, large.clone()),
        send(&other, large.clone()),
        send(&half, large.clone()),
        send(&own, large.clone()),
        send(&half, large.clone()),
        send(&other, "small"),
        send(&own, large),
    ];
    // over the end of a file, too
    for round in 0..4 {
        let offsets: Vec<_> = exchange(&broker, &requests, 7).await.iter().map(offset).collect();
        let (three, two) = (1 + 3 * round, 1 + 2 * round);
        let half = 2 * round;
        assert_eq!(offsets, [three, two, half, three + 1, half + 1, two + 1, three + 2]);
    }
    let info = broker.ok(Command::request(RequestCode::GET_BROKER_RUNTIME_INFO)).await;
    let info: KVTable = json::from_slice(&info.body.bytes()).unwrap();
    assert_eq!(info.table["putMessageTimesTotal"], "30");
    broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_goes_where_it_would_go_alone() {
    let broker = TestBroker::start_with(|settings| settings.store.max_message_size = 4096).await;
    broker.send("T", 0, "creates the topic").await;
    let header =
        |properties| SendMessageRequestHeader { queue_id: 1, properties: Some(properties), ..send_header("T") };
    for round in 0..20 {
        let first = round * 7;
        let plain = header("");
        let requests = [
            send(&plain, "a"),
            send(&header("UNIQ_KEY\u{1}own\u{2}"), "b"),
            batch(&plain, &["c", "d"]),
            send(&plain, vec![0; 4097]),
            send(&plain, "e"),
            // one more than there are
            send(&SendMessageRequestHeader { queue_id: 99, ..header("") }, "nowhere"),
            send(&plain, "f").one_way(),
            send(&header("DELAY\u{1}1\u{2}"), "later"),
            send(&plain, "g"),
        ];
        let one_way = requests[6].clone();
        let (before, after) = (&requests[..6], &requests[7..]);
        let calls = before.iter().map(|request| broker.call(request.clone()));
        let answers = join_all(calls).await;
        broker.client.send_one_way(&broker.address, one_way, TIMEOUT).await.unwrap();
        let answers: Vec<_> =
            answers.into_iter().chain(join_all(after.iter().map(|r| broker.call(r.clone()))).await).collect();
        let offsets: Vec<_> = answers
            .iter()
            .map(|answer| match answer.response_code() {
                ResponseCode::SUCCESS => answer.field("queueOffset").unwrap().parse().unwrap(),
                code => -i64::from(code.0),
            })
            .collect();
        let illegal = -i64::from(ResponseCode::MESSAGE_ILLEGAL.0);
        let invalid = -i64::from(ResponseCode::INVALID_PARAMETER.0);
        let expected = [first, first + 1, first + 2, illegal, first + 4, invalid, round, first + 6];
        assert_eq!(offsets, expected);
        assert_eq!(answers[1].field("transactionId"), Some("own"));
        assert!(answers.iter().all(|answer| answer.field("MSG_REGION") == Some("DefaultRegion")));
    }
    let pulled = broker
        .wait_for("all messages", async |broker| {
            let header = pull_header("G", "T");
            let header = PullMessageRequestHeader { queue_id: 1, max_msg_nums: 200, ..header };
            let answer = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
            (answer.field("maxOffset") == Some("140")).then_some(answer)
        })
        .await;
    let bytes = pulled.body.bytes();
    let records = entries(&bytes).map(Result::unwrap);
    let bodies: String = records.map(|record| String::from_utf8(record.body.to_vec()).unwrap()).collect();
    assert!("abcdefg".repeat(20).starts_with(&bodies) && bodies.len() > 20, "{bodies}");
    broker.stop().await;
}
