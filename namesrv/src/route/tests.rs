//! What the tables promise, one test for each promise.

use apogee_remoting::json;
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_remoting::protocol::route::TopicRouteData;
use apogee_remoting::protocol::static_topic::TopicQueueMappingInfo;

use super::*;

/// A registration with two topics, T and U, of four queues each.
fn registration<'a>(broker: &'a str, id: i64, address: &'a str) -> Registration<'a> {
    Registration {
        cluster: "C",
        broker,
        id,
        address,
        ha_address: Some("ha:1"),
        zone: None,
        timeout: None,
        acting_master: Some(false),
        version: DataVersion { counter: 1, state_version: 0, timestamp: 1 },
        topics: vec![("T".into(), queues(4)), ("U".into(), queues(4))],
        mappings: Vec::new(),
        filter_servers: Some(Vec::new()),
        connection: id.unsigned_abs(),
        replaces_topics: false,
    }
}

fn queues(number: i32) -> Queues {
    Queues { read: number, write: number, perm: 6, sys_flag: 0 }
}

fn acting<'a>(broker: &'a str, id: i64, address: &'a str) -> Registration<'a> {
    Registration { acting_master: Some(true), ..registration(broker, id, address) }
}

fn registered(outcome: Outcome) -> Registered {
    match outcome {
        Outcome::Registered(registered) => registered,
        other => panic!("{other:?}"),
    }
}

fn route(routes: &Routes, topic: &str) -> Option<TopicRouteData> {
    routes.route(topic, true, || None).map(|body| json::from_slice(&body).unwrap())
}

/// Permission and addresses of the only broker that has the topic.
fn only_broker(routes: &Routes, topic: &str) -> (i32, Vec<(i64, String)>) {
    let route = route(routes, topic).unwrap();
    let [broker] = &route.broker_datas[..] else { panic!("{route:?}") };
    (route.queue_datas[0].perm, broker.broker_addrs.clone().into_iter().collect())
}

fn is_empty(routes: &Routes) -> bool {
    routes.read(|tables| tables.topics.is_empty() && tables.brokers.is_empty() && tables.mappings.is_empty())
        && route(routes, "T").is_none()
}

/// `BrokerSet::topics` and the topic table say the same.
fn assert_consistent(routes: &Routes) {
    routes.read(|tables| {
        for (topic, brokers) in &tables.topics {
            assert!(!brokers.is_empty(), "{topic}");
            for broker in brokers.keys() {
                assert!(tables.brokers[broker].topics.contains(topic), "{topic} {broker}");
            }
        }
        for (broker, set) in &tables.brokers {
            assert!(!set.members.is_empty(), "{broker}");
            for topic in &set.topics {
                assert!(tables.topics[topic].contains_key(broker), "{topic} {broker}");
            }
        }
    });
}

#[test]
fn a_registered_broker_is_in_every_table_and_a_gone_one_in_none() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    assert_eq!(only_broker(&routes, "T"), (6, vec![(0, "a:1".into())]));
    assert_consistent(&routes);
    routes.unregister("a", "a:1");
    assert!(is_empty(&routes));
}

#[test]
fn unknown_brokers_and_topics_are_passed_over() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    assert_eq!(routes.unregister("b", "a:1"), None);
    assert_eq!(routes.unregister("a", "a:2"), None);
    assert_eq!(routes.connection_closed(99), []);
    routes.delete_topic("none", None);
    routes.delete_topic("T", Some("none"));
    assert_eq!((routes.wipe_write_permission("b"), routes.add_write_permission("b")), (0, 0));
    routes.read(|tables| tables.heartbeat("C", Some("b"), "b:1", 5));
    assert_eq!(only_broker(&routes, "T").0, 6);
}

#[test]
fn b32_a_first_registration_of_a_single_topic_leaves_no_trace() {
    let routes = Routes::new();
    let single = Registration { topics: vec![("T".into(), queues(4))], ..registration("a", 0, "a:1") };
    assert_eq!(routes.register_broker(&single, 0), Outcome::Partial);
    assert!(is_empty(&routes));
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    assert!(route(&routes, "U").is_some());
    // A slave of a known set is refused as well.
    let single = Registration { topics: vec![("T".into(), queues(4))], ..registration("a", 1, "a:2") };
    assert_eq!(routes.register_broker(&single, 0), Outcome::Partial);
    assert_eq!(only_broker(&routes, "T").1.len(), 1);
}

