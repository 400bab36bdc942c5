//! Every example of the reference's bodies is read and written back to the same bytes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers, too")]

use std::collections::BTreeMap;

use apogee_remoting::json;
use apogee_remoting::protocol::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// `bodies.json`: each JSON body with examples that the reference wrote.
#[derive(Deserialize)]
struct Entry {
    example: String,
    #[serde(rename = "exampleEmpty")]
    empty: Option<String>,
}

fn entries() -> BTreeMap<String, Entry> {
    let all: BTreeMap<String, serde_json::Value> = serde_json::from_str(include_str!("golden/bodies.json")).unwrap();
    let classes = all.into_iter().filter(|(name, _)| !name.starts_with('_'));
    classes.map(|(name, entry)| (name, serde_json::from_value(entry).unwrap())).collect()
}

#[test]
fn examples_are_written_back_byte_for_byte() {
    for (name, entry) in entries() {
        if !NOT_OURS.contains(&name.as_str()) {
            assert_eq!(
                rewrite(&name, &entry.example).unwrap_or_else(|e| panic!("{name}: {e}")),
                entry.example,
                "{name}"
            );
        }
    }
}

#[test]
fn fresh_instances_are_written_back_byte_for_byte() {
    for (name, entry) in entries() {
        if let Some(empty) = entry.empty.filter(|_| !NOT_OURS.contains(&name.as_str())) {
            let written = rewrite(&name, &empty).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(written != empty, NEVER_NULL.contains(&name.as_str()), "{name}: {written} for {empty}");
        }
    }
}

#[test]
fn damaged_examples_are_an_error_and_no_panic() {
    for (name, entry) in entries() {
        if !NOT_OURS.contains(&name.as_str()) {
            for end in (0..entry.example.len()).filter(|&end| entry.example.is_char_boundary(end)) {
                assert!(rewrite(&name, &entry.example[..end]).is_err(), "{name} up to {end}");
            }
        }
    }
}

fn round_trip<T: Serialize + DeserializeOwned>(text: &str) -> Result<String, json::JsonError> {
    json::from_str::<T>(text).map(|body| String::from_utf8(json::to_vec(&body)).unwrap())
}

