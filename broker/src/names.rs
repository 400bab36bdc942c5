//! Names of topics and groups: what is allowed, what is reserved, how they are put together.

/// Prefix of the topic that holds a group's messages to be consumed again.
pub(crate) const RETRY_PREFIX: &str = "%RETRY%";
/// Prefix of the topic that holds a group's dead letters.
pub(crate) const DLQ_PREFIX: &str = "%DLQ%";
/// Topic whose settings automatically created topics inherit.
pub(crate) const AUTO_CREATE_TOPIC: &str = "TBW102";
/// Topic that holds delayed messages, one queue for each level.
pub(crate) const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
/// Topic of the half messages of transactions.
pub(crate) const HALF_TOPIC: &str = "RMQ_SYS_TRANS_HALF_TOPIC";
/// Topic of the notes on which half messages are done with.
pub(crate) const OP_HALF_TOPIC: &str = "RMQ_SYS_TRANS_OP_HALF_TOPIC";
/// Half topic of the RocksDB variant of transactions.
pub(crate) const ROCKSDB_HALF_TOPIC: &str = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC";
/// Op topic of the RocksDB variant of transactions.
pub(crate) const ROCKSDB_OP_HALF_TOPIC: &str = "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC";
/// Topic of half messages that were given up.
pub(crate) const TRANS_CHECK_MAX_TIME_TOPIC: &str = "TRANS_CHECK_MAX_TIME_TOPIC";
/// Topic of the reference's self test.
pub(crate) const SELF_TEST_TOPIC: &str = "SELF_TEST_TOPIC";
/// Topic of notes on corrected pull offsets.
pub(crate) const OFFSET_MOVED_EVENT: &str = "OFFSET_MOVED_EVENT";
/// Topic of the benchmark tools.
pub(crate) const BENCHMARK_TOPIC: &str = "BenchmarkTest";
/// Default topic of message traces.
pub(crate) const TRACE_TOPIC: &str = "RMQ_SYS_TRACE_TOPIC";
/// Reserved beginning of system topics.
pub(crate) const SYSTEM_TOPIC_PREFIX: &str = "rmq_sys_";

const CHECKPOINT_TOPIC: &str = "CHECKPOINT_TOPIC";
const MAX_TOPIC: usize = 127;
const MAX_RETRY_OR_DLQ_TOPIC: usize = 255;
/// Shorter than a topic, for a group's name becomes part of its retry and dead-letter topics.
const MAX_GROUP: usize = 120;

/// Topics that every broker treats as its own, besides those named after itself and its cluster.
pub(crate) const SYSTEM_TOPICS: [&str; 12] = [
    AUTO_CREATE_TOPIC,
    SCHEDULE_TOPIC,
    BENCHMARK_TOPIC,
    HALF_TOPIC,
    TRACE_TOPIC,
    OP_HALF_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    SELF_TEST_TOPIC,
    OFFSET_MOVED_EVENT,
    CHECKPOINT_TOPIC,
    ROCKSDB_HALF_TOPIC,
    ROCKSDB_OP_HALF_TOPIC,
];

/// Whether a topic is the system's own.
pub(crate) fn is_system_topic(topic: &str) -> bool {
    topic.starts_with(SYSTEM_TOPIC_PREFIX) || SYSTEM_TOPICS.contains(&topic)
}

/// Whether clients may not send to a topic.
pub(crate) fn is_closed_to_senders(topic: &str) -> bool {
    matches!(
        topic,
        SCHEDULE_TOPIC
            | HALF_TOPIC
            | OP_HALF_TOPIC
            | TRANS_CHECK_MAX_TIME_TOPIC
            | SELF_TEST_TOPIC
            | OFFSET_MOVED_EVENT
            | ROCKSDB_HALF_TOPIC
            | ROCKSDB_OP_HALF_TOPIC
    )
}

/// The topic of a group's messages to be consumed again.
pub(crate) fn retry_topic(group: &str) -> String {
    format!("{RETRY_PREFIX}{group}")
}

/// The topic of a group's dead letters.
pub(crate) fn dlq_topic(group: &str) -> String {
    format!("{DLQ_PREFIX}{group}")
}

/// Checks the name of a topic. The error is the remark that the reference gives.
pub(crate) fn check_topic(topic: &str) -> Result<(), String> {
    if is_blank(topic) {
        return Err("The specified topic is blank.".to_owned());
    }
    if !topic.bytes().all(is_name_byte) {
        return Err(format!(
            "The specified topic: {topic}, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
        ));
    }
    if topic.starts_with(RETRY_PREFIX) || topic.starts_with(DLQ_PREFIX) {
        if topic.len() > MAX_RETRY_OR_DLQ_TOPIC {
            return Err(format!(
                "The specified topic is DLQ or Retry topic: {topic}, and it's longer than topic max length: {MAX_RETRY_OR_DLQ_TOPIC}"
            ));
        }
    } else if topic.len() > MAX_TOPIC {
        return Err(format!("The specified topic: {topic}, is longer than topic max length: {MAX_TOPIC}"));
    }
    Ok(())
}

/// Checks the name of a group. The error is the remark that the reference gives.
pub(crate) fn check_group(group: &str) -> Result<(), String> {
    if is_blank(group) {
        return Err("The specified group is blank.".to_owned());
    }
    if !group.bytes().all(is_name_byte) {
        return Err(format!(
            "The specified group: {group}, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
        ));
    }
    if group.len() > MAX_GROUP {
        return Err(format!("The specified group: {group}, is longer than group max length: {MAX_GROUP}"));
    }
    Ok(())
}

fn is_blank(name: &str) -> bool {
    name.chars().all(char::is_whitespace)
}

fn is_name_byte(byte: u8) -> bool {
    const IS_NAME_BYTE: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            table[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'%' | b'|' | b'_' | b'-');
            byte += 1;
        }
        table
    };
    IS_NAME_BYTE[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_have_the_reference_s_letters_and_lengths() {
        for good in ["T", "%RETRY%g", "a|b_c-D9", &"x".repeat(127), &format!("%DLQ%{}", "x".repeat(250))] {
            assert_eq!(check_topic(good), Ok(()), "{good}");
        }
        for bad in
            ["", "  ", "a b", "ä", "a.b", "a/b", "a@b", "a\0", &"x".repeat(128), &format!("%RETRY%{}", "x".repeat(249))]
        {
            assert!(check_topic(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn groups_are_at_most_120_long() {
        assert_eq!(check_group(&"g".repeat(120)), Ok(()));
        assert_eq!(
            check_group(&"g".repeat(121)).unwrap_err(),
            format!("The specified group: {}, is longer than group max length: 120", "g".repeat(121))
        );
        assert_eq!(check_group("").unwrap_err(), "The specified group is blank.");
    }

    #[test]
    fn system_topics_are_known_by_name_or_beginning() {
        assert!(is_system_topic("TBW102") && is_system_topic("rmq_sys_anything") && !is_system_topic("RMQ_SYS_x"));
        assert!(is_closed_to_senders("SELF_TEST_TOPIC") && !is_closed_to_senders("BenchmarkTest"));
    }
}
