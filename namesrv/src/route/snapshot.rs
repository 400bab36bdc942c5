//! Ready-made route answers.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use apogee_remoting::json;
use apogee_remoting::protocol::route::{BrokerData, QueueData, TopicRouteData};
use bytes::Bytes;

use super::broker_set::{BrokerSet, MASTER_ID};
use super::queues::PERM_WRITE;
use super::tables::Tables;

/// Topics through which the members of a broker set find each other; these see the set as it is.
const MEMBER_GROUP_PREFIX: &str = "rmq_sys_SYNC_BROKER_MEMBER_";

/// The route of one topic at one time, with its answers encoded once, when first asked for.
#[derive(Debug)]
pub struct Route {
    data: TopicRouteData,
    dialect: OnceLock<Bytes>,
    standard: OnceLock<Bytes>,
}

impl Route {
    fn new(data: TopicRouteData) -> Self {
        Self { data, dialect: OnceLock::new(), standard: OnceLock::new() }
    }

    /// The route itself.
    #[cfg(test)]
    pub fn data(&self) -> &TopicRouteData {
        &self.data
    }

    /// The answer's body: in standard JSON, or with integer keys unquoted as clients before 4.9.4 need it (trap 4).
    pub fn body(&self, standard: bool) -> Bytes {
        if standard {
            self.standard.get_or_init(|| json::to_vec_standard(&self.data).into()).clone()
        } else {
            self.dialect.get_or_init(|| json::to_vec(&self.data).into()).clone()
        }
    }

    /// The body for a client that wants the brokers of its own zone only. Brokers without a master stay, so that
    /// what they still hold can be read from anywhere.
    pub fn body_in_zone(&self, zone: &str, standard: bool) -> Bytes {
        let mut data = self.data.clone();
        let near = |broker: &BrokerData| {
            !broker.broker_addrs.contains_key(&MASTER_ID)
                || broker.zone_name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(zone))
        };
        let (near, far): (Vec<_>, Vec<_>) = data.broker_datas.into_iter().partition(near);
        for broker in &far {
            data.queue_datas.retain(|queues| queues.broker_name != broker.broker_name);
            for address in broker.broker_addrs.values() {
                data.filter_server_table.remove(address);
            }
        }
        data.broker_datas = near;
        if standard { json::to_vec_standard(&data).into() } else { json::to_vec(&data).into() }
    }
}

impl Tables {
    /// Builds the route of `topic`; `None` when no live broker has it.
    pub(super) fn build_route(&self, topic: &str, acting_master: bool, order: Option<String>) -> Option<Route> {
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
        Some(Route::new(data))
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
