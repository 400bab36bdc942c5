//! Consumer groups and their configuration: codes 200, 201, 207, 225, 345, 352, 353.

use std::collections::{BTreeMap, BTreeSet};

use super::body::body;
use super::data_version::DataVersion;
use super::retry_policy::{GroupRetryPolicy, SimpleSubscriptionData};
use super::subscription::SubscriptionData;
use crate::header;

header! {
    /// Header of the request DELETE_SUBSCRIPTIONGROUP (207).
    pub struct DeleteSubscriptionGroupRequestHeader<'a> {
        /// Consumer group.
        pub group_name: &'a str = "groupName",
        /// Whether to delete the offsets, too.
        #[default(false)]
        pub clean_offset: bool = "cleanOffset",
    }
}

header! {
    /// Header of the request GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201).
    pub struct GetAllSubscriptionGroupRequestHeader<'a> {
        /// First group of the page; absent asks for all.
        pub group_seq: Option<i32> = "groupSeq",
        /// Version of the table.
        pub data_version: Option<&'a str> = "dataVersion",
        /// Most groups of a page.
        pub max_group_num: Option<i32> = "maxGroupNum",
    }
}

header! {
    /// Header of the response to GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201).
    pub struct GetAllSubscriptionGroupResponseHeader {
        /// Groups in all, over every page; absent from 4.x.
        pub total_group_num: Option<i32> = "totalGroupNum",
    }
}

header! {
    /// Header of the request GET_SUBSCRIPTIONGROUP_CONFIG (352).
    pub struct GetSubscriptionGroupConfigRequestHeader<'a> {
        /// Consumer group.
        pub group: &'a str = "group",
    }
}

header! {
    /// Header of the request UPDATE_AND_GET_GROUP_FORBIDDEN (353).
    pub struct UpdateGroupForbiddenRequestHeader<'a> {
        /// Consumer group.
        pub group: &'a str = "group",
        /// Topic.
        pub topic: &'a str = "topic",
        /// Whether reading is allowed; absent only asks.
        pub readable: Option<bool> = "readable",
    }
}

header! {
    /// Header of the request QUERY_SUBSCRIPTION_BY_CONSUMER (345).
    pub struct QuerySubscriptionByConsumerRequestHeader<'a> {
        /// Consumer group.
        pub group: &'a str = "group",
        /// Topic.
        pub topic: Option<&'a str> = "topic",
    }
}

body! {
    /// Configuration of a consumer group: body of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200) and of the response to 352.
    pub struct SubscriptionGroupConfig {
        /// Attributes.
        pub attributes: BTreeMap<String, String>,
        /// Broker id; 0 is the master.
        pub broker_id: i64,
        /// Whether the group may consume as broadcast.
        pub consume_broadcast_enable: bool = true,
        /// Whether the group may consume.
        pub consume_enable: bool = true,
        /// Whether a new group may start at the oldest message.
        pub consume_from_min_enable: bool = true,
        /// Whether the group consumes in order.
        pub consume_message_orderly: bool,
        /// How long a message may be in work, minutes.
        pub consume_timeout_minute: i32 = 15,
        /// Consumer group.
        pub group_name: String,
        /// When a failed message comes again.
        pub group_retry_policy: GroupRetryPolicy,
        /// System flag of the group.
        pub group_sys_flag: i32,
        /// Whether members are told of changes.
        pub notify_consumer_ids_changed_enable: bool = true,
        /// Retries before the dead-letter topic.
        pub retry_max_times: i32 = 16,
        /// Queues of the retry topic.
        pub retry_queue_nums: i32 = 1,
        /// Subscriptions.
        pub subscription_data_set: Option<Vec<SimpleSubscriptionData>>,
        /// Broker id to pull from when the group is far behind.
        pub which_broker_when_consume_slowly: i64 = 1,
    }
}

body! {
    /// Body of the response to GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201).
    pub struct SubscriptionGroupWrapper {
        /// Version of the table.
        pub data_version: DataVersion,
        /// Bit mask of what is forbidden (4: read), by group and topic.
        pub forbidden_table: BTreeMap<String, BTreeMap<String, i32>>,
        /// Groups by name.
        pub subscription_group_table: BTreeMap<String, SubscriptionGroupConfig>,
    }
}

body! {
    /// Body of the request UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST (225).
    pub struct SubscriptionGroupList {
        /// Groups.
        pub group_config_list: Vec<SubscriptionGroupConfig>,
    }
}

body! {
    /// Body of the response to QUERY_TOPIC_CONSUME_BY_WHO (300).
    pub struct GroupList {
        /// Consumer groups.
        pub group_list: BTreeSet<String>,
    }
}

body! {
    /// Body of the response to UPDATE_AND_GET_GROUP_FORBIDDEN (353).
    pub struct GroupForbidden {
        /// Consumer group.
        pub group: String,
        /// Whether reading is allowed now.
        pub readable: Option<bool>,
        /// Topic.
        pub topic: String,
    }
}

body! {
    /// Body of the response to QUERY_SUBSCRIPTION_BY_CONSUMER (345).
    pub struct QuerySubscriptionResponseBody {
        /// Consumer group.
        pub group: String,
        /// Subscription; absent where the group is not connected or does not subscribe to the topic.
        pub subscription_data: Option<SubscriptionData>,
        /// Topic.
        pub topic: String,
    }
}
