//! Brokers with an IPv6 address.

use std::time::{SystemTime, UNIX_EPOCH};

use apogee_remoting::RequestCode;

use crate::harness::TestBroker;
use crate::{messages, pull, readable, request, send};

/// B15 (8043, 8549, 9497): the store time was read at the place where it is in records of IPv4 hosts.
#[tokio::test(flavor = "multi_thread")]
async fn b15_times_and_ids_of_ipv6_brokers_agree_with_the_send() {
    for ip in ["::1", "[::1]", "fe80::1%lo"] {
        let broker = TestBroker::start_with(|settings| settings.broker.broker_ip1 = ip.into()).await;
        let before = now();
        let sent = broker.ok(send(RequestCode::SEND_MESSAGE_V2, "T", "", b"six".to_vec())).await;
        let id = sent.field("msgId").unwrap().to_owned();
        assert_eq!(id.len(), 56, "{ip}: {id}");
        readable(&broker, "T", 1).await;
        let at = [("topic", "T"), ("queueId", "0")];
        let earliest = broker.ok(request(RequestCode::GET_EARLIEST_MSG_STORETIME, &at)).await;
        let earliest: u64 = earliest.field("timestamp").unwrap().parse().unwrap();
        assert!((before..=now()).contains(&earliest), "{ip}: {earliest}");
        let info = broker.ok(request(RequestCode::GET_BROKER_RUNTIME_INFO, &[])).await;
        let info = String::from_utf8(info.body.bytes().to_vec()).unwrap();
        assert!(info.contains(&format!(r#""earliestMessageTimeStamp":"{earliest}""#)), "{ip}: {info}");
        let stored = messages(&broker.call(pull("T", 0, "*", 0)).await, |record| record.store_timestamp as u64);
        assert_eq!(stored, [earliest], "{ip}");
        let found = broker
            .ok(request(RequestCode::SEARCH_OFFSET_BY_TIMESTAMP, &at).with_field("timestamp", &earliest.to_string()))
            .await;
        assert_eq!(found.field("offset"), Some("0"), "{ip}");
        // The id's last 16 digits are the place in the log.
        let offset = i64::from_str_radix(&id[40..], 16).unwrap().to_string();
        let viewed = broker.ok(request(RequestCode::VIEW_MESSAGE_BY_ID, &[("offset", &offset)])).await;
        assert_eq!(messages(&viewed, |record| record.body.to_vec()), [b"six"], "{ip}");
        broker.stop().await;
    }
}

#[expect(clippy::disallowed_methods, reason = "what the broker says is compared with the time of day")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}
