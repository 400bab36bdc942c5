//! Keys that a configuration file of the reference may hold and that have no effect here.
//!
//! They belong to classes the reference fills from the same file, to older versions of it, or are read in passing. They
//! are kept like unknown keys, and reported without a guess at what was meant.

/// Whether the key means something to some version of the reference's broker or name server.
pub(crate) fn is_known_elsewhere(key: &str) -> bool {
    [PASSING, VERSION_4, AUTHENTICATION, CONTROLLER, TIERED_STORE].iter().any(|keys| keys.contains(&key))
}

/// Read at the reference's start-up.
const PASSING: &[&str] = &["inBrokerContainer", "rmqAddressServerDomain", "rmqAddressServerSubGroup"];

/// Of 4.9.4 alone.
const VERSION_4: &[&str] = &[
    "commercialBigCount",
    "commercialEnable",
    "commercialTimerCount",
    "commercialTransCount",
    "filterServerNums",
    "haSlaveFallbehindMax",
    "isEnableBatchPush",
    "maxDelayTime",
];

/// The reference's `AuthConfig`.
const AUTHENTICATION: &[&str] = &[
    "aclCacheExpiredSecond",
    "aclCacheMaxNum",
    "aclCacheRefreshSecond",
    "authConfigPath",
    "authenticationEnabled",
    "authenticationMetadataProvider",
    "authenticationProvider",
    "authenticationStrategy",
    "authenticationWhitelist",
    "authorizationEnabled",
    "authorizationMetadataProvider",
    "authorizationProvider",
    "authorizationStrategy",
    "authorizationWhitelist",
    "clusterName",
    "configName",
    "initAuthenticationUser",
    "innerClientAuthenticationCredentials",
    "migrateAuthFromV1Enabled",
    "statefulAuthenticationCacheExpiredSecond",
    "statefulAuthenticationCacheMaxNum",
    "statefulAuthorizationCacheExpiredSecond",
    "statefulAuthorizationCacheMaxNum",
    "userCacheExpiredSecond",
    "userCacheMaxNum",
    "userCacheRefreshSecond",
];

/// The reference's `ControllerConfig` and `JraftConfig`.
const CONTROLLER: &[&str] = &[
    "controllerDLegerGroup",
    "controllerDLegerPeers",
    "controllerDLegerSelfId",
    "controllerRequestThreadPoolQueueCapacity",
    "controllerStorePath",
    "controllerThreadPoolNums",
    "controllerType",
    "electMasterMaxRetryCount",
    "enableElectUncleanMaster",
    "isProcessReadEvent",
    "jRaftControllerRPCAddr",
    "jRaftElectionTimeoutMs",
    "jRaftGroupId",
    "jRaftInitConf",
    "jRaftScanWaitTimeoutMs",
    "jRaftServerId",
    "jRaftSnapshotIntervalSecs",
    "jraftConfig",
    "mappedFileSize",
    "notifyBrokerRoleChanged",
    "scanInactiveMasterInterval",
];

/// The reference's `TieredMessageStoreConfig`.
const TIERED_STORE: &[&str] = &[
    "commitLogRollingInterval",
    "commitLogRollingMinimumSize",
    "objectStoreAccessKey",
    "objectStoreBucket",
    "objectStoreEndpoint",
    "objectStoreSecretKey",
    "readAheadCacheEnable",
    "readAheadCacheExpireDuration",
    "readAheadCacheSizeThresholdRate",
    "readAheadMessageCountThreshold",
    "readAheadMessageSizeThreshold",
    "recordGetMessageResult",
    "tieredBackendServiceProvider",
    "tieredMetadataServiceProvider",
    "tieredStorageLevel",
    "tieredStoreCommitLogMaxSize",
    "tieredStoreConsumeQueueMaxSize",
    "tieredStoreCrcCheckEnable",
    "tieredStoreDeleteFileEnable",
    "tieredStoreDeleteFileInterval",
    "tieredStoreFilePath",
    "tieredStoreFileReservedTime",
    "tieredStoreGroupCommit",
    "tieredStoreGroupCommitCount",
    "tieredStoreGroupCommitSize",
    "tieredStoreGroupCommitTimeout",
    "tieredStoreIndexFileMaxHashSlotNum",
    "tieredStoreIndexFileMaxIndexNum",
    "tieredStoreMaxGroupCommitCount",
    "tieredStoreMaxPendingLimit",
];
