//! Requests encoded once; what differs from one to the next is patched in place.

use apogee_remoting::message::batch::BatchMember;
use apogee_remoting::message::properties::PropertiesBuf;
use apogee_remoting::protocol::send::SendMessageRequestHeaderV2;
use apogee_remoting::{Command, RequestCode, Serialization};

use crate::clock::{nanos, wall_millis};

/// What the messages of a load look like.
#[derive(Clone, Debug)]
pub struct MessageShape {
    /// Bytes of each body; the first eight hold the intended time of sending.
    pub body: usize,
    /// Messages in one request.
    pub batch: usize,
    /// Whether each message has a KEYS property of its own beside the unique id.
    pub keys: bool,
    /// Other properties of every message. The value `#` stands for the place of a message in its batch, from 0 on.
    pub properties: Vec<(String, String)>,
    /// How headers are written.
    pub serialization: Serialization,
}

/// A request with what differs from one to the next, such as a send to one queue.
pub struct Template {
    frame: Vec<u8>,
    opaque_at: usize,
    binary: bool,
    born_at: Option<usize>,
    keys_at: Vec<usize>,
    bodies_at: Vec<usize>,
}

/// What differs between two requests made from one template.
#[derive(Clone, Copy, Debug)]
pub struct Variation {
    /// Number of the request on its connection, below [`OPAQUES`].
    pub opaque: u32,
    /// Number of the first message within this generator; the members of a batch follow.
    pub key: u64,
    /// Intended time of sending in nanoseconds of [`nanos`].
    pub time: u64,
    /// Milliseconds since 1970.
    pub born: i64,
}

/// Opaques have ten digits, from 10^9 to below 2^31.
pub const OPAQUES: u32 = 1 << 30;
/// Added to the number of a request to get its opaque.
pub const FIRST_OPAQUE: u32 = 1_000_000_000;

impl Template {
    /// Encodes the request to queue `queue` of `topic`.
    pub fn new(topic: &str, queue: i32, shape: &MessageShape) -> Self {
        let properties = shape.properties();
        // The members of a batch carry their own.
        let text = if shape.batch > 1 { "WAIT\x01true\x02".into() } else { String::from_utf8_lossy(&properties) };
        let header = SendMessageRequestHeaderV2 {
            producer_group: Some("apogee-bench"),
            topic,
            default_topic: Some("TBW102"),
            default_topic_queue_nums: Some(4),
            queue_id: queue,
            sys_flag: 0,
            born_timestamp: BORN,
            flag: 0,
            properties: Some(&text),
            reconsume_times: Some(0),
            unit_mode: Some(false),
            max_reconsume_times: None,
            batch: Some(shape.batch > 1),
            broker_name: None,
        };
        let code = if shape.batch > 1 { RequestCode::SEND_BATCH_MESSAGE } else { RequestCode::SEND_MESSAGE_V2 };
        let command = Command::request(code).with_header(&header).with_body(shape.body(&properties));
        Self::of(command, shape.serialization)
    }

    /// Encodes a request of any kind.
    pub fn of(mut command: Command, serialization: Serialization) -> Self {
        command.opaque = FIRST_OPAQUE as i32;
        let frame = command.encode(serialization).to_vec();
        let binary = serialization == Serialization::RocketMq;
        let opaque_at = if binary { 13 } else { find(&frame, b"\"opaque\":").next().unwrap_or(0) + 9 };
        let born_at = find(&frame, BORN.to_string().as_bytes()).next();
        let keys_at = find(&frame, KEY).collect();
        let bodies_at = find(&frame, &BODY_START).collect();
        Self { frame, opaque_at, binary, born_at, keys_at, bodies_at }
    }

    /// Bytes of the frame.
    pub fn len(&self) -> usize {
        self.frame.len()
    }

    /// Appends a request.
    pub fn write(&self, variation: Variation, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.frame);
        let frame = &mut out[start..];
        let opaque = FIRST_OPAQUE + variation.opaque;
        if self.binary {
            frame[self.opaque_at..self.opaque_at + 4].copy_from_slice(&opaque.to_be_bytes());
        } else {
            put_decimal(&mut frame[self.opaque_at..self.opaque_at + 10], opaque.into());
        }
        if let Some(at) = self.born_at {
            put_decimal(&mut frame[at..at + 13], variation.born as u64);
        }
        // Unique id and KEYS of one message have the same number; a frame has a body for each message.
        let keys_per_message = (self.keys_at.len() / self.bodies_at.len().max(1)).max(1);
        for (i, at) in self.keys_at.iter().enumerate() {
            let key = variation.key + (i / keys_per_message) as u64;
            put_hexadecimal(&mut frame[*at..at + KEY.len()], key);
        }
        for at in &self.bodies_at {
            frame[*at..at + 8].copy_from_slice(&variation.time.to_be_bytes());
        }
    }
}

