//! Which header and which JSON body belongs to which code (the protocol's table of request codes).

use apogee_remoting::protocol::*;
use apogee_remoting::{Command, RequestCode};

use crate::check::{body, header};

/// What was found wrong, or whether there was something to check at all.
pub type Checked = Option<Result<(), String>>;

/// The typed header of a request to `code`.
#[allow(clippy::too_many_lines, reason = "one line for each type")]
pub fn request_header(code: RequestCode, command: &Command) -> Checked {
    Some(match code {
        RequestCode::SEND_MESSAGE | RequestCode::SEND_REPLY_MESSAGE => {
            header::<send::SendMessageRequestHeader>(command)
        }
        RequestCode::PULL_MESSAGE | RequestCode::LITE_PULL_MESSAGE => header::<pull::PullMessageRequestHeader>(command),
        RequestCode::QUERY_MESSAGE => header::<query::QueryMessageRequestHeader>(command),
        RequestCode::QUERY_CONSUMER_OFFSET => header::<offset::QueryConsumerOffsetRequestHeader>(command),
        RequestCode::UPDATE_CONSUMER_OFFSET => header::<offset::UpdateConsumerOffsetRequestHeader>(command),
        RequestCode::UPDATE_AND_CREATE_TOPIC | RequestCode::UPDATE_AND_CREATE_STATIC_TOPIC => {
            header::<topic::CreateTopicRequestHeader>(command)
        }
        RequestCode::GET_ALL_TOPIC_CONFIG => header::<topic::GetAllTopicConfigRequestHeader>(command),
        RequestCode::SEARCH_OFFSET_BY_TIMESTAMP => header::<offset::SearchOffsetRequestHeader>(command),
        RequestCode::GET_MAX_OFFSET => header::<offset::GetMaxOffsetRequestHeader>(command),
        RequestCode::GET_MIN_OFFSET => header::<offset::GetMinOffsetRequestHeader>(command),
        RequestCode::GET_EARLIEST_MSG_STORETIME => header::<offset::GetEarliestMsgStoretimeRequestHeader>(command),
        RequestCode::VIEW_MESSAGE_BY_ID => header::<query::ViewMessageRequestHeader>(command),
        RequestCode::UNREGISTER_CLIENT => header::<client::UnregisterClientRequestHeader>(command),
        RequestCode::CONSUMER_SEND_MSG_BACK => header::<send_back::ConsumerSendMsgBackRequestHeader>(command),
        RequestCode::END_TRANSACTION => header::<transaction::EndTransactionRequestHeader>(command),
        RequestCode::GET_CONSUMER_LIST_BY_GROUP => {
            header::<consumer_list::GetConsumerListByGroupRequestHeader>(command)
        }
        RequestCode::CHECK_TRANSACTION_STATE => header::<transaction::CheckTransactionStateRequestHeader>(command),
        RequestCode::NOTIFY_CONSUMER_IDS_CHANGED => {
            header::<consumer_list::NotifyConsumerIdsChangedRequestHeader>(command)
        }
        RequestCode::PUT_KV_CONFIG => header::<kv::PutKVConfigRequestHeader>(command),
        RequestCode::GET_KV_CONFIG => header::<kv::GetKVConfigRequestHeader>(command),
        RequestCode::DELETE_KV_CONFIG => header::<kv::DeleteKVConfigRequestHeader>(command),
        RequestCode::REGISTER_BROKER => header::<register::RegisterBrokerRequestHeader>(command),
        RequestCode::UNREGISTER_BROKER => header::<register::UnRegisterBrokerRequestHeader>(command),
        RequestCode::GET_ROUTEINFO_BY_TOPIC => header::<route::GetRouteInfoRequestHeader>(command),
        RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG => header::<group::GetAllSubscriptionGroupRequestHeader>(command),
        RequestCode::GET_TOPIC_STATS_INFO => header::<stats::GetTopicStatsInfoRequestHeader>(command),
        RequestCode::GET_CONSUMER_CONNECTION_LIST => header::<client::GetConsumerConnectionListRequestHeader>(command),
        RequestCode::GET_PRODUCER_CONNECTION_LIST => header::<client::GetProducerConnectionListRequestHeader>(command),
        RequestCode::WIPE_WRITE_PERM_OF_BROKER => header::<route::WipeWritePermOfBrokerRequestHeader>(command),
        RequestCode::DELETE_SUBSCRIPTIONGROUP => header::<group::DeleteSubscriptionGroupRequestHeader>(command),
        RequestCode::GET_CONSUME_STATS => header::<stats::GetConsumeStatsRequestHeader>(command),
        RequestCode::DELETE_TOPIC_IN_BROKER => header::<topic::DeleteTopicRequestHeader>(command),
        RequestCode::DELETE_TOPIC_IN_NAMESRV => header::<topic::DeleteTopicFromNamesrvRequestHeader>(command),
        RequestCode::REGISTER_TOPIC_IN_NAMESRV => header::<topic::RegisterTopicRequestHeader>(command),
        RequestCode::GET_KVLIST_BY_NAMESPACE => header::<kv::GetKVListByNamespaceRequestHeader>(command),
        RequestCode::RESET_CONSUMER_CLIENT_OFFSET | RequestCode::INVOKE_BROKER_TO_RESET_OFFSET => {
            header::<reset_offset::ResetOffsetRequestHeader>(command)
        }
        RequestCode::GET_CONSUMER_STATUS_FROM_CLIENT | RequestCode::INVOKE_BROKER_TO_GET_CONSUMER_STATUS => {
            header::<consumer_status::GetConsumerStatusRequestHeader>(command)
        }
        RequestCode::GET_TOPICS_BY_CLUSTER => header::<topic::GetTopicsByClusterRequestHeader>(command),
        RequestCode::QUERY_TOPIC_CONSUME_BY_WHO => header::<topic::QueryTopicConsumeByWhoRequestHeader>(command),
        RequestCode::QUERY_CONSUME_TIME_SPAN => header::<stats::QueryConsumeTimeSpanRequestHeader>(command),
        RequestCode::GET_CONSUMER_RUNNING_INFO => {
            header::<consumer_status::GetConsumerRunningInfoRequestHeader>(command)
        }
        RequestCode::QUERY_CORRECTION_OFFSET => header::<reset_offset::QueryCorrectionOffsetHeader>(command),
        RequestCode::CONSUME_MESSAGE_DIRECTLY => {
            header::<consumer_status::ConsumeMessageDirectlyResultRequestHeader>(command)
        }
        RequestCode::SEND_MESSAGE_V2 | RequestCode::SEND_BATCH_MESSAGE | RequestCode::SEND_REPLY_MESSAGE_V2 => {
            header::<send::SendMessageRequestHeaderV2>(command)
        }
        RequestCode::CLONE_GROUP_OFFSET => header::<reset_offset::CloneGroupOffsetRequestHeader>(command),
        RequestCode::VIEW_BROKER_STATS_DATA => header::<stats::ViewBrokerStatsDataRequestHeader>(command),
        RequestCode::GET_BROKER_CONSUME_STATS => header::<stats::GetConsumeStatsInBrokerHeader>(command),
        RequestCode::QUERY_CONSUME_QUEUE => header::<query::QueryConsumeQueueRequestHeader>(command),
        RequestCode::QUERY_DATA_VERSION => header::<register::QueryDataVersionRequestHeader>(command),
        RequestCode::RESUME_CHECK_HALF_MESSAGE => header::<transaction::ResumeCheckHalfMessageRequestHeader>(command),
        RequestCode::PUSH_REPLY_MESSAGE_TO_CLIENT => header::<reply::ReplyMessageRequestHeader>(command),
        RequestCode::ADD_WRITE_PERM_OF_BROKER => header::<route::AddWritePermOfBrokerRequestHeader>(command),
        RequestCode::QUERY_TOPICS_BY_CONSUMER => header::<topic::QueryTopicsByConsumerRequestHeader>(command),
        RequestCode::QUERY_SUBSCRIPTION_BY_CONSUMER => {
            header::<group::QuerySubscriptionByConsumerRequestHeader>(command)
        }
        RequestCode::GET_TOPIC_CONFIG => header::<topic::GetTopicConfigRequestHeader>(command),
        RequestCode::GET_SUBSCRIPTIONGROUP_CONFIG => header::<group::GetSubscriptionGroupConfigRequestHeader>(command),
        RequestCode::UPDATE_AND_GET_GROUP_FORBIDDEN => header::<group::UpdateGroupForbiddenRequestHeader>(command),
        RequestCode::CHECK_ROCKSDB_CQ_WRITE_PROGRESS => {
            header::<rocksdb::CheckRocksdbCqWriteProgressRequestHeader>(command)
        }
        RequestCode::EXPORT_ROCKSDB_CONFIG_TO_JSON => {
            header::<rocksdb::ExportRocksDBConfigToJsonRequestHeader>(command)
        }
        RequestCode::RECALL_MESSAGE => header::<recall::RecallMessageRequestHeader>(command),
        RequestCode::GET_BROKER_MEMBER_GROUP => header::<register::GetBrokerMemberGroupRequestHeader>(command),
        RequestCode::ADD_BROKER => header::<container::AddBrokerRequestHeader>(command),
        RequestCode::REMOVE_BROKER => header::<container::RemoveBrokerRequestHeader>(command),
        RequestCode::BROKER_HEARTBEAT => header::<register::BrokerHeartbeatRequestHeader>(command),
        RequestCode::NOTIFY_MIN_BROKER_ID_CHANGE => header::<register::NotifyMinBrokerIdChangeRequestHeader>(command),
        RequestCode::EXCHANGE_BROKER_HA_INFO => header::<ha::ExchangeHAInfoRequestHeader>(command),
        RequestCode::RESET_MASTER_FLUSH_OFFSET => header::<ha::ResetMasterFlushOffsetHeader>(command),
        RequestCode::CONTROLLER_ALTER_SYNC_STATE_SET => header::<controller::AlterSyncStateSetRequestHeader>(command),
        RequestCode::CONTROLLER_ELECT_MASTER => header::<controller::ElectMasterRequestHeader>(command),
        RequestCode::CONTROLLER_REGISTER_BROKER => {
            header::<controller_register::RegisterBrokerToControllerRequestHeader>(command)
        }
        RequestCode::CONTROLLER_GET_REPLICA_INFO => header::<controller::GetReplicaInfoRequestHeader>(command),
        RequestCode::NOTIFY_BROKER_ROLE_CHANGED => header::<controller::NotifyBrokerRoleChangedRequestHeader>(command),
        RequestCode::CLEAN_BROKER_DATA => header::<controller::CleanControllerBrokerDataRequestHeader>(command),
        RequestCode::CONTROLLER_GET_NEXT_BROKER_ID => {
            header::<controller_register::GetNextBrokerIdRequestHeader>(command)
        }
        RequestCode::CONTROLLER_APPLY_BROKER_ID => header::<controller_register::ApplyBrokerIdRequestHeader>(command),
        RequestCode::AUTH_CREATE_USER => header::<auth::CreateUserRequestHeader>(command),
        RequestCode::AUTH_UPDATE_USER => header::<auth::UpdateUserRequestHeader>(command),
        RequestCode::AUTH_DELETE_USER => header::<auth::DeleteUserRequestHeader>(command),
        RequestCode::AUTH_GET_USER => header::<auth::GetUserRequestHeader>(command),
        RequestCode::AUTH_LIST_USER => header::<auth::ListUsersRequestHeader>(command),
        RequestCode::AUTH_CREATE_ACL => header::<auth::CreateAclRequestHeader>(command),
        RequestCode::AUTH_UPDATE_ACL => header::<auth::UpdateAclRequestHeader>(command),
        RequestCode::AUTH_DELETE_ACL => header::<auth::DeleteAclRequestHeader>(command),
        RequestCode::AUTH_GET_ACL => header::<auth::GetAclRequestHeader>(command),
        RequestCode::AUTH_LIST_ACL => header::<auth::ListAclsRequestHeader>(command),
        RequestCode::POP_MESSAGE => header::<pop::PopMessageRequestHeader>(command),
        RequestCode::ACK_MESSAGE => header::<pop::AckMessageRequestHeader>(command),
        RequestCode::PEEK_MESSAGE => header::<pop::PeekMessageRequestHeader>(command),
        RequestCode::CHANGE_MESSAGE_INVISIBLETIME => header::<pop::ChangeInvisibleTimeRequestHeader>(command),
        RequestCode::NOTIFICATION => header::<pop::NotificationRequestHeader>(command),
        RequestCode::POLLING_INFO => header::<pop::PollingInfoRequestHeader>(command),
        RequestCode::POP_LITE_MESSAGE => header::<lite::PopLiteMessageRequestHeader>(command),
        RequestCode::NOTIFY_UNSUBSCRIBE_LITE => header::<lite::NotifyUnsubscribeLiteRequestHeader>(command),
        RequestCode::GET_PARENT_TOPIC_INFO => header::<lite::GetParentTopicInfoRequestHeader>(command),
        RequestCode::GET_LITE_TOPIC_INFO => header::<lite::GetLiteTopicInfoRequestHeader>(command),
        RequestCode::GET_LITE_CLIENT_INFO => header::<lite::GetLiteClientInfoRequestHeader>(command),
        RequestCode::GET_LITE_GROUP_INFO => header::<lite::GetLiteGroupInfoRequestHeader>(command),
        RequestCode::TRIGGER_LITE_DISPATCH => header::<lite::TriggerLiteDispatchRequestHeader>(command),
        _ => return None,
    })
}

