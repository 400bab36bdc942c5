//! Figures by name: code 315.

use apogee_remoting::protocol::stats::{BrokerStatsData, BrokerStatsItem, ViewBrokerStatsDataRequestHeader};
use apogee_remoting::{Command, ResponseCode, json};

use super::Stats;
use super::traffic::{Span, Traffic, ratio};
use crate::Broker;
use crate::answer::{Answer, Refusal};

/// How one of the counters grew in the last minute, hour and day (315).
pub(crate) fn view(broker: &Broker, request: &Command) -> Answer {
    let header: ViewBrokerStatsDataRequestHeader<'_> = request.header()?;
    let (name, key) = (header.stats_name, header.stats_key);
    let cluster = &broker.settings().broker.broker_cluster_name;
    let [minute, hour, day] = growth(&broker.stats, name, key, cluster)
        .ok_or_else(|| Refusal::new(ResponseCode::SYSTEM_ERROR, format!("The stats <{name}> <{key}> not exist")))?;
    let body = BrokerStatsData { stats_day: Some(day), stats_hour: Some(hour), stats_minute: Some(minute) };
    Ok(Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&body)))
}

/// The growth of a counter, by its name and key in the reference. `None` for one that never counted.
fn growth(stats: &Stats, name: &str, key: &str, cluster: &str) -> Option<[BrokerStatsItem; 3]> {
    let of = |traffic: &Traffic| Span::ALL.map(|span| item(traffic, span, name.ends_with("_SIZE")));
    match name {
        "TOPIC_PUT_NUMS" | "TOPIC_PUT_SIZE" => stats.stored.get(key).map(|traffic| of(&traffic)),
        "GROUP_GET_NUMS" | "GROUP_GET_SIZE" | "SNDBCK_PUT_NUMS" => {
            let (topic, group) = key.split_once('@')?;
            let by_group = if name == "SNDBCK_PUT_NUMS" { &stats.given_back } else { &stats.pulled };
            by_group.get(group)?.get(topic).map(|traffic| of(&traffic))
        }
        "BROKER_PUT_NUMS" if key == cluster => Some(of(&stats.all_stored)),
        "BROKER_GET_NUMS" if key == cluster => Some(of(&stats.all_pulled)),
        _ => None,
    }
}

fn item(traffic: &Traffic, span: Span, in_bytes: bool) -> BrokerStatsItem {
    let (growth, seconds) = traffic.growth(span);
    let sum = if in_bytes { growth.bytes } else { growth.messages };
    BrokerStatsItem { avgpt: ratio(sum, growth.calls as f64), sum: sum as i64, tps: ratio(sum, seconds) }
}
