//! The keys of a broker (the reference's `BrokerConfig` with the identity keys of `BrokerIdentity`).

use crate::defaults::{broker_name, cores, namesrv_addr, rocketmq_home};
use crate::local_address::local_address;

setting_enum! {
    /// How a consumer group is served when it says nothing.
    pub enum MessageRequestMode {
        /// It pulls.
        Pull = "PULL",
        /// It pops.
        Pop = "POP",
    }
}

setting_enum! {
    /// Where metrics go.
    pub enum MetricsExporterType {
        /// Nowhere.
        Disable = "DISABLE",
        /// To an OpenTelemetry collector.
        OtlpGrpc = "OTLP_GRPC",
        /// To a Prometheus end point of the broker.
        Prom = "PROM",
        /// To the log.
        Log = "LOG",
    }
}

settings! {
    /// What a broker is and does. Times are milliseconds and sizes bytes unless the key says otherwise.
    pub struct BrokerConfig {
        // Identity. A broker id of 0 is a master, a greater one a slave.
        broker_name: String = broker_name(), "brokerName", important;
        broker_cluster_name: String = "DefaultCluster".to_owned(), "brokerClusterName", important;
        broker_id: i64 = 0, "brokerId", important;
        is_broker_container: bool = false, "isBrokerContainer", fixed;
        is_in_broker_container: bool = false, "isInBrokerContainer", fixed;

        // Places and addresses. `listenPort` here is the reference's own; the port that is opened is the one of
        // `NettyServerConfig`, and a file sets both.
        broker_config_path: Option<String> = None, "brokerConfigPath";
        rocketmq_home: Option<String> = rocketmq_home(), "rocketmqHome";
        namesrv_addr: Option<String> = namesrv_addr(), "namesrvAddr", important;
        listen_port: i32 = 6888, "listenPort", important;
        broker_ip1: String = local_address(), "brokerIP1", important;
        broker_ip2: String = local_address(), "brokerIP2";

        // Topics and groups: permission bits (4 read, 2 write), defaults, automatic creation.
        recover_concurrently: bool = false, "recoverConcurrently", important;
        broker_permission: i32 = 6, "brokerPermission";
        default_topic_queue_nums: i32 = 8, "defaultTopicQueueNums";
        auto_create_topic_enable: bool = true, "autoCreateTopicEnable", important;
        cluster_topic_enable: bool = true, "clusterTopicEnable";
        broker_topic_enable: bool = true, "brokerTopicEnable";
        auto_create_subscription_group: bool = true, "autoCreateSubscriptionGroup", important;

        // Plug-ins (Java classes) of the store.
        message_store_plug_in: String = String::new(), "messageStorePlugIn";

        // Message trace.
        msg_trace_topic_name: String = "RMQ_SYS_TRACE_TOPIC".to_owned(), "msgTraceTopicName", important;
        trace_topic_enable: bool = false, "traceTopicEnable", important;

        // Threads per kind of request.
        send_message_thread_pool_nums: i32 = cores().min(4), "sendMessageThreadPoolNums";
        put_message_future_thread_pool_nums: i32 = cores().min(4), "putMessageFutureThreadPoolNums";
        pull_message_thread_pool_nums: i32 = 16 + cores() * 2, "pullMessageThreadPoolNums";
        lite_pull_message_thread_pool_nums: i32 = 16 + cores() * 2, "litePullMessageThreadPoolNums";
        ack_message_thread_pool_nums: i32 = 16, "ackMessageThreadPoolNums";
        process_reply_message_thread_pool_nums: i32 = 16 + cores() * 2, "processReplyMessageThreadPoolNums";
        query_message_thread_pool_nums: i32 = 8 + cores(), "queryMessageThreadPoolNums";
        admin_broker_thread_pool_nums: i32 = 16, "adminBrokerThreadPoolNums";
        client_manage_thread_pool_nums: i32 = 32, "clientManageThreadPoolNums";
        consumer_manage_thread_pool_nums: i32 = 32, "consumerManageThreadPoolNums";
        load_balance_processor_thread_pool_nums: i32 = 32, "loadBalanceProcessorThreadPoolNums";
        heartbeat_thread_pool_nums: i32 = cores().min(32), "heartbeatThreadPoolNums";
        recover_thread_pool_nums: i32 = 32, "recoverThreadPoolNums";
        end_transaction_thread_pool_nums: i32 = (8 + cores() * 2).max(cores().min(4) * 4), "endTransactionThreadPoolNums";

        // How often offsets are written.
        flush_consumer_offset_interval: i32 = 5000, "flushConsumerOffsetInterval";
        flush_consumer_offset_history_interval: i32 = 60_000, "flushConsumerOffsetHistoryInterval";

        // Transactions refused; how name servers are found.
        reject_transaction_message: bool = false, "rejectTransactionMessage", important;
        fetch_name_srv_addr_by_dns_lookup: bool = false, "fetchNameSrvAddrByDnsLookup", important;
        fetch_namesrv_addr_by_address_server: bool = false, "fetchNamesrvAddrByAddressServer", important;

        // Requests that may wait, per kind.
        send_thread_pool_queue_capacity: i32 = 10_000, "sendThreadPoolQueueCapacity";
        put_thread_pool_queue_capacity: i32 = 10_000, "putThreadPoolQueueCapacity";
        pull_thread_pool_queue_capacity: i32 = 100_000, "pullThreadPoolQueueCapacity";
        lite_pull_thread_pool_queue_capacity: i32 = 100_000, "litePullThreadPoolQueueCapacity";
        ack_thread_pool_queue_capacity: i32 = 100_000, "ackThreadPoolQueueCapacity";
        reply_thread_pool_queue_capacity: i32 = 10_000, "replyThreadPoolQueueCapacity";
        query_thread_pool_queue_capacity: i32 = 20_000, "queryThreadPoolQueueCapacity";
        client_manager_thread_pool_queue_capacity: i32 = 1_000_000, "clientManagerThreadPoolQueueCapacity";
        consumer_manager_thread_pool_queue_capacity: i32 = 1_000_000, "consumerManagerThreadPoolQueueCapacity";
        heartbeat_thread_pool_queue_capacity: i32 = 50_000, "heartbeatThreadPoolQueueCapacity";
        end_transaction_pool_queue_capacity: i32 = 100_000, "endTransactionPoolQueueCapacity";
        admin_broker_thread_pool_queue_capacity: i32 = 10_000, "adminBrokerThreadPoolQueueCapacity";
        load_balance_thread_pool_queue_capacity: i32 = 100_000, "loadBalanceThreadPoolQueueCapacity";

        // Waiting pulls.
        long_polling_enable: bool = true, "longPollingEnable";
        short_polling_time_mills: i64 = 1000, "shortPollingTimeMills";
        notify_consumer_ids_changed_enable: bool = true, "notifyConsumerIdsChangedEnable";

        // Statistics.
        high_speed_mode: bool = false, "highSpeedMode";
        commercial_base_count: i32 = 1, "commercialBaseCount";
        commercial_size_per_msg: i32 = 4 << 10, "commercialSizePerMsg";
        account_stats_enable: bool = true, "accountStatsEnable";
        account_stats_print_zero_values: bool = true, "accountStatsPrintZeroValues";
        max_stats_idle_time_in_minutes: i32 = -1, "maxStatsIdleTimeInMinutes";

        // Transfer, region, registration and heartbeat timeouts.
        transfer_msg_by_heap: bool = true, "transferMsgByHeap";
        region_id: String = "DefaultRegion".to_owned(), "regionId";
        register_broker_timeout_mills: i32 = 24_000, "registerBrokerTimeoutMills";
        send_heartbeat_timeout_millis: i32 = 1000, "sendHeartbeatTimeoutMillis";

        // Reading from a slave; consumers that fall behind.
        slave_read_enable: bool = false, "slaveReadEnable";
        disable_consume_if_consumer_read_slowly: bool = false, "disableConsumeIfConsumerReadSlowly";
        consumer_fallbehind_threshold: i64 = 16 << 30, "consumerFallbehindThreshold";

        // Requests that waited too long are refused.
        broker_fast_failure_enable: bool = true, "brokerFastFailureEnable";
        wait_time_mills_in_send_queue: i64 = 200, "waitTimeMillsInSendQueue";
        wait_time_mills_in_pull_queue: i64 = 5000, "waitTimeMillsInPullQueue";
        wait_time_mills_in_lite_pull_queue: i64 = 5000, "waitTimeMillsInLitePullQueue";
        wait_time_mills_in_heartbeat_queue: i64 = 31_000, "waitTimeMillsInHeartbeatQueue";
        wait_time_mills_in_transaction_queue: i64 = 3000, "waitTimeMillsInTransactionQueue";
        wait_time_mills_in_ack_queue: i64 = 3000, "waitTimeMillsInAckQueue";
        wait_time_mills_in_admin_broker_queue: i64 = 5000, "waitTimeMillsInAdminBrokerQueue";
        start_accept_send_request_time_stamp: i64 = 0, "startAcceptSendRequestTimeStamp";

        // Trace and filters.
        trace_on: bool = true, "traceOn";
        enable_calc_filter_bit_map: bool = false, "enableCalcFilterBitMap";
        reject_pull_consumer_enable: bool = false, "rejectPullConsumerEnable";
        expect_consumer_num_use_filter: i32 = 32, "expectConsumerNumUseFilter";
        max_error_rate_of_bloom_filter: i32 = 20, "maxErrorRateOfBloomFilter";
        filter_data_clean_time_span: i64 = 86_400_000, "filterDataCleanTimeSpan";
        filter_support_retry: bool = false, "filterSupportRetry";
        enable_property_filter: bool = false, "enablePropertyFilter";

        // Registration with the name servers.
        compressed_register: bool = false, "compressedRegister";
        force_register: bool = true, "forceRegister";
        register_name_server_period: i32 = 30_000, "registerNameServerPeriod";
        update_name_server_addr_period: i32 = 120_000, "updateNameServerAddrPeriod";
        broker_heartbeat_interval: i32 = 1000, "brokerHeartbeatInterval";
        broker_not_active_timeout_millis: i64 = 10_000, "brokerNotActiveTimeoutMillis";

        // Flow control.
        enable_net_work_flow_control: bool = false, "enableNetWorkFlowControl";

        // Offsets of broadcasting consumers behind a proxy (s).
        enable_broadcast_offset_store: bool = true, "enableBroadcastOffsetStore";
        broadcast_offset_expire_second: i64 = 120, "broadcastOffsetExpireSecond";
        broadcast_offset_expire_max_second: i64 = 300, "broadcastOffsetExpireMaxSecond";

        // Pop: waiting requests.
        pop_polling_size: i32 = 1 << 10, "popPollingSize";
        pop_polling_map_size: i32 = 100_000, "popPollingMapSize";
        pop_polling_map_expire_time_seconds: i32 = 600, "popPollingMapExpireTimeSeconds";
        max_pop_polling_size: i64 = 100_000, "maxPopPollingSize";

        // Pop: revival of what was not acknowledged.
        revive_queue_num: i32 = 8, "reviveQueueNum";
        revive_interval: i64 = 1000, "reviveInterval";
        revive_max_slow: i64 = 3, "reviveMaxSlow";
        revive_scan_time: i64 = 10_000, "reviveScanTime";
        enable_skip_long_awaiting_ack: bool = false, "enableSkipLongAwaitingAck";
        revive_ack_wait_ms: i64 = 180_000, "reviveAckWaitMs";

        // Pop: check points and acknowledgements.
        enable_pop_log: bool = false, "enablePopLog";
        enable_pop_buffer_merge: bool = false, "enablePopBufferMerge";
        pop_ck_stay_buffer_time: i32 = 10_000, "popCkStayBufferTime";
        pop_ck_stay_buffer_time_out: i32 = 3000, "popCkStayBufferTimeOut";
        pop_ck_max_buffer_size: i32 = 200_000, "popCkMaxBufferSize";
        pop_ck_offset_max_queue_size: i32 = 20_000, "popCkOffsetMaxQueueSize";
        enable_pop_batch_ack: bool = false, "enablePopBatchAck";
        pop_long_polling_force_notify_interval: i64 = 800, "popLongPollingForceNotifyInterval";
        enable_notify_before_pop_calculate_lag: bool = true, "enableNotifyBeforePopCalculateLag";
        enable_notify_after_pop_order_lock_release: bool = true, "enableNotifyAfterPopOrderLockRelease";
        init_pop_offset_by_check_msg_in_mem: bool = true, "initPopOffsetByCheckMsgInMem";

        // Pop: retry topics.
        retrieve_message_from_pop_retry_topic_v1: bool = true, "retrieveMessageFromPopRetryTopicV1";
        enable_retry_topic_v2: bool = false, "enableRetryTopicV2";
        pop_from_retry_probability: i32 = 20, "popFromRetryProbability";
        pop_from_retry_probability_for_priority: i32 = 0, "popFromRetryProbabilityForPriority";
        priority_order_asc: bool = true, "priorityOrderAsc";

        // Pop: storage of its records.
        pop_consumer_fs_service_init: bool = true, "popConsumerFSServiceInit";
        pop_consumer_kv_service_log: bool = false, "popConsumerKVServiceLog";
        pop_consumer_kv_service_init: bool = false, "popConsumerKVServiceInit";
        pop_consumer_kv_service_enable: bool = false, "popConsumerKVServiceEnable";
        pop_revive_max_return_size_per_read: i32 = 16 << 10, "popReviveMaxReturnSizePerRead";
        pop_revive_concurrency: i32 = 32, "popReviveConcurrency";
        pop_revive_max_attempt_times: i32 = 16, "popReviveMaxAttemptTimes";
        pop_revive_skip_if_group_absent: bool = true, "popReviveSkipIfGroupAbsent";

        // Notification of consumers, light pull.
        use_separate_retry_queue: bool = false, "useSeparateRetryQueue";
        real_time_notify_consumer_change: bool = true, "realTimeNotifyConsumerChange";
        use_message_filter_for_notification: bool = true, "useMessageFilterForNotification";
        max_message_filter_num_for_notification: i32 = 64, "maxMessageFilterNumForNotification";
        lite_pull_message_enable: bool = true, "litePullMessageEnable";

        // Server-side load balancing.
        sync_broker_member_group_period: i32 = 1000, "syncBrokerMemberGroupPeriod";
        load_balance_poll_name_server_interval: i64 = 30_000, "loadBalancePollNameServerInterval";
        clean_offline_broker_interval: i32 = 30_000, "cleanOfflineBrokerInterval";
        server_load_balancer_enable: bool = true, "serverLoadBalancerEnable";
        default_message_request_mode: MessageRequestMode = MessageRequestMode::Pull, "defaultMessageRequestMode";
        default_pop_share_queue_num: i32 = -1, "defaultPopShareQueueNum";

        // Transactions.
        transaction_time_out: i64 = 6000, "transactionTimeOut", important;
        transaction_check_max: i32 = 15, "transactionCheckMax", important;
        transaction_check_interval: i64 = 30_000, "transactionCheckInterval", important;
        transaction_metric_flush_interval: i64 = 10_000, "transactionMetricFlushInterval";
        transaction_check_rocksdb_core_threads: i32 = 2, "transactionCheckRocksdbCoreThreads";
        transaction_check_rocksdb_max_threads: i32 = 5, "transactionCheckRocksdbMaxThreads";
        transaction_check_rocksdb_queue_capacity: i32 = 2000, "transactionCheckRocksdbQueueCapacity";
        transaction_op_msg_max_size: i32 = 4 << 10, "transactionOpMsgMaxSize";
        transaction_op_batch_interval: i32 = 3000, "transactionOpBatchInterval";

        // Access control.
        acl_enable: bool = false, "aclEnable", important;

        // Replies and statistics.
        store_reply_message_enable: bool = true, "storeReplyMessageEnable";
        enable_detail_stat: bool = true, "enableDetailStat";
        auto_delete_unused_stats: bool = true, "autoDeleteUnusedStats";

        // Logs of several brokers on one machine, forwarding.
        isolate_log_enable: bool = false, "isolateLogEnable";
        forward_timeout: i64 = 3000, "forwardTimeout";

        // A slave that acts for its master.
        enable_slave_acting_master: bool = false, "enableSlaveActingMaster";
        enable_remote_escape: bool = false, "enableRemoteEscape";
        skip_pre_online: bool = false, "skipPreOnline";

        // Sending, offsets and their versions.
        async_send_enable: bool = true, "asyncSendEnable";
        use_server_side_reset_offset: bool = true, "useServerSideResetOffset";
        consumer_offset_update_version_step: i64 = 500, "consumerOffsetUpdateVersionStep";
        delay_offset_update_version_step: i64 = 200, "delayOffsetUpdateVersionStep";

        // Queue locks, old name servers.
        lock_in_strict_mode: bool = false, "lockInStrictMode";
        compatible_with_old_name_srv: bool = true, "compatibleWithOldNameSrv";

        // Controller.
        enable_controller_mode: bool = false, "enableControllerMode";
        controller_addr: String = String::new(), "controllerAddr";
        fetch_controller_addr_by_dns_lookup: bool = false, "fetchControllerAddrByDnsLookup";
        sync_broker_metadata_period: i64 = 5000, "syncBrokerMetadataPeriod";
        check_sync_state_set_period: i64 = 5000, "checkSyncStateSetPeriod";
        sync_controller_metadata_period: i64 = 10_000, "syncControllerMetadataPeriod";
        controller_heart_beat_timeout_mills: i64 = 10_000, "controllerHeartBeatTimeoutMills";

        // Administration.
        validate_system_topic_when_update_topic: bool = true, "validateSystemTopicWhenUpdateTopic";
        broker_election_priority: i32 = i32::MAX, "brokerElectionPriority";
        use_static_subscription: bool = false, "useStaticSubscription";

        // Metrics.
        metrics_exporter_type: MetricsExporterType = MetricsExporterType::Disable, "metricsExporterType";
        metrics_otel_cardinality_limit: i32 = 50_000, "metricsOtelCardinalityLimit";
        metrics_grpc_exporter_target: String = String::new(), "metricsGrpcExporterTarget";
        metrics_grpc_exporter_header: String = String::new(), "metricsGrpcExporterHeader";
        metric_grpc_exporter_time_out_in_mills: i64 = 3000, "metricGrpcExporterTimeOutInMills";
        metric_grpc_exporter_interval_in_mills: i64 = 60_000, "metricGrpcExporterIntervalInMills";
        metric_logging_exporter_interval_in_mills: i64 = 10_000, "metricLoggingExporterIntervalInMills";
        metrics_prom_exporter_port: i32 = 5557, "metricsPromExporterPort";
        metrics_prom_exporter_host: String = String::new(), "metricsPromExporterHost";
        metrics_label: String = String::new(), "metricsLabel";
        metrics_export_batch_max_data_points: i32 = 1000, "metricsExportBatchMaxDataPoints";
        metrics_in_delta: bool = false, "metricsInDelta";
        enable_remoting_metrics: bool = true, "enableRemotingMetrics";
        enable_message_store_metrics: bool = true, "enableMessageStoreMetrics";
        enable_pop_metrics: bool = true, "enablePopMetrics";
        enable_connection_metrics: bool = true, "enableConnectionMetrics";
        enable_transaction_metrics: bool = true, "enableTransactionMetrics";
        enable_stats_metrics: bool = true, "enableStatsMetrics";
        enable_request_metrics: bool = true, "enableRequestMetrics";
        enable_lag_and_dlq_metrics: bool = true, "enableLagAndDlqMetrics";

        // Clients that are silent; estimates of what waits.
        channel_expired_timeout: i64 = 120_000, "channelExpiredTimeout";
        subscription_expired_timeout: i64 = 600_000, "subscriptionExpiredTimeout";
        estimate_accumulation: bool = true, "estimateAccumulation";

        // Cold reads.
        cold_ctr_strategy_enable: bool = false, "coldCtrStrategyEnable";
        use_pid_cold_ctr_strategy: bool = true, "usePIDColdCtrStrategy";
        cg_cold_read_threshold: i64 = 3 << 20, "cgColdReadThreshold";
        global_cold_read_threshold: i64 = 100 << 20, "globalColdReadThreshold";

        // Name servers, split registration, message types.
        fetch_namesrv_addr_interval: i64 = 10_000, "fetchNamesrvAddrInterval";
        pop_response_return_actual_retry_topic: bool = false, "popResponseReturnActualRetryTopic";
        enable_single_topic_register: bool = false, "enableSingleTopicRegister";
        enable_mixed_message_type: bool = false, "enableMixedMessageType";
        enable_split_registration: bool = false, "enableSplitRegistration";
        enable_split_metadata: bool = true, "enableSplitMetadata";
        split_metadata_size: i32 = 2000, "splitMetadataSize";

        // Pop: messages in flight.
        pop_inflight_message_threshold: i64 = 10_000, "popInflightMessageThreshold";
        enable_pop_message_threshold: bool = false, "enablePopMessageThreshold";

        // Client channels.
        enable_fast_channel_event_process: bool = false, "enableFastChannelEventProcess";
        print_channel_groups: bool = false, "printChannelGroups";
        print_channel_groups_min_num: i32 = 5, "printChannelGroupsMinNum";
        split_registration_size: i32 = 800, "splitRegistrationSize";

        // Keys that no request may change, separated by `;`.
        config_black_list: String = "configBlackList;brokerConfigPath".to_owned(), "configBlackList";

        // Pop: writing of check points.
        skip_when_ck_re_put_reach_max_times: bool = false, "skipWhenCKRePutReachMaxTimes";
        append_ack_async: bool = false, "appendAckAsync";
        append_ck_async: bool = false, "appendCkAsync";

        // Topics, light topics, where tables are kept.
        clear_retry_topic_when_delete_topic: bool = true, "clearRetryTopicWhenDeleteTopic";
        enable_lmq_stats: bool = false, "enableLmqStats";
        config_manager_version: String = "v1".to_owned(), "configManagerVersion";
        use_single_rocksdb_for_all_configs: bool = false, "useSingleRocksDBForAllConfigs";
        allow_recall_when_broker_not_writeable: bool = true, "allowRecallWhenBrokerNotWriteable";
        recall_message_enable: bool = false, "recallMessageEnable";
        enable_register_producer: bool = true, "enableRegisterProducer";
        enable_create_sys_group: bool = true, "enableCreateSysGroup";

        // Light topics: events, expiry, subscriptions, lag.
        enable_lite_event_mode: bool = true, "enableLiteEventMode";
        lite_event_check_interval: i64 = 10_000, "liteEventCheckInterval";
        lite_ttl_check_interval: i64 = 120_000, "liteTtlCheckInterval";
        min_lite_ttl: i64 = 900_000, "minLiteTTl";
        lite_subscription_check_interval: i64 = 120_000, "liteSubscriptionCheckInterval";
        lite_subscription_check_timeout_mills: i64 = 180_000, "liteSubscriptionCheckTimeoutMills";
        persist_consumer_offset_incrementally: bool = false, "persistConsumerOffsetIncrementally";
        max_lite_subscription_count: i64 = 100_000, "maxLiteSubscriptionCount";
        enable_lite_pop_log: bool = false, "enableLitePopLog";
        max_client_event_count: i32 = 100, "maxClientEventCount";
        lite_event_full_dispatch_delay_time: i64 = 10_000, "liteEventFullDispatchDelayTime";
        lite_event_full_dispatch_delay_time_for_wildcard_group: i64 = 10_000, "liteEventFullDispatchDelayTimeForWildcardGroup";
        lite_lag_latency_collect_enable: bool = false, "liteLagLatencyCollectEnable";
        lite_lag_latency_metrics_enable: bool = false, "liteLagLatencyMetricsEnable";
        lite_lag_count_metrics_enable: bool = false, "liteLagCountMetricsEnable";
        lite_lag_latency_top_k: i32 = 50, "liteLagLatencyTopK";
    }
}
