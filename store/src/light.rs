//! Light queues (LMQ): queues without a topic of their own, one each. A message is stored once in its topic and names
//! those that it is to be read from, too.

use apogee_remoting::message::properties::{Properties, key};

/// Beginning of the names of light queues.
pub const LIGHT_PREFIX: &str = "%LMQ%";
/// The number of each.
pub const LIGHT_QUEUE_ID: i32 = 0;

const SEPARATOR: char = ',';
/// Topics whose messages are copies of others or not to be read yet: what they name, the message in its real topic names,
/// too. The reference leaves out those but the half messages.
const COPIES: [&str; 6] = [
    "SCHEDULE_TOPIC_XXXX",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
];
const COPIES_OF_GROUPS: [&str; 3] = ["%RETRY%", "%DLQ%", "rmq_sys_"];

/// Whether a name is that of a light queue.
pub fn is_light(name: &str) -> bool {
    name.starts_with(LIGHT_PREFIX)
}

/// Whether messages of a topic go to the light queues that they name.
fn is_dispatched(topic: &str) -> bool {
    !COPIES.contains(&topic) && !COPIES_OF_GROUPS.iter().any(|prefix| topic.starts_with(prefix))
}

/// The queues that a message of a topic names; `None` when it goes to its own queue alone.
pub(crate) fn named<'a>(topic: &str, properties: Properties<'a>) -> Option<impl Iterator<Item = &'a str>> {
    let names = properties.get_str(key::INNER_MULTI_DISPATCH).filter(|names| !names.trim().is_empty());
    names.filter(|_| is_dispatched(topic)).map(|names| names.split(SEPARATOR))
}

/// The queues, with their number and the offset in each, that the record of a message was put into besides its own.
/// `queue_id` is its own number: names of old versions may be those of topics.
pub(crate) fn queues_of<'a>(
    topic: &str,
    queue_id: i32,
    properties: Properties<'a>,
) -> impl Iterator<Item = (&'a str, i32, i64)> {
    let names = named(topic, properties);
    let offsets = names.is_some().then(|| properties.get_str(key::INNER_MULTI_QUEUE_OFFSET)).flatten();
    names.into_iter().flatten().zip(offsets.unwrap_or_default().split(SEPARATOR)).filter_map(move |(name, offset)| {
        Some((name, if is_light(name) { LIGHT_QUEUE_ID } else { queue_id }, offset.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_go_nowhere_else() {
        let text = "INNER_MULTI_DISPATCH\u{1}%LMQ%a,T,%LMQ%b\u{2}INNER_MULTI_QUEUE_OFFSET\u{1}3,,5,6\u{2}";
        let queues =
            |topic, text: &'static str| -> Vec<_> { queues_of(topic, 7, Properties::new(text.as_bytes())).collect() };
        assert_eq!(queues("T", text), [("%LMQ%a", 0, 3), ("%LMQ%b", 0, 5)]);
        assert_eq!(queues("T", "INNER_MULTI_DISPATCH\u{1}U\u{2}INNER_MULTI_QUEUE_OFFSET\u{1}4\u{2}"), [("U", 7, 4)]);
        for topic in ["%RETRY%g", "%DLQ%g", "rmq_sys_x", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"] {
            assert_eq!(queues(topic, text), [], "{topic}");
        }
        for without in ["", "INNER_MULTI_DISPATCH\u{1} \u{2}", "INNER_MULTI_QUEUE_OFFSET\u{1}3\u{2}"] {
            assert_eq!(queues("T", without), [], "{without:?}");
        }
    }
}