#[allow(clippy::too_many_lines, reason = "one line for each type")]
fn rewrite(name: &str, text: &str) -> Result<String, json::JsonError> {
    match name {
        "QueryAssignmentRequestBody" => round_trip::<assignment::QueryAssignmentRequestBody>(text),
        "QueryAssignmentResponseBody" => round_trip::<assignment::QueryAssignmentResponseBody>(text),
        "SetMessageRequestModeRequestBody" => round_trip::<assignment::SetMessageRequestModeRequestBody>(text),
        "MessageRequestModeSerializeWrapper" => round_trip::<assignment::MessageRequestModeSerializeWrapper>(text),
        "UserInfo" => round_trip::<auth::UserInfo>(text),
        "AclInfo" => round_trip::<auth::AclInfo>(text),
        "PolicyInfo" => round_trip::<auth::PolicyInfo>(text),
        "PolicyEntryInfo" => round_trip::<auth::PolicyEntryInfo>(text),
        "Connection" => round_trip::<client::Connection>(text),
        "ConsumerConnection" => round_trip::<client::ConsumerConnection>(text),
        "ProducerConnection" => round_trip::<client::ProducerConnection>(text),
        "ProducerInfo" => round_trip::<client::ProducerInfo>(text),
        "ProducerTableInfo" => round_trip::<client::ProducerTableInfo>(text),
        "GetConsumerListByGroupResponseBody" => round_trip::<consumer_list::GetConsumerListByGroupResponseBody>(text),
        "GetConsumerStatusBody" => round_trip::<consumer_status::GetConsumerStatusBody>(text),
        "ConsumeMessageDirectlyResult" => round_trip::<consumer_status::ConsumeMessageDirectlyResult>(text),
        "ConsumerRunningInfo" => round_trip::<consumer_status::ConsumerRunningInfo>(text),
        "ProcessQueueInfo" => round_trip::<consumer_status::ProcessQueueInfo>(text),
        "PopProcessQueueInfo" => round_trip::<consumer_status::PopProcessQueueInfo>(text),
        "ConsumeStatus" => round_trip::<consumer_status::ConsumeStatus>(text),
        "SyncStateSet" => round_trip::<controller::SyncStateSet>(text),
        "RoleChangeNotifyEntry" => round_trip::<controller::RoleChangeNotifyEntry>(text),
        "ElectMasterResponseBody" => round_trip::<controller::ElectMasterResponseBody>(text),
        "BrokerReplicasInfo" => round_trip::<controller::BrokerReplicasInfo>(text),
        "ReplicasInfo" => round_trip::<controller::ReplicasInfo>(text),
        "ReplicaIdentity" => round_trip::<controller::ReplicaIdentity>(text),
        "DataVersion" => round_trip::<data_version::DataVersion>(text),
        "SubscriptionGroupConfig" => round_trip::<group::SubscriptionGroupConfig>(text),
        "SubscriptionGroupWrapper" => round_trip::<group::SubscriptionGroupWrapper>(text),
        "SubscriptionGroupList" => round_trip::<group::SubscriptionGroupList>(text),
        "GroupList" => round_trip::<group::GroupList>(text),
        "GroupForbidden" => round_trip::<group::GroupForbidden>(text),
        "QuerySubscriptionResponseBody" => round_trip::<group::QuerySubscriptionResponseBody>(text),
        "HARuntimeInfo" => round_trip::<ha::HARuntimeInfo>(text),
        "HAConnectionRuntimeInfo" => round_trip::<ha::HAConnectionRuntimeInfo>(text),
        "HAClientRuntimeInfo" => round_trip::<ha::HAClientRuntimeInfo>(text),
        "BrokerSyncInfo" => round_trip::<ha::BrokerSyncInfo>(text),
        "EpochEntryCache" => round_trip::<ha::EpochEntryCache>(text),
        "EpochEntry" => round_trip::<ha::EpochEntry>(text),
        "HeartbeatData" => round_trip::<heartbeat::HeartbeatData>(text),
        "ProducerData" => round_trip::<heartbeat::ProducerData>(text),
        "ConsumerData" => round_trip::<heartbeat::ConsumerData>(text),
        "CheckClientRequestBody" => round_trip::<heartbeat::CheckClientRequestBody>(text),
        "KVTable" => round_trip::<kv::KVTable>(text),
        "KVConfigSerializeWrapper" => round_trip::<kv::KVConfigSerializeWrapper>(text),
        "LiteSubscriptionCtlRequestBody" => round_trip::<lite::LiteSubscriptionCtlRequestBody>(text),
        "GetBrokerLiteInfoResponseBody" => round_trip::<lite_info::GetBrokerLiteInfoResponseBody>(text),
        "GetParentTopicInfoResponseBody" => round_trip::<lite_info::GetParentTopicInfoResponseBody>(text),
        "GetLiteTopicInfoResponseBody" => round_trip::<lite_info::GetLiteTopicInfoResponseBody>(text),
        "GetLiteClientInfoResponseBody" => round_trip::<lite_info::GetLiteClientInfoResponseBody>(text),
        "GetLiteGroupInfoResponseBody" => round_trip::<lite_info::GetLiteGroupInfoResponseBody>(text),
        "LockBatchRequestBody" => round_trip::<lock::LockBatchRequestBody>(text),
        "LockBatchResponseBody" => round_trip::<lock::LockBatchResponseBody>(text),
        "UnlockBatchRequestBody" => round_trip::<lock::UnlockBatchRequestBody>(text),
        "MessageQueue" => round_trip::<message_queue::MessageQueue>(text),
        "ConsumerOffsetSerializeWrapper" => round_trip::<offset::ConsumerOffsetSerializeWrapper>(text),
        "OffsetMovedEvent" => round_trip::<offset::OffsetMovedEvent>(text),
        "BatchAck" => round_trip::<pop_ack::BatchAck>(text),
        "BatchAckMessageRequestBody" => round_trip::<pop_ack::BatchAckMessageRequestBody>(text),
        "AckMsg" => round_trip::<pop_ack::AckMsg>(text),
        "BatchAckMsg" => round_trip::<pop_ack::BatchAckMsg>(text),
        "PopCheckPoint" => round_trip::<pop_ack::PopCheckPoint>(text),
        "QueryConsumeQueueResponseBody" => round_trip::<query::QueryConsumeQueueResponseBody>(text),
        "ConsumeQueueData" => round_trip::<query::ConsumeQueueData>(text),
        "RegisterBrokerBody" => round_trip::<register::RegisterBrokerBody>(text),
        "BrokerMemberGroup" => round_trip::<register::BrokerMemberGroup>(text),
        "GetBrokerMemberGroupResponseBody" => round_trip::<register::GetBrokerMemberGroupResponseBody>(text),
        "ResetOffsetBody" => round_trip::<reset_offset::ResetOffsetBody>(text),
        "ResetOffsetBodyForC" => round_trip::<reset_offset::ResetOffsetBodyForC>(text),
        "QueryCorrectionOffsetBody" => round_trip::<reset_offset::QueryCorrectionOffsetBody>(text),
        "GroupRetryPolicy" => round_trip::<retry_policy::GroupRetryPolicy>(text),
        "ExponentialRetryPolicy" => round_trip::<retry_policy::ExponentialRetryPolicy>(text),
        "CustomizedRetryPolicy" => round_trip::<retry_policy::CustomizedRetryPolicy>(text),
        "SimpleSubscriptionData" => round_trip::<retry_policy::SimpleSubscriptionData>(text),
        "TopicRouteData" => round_trip::<route::TopicRouteData>(text),
        "QueueData" => round_trip::<route::QueueData>(text),
        "BrokerData" => round_trip::<route::BrokerData>(text),
        "ClusterInfo" => round_trip::<route::ClusterInfo>(text),
        "DelayOffsetSerializeWrapper" => round_trip::<schedule::DelayOffsetSerializeWrapper>(text),
        "TimerMetricsSerializeWrapper" => round_trip::<schedule::TimerMetricsSerializeWrapper>(text),
        "TopicQueueMappingInfo" => round_trip::<static_topic::TopicQueueMappingInfo>(text),
        "TopicQueueMappingDetail" => round_trip::<static_topic::TopicQueueMappingDetail>(text),
        "LogicQueueMappingItem" => round_trip::<static_topic::LogicQueueMappingItem>(text),
        "TopicQueueMappingSerializeWrapper" => round_trip::<static_topic::TopicQueueMappingSerializeWrapper>(text),
        "TopicStatsTable" => round_trip::<stats::TopicStatsTable>(text),
        "TopicOffset" => round_trip::<stats::TopicOffset>(text),
        "ConsumeStats" => round_trip::<stats::ConsumeStats>(text),
        "OffsetWrapper" => round_trip::<stats::OffsetWrapper>(text),
        "ConsumeStatsList" => round_trip::<stats::ConsumeStatsList>(text),
        "BrokerStatsData" => round_trip::<stats::BrokerStatsData>(text),
        "BrokerStatsItem" => round_trip::<stats::BrokerStatsItem>(text),
        "QueryConsumeTimeSpanBody" => round_trip::<stats::QueryConsumeTimeSpanBody>(text),
        "QueueTimeSpan" => round_trip::<stats::QueueTimeSpan>(text),
        "SubscriptionData" => round_trip::<subscription::SubscriptionData>(text),
        "TopicConfig" => round_trip::<topic::TopicConfig>(text),
        "TopicConfigSerializeWrapper" => round_trip::<topic::TopicConfigSerializeWrapper>(text),
        "TopicConfigAndMappingSerializeWrapper" => round_trip::<topic::TopicConfigAndMappingSerializeWrapper>(text),
        "TopicConfigAndQueueMapping" => round_trip::<topic::TopicConfigAndQueueMapping>(text),
        "CreateTopicListRequestBody" => round_trip::<topic::CreateTopicListRequestBody>(text),
        "TopicList" => round_trip::<topic::TopicList>(text),
        "TransactionMetricsSerializeWrapper" => round_trip::<transaction::TransactionMetricsSerializeWrapper>(text),
        _ => panic!("no type for {name}"),
    }
}

/// Kept in memory or on a client only, used by tools only, or not on the wire (tiered store).
const NOT_OURS: [&str; 9] = [
    "ConsumeByWho",
    "OffsetSerializeWrapper",
    "RocksDBOffsetSerializeWrapper",
    "RollbackStats",
    "TieredMetadataSerializeWrapper",
    "TimerMetrics",
    "TopicQueueMappingContext",
    "TopicQueueMappingOne",
    "TopicRemappingDetailWrapper",
];

/// A fresh instance of the reference holds a null where ours holds an empty table.
const NEVER_NULL: [&str; 14] = [
    "BatchAckMessageRequestBody",
    "BrokerData",
    "CheckClientRequestBody",
    "ClusterInfo",
    "ConsumerOffsetSerializeWrapper",
    "CreateTopicListRequestBody",
    "GetConsumerListByGroupResponseBody",
    "KVConfigSerializeWrapper",
    "LiteSubscriptionCtlRequestBody",
    "OffsetMovedEvent",
    "QueueTimeSpan",
    "ResetOffsetBodyForC",
    "SubscriptionGroupList",
    "TopicQueueMappingSerializeWrapper",
];