/// The typed header of a successful response to `code`.
#[allow(clippy::too_many_lines, reason = "one line for each type")]
pub fn response_header(code: RequestCode, command: &Command) -> Checked {
    Some(match code {
        RequestCode::SEND_MESSAGE
        | RequestCode::SEND_MESSAGE_V2
        | RequestCode::SEND_BATCH_MESSAGE
        | RequestCode::SEND_REPLY_MESSAGE
        | RequestCode::SEND_REPLY_MESSAGE_V2 => header::<send::SendMessageResponseHeader>(command),
        RequestCode::PULL_MESSAGE | RequestCode::LITE_PULL_MESSAGE => {
            header::<pull::PullMessageResponseHeader>(command)
        }
        RequestCode::QUERY_MESSAGE => header::<query::QueryMessageResponseHeader>(command),
        RequestCode::QUERY_CONSUMER_OFFSET => header::<offset::QueryConsumerOffsetResponseHeader>(command),
        RequestCode::GET_ALL_TOPIC_CONFIG => header::<topic::GetAllTopicConfigResponseHeader>(command),
        RequestCode::GET_BROKER_CONFIG => header::<config::GetBrokerConfigResponseHeader>(command),
        RequestCode::SEARCH_OFFSET_BY_TIMESTAMP => header::<offset::SearchOffsetResponseHeader>(command),
        RequestCode::GET_MAX_OFFSET => header::<offset::GetMaxOffsetResponseHeader>(command),
        RequestCode::GET_MIN_OFFSET => header::<offset::GetMinOffsetResponseHeader>(command),
        RequestCode::GET_EARLIEST_MSG_STORETIME => header::<offset::GetEarliestMsgStoretimeResponseHeader>(command),
        RequestCode::GET_KV_CONFIG => header::<kv::GetKVConfigResponseHeader>(command),
        RequestCode::REGISTER_BROKER => header::<register::RegisterBrokerResponseHeader>(command),
        RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG => {
            header::<group::GetAllSubscriptionGroupResponseHeader>(command)
        }
        RequestCode::WIPE_WRITE_PERM_OF_BROKER => header::<route::WipeWritePermOfBrokerResponseHeader>(command),
        RequestCode::QUERY_DATA_VERSION => header::<register::QueryDataVersionResponseHeader>(command),
        RequestCode::ADD_WRITE_PERM_OF_BROKER => header::<route::AddWritePermOfBrokerResponseHeader>(command),
        RequestCode::RECALL_MESSAGE => header::<recall::RecallMessageResponseHeader>(command),
        RequestCode::EXCHANGE_BROKER_HA_INFO => header::<ha::ExchangeHAInfoResponseHeader>(command),
        RequestCode::CONTROLLER_ALTER_SYNC_STATE_SET => header::<controller::AlterSyncStateSetResponseHeader>(command),
        RequestCode::CONTROLLER_ELECT_MASTER => header::<controller::ElectMasterResponseHeader>(command),
        RequestCode::CONTROLLER_REGISTER_BROKER => {
            header::<controller_register::RegisterBrokerToControllerResponseHeader>(command)
        }
        RequestCode::CONTROLLER_GET_REPLICA_INFO => header::<controller::GetReplicaInfoResponseHeader>(command),
        RequestCode::CONTROLLER_GET_METADATA_INFO => header::<controller::GetMetaDataResponseHeader>(command),
        RequestCode::CONTROLLER_GET_NEXT_BROKER_ID => {
            header::<controller_register::GetNextBrokerIdResponseHeader>(command)
        }
        RequestCode::CONTROLLER_APPLY_BROKER_ID => header::<controller_register::ApplyBrokerIdResponseHeader>(command),
        RequestCode::POP_MESSAGE | RequestCode::PEEK_MESSAGE => header::<pop::PopMessageResponseHeader>(command),
        RequestCode::CHANGE_MESSAGE_INVISIBLETIME => header::<pop::ChangeInvisibleTimeResponseHeader>(command),
        RequestCode::NOTIFICATION => header::<pop::NotificationResponseHeader>(command),
        RequestCode::POLLING_INFO => header::<pop::PollingInfoResponseHeader>(command),
        RequestCode::POP_LITE_MESSAGE => header::<lite::PopLiteMessageResponseHeader>(command),
        _ => return None,
    })
}

