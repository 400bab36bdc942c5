//! Bodies and state files in the reference's JSON dialect: read, written in each form, and read back as the same.
#![no_main]

use apogee_remoting::json;
use apogee_remoting::protocol::group::SubscriptionGroupWrapper;
use apogee_remoting::protocol::heartbeat::HeartbeatData;
use apogee_remoting::protocol::lock::LockBatchRequestBody;
use apogee_remoting::protocol::offset::ConsumerOffsetSerializeWrapper;
use apogee_remoting::protocol::register::RegisterBrokerBody;
use apogee_remoting::protocol::route::{ClusterInfo, TopicRouteData};
use apogee_remoting::protocol::stats::ConsumeStats;
use apogee_remoting::protocol::topic::TopicConfigSerializeWrapper;
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|input: &[u8]| {
    let Some((kind, text)) = input.split_first() else { return };
    match kind % 9 {
        0 => round_trip::<TopicConfigSerializeWrapper>(text),
        1 => round_trip::<SubscriptionGroupWrapper>(text),
        2 => round_trip::<ConsumerOffsetSerializeWrapper>(text),
        3 => round_trip::<HeartbeatData>(text),
        4 => round_trip::<TopicRouteData>(text),
        5 => round_trip::<RegisterBrokerBody>(text),
        6 => round_trip::<LockBatchRequestBody>(text),
        7 => round_trip::<ConsumeStats>(text),
        _ => round_trip::<ClusterInfo>(text),
    }
});

fn round_trip<T: Serialize + DeserializeOwned>(text: &[u8]) {
    let Ok(value) = json::from_slice::<T>(text) else { return };
    // A null where the type has another default is left out, and is that default from then on, as in the reference.
    let value = read::<T>(&json::to_vec(&value));
    for written in [json::to_vec(&value), json::to_vec_standard(&value), json::to_vec_pretty(&value)] {
        let again: T = read(&written);
        // By its text: not every body can be compared, and NaN is unequal to itself.
        assert_eq!(String::from_utf8(json::to_vec(&again)), String::from_utf8(json::to_vec(&value)));
    }
}

fn read<T: DeserializeOwned>(written: &[u8]) -> T {
    json::from_slice(written).unwrap_or_else(|error| panic!("{error} in our own {}", String::from_utf8_lossy(written)))
}
