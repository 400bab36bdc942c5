//! A slave's queue of a topic that its master deleted and made anew: the log does not show with the first message that its
//! offset is no damaged number. It waits for the master's word, and no end of the process loses it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; helpers of integration tests are not seen as tests")]

use std::path::Path;
use std::sync::Arc;
use std::thread;

use apogee_config::{BrokerRole, MessageStoreConfig};
use apogee_remoting::message::record::{Draft, entries};
use apogee_store::queue::{Life, Queue};
use apogee_store::{GetRequest, Hooks, Store, Stretch};

const TOPIC: &str = "T";
const FORMER: i64 = 15;

fn config(root: &Path, role: BrokerRole, extended: bool) -> MessageStoreConfig {
    MessageStoreConfig {
        store_path_root_dir: root.to_str().unwrap().to_owned(),
        mapped_file_size_commit_log: 64 * 1024,
        broker_role: role,
        enable_consume_queue_ext: extended,
        ..MessageStoreConfig::default()
    }
}

fn append(store: &Store, topic: &str, body: &str) {
    append_to(store, topic, 0, body);
}

fn append_to(store: &Store, topic: &str, queue_id: i32, body: &str) {
    store.append(&Draft::new(topic, queue_id, ([127, 0, 0, 1], 10_911).into(), body.as_bytes())).unwrap();
}

/// Brings the slave what the master has.
fn replicate(master: &Store, slave: &Store) {
    loop {
        let at = slave.max_physical_offset();
        let Some(stretch) = master.log_stretch(at, 1 << 20).unwrap() else { break };
        let Stretch::Mapped(bytes) = stretch else { panic!("it was just written") };
        slave.append_raw(at, &bytes).unwrap();
    }
    dispatched(slave);
}

fn dispatched(store: &Store) {
    while store.dispatch_behind_bytes() > 0 {
        thread::yield_now();
    }
}

/// What the topic's queue serves from 0 on.
fn bodies(store: &Store) -> Vec<String> {
    dispatched(store);
    let request = GetRequest { topic: TOPIC, queue_id: 0, offset: 0, max_count: 32, max_bytes: 1 << 20 };
    let found = store.get(&request, None).unwrap();
    let records = found.runs.iter().flat_map(|run| entries(run)).map(Result::unwrap);
    records.map(|record| String::from_utf8(record.body.to_vec()).unwrap()).collect()
}

/// The queue, and how far it is.
fn doubtful(store: &Store) -> Option<(Arc<Queue>, Life)> {
    let queue = store.doubtful_queues().pop()?;
    let life = queue.life().unwrap();
    Some((queue, life))
}

/// A master with a former life of the topic and one message of the new one, and one of another topic behind it.
fn master(root: &Path) -> Arc<Store> {
    let master = Store::open(&config(root, BrokerRole::AsyncMaster, false), Hooks::default()).unwrap();
    for n in 0..FORMER {
        append(&master, TOPIC, &format!("former {n}"));
    }
    assert_eq!(bodies(&master).len(), FORMER as usize);
    assert!(master.delete_topic(TOPIC).unwrap());
    append(&master, TOPIC, "new");
    append(&master, "other", "x");
    assert_eq!(bodies(&master), ["new"]);
    master
}