/// The typed body of a request to `code`.
#[allow(clippy::too_many_lines, reason = "one line for each type")]
pub fn request_body(code: RequestCode, command: &Command) -> Checked {
    Some(match code {
        RequestCode::UPDATE_AND_CREATE_TOPIC_LIST => body::<topic::CreateTopicListRequestBody>(command),
        RequestCode::HEART_BEAT => body::<heartbeat::HeartbeatData>(command),
        RequestCode::LOCK_BATCH_MQ => body::<lock::LockBatchRequestBody>(command),
        RequestCode::UNLOCK_BATCH_MQ => body::<lock::UnlockBatchRequestBody>(command),
        RequestCode::CHECK_CLIENT_CONFIG => body::<heartbeat::CheckClientRequestBody>(command),
        RequestCode::REGISTER_BROKER => body::<register::RegisterBrokerBody>(command),
        RequestCode::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP => body::<group::SubscriptionGroupConfig>(command),
        RequestCode::REGISTER_TOPIC_IN_NAMESRV => body::<route::TopicRouteData>(command),
        RequestCode::RESET_CONSUMER_CLIENT_OFFSET => body::<reset_offset::ResetOffsetBody>(command),
        RequestCode::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST => body::<group::SubscriptionGroupList>(command),
        RequestCode::QUERY_DATA_VERSION => body::<data_version::DataVersion>(command),
        RequestCode::QUERY_ASSIGNMENT => body::<assignment::QueryAssignmentRequestBody>(command),
        RequestCode::SET_MESSAGE_REQUEST_MODE => body::<assignment::SetMessageRequestModeRequestBody>(command),
        RequestCode::UPDATE_AND_CREATE_STATIC_TOPIC => body::<static_topic::TopicQueueMappingDetail>(command),
        RequestCode::CONTROLLER_ALTER_SYNC_STATE_SET | RequestCode::NOTIFY_BROKER_ROLE_CHANGED => {
            body::<controller::SyncStateSet>(command)
        }
        RequestCode::AUTH_CREATE_USER | RequestCode::AUTH_UPDATE_USER => body::<auth::UserInfo>(command),
        RequestCode::AUTH_CREATE_ACL | RequestCode::AUTH_UPDATE_ACL => body::<auth::AclInfo>(command),
        RequestCode::LITE_SUBSCRIPTION_CTL => body::<lite::LiteSubscriptionCtlRequestBody>(command),
        RequestCode::BATCH_ACK_MESSAGE => body::<pop_ack::BatchAckMessageRequestBody>(command),
        _ => return None,
    })
}

