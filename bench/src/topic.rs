//! Topics that a load needs.

use anyhow::Result;
use apogee_remoting::protocol::topic::CreateTopicRequestHeader;
use apogee_remoting::{Command, RequestCode};

use crate::wire::Caller;

/// Names of `count` topics: `prefix` itself when there is one only.
pub fn names(prefix: &str, count: usize) -> Vec<String> {
    if count == 1 { vec![prefix.to_owned()] } else { (0..count).map(|i| format!("{prefix}-{i}")).collect() }
}

/// Creates the topics on the broker, or sets their number of queues, one after the other as the admin tool does.
pub fn create(broker: &str, topics: &[String], queues: i32) -> Result<()> {
    let mut caller = Caller::connect(broker)?;
    for topic in topics {
        let header = CreateTopicRequestHeader {
            topic,
            default_topic: Some("TBW102"),
            read_queue_nums: queues,
            write_queue_nums: queues,
            perm: 6,
            topic_filter_type: "SINGLE_TAG",
            topic_sys_flag: Some(0),
            order: false,
            attributes: None,
            force: false,
        };
        caller.call(&Command::request(RequestCode::UPDATE_AND_CREATE_TOPIC).with_header(&header))?;
    }
    Ok(())
}
