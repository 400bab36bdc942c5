//! Consumers that are connected: their groups, members and subscriptions, as heartbeats tell them.

use std::collections::HashMap;
use std::sync::Arc;

use apogee_remoting::protocol::heartbeat::ConsumerData;
use apogee_remoting::protocol::subscription::{ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData};
use apogee_remoting::server::Peer;
use dashmap::DashMap;
use parking_lot::RwLock;

use super::{Client, Members};
use crate::filter::is_tag_type;
use crate::pull::TagFilter;

/// All groups with a connected consumer.
#[derive(Default)]
pub(crate) struct Consumers {
    groups: DashMap<Arc<str>, Arc<ConsumerGroup>>,
    /// Groups of each connection, so that its end does not search through all groups.
    by_peer: DashMap<u64, Vec<Arc<str>>>,
    /// Fingerprint of the last heartbeat of each group, whichever member sent it.
    fingerprints: DashMap<String, i32>,
}

/// One group's connected consumers.
pub(crate) struct ConsumerGroup {
    state: RwLock<State>,
}

struct State {
    consume_type: ConsumeType,
    message_model: MessageModel,
    consume_from_where: ConsumeFromWhere,
    members: Members,
    subscriptions: HashMap<String, Arc<Subscription>>,
}

/// What a group wants of a topic.
#[derive(Debug)]
pub(crate) struct Subscription {
    /// As the heartbeat gave it.
    pub(crate) data: SubscriptionData,
    /// The tags that pass; `None` for an expression type other than that of tags (`filter::Filters` has those).
    pub(crate) tags: Option<TagFilter>,
}

impl From<SubscriptionData> for Subscription {
    fn from(data: SubscriptionData) -> Self {
        let tags = is_tag_type(&data.expression_type).then(|| {
            if data.class_filter_mode || data.sub_string == "*" {
                TagFilter::All
            } else {
                TagFilter::codes(data.code_set.iter().copied())
            }
        });
        Self { data, tags }
    }
}

/// What changed with a heartbeat or the end of a client; everybody in the list is told of it.
pub(crate) struct MembersChanged {
    pub(crate) peers: Vec<Arc<Peer>>,
}

/// A client left a group.
pub(crate) struct Left {
    /// Whom to tell, if anybody.
    pub(crate) changed: Option<MembersChanged>,
    /// Whether the group has no other member.
    pub(crate) was_last: bool,
}

impl Consumers {
    /// The group of this name, if any consumer of it is connected.
    pub(crate) fn group(&self, name: &str) -> Option<Arc<ConsumerGroup>> {
        self.groups.get(name).map(|group| Arc::clone(&group))
    }

    /// Names of the groups that subscribe to a topic.
    pub(crate) fn groups_of(&self, topic: &str) -> Vec<Arc<str>> {
        let subscribers = self.groups.iter().filter(|group| group.subscription(topic).is_some());
        subscribers.map(|group| Arc::clone(group.key())).collect()
    }

    /// Takes up what a heartbeat says of one group. With `with_subscriptions` unset the heartbeat left
    /// out its subscriptions because they did not change.
    ///
    /// Answers whom to tell when members or subscriptions changed.
    pub(crate) fn heartbeat(
        &self,
        client: &Client,
        data: ConsumerData,
        with_subscriptions: bool,
    ) -> Option<MembersChanged> {
        let name: Arc<str> = Arc::from(data.group_name.as_str());
        // The entry stays locked, so that the group cannot be dropped as empty meanwhile.
        let group = self.groups.entry(Arc::clone(&name)).or_insert_with(|| Arc::new(ConsumerGroup::new(&data)));
        let mut state = group.state.write();
        state.consume_type = data.consume_type;
        state.message_model = data.message_model;
        state.consume_from_where = data.consume_from_where;
        let mut changed = state.members.heartbeat(client);
        if changed {
            self.by_peer.entry(client.peer.id()).or_default().push(name);
        }
        if with_subscriptions {
            changed |= state.subscribe(data.subscription_data_set);
        }
        let tell = changed && state.message_model != MessageModel::Broadcasting;
        tell.then(|| MembersChanged { peers: state.members.peers() })
    }

    /// Notes the fingerprint of a group's heartbeat; says whether the one before it was another.
    pub(crate) fn swap_fingerprint(&self, group: &str, fingerprint: i32) -> bool {
        self.fingerprints.insert(group.to_owned(), fingerprint).is_some_and(|before| before != fingerprint)
    }

