//! Routes as clients see them, and their answers as bytes.

use std::collections::BTreeMap;

use apogee_remoting::json;
use apogee_remoting::protocol::route::{BrokerData, QueueData, TopicRouteData};
use bytes::Bytes;

use super::broker_set::{BrokerSet, MASTER_ID};
use super::queues::PERM_WRITE;
use super::tables::Tables;

/// Topics through which the members of a broker set find each other; these see the set as it is.
const MEMBER_GROUP_PREFIX: &str = "rmq_sys_SYNC_BROKER_MEMBER_";

/// An answer's body: in standard JSON, or with integer keys unquoted as clients before 4.9.4 need it (trap 4). It takes no
/// more memory than it has bytes.
pub(super) fn encode(route: &TopicRouteData, standard: bool) -> Bytes {
    let body = if standard { json::to_vec_standard(route) } else { json::to_vec(route) };
    body.into_boxed_slice().into()
}

/// Leaves the brokers of a zone only. Brokers without a master stay, so that what they still hold can be read from anywhere.
pub(super) fn keep_zone(route: &mut TopicRouteData, zone: &str) {
    let is_near = |broker: &BrokerData| {
        !broker.broker_addrs.contains_key(&MASTER_ID)
            || broker.zone_name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(zone))
    };
    for broker in route.broker_datas.extract_if(.., |broker| !is_near(broker)) {
        route.queue_datas.retain(|queues| queues.broker_name != broker.broker_name);
        for address in broker.broker_addrs.values() {
            route.filter_server_table.remove(address);
        }
    }
}

impl Tables {
    /// Builds the route of `topic`; `None` when no live broker has it.
    pub(super) fn build_route(
        &self,
        topic: &str,
        acting_master: bool,
        order: Option<String>,
    ) -> Option<TopicRouteData> {
        let brokers = self.topics.get(topic)?;
        let acting_master = acting_master && !topic.starts_with(MEMBER_GROUP_PREFIX);
        let mut data = TopicRouteData { order_topic_conf: order, ..TopicRouteData::default() };
        for (name, queues) in brokers {
            let Some(set) = self.brokers.get(name) else { continue };
            data.queue_datas.push(QueueData {
                broker_name: name.to_string(),
                read_queue_nums: queues.read,
                write_queue_nums: queues.write,
                perm: queues.perm,
                topic_sys_flag: queues.sys_flag,
            });
            let mut broker = set.data(name);
            if acting_master && set.acting_master && queues.perm & PERM_WRITE == 0 {
                broker.let_first_act_as_master();
            }
            data.broker_datas.push(broker);
            for member in set.members.values().filter(|member| !member.filter_servers.is_empty()) {
                data.filter_server_table.insert(member.address.to_string(), member.filter_servers.clone());
            }
        }
        data.topic_queue_mapping_by_broker = self.mappings.get(topic).map(|brokers| {
            brokers.iter().map(|(name, mapping)| (name.to_string(), mapping.clone())).collect::<BTreeMap<_, _>>()
        });
        Some(data)
    }
}

impl BrokerSet {
    /// The set as clients see it.
    pub(super) fn data(&self, name: &str) -> BrokerData {
        BrokerData {
            cluster: self.cluster.to_string(),
            broker_name: name.to_string(),
            broker_addrs: self.members.iter().map(|(id, member)| (*id, member.address.to_string())).collect(),
            zone_name: self.zone.as_deref().map(str::to_owned),
            enable_acting_master: self.acting_master,
        }
    }
}

/// What the reference does to the route of a set without a master.
trait ActingMaster {
    /// Shows the slave with the smallest id as the master, when there is none.
    fn let_first_act_as_master(&mut self);
}

impl ActingMaster for BrokerData {
    fn let_first_act_as_master(&mut self) {
        if self.broker_addrs.contains_key(&MASTER_ID) {
            return;
        }
        if let Some((_, address)) = self.broker_addrs.pop_first() {
            self.broker_addrs.insert(MASTER_ID, address);
        }
    }
}
