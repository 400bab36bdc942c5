//! The keys of the message store (the reference's `MessageStoreConfig`).

use crate::defaults::below_home;

setting_enum! {
    /// A broker's part in replication.
    pub enum BrokerRole {
        /// Takes messages and does not wait for slaves.
        AsyncMaster = "ASYNC_MASTER",
        /// Takes messages and waits for slaves.
        SyncMaster = "SYNC_MASTER",
        /// Copies a master.
        Slave = "SLAVE",
    }
}

setting_enum! {
    /// When a message counts as stored.
    pub enum FlushDiskType {
        /// When it has been synced to disk.
        SyncFlush = "SYNC_FLUSH",
        /// When it is in the page cache.
        AsyncFlush = "ASYNC_FLUSH",
    }
}

settings! {
    /// How messages are kept. Times are milliseconds and sizes bytes unless the key says otherwise.
    pub struct MessageStoreConfig {
        // Places.
        store_path_root_dir: String = below_home("store"), "storePathRootDir", important;
        store_path_commit_log: Option<String> = None, "storePathCommitLog", important;
        store_path_dledger_commit_log: Option<String> = None, "storePathDLedgerCommitLog", important;
        store_path_epoch_file: Option<String> = None, "storePathEpochFile", important;
        store_path_broker_identity: Option<String> = None, "storePathBrokerIdentity", important;
        read_only_commit_log_store_paths: Option<String> = None, "readOnlyCommitLogStorePaths";

        // Sizes of files, compaction.
        mapped_file_size_commit_log: i32 = 1 << 30, "mappedFileSizeCommitLog";
        compaction_mapped_file_size: i32 = 100 << 20, "compactionMappedFileSize";
        compaction_cq_mapped_file_size: i32 = 10 << 20, "compactionCqMappedFileSize";
        compaction_schedule_internal: i32 = 900_000, "compactionScheduleInternal";
        max_offset_map_size: i32 = 100 << 20, "maxOffsetMapSize";
        compaction_thread_num: i32 = 6, "compactionThreadNum";
        enable_compaction: bool = true, "enableCompaction";

        // Timer messages.
        mapped_file_size_timer_log: i32 = 100 << 20, "mappedFileSizeTimerLog";
        timer_precision_ms: i32 = 1000, "timerPrecisionMs";
        timer_roll_window_slot: i32 = 172_800, "timerRollWindowSlot";
        timer_flush_interval_ms: i32 = 1000, "timerFlushIntervalMs";
        timer_get_message_thread_num: i32 = 3, "timerGetMessageThreadNum";
        timer_put_message_thread_num: i32 = 3, "timerPutMessageThreadNum";
        timer_enable_disruptor: bool = false, "timerEnableDisruptor", fixed;
        timer_enable_check_metrics: bool = true, "timerEnableCheckMetrics";
        timer_intercept_delay_level: bool = false, "timerInterceptDelayLevel";
        timer_max_delay_sec: i32 = 259_200, "timerMaxDelaySec";
        timer_wheel_snapshot_flush: bool = false, "timerWheelSnapshotFlush";
        timer_wheel_enable: bool = true, "timerWheelEnable";
        disappear_time_after_start: i32 = -1, "disappearTimeAfterStart", important;
        timer_stop_enqueue: bool = false, "timerStopEnqueue";
        timer_check_metrics_when: String = "05".to_owned(), "timerCheckMetricsWhen", fixed;
        timer_skip_unknown_error: bool = false, "timerSkipUnknownError";
        timer_warm_enable: bool = false, "timerWarmEnable", fixed;
        timer_stop_dequeue: bool = false, "timerStopDequeue", fixed;
        timer_enable_retry_until_success: bool = false, "timerEnableRetryUntilSuccess";
        timer_congest_num_each_slot: i32 = i32::MAX, "timerCongestNumEachSlot";
        timer_metric_small_threshold: i32 = 1_000_000, "timerMetricSmallThreshold";
        timer_progress_log_interval_ms: i32 = 10_000, "timerProgressLogIntervalMs";
        timer_wheel_snapshot_interval_ms: i32 = 10_000, "timerWheelSnapshotIntervalMs";
        commit_log_recover_max_num: i32 = 10, "commitLogRecoverMaxNum";

        // Timer, transaction and index records in RocksDB (the reference only).
        timer_rocksdb_enable: bool = false, "timerRocksDBEnable";
        timer_rocksdb_stop_scan: bool = false, "timerRocksDBStopScan";
        timer_rocksdb_precision_ms: i64 = 1000, "timerRocksDBPrecisionMs";
        timer_rocksdb_roll_max_tps: f64 = 8000.0, "timerRocksDBRollMaxTps";
        timer_rocksdb_time_expired_max_tps: f64 = 200_000.0, "timerRocksDBTimeExpiredMaxTps";
        timer_rocksdb_roll_interval_hours: i32 = 1, "timerRocksDBRollIntervalHours";
        timer_rocksdb_roll_range_hours: i32 = 2, "timerRocksDBRollRangeHours";
        timer_recall_to_time_wheel_enable: bool = true, "timerRecallToTimeWheelEnable";
        timer_recall_to_timeline_enable: bool = true, "timerRecallToTimelineEnable";
        timer_reput_service_core_pool_size: i32 = 6, "timerReputServiceCorePoolSize";
        timer_reput_service_max_pool_size: i32 = 6, "timerReputServiceMaxPoolSize";
        timer_reput_service_queue_capacity: i32 = 10_000, "timerReputServiceQueueCapacity";
        trans_rocksdb_enable: bool = false, "transRocksDBEnable";
        trans_write_origin_trans_half_enable: bool = true, "transWriteOriginTransHalfEnable";
        index_rocksdb_enable: bool = false, "indexRocksDBEnable";
        max_rocksdb_index_query_days: i32 = 7, "maxRocksDBIndexQueryDays";
        index_file_write_enable: bool = true, "indexFileWriteEnable";
        index_file_read_enable: bool = true, "indexFileReadEnable";

        // Consume queues.
        store_type: String = "default".to_owned(), "storeType", important;
        iterator_when_use_rocksdb_consume_queue: bool = true, "iteratorWhenUseRocksdbConsumeQueue";
        mapped_file_size_consume_queue: i32 = 6_000_000, "mappedFileSizeConsumeQueue";
        enable_consume_queue_ext: bool = false, "enableConsumeQueueExt";
        mapped_file_size_consume_queue_ext: i32 = 48 << 20, "mappedFileSizeConsumeQueueExt";
        mapper_file_size_batch_consume_queue: i32 = 13_800_000, "mapperFileSizeBatchConsumeQueue";
        bit_map_length_consume_queue_ext: i32 = 64, "bitMapLengthConsumeQueueExt";

        // Flush and commit intervals.
        flush_interval_commit_log: i32 = 500, "flushIntervalCommitLog", important;
        commit_interval_commit_log: i32 = 200, "commitIntervalCommitLog", important;

        // Recovery and disk space (per cent of the partition).
        max_recovery_commitlog_files: i32 = 30, "maxRecoveryCommitlogFiles";
        disk_space_warning_level_ratio: i32 = 90, "diskSpaceWarningLevelRatio";
        disk_space_clean_forcibly_ratio: i32 = 85, "diskSpaceCleanForciblyRatio";

        // Append lock, timed flush.
        use_reentrant_lock_when_put_message: bool = true, "useReentrantLockWhenPutMessage";
        flush_commit_log_timed: bool = true, "flushCommitLogTimed", important;
        flush_interval_consume_queue: i32 = 1000, "flushIntervalConsumeQueue";

        // Expiry and deletion: intervals, hour of the day, retention (hours).
        clean_resource_interval: i32 = 10_000, "cleanResourceInterval";
        delete_commit_log_files_interval: i32 = 100, "deleteCommitLogFilesInterval";
        delete_consume_queue_files_interval: i32 = 100, "deleteConsumeQueueFilesInterval";
        destroy_maped_file_interval_forcibly: i32 = 120_000, "destroyMapedFileIntervalForcibly";
        redelete_hanged_file_interval: i32 = 120_000, "redeleteHangedFileInterval";
        delete_when: String = "04".to_owned(), "deleteWhen", important;
        disk_max_used_space_ratio: i32 = 75, "diskMaxUsedSpaceRatio";
        file_reserved_time: i32 = 72, "fileReservedTime", important;
        delete_file_batch_max: i32 = 10, "deleteFileBatchMax", important;

        // Limits of a message; recovery checks.
        put_msg_index_hight_water: i32 = 600_000, "putMsgIndexHightWater";
        max_message_size: i32 = 4 << 20, "maxMessageSize";
        max_filter_message_size: i32 = 16_000, "maxFilterMessageSize";
        check_crc_on_recover: bool = true, "checkCRCOnRecover";
        check_commit_log_offset_on_recover: bool = false, "checkCommitLogOffsetOnRecover";

        // Flush and commit: least pages (4 KiB) and longest time.
        flush_commit_log_least_pages: i32 = 4, "flushCommitLogLeastPages";
        commit_commit_log_least_pages: i32 = 4, "commitCommitLogLeastPages";
        flush_least_pages_when_warm_maped_file: i32 = 4 << 10, "flushLeastPagesWhenWarmMapedFile";
        flush_consume_queue_least_pages: i32 = 2, "flushConsumeQueueLeastPages";
        flush_commit_log_thorough_interval: i32 = 10_000, "flushCommitLogThoroughInterval";
        commit_commit_log_thorough_interval: i32 = 200, "commitCommitLogThoroughInterval";
        flush_consume_queue_thorough_interval: i32 = 60_000, "flushConsumeQueueThoroughInterval";

        // Limits of one pull; share of memory (per cent) within which a read counts as in memory.
        max_transfer_bytes_on_message_in_memory: i32 = 256 << 10, "maxTransferBytesOnMessageInMemory", important;
        max_transfer_count_on_message_in_memory: i32 = 32, "maxTransferCountOnMessageInMemory", important;
        max_transfer_bytes_on_message_in_disk: i32 = 64 << 10, "maxTransferBytesOnMessageInDisk", important;
        max_transfer_count_on_message_in_disk: i32 = 8, "maxTransferCountOnMessageInDisk", important;
        access_message_in_memory_max_ratio: i32 = 40, "accessMessageInMemoryMaxRatio", important;

        // Index.
        message_index_enable: bool = true, "messageIndexEnable", important;
        max_hash_slot_num: i32 = 5_000_000, "maxHashSlotNum";
        max_index_num: i32 = 20_000_000, "maxIndexNum";
        max_msgs_num_batch: i32 = 64, "maxMsgsNumBatch";
        message_index_safe: bool = false, "messageIndexSafe", important;

        // Replication. A start-up without this key uses the broker's port + 1.
        ha_listen_port: i32 = 10_912, "haListenPort";
        ha_send_heartbeat_interval: i32 = 5000, "haSendHeartbeatInterval";
        ha_housekeeping_interval: i32 = 20_000, "haHousekeepingInterval";
        ha_transfer_batch_size: i32 = 32 << 10, "haTransferBatchSize";
        ha_master_address: Option<String> = None, "haMasterAddress", important;
        ha_max_gap_not_in_sync: i32 = 256 << 20, "haMaxGapNotInSync";

        // Role, when a message counts as stored, time limits.
        broker_role: BrokerRole = BrokerRole::AsyncMaster, "brokerRole", important;
        flush_disk_type: FlushDiskType = FlushDiskType::AsyncFlush, "flushDiskType", important;
        sync_flush_timeout: i32 = 5000, "syncFlushTimeout";
        put_message_timeout: i32 = 8000, "putMessageTimeout";
        slave_timeout: i32 = 3000, "slaveTimeout";

        // Delay levels, housekeeping switches.
        message_delay_level: String = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h".to_owned(), "messageDelayLevel";
        flush_delay_offset_interval: i64 = 10_000, "flushDelayOffsetInterval";
        clean_file_forcibly_enable: bool = true, "cleanFileForciblyEnable", important;
        warm_maped_file_enable: bool = false, "warmMapedFileEnable";
        offset_check_in_slave: bool = false, "offsetCheckInSlave";
        debug_lock_enable: bool = false, "debugLockEnable";
        duplication_enable: bool = false, "duplicationEnable";
        disk_fall_recorded: bool = true, "diskFallRecorded";
        os_page_cache_busy_time_out_mills: i64 = 1000, "osPageCacheBusyTimeOutMills";
        default_query_max_num: i32 = 32, "defaultQueryMaxNum";

        // Off-heap write buffers (the reference only).
        transient_store_pool_enable: bool = false, "transientStorePoolEnable", important;
        transient_store_pool_size: i32 = 5, "transientStorePoolSize";
        fast_fail_if_no_buffer_in_store_pool: bool = false, "fastFailIfNoBufferInStorePool";
        write_without_mmap: bool = false, "writeWithoutMmap", important;

        // DLedger.
        enable_dleger_commit_log: bool = false, "enableDLegerCommitLog";
        dleger_group: Option<String> = None, "dLegerGroup";
        dleger_peers: Option<String> = None, "dLegerPeers";
        dleger_self_id: Option<String> = None, "dLegerSelfId";
        preferred_leader_id: Option<String> = None, "preferredLeaderId";
        enable_batch_push: bool = false, "enableBatchPush";

        // Delayed delivery, light message queues.
        enable_schedule_message_stats: bool = true, "enableScheduleMessageStats";
        enable_lmq: bool = false, "enableLmq";
        enable_multi_dispatch: bool = false, "enableMultiDispatch";
        max_lmq_consume_queue_num: i32 = 20_000, "maxLmqConsumeQueueNum";
        enable_lmq_quota: bool = false, "enableLmqQuota";
        enable_schedule_async_deliver: bool = false, "enableScheduleAsyncDeliver";
        schedule_async_deliver_max_pending_limit: i32 = 2000, "scheduleAsyncDeliverMaxPendingLimit";
        schedule_async_deliver_max_resend_num2_blocked: i32 = 3, "scheduleAsyncDeliverMaxResendNum2Blocked";

        // Dispatch.
        max_batch_delete_files_num: i32 = 50, "maxBatchDeleteFilesNum";
        dispatch_cq_threads: i32 = 10, "dispatchCqThreads";
        dispatch_cq_cache_num: i32 = 4 << 10, "dispatchCqCacheNum";
        enable_async_reput: bool = true, "enableAsyncReput";
        recheck_reput_offset_from_cq: bool = false, "recheckReputOffsetFromCq";

        // Records: topic length, version, checksum of properties.
        max_topic_length: i32 = 127, "maxTopicLength";
        auto_message_version_on_topic_len: bool = true, "autoMessageVersionOnTopicLen";
        enable_running_flags_in_flush: bool = false, "enableRunningFlagsInFlush", important;
        enabled_append_prop_crc: bool = false, "enabledAppendPropCRC";
        force_verify_prop_crc: bool = false, "forceVerifyPropCRC";

        // Consume queue reads and corrections.
        travel_cq_file_num_when_get_message: i32 = 1, "travelCqFileNumWhenGetMessage";
        correct_logic_min_offset_sleep_interval: i32 = 1, "correctLogicMinOffsetSleepInterval";
        correct_logic_min_offset_force_interval: i32 = 300_000, "correctLogicMinOffsetForceInterval";

        // Mapped files that are mapped anew.
        mapped_file_swap_enable: bool = true, "mappedFileSwapEnable";
        commit_log_force_swap_map_interval: i64 = 43_200_000, "commitLogForceSwapMapInterval";
        commit_log_swap_map_interval: i64 = 3_600_000, "commitLogSwapMapInterval";
        commit_log_swap_map_reserve_file_num: i32 = 100, "commitLogSwapMapReserveFileNum";
        logic_queue_force_swap_map_interval: i64 = 43_200_000, "logicQueueForceSwapMapInterval";
        logic_queue_swap_map_interval: i64 = 3_600_000, "logicQueueSwapMapInterval";
        clean_swaped_map_interval: i64 = 300_000, "cleanSwapedMapInterval";
        logic_queue_swap_map_reserve_file_num: i32 = 20, "logicQueueSwapMapReserveFileNum";

        // Wake-ups and pending appends.
        search_bcq_by_cache_enable: bool = true, "searchBcqByCacheEnable";
        dispatch_from_sender_thread: bool = false, "dispatchFromSenderThread", important;
        wake_commit_when_put_message: bool = true, "wakeCommitWhenPutMessage", important;
        wake_flush_when_put_message: bool = false, "wakeFlushWhenPutMessage", important;
        enable_clean_expired_offset: bool = false, "enableCleanExpiredOffset", important;
        max_async_put_message_requests: i32 = 5000, "maxAsyncPutMessageRequests";
        pull_batch_max_message_count: i32 = 160, "pullBatchMaxMessageCount";

        // Replicas that have to confirm.
        total_replicas: i32 = 1, "totalReplicas", important;
        in_sync_replicas: i32 = 1, "inSyncReplicas", important;
        min_in_sync_replicas: i32 = 1, "minInSyncReplicas", important;
        all_ack_in_sync_state_set: bool = false, "allAckInSyncStateSet", important;
        enable_auto_in_sync_replicas: bool = false, "enableAutoInSyncReplicas", important;

        // Replication: speed, gaps, start of a new slave.
        ha_flow_control_enable: bool = false, "haFlowControlEnable", important;
        max_ha_transfer_byte_in_second: i64 = 100 << 20, "maxHaTransferByteInSecond";
        ha_max_time_slave_not_catchup: i64 = 15_000, "haMaxTimeSlaveNotCatchup";
        sync_master_flush_offset_when_startup: bool = false, "syncMasterFlushOffsetWhenStartup";
        max_checksum_range: i64 = 1 << 30, "maxChecksumRange";
        replicas_per_disk_partition: i32 = 1, "replicasPerDiskPartition";
        logical_disk_space_clean_forcibly_threshold: f64 = 0.8, "logicalDiskSpaceCleanForciblyThreshold";
        max_slave_resend_length: i64 = 256 << 20, "maxSlaveResendLength";
        sync_from_last_file: bool = false, "syncFromLastFile";
        async_learner: bool = false, "asyncLearner";

        // Estimates of what waits.
        max_consume_queue_scan: i32 = 20_000, "maxConsumeQueueScan";
        sample_count_threshold: i32 = 5000, "sampleCountThreshold";

        // Cold data and read-ahead.
        cold_data_flow_control_enable: bool = false, "coldDataFlowControlEnable";
        cold_data_scan_enable: bool = false, "coldDataScanEnable";
        data_read_ahead_enable: bool = true, "dataReadAheadEnable";
        timer_cold_data_check_interval_ms: i32 = 60_000, "timerColdDataCheckIntervalMs";
        sample_steps: i32 = 32, "sampleSteps";
        access_message_in_memory_hot_ratio: i32 = 26, "accessMessageInMemoryHotRatio";

        // Dispatch by several threads.
        enable_build_consume_queue_concurrently: bool = false, "enableBuildConsumeQueueConcurrently";
        batch_dispatch_request_thread_pool_nums: i32 = 16, "batchDispatchRequestThreadPoolNums";

        // RocksDB (the reference only).
        clean_rocksdb_dirty_cq_interval_min: i64 = 60, "cleanRocksDBDirtyCQIntervalMin";
        stat_rocksdb_cq_interval_sec: i64 = 10, "statRocksDBCQIntervalSec";
        mem_table_flush_interval_ms: i64 = 3_600_000, "memTableFlushIntervalMs";
        real_time_persist_rocksdb_config: bool = true, "realTimePersistRocksDBConfig";
        enable_rocksdb_log: bool = false, "enableRocksDBLog";

        // Locks per queue, reads ahead of confirmation.
        topic_queue_lock_num: i32 = 32, "topicQueueLockNum";
        read_un_committed: bool = false, "readUnCommitted";
        put_consume_queue_data_by_file_channel: bool = true, "putConsumeQueueDataByFileChannel";

        // Consume queues in two stores at once (the reference only).
        rocksdb_cq_double_write_enable: bool = false, "rocksdbCQDoubleWriteEnable";
        combine_cq_loading_cq_types: String = "default;defaultRocksDB".to_owned(), "combineCQLoadingCQTypes";
        combine_cq_prefer_cq_type: String = "default".to_owned(), "combineCQPreferCQType";
        combine_assign_offset_cq_type: String = "default".to_owned(), "combineAssignOffsetCQType";
        combine_cq_enable_check_self: bool = false, "combineCQEnableCheckSelf";
        combine_cq_max_extra_search_commit_log_files: i32 = 3, "combineCQMaxExtraSearchCommitLogFiles";
        combine_cq_use_rocksdb_for_lmq: bool = false, "combineCQUseRocksdbForLmq";
        bottom_most_compression_type_for_consume_queue_store: String = "zstd".to_owned(), "bottomMostCompressionTypeForConsumeQueueStore";
        rocksdb_compression_type: String = "lz4".to_owned(), "rocksdbCompressionType";
        rocksdb_flush_wal_frequency: i32 = 1 << 10, "rocksdbFlushWalFrequency";
        rocksdb_wal_file_rolling_threshold: i64 = 1 << 30, "rocksdbWalFileRollingThreshold";

        // Recovery, shared buffers, the append spin lock.
        enable_accelerated_recovery: bool = false, "enableAcceleratedRecovery";
        shared_byte_buffer_num: i32 = 16, "sharedByteBufferNum";
        use_separate_store_path_for_rocksdb_cq: bool = false, "useSeparateStorePathForRocksdbCQ";
        spin_lock_collision_retreat_optimal_degree: i32 = 1000, "spinLockCollisionRetreatOptimalDegree";
        use_abs_lock: bool = false, "useABSLock";
        enable_log_consume_queue_repeatedly_build_when_recover: bool = false, "enableLogConsumeQueueRepeatedlyBuildWhenRecover";
        append_topic_for_timer_delete_key: bool = false, "appendTopicForTimerDeleteKey";
    }
}

impl MessageStoreConfig {
    /// Where the commit log is: `storePathCommitLog`, or `commitlog` below the root. The key may list several
    /// directories, separated by `,`.
    pub fn commit_log_path(&self) -> String {
        self.store_path_commit_log.clone().unwrap_or_else(|| format!("{}/commitlog", self.store_path_root_dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_log_is_below_the_root_or_where_its_key_says() {
        let mut store = MessageStoreConfig { store_path_root_dir: "/data".to_owned(), ..Default::default() };
        assert_eq!(store.commit_log_path(), "/data/commitlog");
        store.store_path_commit_log = Some("/fast".to_owned());
        assert_eq!(store.commit_log_path(), "/fast");
    }
}