#[test]
fn b32_parts_of_one_version_add_up() {
    let routes = Routes::new();
    let part = |topics: &[&str]| Registration {
        topics: topics.iter().map(|topic| ((*topic).to_owned(), queues(4))).collect(),
        mappings: vec![TopicQueueMappingInfo {
            topic: topics[0].to_owned(),
            bname: "a".into(),
            ..TopicQueueMappingInfo::default()
        }],
        ..registration("a", 0, "a:1")
    };
    for topics in [&["T", "U"][..], &["V", "W"], &["X"]] {
        registered(routes.register_broker(&part(topics), 0));
    }
    for topic in ["T", "U", "V", "W", "X"] {
        assert!(route(&routes, topic).is_some(), "{topic}");
    }
    for topic in ["T", "V", "X"] {
        assert!(route(&routes, topic).unwrap().topic_queue_mapping_by_broker.is_some(), "{topic}");
    }
}

#[test]
fn a_registration_without_news_keeps_the_ready_answers() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    registered(routes.register_broker(&registration("b", 0, "b:1"), 0));
    let answer = |topic| routes.route(topic, true, || None).unwrap();
    let before = answer("T");
    registered(routes.register_broker(&registration("a", 0, "a:1"), 7));
    assert_eq!(answer("T").as_ptr(), before.as_ptr());

    let other = answer("U");
    let mut changed = registration("a", 0, "a:1");
    changed.topics[0].1 = queues(8);
    changed.version.counter = 2;
    registered(routes.register_broker(&changed, 8));
    assert_ne!(answer("T"), before);
    assert_eq!(answer("U").as_ptr(), other.as_ptr(), "only the changed topic is made anew");
}

#[test]
fn a_wiped_permission_lasts_until_the_broker_changes_its_topics() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    assert_eq!(routes.wipe_write_permission("a"), 2);
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    assert_eq!(only_broker(&routes, "T").0, 4);
    let mut changed = registration("a", 0, "a:1");
    changed.version.counter = 2;
    registered(routes.register_broker(&changed, 0));
    assert_eq!(only_broker(&routes, "T").0, 6);
    assert_eq!(routes.add_write_permission("a"), 2);
}

#[test]
fn unlisted_topics_go_only_when_registrations_replace() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    let only_t = |replaces_topics| Registration {
        topics: vec![("T".into(), queues(4))],
        replaces_topics,
        ..registration("a", 0, "a:1")
    };
    registered(routes.register_broker(&only_t(false), 0));
    assert!(route(&routes, "U").is_some());
    registered(routes.register_broker(&only_t(true), 0));
    assert!(route(&routes, "U").is_none());
    assert_consistent(&routes);
}

#[test]
fn silence_beyond_the_timeout_removes_a_broker_and_names_its_connection() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    let short = Registration { timeout: Some(10), connection: 7, ..registration("b", 0, "b:1") };
    registered(routes.register_broker(&short, 0));
    assert_eq!(routes.expire(10).connections, []);
    routes.read(|tables| tables.heartbeat("C", None, "b:1", 5));
    assert_eq!(routes.expire(15).connections, []);
    assert_eq!(routes.expire(16).connections, [7]);
    assert_eq!(only_broker(&routes, "T").1, [(0, "a:1".into())]);
    assert_eq!(routes.expire(registration::DEFAULT_HEARTBEAT_TIMEOUT).connections, []);
    assert_eq!(routes.expire(registration::DEFAULT_HEARTBEAT_TIMEOUT + 1).connections, [0]);
    assert!(is_empty(&routes));
}

#[test]
fn a_timeout_beyond_all_bounds_never_ends() {
    let routes = Routes::new();
    let endless = Registration { timeout: Some(i64::MAX), ..registration("a", 0, "a:1") };
    registered(routes.register_broker(&endless, 5));
    assert_eq!(routes.expire(i64::MAX).connections, []);
}

#[test]
fn a_closed_connection_removes_only_who_registered_over_it_last() {
    let routes = Routes::new();
    registered(routes.register_broker(&Registration { connection: 1, ..registration("a", 0, "a:1") }, 0));
    registered(routes.register_broker(&Registration { connection: 2, ..registration("a", 0, "a:1") }, 0));
    routes.connection_closed(1);
    assert!(route(&routes, "T").is_some(), "it came back over another connection before");
    routes.connection_closed(2);
    assert!(is_empty(&routes));
}