/// The typed body of a successful response to `code`.
#[allow(clippy::too_many_lines, reason = "one line for each type")]
pub fn response_body(code: RequestCode, command: &Command) -> Checked {
    Some(match code {
        RequestCode::GET_ALL_TOPIC_CONFIG => body::<topic::TopicConfigAndMappingSerializeWrapper>(command),
        RequestCode::GET_BROKER_RUNTIME_INFO | RequestCode::REGISTER_BROKER | RequestCode::GET_KVLIST_BY_NAMESPACE => {
            body::<kv::KVTable>(command)
        }
        RequestCode::GET_CONSUMER_LIST_BY_GROUP => body::<consumer_list::GetConsumerListByGroupResponseBody>(command),
        RequestCode::LOCK_BATCH_MQ => body::<lock::LockBatchResponseBody>(command),
        RequestCode::GET_ALL_CONSUMER_OFFSET => body::<offset::ConsumerOffsetSerializeWrapper>(command),
        RequestCode::GET_ALL_DELAY_OFFSET => body::<schedule::DelayOffsetSerializeWrapper>(command),
        RequestCode::GET_TIMER_METRICS => body::<schedule::TimerMetricsSerializeWrapper>(command),
        RequestCode::GET_ROUTEINFO_BY_TOPIC => body::<route::TopicRouteData>(command),
        RequestCode::GET_BROKER_CLUSTER_INFO => body::<route::ClusterInfo>(command),
        RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG => body::<group::SubscriptionGroupWrapper>(command),
        RequestCode::GET_TOPIC_STATS_INFO => body::<stats::TopicStatsTable>(command),
        RequestCode::GET_CONSUMER_CONNECTION_LIST => body::<client::ConsumerConnection>(command),
        RequestCode::GET_PRODUCER_CONNECTION_LIST => body::<client::ProducerConnection>(command),
        RequestCode::GET_ALL_TOPIC_LIST_FROM_NAMESERVER
        | RequestCode::GET_TOPICS_BY_CLUSTER
        | RequestCode::GET_SYSTEM_TOPIC_LIST_FROM_NS
        | RequestCode::GET_SYSTEM_TOPIC_LIST_FROM_BROKER
        | RequestCode::GET_UNIT_TOPIC_LIST
        | RequestCode::GET_HAS_UNIT_SUB_TOPIC_LIST
        | RequestCode::GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST
        | RequestCode::QUERY_TOPICS_BY_CONSUMER => body::<topic::TopicList>(command),
        RequestCode::GET_CONSUME_STATS => body::<stats::ConsumeStats>(command),
        RequestCode::GET_CONSUMER_STATUS_FROM_CLIENT | RequestCode::INVOKE_BROKER_TO_GET_CONSUMER_STATUS => {
            body::<consumer_status::GetConsumerStatusBody>(command)
        }
        RequestCode::INVOKE_BROKER_TO_RESET_OFFSET => body::<reset_offset::ResetOffsetBody>(command),
        RequestCode::QUERY_TOPIC_CONSUME_BY_WHO => body::<group::GroupList>(command),
        RequestCode::QUERY_CONSUME_TIME_SPAN => body::<stats::QueryConsumeTimeSpanBody>(command),
        RequestCode::GET_CONSUMER_RUNNING_INFO => body::<consumer_status::ConsumerRunningInfo>(command),
        RequestCode::QUERY_CORRECTION_OFFSET => body::<reset_offset::QueryCorrectionOffsetBody>(command),
        RequestCode::CONSUME_MESSAGE_DIRECTLY => body::<consumer_status::ConsumeMessageDirectlyResult>(command),
        RequestCode::VIEW_BROKER_STATS_DATA => body::<stats::BrokerStatsData>(command),
        RequestCode::GET_BROKER_CONSUME_STATS => body::<stats::ConsumeStatsList>(command),
        RequestCode::QUERY_CONSUME_QUEUE => body::<query::QueryConsumeQueueResponseBody>(command),
        RequestCode::QUERY_DATA_VERSION => body::<data_version::DataVersion>(command),
        RequestCode::GET_ALL_PRODUCER_INFO => body::<client::ProducerTableInfo>(command),
        RequestCode::QUERY_SUBSCRIPTION_BY_CONSUMER => body::<group::QuerySubscriptionResponseBody>(command),
        RequestCode::GET_TOPIC_CONFIG => body::<topic::TopicConfigAndQueueMapping>(command),
        RequestCode::GET_SUBSCRIPTIONGROUP_CONFIG => body::<group::SubscriptionGroupConfig>(command),
        RequestCode::UPDATE_AND_GET_GROUP_FORBIDDEN => body::<group::GroupForbidden>(command),
        RequestCode::QUERY_ASSIGNMENT => body::<assignment::QueryAssignmentResponseBody>(command),
        RequestCode::GET_ALL_MESSAGE_REQUEST_MODE => body::<assignment::MessageRequestModeSerializeWrapper>(command),
        RequestCode::GET_BROKER_MEMBER_GROUP => body::<register::GetBrokerMemberGroupResponseBody>(command),
        RequestCode::GET_BROKER_HA_STATUS => body::<ha::HARuntimeInfo>(command),
        RequestCode::CONTROLLER_ALTER_SYNC_STATE_SET
        | RequestCode::CONTROLLER_REGISTER_BROKER
        | RequestCode::CONTROLLER_GET_REPLICA_INFO => body::<controller::SyncStateSet>(command),
        RequestCode::CONTROLLER_ELECT_MASTER => body::<controller::ElectMasterResponseBody>(command),
        RequestCode::CONTROLLER_GET_SYNC_STATE_DATA => body::<controller::BrokerReplicasInfo>(command),
        RequestCode::GET_BROKER_EPOCH_CACHE => body::<ha::EpochEntryCache>(command),
        RequestCode::AUTH_GET_USER => body::<auth::UserInfo>(command),
        RequestCode::AUTH_LIST_USER => body::<Vec<auth::UserInfo>>(command),
        RequestCode::AUTH_GET_ACL => body::<auth::AclInfo>(command),
        RequestCode::AUTH_LIST_ACL => body::<Vec<auth::AclInfo>>(command),
        RequestCode::GET_BROKER_LITE_INFO => body::<lite_info::GetBrokerLiteInfoResponseBody>(command),
        RequestCode::GET_PARENT_TOPIC_INFO => body::<lite_info::GetParentTopicInfoResponseBody>(command),
        RequestCode::GET_LITE_TOPIC_INFO => body::<lite_info::GetLiteTopicInfoResponseBody>(command),
        RequestCode::GET_LITE_CLIENT_INFO => body::<lite_info::GetLiteClientInfoResponseBody>(command),
        RequestCode::GET_LITE_GROUP_INFO => body::<lite_info::GetLiteGroupInfoResponseBody>(command),
        _ => return None,
    })
}
