//! A master and a slave of one name, with a name server between them.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod harness;

use apogee_config::{BrokerRole, BrokerSettings};
use apogee_remoting::protocol::ha::ExchangeHAInfoResponseHeader;
use apogee_remoting::protocol::offset::UpdateConsumerOffsetRequestHeader;
use apogee_remoting::protocol::pull::PullMessageResponseHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::replication::{caught_up, ha_port, log_end, slave, status};
use harness::{TestBroker, TestNameServer, pull_header, send_header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn pull(topic: &str) -> Command {
    TestBroker::request(RequestCode::PULL_MESSAGE, &pull_header("G", topic))
}

#[tokio::test]
async fn a_slave_has_what_its_master_has() {
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |_| {}).await;
    let slave = TestBroker::start_at(&name_server, slave).await;
    for n in 0..5 {
        master.send("Mine", 0, &format!("message {n}")).await;
    }
    // The first pull makes the group.
    master.call(pull("Mine")).await;
    let header =
        UpdateConsumerOffsetRequestHeader { consumer_group: "G", topic: "Mine", queue_id: 0, commit_offset: 3 };
    master.ok(TestBroker::request(RequestCode::UPDATE_CONSUMER_OFFSET, &header)).await;
    caught_up(&master, &slave).await;

    let of_master = status(&master).await;
    assert!(of_master.master && of_master.in_sync_slave_nums == 1, "{of_master:?}");
    let end = of_master.master_commit_log_max_offset;
    follows(&master, end).await;
    let of_slave = status(&slave).await;
    assert!(!of_slave.master && of_slave.ha_client_runtime_info.max_offset == end, "{of_slave:?}");
    assert!(of_slave.ha_client_runtime_info.master_addr.starts_with("127.0.0.1:"), "{of_slave:?}");

    // Topics are copied once a minute; the slave begins with that again.
    let slave = slave.restart().await;
    let answer = slave
        .wait_for("the topic is copied", async |slave| {
            let answer = slave.call(pull("Mine")).await;
            (answer.response_code() == ResponseCode::SUCCESS).then_some(answer)
        })
        .await;
    assert_eq!(answer.body.bytes(), master.ok(pull("Mine")).await.body.bytes());
    let header: PullMessageResponseHeader = answer.header().unwrap();
    assert_eq!((header.suggest_which_broker_id, header.next_begin_offset), (0, 5));
    let of = async |broker: &TestBroker, code| broker.ok(Command::request(code)).await.body.bytes();
    for code in [RequestCode::GET_ALL_TOPIC_CONFIG, RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG] {
        let theirs = of(&master, code).await;
        slave.wait_for("the table is copied", async |slave| (of(slave, code).await == theirs).then_some(())).await;
    }
    slave
        .wait_for("offsets are copied", async |slave| {
            let offsets = of(slave, RequestCode::GET_ALL_CONSUMER_OFFSET).await;
            String::from_utf8_lossy(&offsets).contains("\"Mine@G\":{0:3}").then_some(())
        })
        .await;

    let send = TestBroker::request(RequestCode::SEND_MESSAGE, &send_header("Mine")).with_body("x".to_owned());
    assert_eq!(slave.call(send).await.response_code(), ResponseCode::SYSTEM_BUSY);
    slave.stop().await;
    master.stop().await;
}

#[tokio::test]
async fn a_synchronous_master_waits_for_as_many_as_it_is_told() {
    let name_server = TestNameServer::start().await;
    let synchronous = |settings: &mut BrokerSettings| {
        settings.store.broker_role = BrokerRole::SyncMaster;
        settings.store.in_sync_replicas = 2;
        settings.store.slave_timeout = 50;
    };
    let alone = TestBroker::start_at(&name_server, synchronous).await;
    assert_eq!(alone.call(send()).await.response_code(), ResponseCode::FLUSH_SLAVE_TIMEOUT);
    let master = alone.restart_with(|settings| settings.store.slave_timeout = 60_000).await;
    let slave = TestBroker::start_at(&name_server, slave).await;
    master.ok(send()).await;
    assert_eq!(log_end(&master).await, log_end(&slave).await, "it was answered when the slave had it");
    slave.stop().await;

    let master = master.restart_with(|settings| settings.store.in_sync_replicas = 1).await;
    master.ok(send()).await;
    master.stop().await;
}

