//! Topics that come to be by a send or a heartbeat.

mod harness;

use std::sync::Arc;

use apogee_config::NamesrvSettings;
use apogee_namesrv::Listening;
use apogee_remoting::client::Client;
use apogee_remoting::{Command, RequestCode, ResponseCode, Serialization};
use harness::{TIMEOUT, TestBroker, new_client, send_header};

/// A name server on a free port; gives its address.
async fn name_server(folder: &tempfile::TempDir) -> String {
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let mut settings = NamesrvSettings::default();
    settings.namesrv.kv_config_path = path("kvConfig.json");
    settings.namesrv.config_store_path = path("namesrv.properties");
    settings.server.bind_address = "127.0.0.1".into();
    settings.server.listen_port = 0;
    let listening = Listening::start(settings, Serialization::Json).await.unwrap();
    let address = listening.local_addr().to_string();
    tokio::spawn(listening.run(std::future::pending()));
    address
}

async fn route(client: &Client, name_server: &str, topic: &str) -> ResponseCode {
    let query = Command::request(RequestCode::GET_ROUTEINFO_BY_TOPIC).with_field("topic", topic);
    client.call(name_server, query, TIMEOUT).await.unwrap().response_code()
}

/// Whoever hears of a message asks a name server for the route, any of them and once: a consumer that is told
/// "no such topic" asks again half a minute later.
#[tokio::test(flavor = "multi_thread")]
async fn every_name_server_knows_a_new_topic_when_its_maker_is_answered() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let servers = [name_server(&folders[0]).await, name_server(&folders[1]).await];
    let broker = TestBroker::start_with(|settings| settings.broker.namesrv_addr = Some(servers.join(";"))).await;
    let client = Arc::new(new_client());
    for i in 0..10 {
        let (topic, group) = (format!("T{i}"), format!("G{i}"));
        broker.send(&topic, 0, "m").await;
        broker.ok(heartbeat(&group)).await;
        for server in &servers {
            for name in [&topic, &format!("%RETRY%{group}")] {
                assert_eq!(route(&client, server, name).await, ResponseCode::SUCCESS, "{name} at {server}");
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
    let send = |topic: &'static str| {
        TestBroker::request(RequestCode::SEND_MESSAGE, &send_header(topic)).with_body("m".to_owned())
    };
    let refused = broker.call(send("off")).await;
    assert_eq!(refused.response_code(), ResponseCode::TOPIC_NOT_EXIST);
    broker.ok(send("before")).await;
    broker.ok(switch(true)).await;
    broker.ok(send("on")).await;
    broker.stop().await;
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