#[test]
fn the_first_message_waits_for_the_masters_word_however_the_process_ends() {
    let masters = tempfile::tempdir().unwrap();
    let master = master(masters.path());
    for (closed, extended) in [(true, false), (false, false), (true, true)] {
        let root = tempfile::tempdir().unwrap();
        let open = || Store::open(&config(root.path(), BrokerRole::Slave, extended), Hooks::default()).unwrap();
        let end = |store: Arc<Store>| {
            if closed {
                store.close().unwrap();
            }
        };
        let mut slave = open();
        replicate(&master, &slave);
        assert_eq!(bodies(&slave).len(), FORMER as usize);
        let (_, life) = doubtful(&slave).unwrap();
        assert_eq!((life.max, life.held.map(|(_, offset)| offset)), (FORMER, Some(1)));
        for _ in 0..2 {
            end(slave);
            slave = open();
            assert_eq!(doubtful(&slave).unwrap().1, life, "closed {closed}");
        }
        let (queue, _) = doubtful(&slave).unwrap();
        slave.begin_anew(&queue, Life { max: 1, ..life }).unwrap();
        assert_eq!(queue.max_offset(), FORMER, "it is not as it was");
        slave.begin_anew(&queue, life).unwrap();
        assert_eq!(bodies(&slave), ["new"]);
        assert!(doubtful(&slave).is_none());
        assert_eq!(slave.take_remade_topics().keys().map(|topic| &**topic).collect::<Vec<_>>(), [TOPIC]);
        for _ in 0..2 {
            end(slave);
            slave = open();
            assert_eq!(bodies(&slave), ["new"], "closed {closed}");
        }
        slave.close().unwrap();
        drop(slave);
        std::fs::remove_dir_all(root.path().join("consumequeue")).unwrap();
        let slave = Store::open(&config(root.path(), BrokerRole::AsyncMaster, extended), Hooks::default()).unwrap();
        assert_eq!(bodies(&slave), ["new"], "all queues made anew, and nobody to ask");
    }
}

/// However the process ends before the master was asked about another queue of the topic, the next one asks. `messages`: with two,
/// the log tells that the first queue begins anew.
#[test]
fn another_queue_is_asked_for_however_the_process_ends() {
    for (closed, messages) in [(true, 1), (false, 1), (true, 2), (false, 2)] {
        let (masters, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let master = Store::open(&config(masters.path(), BrokerRole::AsyncMaster, false), Hooks::default()).unwrap();
        for n in 0..FORMER {
            append(&master, TOPIC, &format!("former {n}"));
            append_to(&master, TOPIC, 1, "former");
        }
        let open = || Store::open(&config(root.path(), BrokerRole::Slave, false), Hooks::default()).unwrap();
        let end = |store: Arc<Store>| {
            if closed {
                store.close().unwrap();
            }
        };
        let mut slave = open();
        replicate(&master, &slave);
        end(slave);
        slave = open();
        assert!(slave.take_remade_topics().is_empty());
        dispatched(&master);
        assert!(master.delete_topic(TOPIC).unwrap());
        for _ in 0..messages {
            append(&master, TOPIC, "new");
        }
        replicate(&master, &slave);
        if let Some((queue, life)) = doubtful(&slave) {
            slave.begin_anew(&queue, life).unwrap();
        }
        for _ in 0..2 {
            assert_eq!(bodies(&slave).len(), messages, "closed {closed}, {messages}");
            let remade = slave.take_remade_topics();
            let last = slave.queues_of(TOPIC)[1].life().unwrap();
            assert_eq!((last.max, last.held), (FORMER, None), "closed {closed}, {messages}");
            assert!(remade[TOPIC] >= last.max_physical, "closed {closed}, {messages}: {remade:?}");
            assert!(remade[TOPIC] < slave.max_physical_offset());
            end(slave);
            slave = open();
        }
        let queue = Arc::clone(&slave.queues_of(TOPIC)[1]);
        slave.begin_anew(&queue, queue.life().unwrap()).unwrap();
        end(slave);
        let slave = open();
        assert_eq!(slave.queues_of(TOPIC).iter().map(|queue| queue.max_offset()).max(), Some(messages as i64));
    }
}

/// The master says that the queue goes on: the number in the record is damaged.
#[test]
fn a_damaged_number_is_given_up_and_holds_up_nothing() {
    let (masters, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let master = master(masters.path());
    let open = || Store::open(&config(root.path(), BrokerRole::Slave, false), Hooks::default()).unwrap();
    let slave = open();
    replicate(&master, &slave);
    let (queue, life) = doubtful(&slave).unwrap();
    queue.give_up_held(life);
    assert!(doubtful(&slave).is_none());
    slave.close().unwrap();
    drop((queue, slave));
    let slave = open();
    assert!(doubtful(&slave).is_none(), "a clean stop, so it is not looked at again");
    assert_eq!(bodies(&slave).len(), FORMER as usize);
}