/// A configuration of 4.9.x has a synchronous master wait for one slave that is near enough.
#[tokio::test]
async fn a_synchronous_master_of_4x_waits_for_one_slave_that_is_near() {
    let name_server = TestNameServer::start().await;
    let of_4x = |most: &'static str| {
        move |settings: &mut BrokerSettings| {
            settings.store.broker_role = BrokerRole::SyncMaster;
            settings.store.slave_timeout = 60_000;
            settings.unknown.insert("haSlaveFallbehindMax".to_owned(), most.to_owned());
        }
    };
    let master = TestBroker::start_at(&name_server, of_4x("268435456")).await;
    assert_eq!(master.call(send()).await.response_code(), ResponseCode::SLAVE_NOT_AVAILABLE, "nobody is there");
    let slave = TestBroker::start_at(&name_server, slave).await;
    follows(&master, 0).await;
    master.ok(send()).await;
    assert_eq!(log_end(&master).await, log_end(&slave).await, "it was answered when the slave had it");
    // A message alone is more than that.
    let master = master.restart_with(of_4x("1")).await;
    follows(&master, log_end(&master).await).await;
    assert_eq!(master.call(send()).await.response_code(), ResponseCode::SLAVE_NOT_AVAILABLE, "too far behind");
    slave.stop().await;
    master.stop().await;
}

/// Where slaves may act for their master, a message that too few could have is refused before it is stored.
#[tokio::test]
async fn too_few_replicas_refuse_a_message() {
    let master = TestBroker::start_with(|settings| {
        settings.broker.enable_slave_acting_master = true;
        settings.broker.skip_pre_online = true;
        settings.store.broker_role = BrokerRole::SyncMaster;
        settings.store.total_replicas = 2;
        settings.store.in_sync_replicas = 2;
    })
    .await;
    let refused = async |master: &TestBroker| {
        let answer = master.call(send()).await;
        assert_eq!(
            (answer.response_code(), answer.remark.as_deref()),
            (ResponseCode::SYSTEM_ERROR, Some("in-sync replicas not enough"))
        );
        assert_eq!(log_end(master).await, 0, "it is not stored");
    };
    refused(&master).await;
    let master = master
        .restart_with(|settings| {
            settings.store.enable_auto_in_sync_replicas = true;
            settings.store.min_in_sync_replicas = 2;
        })
        .await;
    refused(&master).await;
    let master = master.restart_with(|settings| settings.store.min_in_sync_replicas = 1).await;
    master.ok(send()).await;
    master.stop().await;
}

fn send() -> Command {
    TestBroker::request(RequestCode::SEND_MESSAGE, &send_header("T")).with_body("x".to_owned())
}

/// Waits until a slave of the master has said that it has everything up to a physical offset.
async fn follows(master: &TestBroker, end: i64) {
    master
        .wait_for("the slave has said so", async |master| {
            let slaves = status(master).await.ha_connection_info;
            slaves.iter().any(|slave| slave.slave_ack_offset == end).then_some(())
        })
        .await;
}

#[tokio::test]
async fn brokers_tell_one_another_where_they_are() {
    let master = TestBroker::start().await;
    let answer = master.ok(Command::request(RequestCode::EXCHANGE_BROKER_HA_INFO)).await;
    let told: ExchangeHAInfoResponseHeader<'_> = answer.header().unwrap();
    assert_eq!((told.master_address, told.master_flush_offset), (Some(&*master.address), Some(0)));

    let slave = TestBroker::start_with(slave).await;
    let tell = Command::request(RequestCode::EXCHANGE_BROKER_HA_INFO)
        .with_field("masterHaAddress", told.master_ha_address.unwrap())
        .with_field("masterAddress", &master.address)
        .with_field("masterFlushOffset", "0");
    slave.ok(tell).await;
    master.send("T", 0, "x").await;
    caught_up(&master, &slave).await;

    let reset = || Command::request(RequestCode::RESET_MASTER_FLUSH_OFFSET).with_field("masterFlushOffset", "17");
    slave.ok(reset()).await;
    master.ok(reset()).await;
    assert_eq!(status(&slave).await.ha_client_runtime_info.master_flush_offset, 17);
    slave.stop().await;
    master.stop().await;
}

#[tokio::test]
async fn the_address_for_slaves_is_that_of_broker_ip2_or_what_the_slave_is_told() {
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |settings| settings.broker.broker_ip2 = "127.0.0.7".into()).await;
    let slave = TestBroker::start_at(&name_server, slave).await;
    master.send("T", 0, "x").await;
    caught_up(&master, &slave).await;
    assert_eq!(status(&slave).await.ha_client_runtime_info.master_addr, format!("127.0.0.7:{}", ha_port(&master)));
    let fixed = format!("127.0.0.8:{}", ha_port(&master));
    let slave = slave.restart_with(|settings| settings.store.ha_master_address = Some(fixed.clone())).await;
    master.send("T", 0, "y").await;
    caught_up(&master, &slave).await;
    assert_eq!(status(&slave).await.ha_client_runtime_info.master_addr, fixed);
    let slave = slave.restart_with(|settings| settings.broker.namesrv_addr = None).await;
    master.send("T", 0, "z").await;
    caught_up(&master, &slave).await;
    slave.stop().await;
    master.stop().await;
}

