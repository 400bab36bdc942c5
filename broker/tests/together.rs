//! Requests that come together on one connection.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers, too")]

mod harness;

use apogee_remoting::message::batch::BatchMember;
use apogee_remoting::protocol::send::SendMessageRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use futures_util::future::join_all;
use harness::{TestBroker, send_header};

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
        broker.client.send_one_way(&broker.address, one_way, harness::TIMEOUT).await.unwrap();
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
            let header = harness::pull_header("G", "T");
            let header =
                apogee_remoting::protocol::pull::PullMessageRequestHeader { queue_id: 1, max_msg_nums: 200, ..header };
            let answer = broker.call(TestBroker::request(RequestCode::PULL_MESSAGE, &header)).await;
            (answer.field("maxOffset") == Some("140")).then_some(answer)
        })
        .await;
    let bytes = pulled.body.bytes();
    let records = apogee_remoting::message::record::entries(&bytes).map(Result::unwrap);
    let bodies: String = records.map(|record| String::from_utf8(record.body.to_vec()).unwrap()).collect();
    assert!("abcdefg".repeat(20).starts_with(&bodies) && bodies.len() > 20, "{bodies}");
    broker.stop().await;
}
