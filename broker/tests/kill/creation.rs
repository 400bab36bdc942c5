//! Topics that come to be by sends: whoever is told that a message is stored finds its topic after a kill, too, not only the
//! producer whose send made it.

use std::sync::Arc;

use apogee_remoting::protocol::topic::{CreateTopicListRequestBody, TopicConfig};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use futures_util::future::join_all;
use parking_lot::Mutex;

use crate::harness::site::{Process, Site};
use crate::harness::{TIMEOUT, new_client};
use crate::{header, kills, send};

/// Connections, which send to the same topics.
const SENDERS: usize = 8;
const TOPICS: usize = 4;
const MANY: usize = 3000;

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_has_the_topics_of_what_it_acknowledged() {
    let site = Site::new("");
    make_many(&site).await;
    for round in 0..kills() {
        let names: Arc<[String]> = (0..TOPICS).map(|number| format!("T{round}-{number}")).collect();
        let acknowledged = acknowledged_until_the_first(site.start(""), &site.address(), &names).await;
        assert!(!acknowledged.is_empty());
        let _broker = site.start("");
        for topic in acknowledged {
            let answer = new_client().call(&site.address(), look_for(&topic), TIMEOUT).await.unwrap();
            assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{topic} is lost");
        }
    }
}

/// Makes topics, so that it takes a while to write down all of them.
async fn make_many(site: &Site) {
    let _broker = site.start("");
    let make = |number| TopicConfig { topic_name: format!("old-{number}"), ..TopicConfig::default() };
    let body = CreateTopicListRequestBody { topic_config_list: (0..MANY).map(make).collect() };
    let create = Command::request(RequestCode::UPDATE_AND_CREATE_TOPIC_LIST).with_body(json::to_vec(&body));
    let answer = new_client().call(&site.address(), create, TIMEOUT).await.unwrap();
    assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
}

/// Has all senders send to all topics at once; kills the broker with the first answer. Returns the topics of all answers.
async fn acknowledged_until_the_first(broker: Process, address: &str, names: &Arc<[String]>) -> Vec<String> {
    let broker = Arc::new(Mutex::new(Some(broker)));
    let mut clients = Vec::new();
    for _ in 0..SENDERS {
        let client = new_client();
        client.call(address, look_for("none"), TIMEOUT).await.unwrap();
        clients.push(client);
    }
    let senders: Vec<_> = clients
        .into_iter()
        .map(|client| {
            let (broker, address, names) = (Arc::clone(&broker), address.to_owned(), Arc::clone(names));
            tokio::spawn(async move {
                let sends = names.iter().map(async |topic| {
                    let answer = client.call(&address, send(&header(topic, 0, ""), 0), TIMEOUT).await.ok()?;
                    assert_eq!(answer.response_code(), ResponseCode::SUCCESS, "{:?}", answer.remark);
                    drop(broker.lock().take());
                    Some(topic.clone())
                });
                join_all(sends).await
            })
        })
        .collect();
    let mut acknowledged = Vec::new();
    for sender in senders {
        acknowledged.extend(sender.await.unwrap().into_iter().flatten());
    }
    acknowledged
}

fn look_for(topic: &str) -> Command {
    Command::request(RequestCode::GET_TOPIC_CONFIG).with_field("topic", topic)
}