#[tokio::test]
async fn how_slaves_are_fed_is_changed_at_run_time() {
    let master = TestBroker::start().await;
    for _ in 0..10 {
        master.send("T", 0, "x").await;
    }
    let change = Command::request(RequestCode::UPDATE_BROKER_CONFIG);
    master.ok(change.with_body("haTransferBatchSize=100\n".to_owned())).await;
    let mut slave = TcpStream::connect(("127.0.0.1", ha_port(&master))).await.unwrap();
    slave.write_i64(1).await.unwrap();
    assert_eq!((slave.read_i64().await.unwrap(), slave.read_i32().await.unwrap()), (1, 100));
    master.stop().await;
}

#[tokio::test]
async fn how_far_a_timer_wheel_is_goes_to_the_slave() {
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |_| {}).await;
    // A page as the reference's wheel leaves it: time, its log, its queue, the master's queue, and a version.
    let mut page: Vec<u8> =
        [1_700_000_000_000_i64, 11, 22, 33, 0, 44, 55].into_iter().flat_map(i64::to_be_bytes).collect();
    let of_slave: Vec<u8> = [&page[..8], &[0; 16], &page[24..]].concat();
    page.resize(4096, 0);
    let metrics =
        r#"{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":2},"timingCount":{"T":{"count":3,"timeStamp":4}}}"#;
    let left = |store: &std::path::Path| {
        std::fs::write(store.join("config/timercheck"), &page).unwrap();
        std::fs::write(store.join("config/timermetrics"), metrics).unwrap();
    };
    let master = master.restart_after(left).await.unwrap();
    let slave = TestBroker::start_at(&name_server, slave).await;
    for (broker, point) in [(&master, &page[..56]), (&slave, &of_slave)] {
        let copied = async |broker: &TestBroker| {
            let answers = [RequestCode::GET_TIMER_CHECK_POINT, RequestCode::GET_TIMER_METRICS]
                .map(|code| broker.ok(Command::request(code)));
            let [check_point, numbers] = answers;
            let (check_point, numbers) = (check_point.await.body.bytes(), numbers.await.body.bytes());
            (check_point == *point && numbers == *metrics).then_some(())
        };
        broker.wait_for("it is as far as the wheel", copied).await;
    }
    slave.stop().await;
    let master = master.restart_with(|settings| settings.store.timer_wheel_enable = false).await;
    let answer = master.call(Command::request(RequestCode::GET_TIMER_CHECK_POINT)).await;
    assert_eq!(
        (answer.response_code(), answer.remark.as_deref()),
        (ResponseCode::SYSTEM_ERROR, Some("The checkpoint is null"))
    );
    master.stop().await;
}

#[tokio::test]
async fn tables_of_several_pages_and_modes_of_consumption_are_copied_whole() {
    let name_server = TestNameServer::start().await;
    let master = TestBroker::start_at(&name_server, |_| {}).await;
    let (version, count) = (r#""dataVersion":{"counter":9,"stateVersion":0,"timestamp":9}"#, 4100);
    let entries = |entry: fn(String) -> String| {
        let entries: Vec<_> = (0..count).map(|n| entry(format!("Name{n}"))).collect();
        entries.join(",")
    };
    let topics =
        entries(|name| format!(r#""{name}":{{"topicName":"{name}","readQueueNums":3,"writeQueueNums":2,"perm":6}}"#));
    let groups = entries(|name| format!(r#""{name}":{{"groupName":"{name}","retryMaxTimes":5}}"#));
    let modes =
        r#"{"messageRequestModeMap":{"T":{"G":{"consumerGroup":"G","mode":"POP","popShareQueueNum":0,"topic":"T"}}}}"#;
    let written = |store: &std::path::Path| {
        let write = |name: &str, text: String| std::fs::write(store.join("config").join(name), text).unwrap();
        write("topics.json", format!(r#"{{{version},"topicConfigTable":{{{topics}}}}}"#));
        write("subscriptionGroup.json", format!(r#"{{{version},"subscriptionGroupTable":{{{groups}}}}}"#));
        write("messageRequestMode.json", modes.to_owned());
    };
    let master = master.restart_after(written).await.unwrap();
    let slave = TestBroker::start_at(&name_server, slave).await;
    // Asked without a page, a broker gives all.
    let all = async |broker: &TestBroker| {
        let mut tables = Vec::new();
        for code in [
            RequestCode::GET_ALL_TOPIC_CONFIG,
            RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
            RequestCode::GET_ALL_MESSAGE_REQUEST_MODE,
        ] {
            tables.push(String::from_utf8_lossy(&broker.ok(Command::request(code)).await.body.bytes()).into_owned());
        }
        tables
    };
    let theirs = all(&master).await;
    assert!(theirs[..2].iter().all(|table| table.matches("\"Name").count() >= count), "{}", theirs[0]);
    assert!(theirs[2].contains("POP"), "{}", theirs[2]);
    slave.wait_for("all is copied", async |slave| (all(slave).await == theirs).then_some(())).await;
    slave.stop().await;
    master.stop().await;
}