#[test]
fn slaves_learn_their_master_and_serve_no_topics_beside_it() {
    let routes = Routes::new();
    assert_eq!(registered(routes.register_broker(&registration("a", 0, "a:1"), 0)), Registered::default());
    let slave =
        Registration { topics: vec![("V".into(), queues(1)), ("W".into(), queues(1))], ..registration("a", 1, "a:2") };
    let answer = registered(routes.register_broker(&slave, 0));
    assert_eq!((answer.master_address.as_deref(), answer.ha_address.as_deref()), (Some("a:1"), Some("ha:1")));
    assert!(route(&routes, "V").is_none());
    assert_eq!(only_broker(&routes, "T").1.len(), 2);
}

#[test]
fn a_slave_before_5_0_never_provides_topics() {
    let routes = Routes::new();
    registered(routes.register_broker(&Registration { acting_master: None, ..registration("a", 1, "a:2") }, 0));
    assert!(route(&routes, "T").is_none());
    registered(routes.register_broker(&registration("a", 2, "a:3"), 0));
    assert!(route(&routes, "T").is_none(), "nor does one that is not the first");
    assert_consistent(&routes);
}

#[test]
fn a_slave_that_became_master_leaves_its_old_id() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 1, "a:2"), 0));
    registered(routes.register_broker(&registration("a", 0, "a:2"), 0));
    assert_eq!(only_broker(&routes, "T").1, [(0, "a:2".into())]);
}

#[test]
fn a_newer_state_keeps_its_place_against_an_older_one() {
    let routes = Routes::new();
    let state = |state_version, address| {
        let mut registration = registration("a", 0, address);
        registration.version.state_version = state_version;
        registration
    };
    registered(routes.register_broker(&state(5, "a:1"), 0));
    assert_eq!(routes.register_broker(&state(4, "a:2"), 0), Outcome::Superseded);
    assert_eq!(only_broker(&routes, "T").1, [(0, "a:1".into())]);
    registered(routes.register_broker(&state(6, "a:2"), 0));
    assert_eq!(only_broker(&routes, "T").1, [(0, "a:2".into())]);
}

#[test]
fn the_first_slave_acts_as_a_read_only_master_when_that_is_wanted() {
    let routes = Routes::new();
    registered(routes.register_broker(&acting("a", 0, "a:1"), 0));
    registered(routes.register_broker(&acting("a", 3, "a:4"), 0));
    registered(routes.register_broker(&acting("a", 2, "a:3"), 0));
    routes.unregister("a", "a:1");
    assert_eq!(only_broker(&routes, "T"), (4, vec![(2, "a:3".into()), (3, "a:4".into())]));
    routes.forget_all(true);
    assert_eq!(only_broker(&routes, "T"), (4, vec![(0, "a:3".into()), (3, "a:4".into())]));
    registered(routes.register_broker(&acting("a", 0, "a:1"), 0));
    assert_eq!(only_broker(&routes, "T").0, 6);
    assert_eq!(only_broker(&routes, "T").1.len(), 3);
}

#[test]
fn members_find_each_other_as_they_are() {
    let routes = Routes::new();
    routes.forget_all(true);
    let mut slave = acting("a", 1, "a:2");
    slave.topics[0].0 = "rmq_sys_SYNC_BROKER_MEMBER_a".into();
    registered(routes.register_broker(&slave, 0));
    assert_eq!(only_broker(&routes, "rmq_sys_SYNC_BROKER_MEMBER_a").1, [(1, "a:2".into())]);
    assert_eq!(only_broker(&routes, "U").1, [(0, "a:2".into())]);
}

#[test]
fn a_changed_smallest_id_is_told_to_those_concerned() {
    let routes = Routes::new();
    let arrival = |id, address| registered(routes.register_broker(&acting("a", id, address), 0)).notice;
    assert_eq!(arrival(2, "a:3"), None, "the first is compared with a master");
    let notice = arrival(1, "a:2").unwrap();
    assert_eq!((notice.min_id, &*notice.min_address, notice.ha_address.as_deref()), (1, "a:2", Some("ha:1")));
    assert_eq!(notice.recipients, ["a:3".into()]);
    let notice = routes.unregister("a", "a:2").unwrap();
    assert_eq!((notice.min_id, notice.offline_address.as_deref(), notice.ha_address), (2, Some("a:2"), None));
    assert_eq!(notice.recipients, ["a:3".into()]);
    assert_eq!(routes.unregister("a", "a:3"), None);
    // Without acting masters nobody is told of a loss.
    registered(routes.register_broker(&registration("b", 0, "b:1"), 0));
    registered(routes.register_broker(&registration("b", 1, "b:2"), 0));
    assert_eq!(routes.unregister("b", "b:1"), None);
}

