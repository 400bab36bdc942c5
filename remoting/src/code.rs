//! Every request and response code of the protocol, 4.3 to 5.5.
//!
//! A code is a plain number on the wire; unknown ones are kept and pass through, so both types are
//! newtypes with named constants rather than enums.

use std::fmt;

macro_rules! codes {
    ($(#[$doc:meta])* $type:ident { $($(#[$item:meta])* $name:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(pub i32);

        impl $type {
            $($(#[$item])* pub const $name: Self = Self($value);)*

            /// The protocol's name of this code, if it has one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => write!(f, "{name}({})", self.0),
                    None => write!(f, "{}", self.0),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

codes! {
    /// What a request asks for.
    RequestCode {
        /// Broker,proxy: send with long header names.
        SEND_MESSAGE = 10,
        /// Broker,proxy: pull with long polling (sysFlag bit 1).
        PULL_MESSAGE = 11,
        /// Broker: query by key or unique key.
        QUERY_MESSAGE = 12,
        /// Declared only, no processor handles it.
        QUERY_BROKER_OFFSET = 13,
        /// Broker,proxy: consumer reads committed offset.
        QUERY_CONSUMER_OFFSET = 14,
        /// Broker,proxy: consumer commits offset (usually oneway).
        UPDATE_CONSUMER_OFFSET = 15,
        /// Broker: admin, mqadmin updateTopic.
        UPDATE_AND_CREATE_TOPIC = 17,
        /// Broker: admin, mqadmin updateTopicList.
        UPDATE_AND_CREATE_TOPIC_LIST = 18,
        /// Broker: slave sync and mqadmin.
        GET_ALL_TOPIC_CONFIG = 21,
        /// Declared only.
        GET_TOPIC_CONFIG_LIST = 22,
        /// Declared only.
        GET_TOPIC_NAME_LIST = 23,
        /// Broker,container: admin, mqadmin updateBrokerConfig.
        UPDATE_BROKER_CONFIG = 25,
        /// Broker,container: admin, mqadmin getBrokerConfig.
        GET_BROKER_CONFIG = 26,
        /// Declared only.
        TRIGGER_DELETE_FILES = 27,
        /// Broker: admin, mqadmin brokerStatus.
        GET_BROKER_RUNTIME_INFO = 28,
        /// Broker,proxy: admin and consumers starting at a timestamp.
        SEARCH_OFFSET_BY_TIMESTAMP = 29,
        /// Broker,proxy: client and admin.
        GET_MAX_OFFSET = 30,
        /// Broker,proxy: client and admin.
        GET_MIN_OFFSET = 31,
        /// Broker: client and admin.
        GET_EARLIEST_MSG_STORETIME = 32,
        /// Broker: mqadmin queryMsgById.
        VIEW_MESSAGE_BY_ID = 33,
        /// Broker,proxy: every 30 s from clients.
        HEART_BEAT = 34,
        /// Broker,proxy: client shutdown.
        UNREGISTER_CLIENT = 35,
        /// Broker,proxy: consumer retry.
        CONSUMER_SEND_MSG_BACK = 36,
        /// Broker,proxy: commitOrRollback 8=commit 12=rollback 0=unknown.
        END_TRANSACTION = 37,
        /// Broker,proxy: rebalance.
        GET_CONSUMER_LIST_BY_GROUP = 38,
        /// Client: broker to producer, oneway.
        CHECK_TRANSACTION_STATE = 39,
        /// Client: broker to consumers, oneway.
        NOTIFY_CONSUMER_IDS_CHANGED = 40,
        /// Broker,proxy: orderly consumers, also broker to broker when lockInStrictMode.
        LOCK_BATCH_MQ = 41,
        /// Broker,proxy: orderly consumers.
        UNLOCK_BATCH_MQ = 42,
        /// Broker: slave sync.
        GET_ALL_CONSUMER_OFFSET = 43,
        /// Broker: slave sync.
        GET_ALL_DELAY_OFFSET = 45,
        /// Broker,proxy: client start check of SQL92 expressions.
        CHECK_CLIENT_CONFIG = 46,
        /// Declared only.
        GET_CLIENT_CONFIG = 47,
        /// 4.9.4 only, plain ACL file.
        UPDATE_AND_CREATE_ACL_CONFIG = 50,
        /// 4.9.4 only.
        DELETE_ACL_CONFIG = 51,
        /// 4.9.4 only.
        GET_BROKER_CLUSTER_ACL_INFO = 52,
        /// 4.9.4 only.
        UPDATE_GLOBAL_WHITE_ADDRS_CONFIG = 53,
        /// 4.9.4 only.
        GET_BROKER_CLUSTER_ACL_CONFIG = 54,
        /// Broker: slave sync.
        GET_TIMER_CHECK_POINT = 60,
        /// Broker: slave sync.
        GET_TIMER_METRICS = 61,
        /// Namesrv: admin, mqadmin updateKvConfig and updateOrderConf.
        PUT_KV_CONFIG = 100,
        /// Namesrv: admin.
        GET_KV_CONFIG = 101,
        /// Namesrv: admin, mqadmin deleteKvConfig.
        DELETE_KV_CONFIG = 102,
        /// Namesrv: broker to name server, every registerNameServerPeriod.
        REGISTER_BROKER = 103,
        /// Namesrv: broker shutdown.
        UNREGISTER_BROKER = 104,
        /// Namesrv,proxy: own thread pool.
        GET_ROUTEINFO_BY_TOPIC = 105,
        /// Namesrv: admin, mqadmin clusterList.
        GET_BROKER_CLUSTER_INFO = 106,
        /// Broker: admin, mqadmin updateSubGroup.
        UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200,
        /// Broker: slave sync, mqadmin.
        GET_ALL_SUBSCRIPTIONGROUP_CONFIG = 201,
        /// Broker: admin, mqadmin topicStatus.
        GET_TOPIC_STATS_INFO = 202,
        /// Broker,proxy: admin, mqadmin consumerConnection.
        GET_CONSUMER_CONNECTION_LIST = 203,
        /// Broker: admin, mqadmin producerConnection.
        GET_PRODUCER_CONNECTION_LIST = 204,
        /// Namesrv: admin, mqadmin wipeWritePerm.
        WIPE_WRITE_PERM_OF_BROKER = 205,
        /// Namesrv: admin, mqadmin topicList.
        GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206,
        /// Broker: admin, mqadmin deleteSubGroup.
        DELETE_SUBSCRIPTIONGROUP = 207,
        /// Broker: admin, mqadmin consumerProgress.
        GET_CONSUME_STATS = 208,
        /// Declared only, no processor handles it.
        SUSPEND_CONSUMER = 209,
        /// Declared only, no processor handles it.
        RESUME_CONSUMER = 210,
        /// Declared only, no processor handles it.
        RESET_CONSUMER_OFFSET_IN_CONSUMER = 211,
        /// Declared only, no processor handles it.
        RESET_CONSUMER_OFFSET_IN_BROKER = 212,
        /// Declared only, no processor handles it.
        ADJUST_CONSUMER_THREAD_POOL = 213,
        /// Declared only, no processor handles it.
        WHO_CONSUME_THE_MESSAGE = 214,
        /// Broker: admin, mqadmin deleteTopic.
        DELETE_TOPIC_IN_BROKER = 215,
        /// Namesrv: admin, mqadmin deleteTopic.
        DELETE_TOPIC_IN_NAMESRV = 216,
        /// Namesrv: admin.
        REGISTER_TOPIC_IN_NAMESRV = 217,
        /// Namesrv: admin.
        GET_KVLIST_BY_NAMESPACE = 219,
        /// Client: broker to consumer, oneway.
        RESET_CONSUMER_CLIENT_OFFSET = 220,
        /// Client: broker to consumer.
        GET_CONSUMER_STATUS_FROM_CLIENT = 221,
        /// Broker: admin, mqadmin resetOffsetByTime.
        INVOKE_BROKER_TO_RESET_OFFSET = 222,
        /// Broker: admin, mqadmin consumerStatus.
        INVOKE_BROKER_TO_GET_CONSUMER_STATUS = 223,
        /// Namesrv: admin, mqadmin topicClusterList.
        GET_TOPICS_BY_CLUSTER = 224,
        /// Broker: admin, mqadmin updateSubGroupList.
        UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST = 225,
        /// Broker: admin, mqadmin.
        QUERY_TOPIC_CONSUME_BY_WHO = 300,
        /// Declared only, no processor handles it.
        REGISTER_FILTER_SERVER = 301,
        /// Declared only, no processor handles it.
        REGISTER_MESSAGE_FILTER_CLASS = 302,
        /// Broker: admin.
        QUERY_CONSUME_TIME_SPAN = 303,
        /// Namesrv: admin.
        GET_SYSTEM_TOPIC_LIST_FROM_NS = 304,
        /// Broker: admin.
        GET_SYSTEM_TOPIC_LIST_FROM_BROKER = 305,
        /// Broker: admin, mqadmin cleanExpiredCQ.
        CLEAN_EXPIRED_CONSUMEQUEUE = 306,
        /// Broker,client: admin asks broker, broker forwards to client with the same code.
        GET_CONSUMER_RUNNING_INFO = 307,
        /// Broker: admin.
        QUERY_CORRECTION_OFFSET = 308,
        /// Broker,client: admin (mqadmin queryMsgById -g -d).
        CONSUME_MESSAGE_DIRECTLY = 309,
        /// Broker,proxy: same as SEND_MESSAGE with one letter field names.
        SEND_MESSAGE_V2 = 310,
        /// Namesrv: admin.
        GET_UNIT_TOPIC_LIST = 311,
        /// Namesrv: admin.
        GET_HAS_UNIT_SUB_TOPIC_LIST = 312,
        /// Namesrv: admin.
        GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST = 313,
        /// Broker: admin, mqadmin cloneGroupOffset.
        CLONE_GROUP_OFFSET = 314,
        /// Broker: admin, mqadmin statsAll.
        VIEW_BROKER_STATS_DATA = 315,
        /// Broker: admin, mqadmin cleanUnusedTopic.
        CLEAN_UNUSED_TOPIC = 316,
        /// Broker: admin, mqadmin brokerConsumeStats.
        GET_BROKER_CONSUME_STATS = 317,
        /// Namesrv: admin, mqadmin updateNamesrvConfig.
        UPDATE_NAMESRV_CONFIG = 318,
        /// Namesrv: admin, mqadmin getNamesrvConfig.
        GET_NAMESRV_CONFIG = 319,
        /// Broker,proxy: msgId and transactionId are comma separated lists.
        SEND_BATCH_MESSAGE = 320,
        /// Broker: admin, mqadmin queryCq.
        QUERY_CONSUME_QUEUE = 321,
        /// Namesrv: broker asks whether a re-registration is needed.
        QUERY_DATA_VERSION = 322,
        /// Broker: admin.
        RESUME_CHECK_HALF_MESSAGE = 323,
        /// Broker: request-reply, consumer to broker.
        SEND_REPLY_MESSAGE = 324,
        /// Broker: request-reply, consumer to broker.
        SEND_REPLY_MESSAGE_V2 = 325,
        /// Client: broker to requesting producer.
        PUSH_REPLY_MESSAGE_TO_CLIENT = 326,
        /// Namesrv: admin, mqadmin addWritePerm.
        ADD_WRITE_PERM_OF_BROKER = 327,
        /// Broker: admin, mqadmin producer.
        GET_ALL_PRODUCER_INFO = 328,
        /// Broker: admin, mqadmin deleteExpiredCommitLog.
        DELETE_EXPIRED_COMMITLOG = 329,
        /// Broker: admin.
        QUERY_TOPICS_BY_CONSUMER = 343,
        /// Broker: admin.
        QUERY_SUBSCRIPTION_BY_CONSUMER = 345,
        /// Broker: admin and broker to broker.
        GET_TOPIC_CONFIG = 351,
        /// Broker: admin.
        GET_SUBSCRIPTIONGROUP_CONFIG = 352,
        /// Broker: admin.
        UPDATE_AND_GET_GROUP_FORBIDDEN = 353,
        /// Broker: admin.
        CHECK_ROCKSDB_CQ_WRITE_PROGRESS = 354,
        /// Broker: admin.
        EXPORT_ROCKSDB_CONFIG_TO_JSON = 355,
        /// Broker,proxy: pull of DefaultLitePullConsumer.
        LITE_PULL_MESSAGE = 361,
        /// Broker,proxy: cancel a timer message by recall handle.
        RECALL_MESSAGE = 370,
        /// Broker: server side rebalance.
        QUERY_ASSIGNMENT = 400,
        /// Broker: admin, mqadmin setConsumeMode.
        SET_MESSAGE_REQUEST_MODE = 401,
        /// Broker: slave sync.
        GET_ALL_MESSAGE_REQUEST_MODE = 402,
        /// Broker: admin, mqadmin updateStaticTopic / remappingStaticTopic.
        UPDATE_AND_CREATE_STATIC_TOPIC = 513,
        /// Namesrv: broker to name server.
        GET_BROKER_MEMBER_GROUP = 901,
        /// Container: broker container only.
        ADD_BROKER = 902,
        /// Container: broker container only.
        REMOVE_BROKER = 903,
        /// Namesrv,controller: broker to name server (light heartbeat) and broker to controller.
        BROKER_HEARTBEAT = 904,
        /// Broker: name server to broker, only with slave acting master.
        NOTIFY_MIN_BROKER_ID_CHANGE = 905,
        /// Broker: slave to master, also master to slave.
        EXCHANGE_BROKER_HA_INFO = 906,
        /// Broker: admin, mqadmin haStatus.
        GET_BROKER_HA_STATUS = 907,
        /// Broker: admin, mqadmin resetMasterFlushOffset.
        RESET_MASTER_FLUSH_OFFSET = 908,
        /// Controller: broker to controller.
        CONTROLLER_ALTER_SYNC_STATE_SET = 1001,
        /// Controller: broker or admin to controller.
        CONTROLLER_ELECT_MASTER = 1002,
        /// Controller: broker to controller.
        CONTROLLER_REGISTER_BROKER = 1003,
        /// Controller: broker to controller.
        CONTROLLER_GET_REPLICA_INFO = 1004,
        /// Controller: admin and broker to controller: who leads.
        CONTROLLER_GET_METADATA_INFO = 1005,
        /// Controller: admin, mqadmin getSyncStateSet.
        CONTROLLER_GET_SYNC_STATE_DATA = 1006,
        /// Broker: admin, mqadmin getBrokerEpoch.
        GET_BROKER_EPOCH_CACHE = 1007,
        /// Broker: controller to broker.
        NOTIFY_BROKER_ROLE_CHANGED = 1008,
        /// Controller: admin.
        UPDATE_CONTROLLER_CONFIG = 1009,
        /// Controller: admin.
        GET_CONTROLLER_CONFIG = 1010,
        /// Controller: admin, mqadmin cleanBrokerMetadata.
        CLEAN_BROKER_DATA = 1011,
        /// Controller: broker to controller.
        CONTROLLER_GET_NEXT_BROKER_ID = 1012,
        /// Controller: broker to controller.
        CONTROLLER_APPLY_BROKER_ID = 1013,
        /// Broker: admin.
        UPDATE_COLD_DATA_FLOW_CTR_CONFIG = 2001,
        /// Broker: admin.
        REMOVE_COLD_DATA_FLOW_CTR_CONFIG = 2002,
        /// Broker: admin.
        GET_COLD_DATA_FLOW_CTR_INFO = 2003,
        /// Broker: admin.
        SET_COMMITLOG_READ_MODE = 2004,
        /// Broker: admin, auth 2.0.
        AUTH_CREATE_USER = 3001,
        /// Broker: admin, auth 2.0.
        AUTH_UPDATE_USER = 3002,
        /// Broker: admin, auth 2.0.
        AUTH_DELETE_USER = 3003,
        /// Broker: admin, auth 2.0.
        AUTH_GET_USER = 3004,
        /// Broker: admin, auth 2.0.
        AUTH_LIST_USER = 3005,
        /// Broker: admin, auth 2.0.
        AUTH_CREATE_ACL = 3006,
        /// Broker: admin, auth 2.0.
        AUTH_UPDATE_ACL = 3007,
        /// Broker: admin, auth 2.0.
        AUTH_DELETE_ACL = 3008,
        /// Broker: admin, auth 2.0.
        AUTH_GET_ACL = 3009,
        /// Broker: admin, auth 2.0.
        AUTH_LIST_ACL = 3010,
        /// Broker: admin.
        SWITCH_TIMER_ENGINE = 5001,
        /// Broker,proxy: pop consume.
        POP_MESSAGE = 200_050,
        /// Broker,proxy: pop ack.
        ACK_MESSAGE = 200_051,
        /// Broker: pop without invisible time.
        PEEK_MESSAGE = 200_052,
        /// Broker,proxy: pop nack / extend.
        CHANGE_MESSAGE_INVISIBLETIME = 200_053,
        /// Broker: long poll that only says whether there are messages.
        NOTIFICATION = 200_054,
        /// Broker: number of parked pop polls.
        POLLING_INFO = 200_055,
        /// Broker: admin: move pop records from RocksDB back to the file store.
        POP_ROLLBACK = 200_056,
        /// Broker: lite topics.
        POP_LITE_MESSAGE = 200_070,
        /// Broker: lite topics.
        LITE_SUBSCRIPTION_CTL = 200_071,
        /// Declared only, no processor handles it.
        ACK_LITE_MESSAGE = 200_072,
        /// Client: broker to client.
        NOTIFY_UNSUBSCRIBE_LITE = 200_073,
        /// Broker: admin, lite topics.
        GET_BROKER_LITE_INFO = 200_074,
        /// Broker: admin, lite topics.
        GET_PARENT_TOPIC_INFO = 200_075,
        /// Broker: admin, lite topics.
        GET_LITE_TOPIC_INFO = 200_076,
        /// Broker: admin, lite topics.
        GET_LITE_CLIENT_INFO = 200_077,
        /// Broker: admin, lite topics.
        GET_LITE_GROUP_INFO = 200_078,
        /// Broker: admin, lite topics.
        TRIGGER_LITE_DISPATCH = 200_079,
        /// Broker: pop batch ack.
        BATCH_ACK_MESSAGE = 200_151,
    }
}

codes! {
    /// How a request ended.
    ResponseCode {
        /// Broker to broker call timed out.
        RPC_TIME_OUT = -1006,
        /// Broker to broker call: send failed.
        RPC_SEND_TO_CHANNEL_FAILED = -1004,
        /// Broker to broker call: no address known.
        RPC_ADDR_IS_NULL = -1002,
        /// Broker to broker call failed, client-side code.
        RPC_UNKNOWN = -1000,
        /// Request done.
        SUCCESS = 0,
        /// Unspecified failure; remark often carries exception class, message and first frame.
        SYSTEM_ERROR = 1,
        /// Thread pool queue full, request waited too long, or page cache busy; clients retry.
        SYSTEM_BUSY = 2,
        /// No processor knows the code on this port.
        REQUEST_CODE_NOT_SUPPORTED = 3,
        /// Transaction step failed.
        TRANSACTION_FAILED = 4,
        /// Message stored, disk flush not confirmed in time (SYNC_FLUSH).
        FLUSH_DISK_TIMEOUT = 10,
        /// Message stored, no usable slave (SYNC_MASTER).
        SLAVE_NOT_AVAILABLE = 11,
        /// Message stored, slave did not confirm in time.
        FLUSH_SLAVE_TIMEOUT = 12,
        /// Message too large, topic or properties too long, or otherwise malformed.
        MESSAGE_ILLEGAL = 13,
        /// Store not writable (shutdown, slave role, disk full ...) or service off.
        SERVICE_NOT_AVAILABLE = 14,
        /// Requested expression type or peer version not supported.
        VERSION_NOT_SUPPORTED = 15,
        /// Topic, group or broker permission forbids it, or a black-listed config key.
        NO_PERMISSION = 16,
        /// Topic unknown (no route at name server, or not on this broker).
        TOPIC_NOT_EXIST = 17,
        /// Topic already there.
        TOPIC_EXIST_ALREADY = 18,
        /// No new message at this offset.
        PULL_NOT_FOUND = 19,
        /// Nothing matched the filter yet, pull again from nextBeginOffset.
        PULL_RETRY_IMMEDIATELY = 20,
        /// Offset outside the queue, continue from nextBeginOffset.
        PULL_OFFSET_MOVED = 21,
        /// Key, message, KV item or offset not found.
        QUERY_NOT_FOUND = 22,
        /// Filter expression does not parse.
        SUBSCRIPTION_PARSE_FAILED = 23,
        /// Broker has no subscription data for this group and topic.
        SUBSCRIPTION_NOT_EXIST = 24,
        /// Broker holds older subscription data than the request.
        SUBSCRIPTION_NOT_LATEST = 25,
        /// Consumer group unknown and auto creation off.
        SUBSCRIPTION_GROUP_NOT_EXIST = 26,
        /// Compiled SQL filter missing.
        FILTER_DATA_NOT_EXIST = 27,
        /// Compiled SQL filter older than the request.
        FILTER_DATA_NOT_LATEST = 28,
        /// Bad argument: topic or group name, queue id, config value.
        INVALID_PARAMETER = 29,
        /// Old transaction answer, unused now.
        TRANSACTION_SHOULD_COMMIT = 200,
        /// Old transaction answer, unused now.
        TRANSACTION_SHOULD_ROLLBACK = 201,
        /// Old transaction answer, unused now.
        TRANSACTION_STATE_UNKNOW = 202,
        /// Old transaction answer, unused now.
        TRANSACTION_STATE_GROUP_WRONG = 203,
        /// Legacy, unused.
        NO_BUYER_ID = 204,
        /// Legacy, unused.
        NOT_IN_CURRENT_UNIT = 205,
        /// No consumer of the group is connected.
        CONSUMER_NOT_ONLINE = 206,
        /// Client did not answer a forwarded request in time.
        CONSUME_MSG_TIMEOUT = 207,
        /// Nothing to pop or ack target missing.
        NO_MESSAGE = 208,
        /// Too many parked polls; comes with pop requests.
        POLLING_FULL = 209,
        /// Parked pop poll ended without message.
        POLLING_TIMEOUT = 210,
        /// Named broker unknown.
        BROKER_NOT_EXIST = 211,
        /// Static topic remap: dispatch lags behind.
        BROKER_DISPATCH_NOT_COMPLETE = 212,
        /// Group consumes in broadcast mode, the operation makes no sense.
        BROADCAST_CONSUMPTION = 213,
        /// Rejected by flow control.
        FLOW_CONTROL = 215,
        /// Static topic: this broker does not lead the logic queue.
        NOT_LEADER_FOR_QUEUE = 501,
        /// Operation refused in this state, mostly lite topics.
        ILLEGAL_OPERATION = 604,
        /// Server shuts down; client should reconnect and resend.
        GO_AWAY = 1500,
        /// Master epoch of the request is outdated.
        CONTROLLER_FENCED_MASTER_EPOCH = 2000,
        /// Sync state set epoch of the request is outdated.
        CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH = 2001,
        /// Request does not come from the current master.
        CONTROLLER_INVALID_MASTER = 2002,
        /// Sync state set names unknown replicas.
        CONTROLLER_INVALID_REPLICAS = 2003,
        /// No master could be named or elected.
        CONTROLLER_MASTER_NOT_AVAILABLE = 2004,
        /// Request malformed for the controller.
        CONTROLLER_INVALID_REQUEST = 2005,
        /// Broker has no live heartbeat at the controller.
        CONTROLLER_BROKER_NOT_ALIVE = 2006,
        /// This controller is not the leader; remark says so.
        CONTROLLER_NOT_LEADER = 2007,
        /// Broker set unknown to the controller.
        CONTROLLER_BROKER_METADATA_NOT_EXIST = 2008,
        /// Clean refused, e.g. broker still alive.
        CONTROLLER_INVALID_CLEAN_BROKER_METADATA = 2009,
        /// Broker must register first.
        CONTROLLER_BROKER_NEED_TO_BE_REGISTERED = 2010,
        /// Election refused because the master lives.
        CONTROLLER_MASTER_STILL_EXIST = 2011,
        /// Election failed.
        CONTROLLER_ELECT_MASTER_FAILED = 2012,
        /// Change of the sync state set failed.
        CONTROLLER_ALTER_SYNC_STATE_SET_FAILED = 2013,
        /// Applied broker id is taken or not next.
        CONTROLLER_BROKER_ID_INVALID = 2014,
        /// JRaft controller could not apply the task.
        CONTROLLER_JRAFT_INTERNAL_ERROR = 2015,
        /// No heartbeat record for the broker.
        CONTROLLER_BROKER_LIVE_INFO_NOT_EXISTS = 2016,
        /// Too many light queues.
        LMQ_QUOTA_EXCEEDED = 2017,
        /// Too many lite subscriptions.
        LITE_SUBSCRIPTION_QUOTA_EXCEEDED = 2018,
        /// Auth: no such user.
        USER_NOT_EXIST = 3001,
        /// Auth: no such policy.
        POLICY_NOT_EXIST = 3002,
    }
}
