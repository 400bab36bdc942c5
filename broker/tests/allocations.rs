//! Messages go through the broker without memory of their own: allocations are counted while they are sent and pulled.
//! The one test of this file, since it counts what the whole process allocates.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers, too")]

mod harness;

use std::alloc::System;
use std::io::{Read, Write};
use std::net::TcpStream;

use apogee_remoting::{Command, RequestCode, Serialization};
use harness::{TestBroker, pull_header, send_header};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Requests in one write.
const AT_ONCE: usize = 16;
/// Writes that are counted together.
const ROUNDS: usize = 50;
/// How often they may be counted: what flushes, samples and grows from time to time is not of a message.
const ATTEMPTS: usize = 20;

#[test]
fn messages_need_no_memory_of_their_own() {
    for serialization in [Serialization::Json, Serialization::RocketMq] {
        let runtime = Runtime::new().unwrap();
        // Slots of the index get memory when they are first used: one page of them.
        let few_slots = |settings: &mut apogee_config::BrokerSettings| {
            settings.store.max_hash_slot_num = 1000;
            settings.store.mapped_file_size_commit_log = 64 << 20;
        };
        let broker = runtime.block_on(TestBroker::start_speaking(serialization, few_slots));
        runtime.block_on(broker.send("T", 0, "creates the topic"));
        let mut connection = Connection::new(&broker.address);

        let of_a_send = connection.allocations(&send(serialization), 0.1);
        assert!(of_a_send < 0.1, "{serialization:?}: {of_a_send} allocations for each send");
        for messages in [1, 16] {
            let most = PULL + 0.1;
            let of_a_pull = connection.allocations(&pull(serialization, messages), most);
            assert!(of_a_pull < most, "{serialization:?}: {of_a_pull} allocations for a pull of {messages} messages");
        }
        drop(connection);
        runtime.block_on(broker.stop());
    }
}

/// Of a pull, however many messages it gets.
const PULL: f64 = 6.0;

fn send(serialization: Serialization) -> Vec<u8> {
    let properties =
        "UNIQ_KEY\u{1}7F00000100002A9F0000000000000001\u{2}WAIT\u{1}true\u{2}KEYS\u{1}a b\u{2}TAGS\u{1}t\u{2}";
    let header =
        apogee_remoting::protocol::send::SendMessageRequestHeader { properties: Some(properties), ..send_header("T") };
    requests(serialization, &Command::request(RequestCode::SEND_MESSAGE).with_header(&header).with_body(vec![7; 1024]))
}

fn pull(serialization: Serialization, messages: i32) -> Vec<u8> {
    let header =
        apogee_remoting::protocol::pull::PullMessageRequestHeader { max_msg_nums: messages, ..pull_header("G", "T") };
    requests(serialization, &Command::request(RequestCode::PULL_MESSAGE).with_header(&header))
}

fn requests(serialization: Serialization, request: &Command) -> Vec<u8> {
    request.encode(serialization).repeat(AT_ONCE)
}

/// A connection that needs no memory while it is used.
struct Connection {
    stream: TcpStream,
    room: Vec<u8>,
}

impl Connection {
    fn new(address: &str) -> Self {
        Self { stream: TcpStream::connect(address).unwrap(), room: vec![0; 1 << 20] }
    }

    /// How often memory is allocated for each request, at best; ends at the first count below `most`.
    fn allocations(&mut self, requests: &[u8], most: f64) -> f64 {
        self.exchange(requests);
        let counts = (0..ATTEMPTS).map(|_| self.exchange(requests) as f64 / (ROUNDS * AT_ONCE) as f64);
        let mut least = f64::INFINITY;
        for count in counts {
            least = least.min(count);
            if least < most {
                break;
            }
        }
        least
    }

    /// Sends requests and waits for their answers, again and again; gives how often memory was allocated meanwhile.
    fn exchange(&mut self, requests: &[u8]) -> usize {
        let region = Region::new(ALLOCATOR);
        for _ in 0..ROUNDS {
            self.stream.write_all(requests).unwrap();
            for _ in 0..AT_ONCE {
                let mut length = [0; 4];
                self.stream.read_exact(&mut length).unwrap();
                let answer = &mut self.room[..u32::from_be_bytes(length) as usize];
                self.stream.read_exact(answer).unwrap();
            }
        }
        let change = region.change();
        change.allocations + change.reallocations
    }
}