    /// Removes a client from a group, at its own wish. `None` when it was not there.
    pub(crate) fn unregister(&self, group: &str, peer: &Peer) -> Option<Left> {
        if let Some(mut groups) = self.by_peer.get_mut(&peer.id()) {
            groups.retain(|name| **name != *group);
        }
        self.remove_member(group, peer)
    }

    /// Removes a client whose connection ended from all its groups.
    pub(crate) fn connection_closed(&self, peer: &Peer) -> Vec<(Arc<str>, Left)> {
        let groups = self.by_peer.remove(&peer.id()).map(|(_, groups)| groups).unwrap_or_default();
        groups.into_iter().filter_map(|name| self.remove_member(&name, peer).map(|left| (name, left))).collect()
    }

    /// Closes the connections of members that have been silent since before `oldest` (ms since the epoch).
    pub(crate) fn close_silent(&self, oldest: i64) {
        for group in &self.groups {
            group.state.read().members.close_silent(oldest, group.key());
        }
    }

    fn remove_member(&self, name: &str, peer: &Peer) -> Option<Left> {
        let group = self.group(name)?;
        let mut state = group.state.write();
        if !state.members.remove(peer) {
            return None;
        }
        let tell = state.message_model != MessageModel::Broadcasting;
        let changed = MembersChanged { peers: state.members.peers() };
        drop(state);
        let was_last = self.groups.remove_if(name, |_, group| group.state.read().members.is_empty()).is_some();
        if was_last {
            self.fingerprints.remove(name);
        }
        Some(Left { changed: tell.then_some(changed), was_last })
    }
}

impl ConsumerGroup {
    fn new(data: &ConsumerData) -> Self {
        Self {
            state: RwLock::new(State {
                consume_type: data.consume_type,
                message_model: data.message_model,
                consume_from_where: data.consume_from_where,
                members: Members::default(),
                subscriptions: HashMap::new(),
            }),
        }
    }

    /// What the group wants of a topic.
    pub(crate) fn subscription(&self, topic: &str) -> Option<Arc<Subscription>> {
        self.state.read().subscriptions.get(topic).cloned()
    }

    /// Whether every member gets every message.
    pub(crate) fn is_broadcasting(&self) -> bool {
        self.state.read().message_model == MessageModel::Broadcasting
    }

    /// Whether the group subscribes to a topic, as far as is known: members may have left out their subscriptions.
    pub(crate) fn may_want(&self, topic: &str) -> bool {
        let state = self.state.read();
        state.subscriptions.is_empty() || state.subscriptions.contains_key(topic)
    }

    /// The members.
    pub(crate) fn clients(&self) -> Vec<Client> {
        self.state.read().members.iter().cloned().collect()
    }

    /// The member of this id.
    pub(crate) fn client(&self, id: &str) -> Option<Client> {
        self.state.read().members.iter().find(|client| client.id == id).cloned()
    }

    /// Ids of the members.
    pub(crate) fn client_ids(&self) -> Vec<String> {
        self.state.read().members.iter().map(|member| member.id.clone()).collect()
    }

    /// Reads the group's state as a whole, for those who show it.
    pub(crate) fn inspect<T>(&self, look: impl FnOnce(View<'_>) -> T) -> T {
        let state = self.state.read();
        look(View {
            consume_type: state.consume_type,
            message_model: state.message_model,
            consume_from_where: state.consume_from_where,
            members: &state.members,
            subscriptions: &state.subscriptions,
        })
    }
}

/// A group at one moment.
pub(crate) struct View<'a> {
    pub(crate) consume_type: ConsumeType,
    pub(crate) message_model: MessageModel,
    pub(crate) consume_from_where: ConsumeFromWhere,
    pub(crate) members: &'a Members,
    pub(crate) subscriptions: &'a HashMap<String, Arc<Subscription>>,
}

impl State {
    /// Replaces the subscriptions; says whether a topic came or went. One that is there is only
    /// replaced by a newer version of itself.
    fn subscribe(&mut self, data: Vec<SubscriptionData>) -> bool {
        let before = self.subscriptions.len();
        self.subscriptions.retain(|topic, _| data.iter().any(|new| new.topic == *topic));
        let mut changed = self.subscriptions.len() != before;
        for new in data {
            match self.subscriptions.get(&new.topic) {
                Some(old) if new.sub_version <= old.data.sub_version => {}
                known => {
                    changed |= known.is_none();
                    self.subscriptions.insert(new.topic.clone(), Arc::new(new.into()));
                }
            }
        }
        changed
    }
}