#[test]
fn topics_are_announced_whole_or_not_at_all() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    assert!(!routes.register_topic("N", &[("a".into(), queues(1)), ("none".into(), queues(1))]));
    assert!(!routes.register_topic("N", &[]));
    assert!(route(&routes, "N").is_none());
    assert!(routes.register_topic("N", &[("a".into(), queues(1))]));
    assert!(route(&routes, "N").is_some());
    routes.delete_topic("N", Some("C"));
    assert!(route(&routes, "N").is_none());
    assert_consistent(&routes);
}

#[test]
fn a_zone_sees_its_own_brokers_and_those_without_a_master() {
    let routes = Routes::new();
    registered(routes.register_broker(&Registration { zone: Some("Z1"), ..registration("a", 0, "a:1") }, 0));
    registered(routes.register_broker(&Registration { zone: Some("Z2"), ..registration("b", 0, "b:1") }, 0));
    registered(routes.register_broker(&registration("c", 0, "c:1"), 0));
    let body = |zone| String::from_utf8(routes.route_in_zone("T", zone, false, None).unwrap().to_vec()).unwrap();
    let zone = body("z1");
    assert!(zone.contains("\"a\"") && !zone.contains("\"b\"") && !zone.contains("\"c\""), "{zone}");
    routes.unregister("b", "b:1");
    registered(routes.register_broker(&Registration { zone: Some("Z2"), ..registration("b", 1, "b:2") }, 0));
    assert!(body("z1").contains("b:2"));
}

#[test]
fn both_dialects_differ_in_integer_keys_only() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    let expected = r#"{"brokerDatas":[{"brokerAddrs":{0:"a:1"},"brokerName":"a","cluster":"C","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}"#;
    assert_eq!(routes.route("T", false, || None).unwrap(), expected);
    assert_eq!(routes.route("T", true, || None).unwrap(), expected.replace("0:", "\"0\":"));
}

#[test]
fn lists_follow_clusters_and_flags() {
    let routes = Routes::new();
    let mut unit = registration("a", 0, "a:1");
    unit.topics[0].1.sys_flag = 1;
    unit.topics[1].1.sys_flag = 2;
    registered(routes.register_broker(&unit, 0));
    let mut other = Registration { cluster: "D", ..registration("b", 0, "b:1") };
    other.topics[0].0 = "V".into();
    registered(routes.register_broker(&other, 0));
    routes.read(|tables| {
        let names = |list: apogee_remoting::protocol::topic::TopicList| list.topic_list.into_iter().collect::<Vec<_>>();
        assert_eq!(names(tables.all_topics()), ["T", "U", "V"]);
        assert_eq!(names(tables.topics_of_cluster("C")), ["T", "U"]);
        assert_eq!(names(tables.topics_of_cluster("none")), [""; 0]);
        assert_eq!(names(tables.topics_where(Queues::is_unit)), ["T"]);
        assert_eq!(names(tables.topics_where(Queues::is_unit_sub)), ["U"]);
        let system = tables.system_topics();
        assert_eq!(system.broker_addr, "a:1");
        assert_eq!(names(system), ["C", "D", "a", "b"]);
        assert_eq!(tables.cluster_info().cluster_addr_table["D"].len(), 1);
        assert_eq!(tables.member_group("C", "a").broker_addrs[&0], "a:1");
    });
}

#[test]
fn a_broker_that_changed_its_cluster_is_in_the_new_one_only() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("a", 0, "a:1"), 0));
    registered(routes.register_broker(&Registration { cluster: "D", ..registration("a", 0, "a:1") }, 0));
    let clusters = routes.read(|tables| tables.cluster_info().cluster_addr_table);
    assert_eq!(clusters.into_keys().collect::<Vec<_>>(), ["D"]);
    assert_eq!(route(&routes, "T").unwrap().broker_datas[0].cluster, "D");
}

#[test]
fn queries_run_while_brokers_come_and_go() {
    let routes = Routes::new();
    registered(routes.register_broker(&registration("stays", 0, "s:1"), 0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..2000 {
                registered(routes.register_broker(&registration("comes", 0, "c:1"), round));
                routes.unregister("comes", "c:1");
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5000 {
                    let data = route(&routes, "T").unwrap();
                    assert_eq!(data.queue_datas.len(), data.broker_datas.len());
                    assert!(data.broker_datas.iter().all(|broker| !broker.broker_addrs.is_empty()));
                }
            });
        }
    });
    assert_eq!(only_broker(&routes, "T").1, [(0, "s:1".into())]);
    assert_consistent(&routes);
}