impl MessageShape {
    fn properties(&self) -> Vec<u8> {
        // An id as clients make it: 32 hexadecimal digits, half of them from address, process and time.
        let process = u64::from(std::process::id()) << 32 | (nanos() ^ wall_millis() as u64) & 0xFFFF_FFFF;
        let id = [format!("7F{process:014X}").as_bytes(), KEY].concat();
        let mut properties = PropertiesBuf::new();
        properties.push("UNIQ_KEY", &id).push("WAIT", "true");
        if self.keys {
            properties.push("KEYS", [b"order-", KEY].concat());
        }
        for (name, value) in self.properties.iter().filter(|(_, value)| value != PLACE) {
            properties.push(name, value);
        }
        properties.into_bytes()
    }

    fn body(&self, properties: &[u8]) -> Vec<u8> {
        let mut body = BODY_START.to_vec();
        body.extend((BODY_START.len()..self.body).map(|i| (i * 31 % 251) as u8));
        if self.batch == 1 {
            return body;
        }
        let mut batch = Vec::new();
        for number in 0..self.batch {
            let mut properties = PropertiesBuf::from_text(properties);
            for (name, _) in self.properties.iter().filter(|(_, value)| value == PLACE) {
                properties.push(name, number.to_string());
            }
            let member = BatchMember { flag: 0, body: &body, properties: properties.as_bytes() };
            member.encode(&mut batch).expect("these properties are short");
        }
        batch
    }
}

fn find<'a>(text: &'a [u8], what: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    memchr::memmem::find_iter(text, what)
}

fn put_decimal(into: &mut [u8], mut value: u64) {
    for digit in into.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

fn put_hexadecimal(into: &mut [u8], mut value: u64) {
    for digit in into.iter_mut().rev() {
        *digit = b"0123456789ABCDEF"[(value & 15) as usize];
        value >>= 4;
    }
}

const PLACE: &str = "#";
/// Stand for what is patched: nothing else in a frame looks like them.
const BORN: i64 = 1_234_567_890_123;
const KEY: &[u8] = b"KKKKKKKKKKKKKKKK";
const BODY_START: [u8; 8] = *b"\xFF<time>\xFE";

#[cfg(test)]
mod tests {
    use apogee_remoting::message::properties::Properties;

    use super::*;

    fn shape(serialization: Serialization, batch: usize) -> MessageShape {
        let properties = vec![("TAGS".into(), "A".into()), ("number".into(), "#".into())];
        MessageShape { body: 100, batch, keys: true, properties, serialization }
    }

    fn written(shape: &MessageShape) -> Command {
        let template = Template::new("T", 7, shape);
        let mut out = b"before".to_vec();
        let variation = Variation { opaque: 123_456_789, key: 0xABC, time: 42, born: 1_700_000_000_001 };
        template.write(variation, &mut out);
        assert_eq!(out.len(), 6 + template.len());
        Command::decode(bytes::Bytes::copy_from_slice(&out[10..])).unwrap().0
    }

    #[test]
    fn patches_what_differs() {
        for serialization in [Serialization::Json, Serialization::RocketMq] {
            let command = written(&shape(serialization, 1));
            assert_eq!((command.code, command.opaque), (310, 1_123_456_789));
            let header: SendMessageRequestHeaderV2 = command.header().unwrap();
            assert_eq!((header.topic, header.queue_id, header.born_timestamp), ("T", 7, 1_700_000_000_001));
            let properties = Properties::new(header.properties.unwrap().as_bytes());
            assert!(properties.get_str("UNIQ_KEY").unwrap().ends_with("0000000000000ABC"));
            assert_eq!(properties.get_str("KEYS"), Some("order-0000000000000ABC"));
            assert_eq!(properties.get_str("TAGS"), Some("A"));
            let body = command.body.bytes();
            assert_eq!((body.len(), &body[..8]), (100, &42u64.to_be_bytes()[..]));
        }
    }

    #[test]
    fn numbers_the_members_of_a_batch() {
        let command = written(&shape(Serialization::Json, 3));
        assert_eq!(command.code, 320);
        let body = command.body.bytes();
        let members: Vec<_> = apogee_remoting::message::batch::decode(&body).map(Result::unwrap).collect();
        assert_eq!(members.len(), 3);
        let keys: Vec<_> = members.iter().map(|m| Properties::new(m.properties).get_str("KEYS").unwrap()).collect();
        assert!(keys[0] < keys[1] && keys[1] < keys[2], "{keys:?}");
        let numbers: Vec<_> =
            members.iter().map(|m| Properties::new(m.properties).get_str("number").unwrap()).collect();
        assert_eq!(numbers, ["0", "1", "2"]);
    }
}
