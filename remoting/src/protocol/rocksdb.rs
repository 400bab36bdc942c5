//! Checks and exports of RocksDB stores: codes 354 and 355.

use super::body::body;
use crate::header;

header! {
    /// Header of the request CHECK_ROCKSDB_CQ_WRITE_PROGRESS (354).
    pub struct CheckRocksdbCqWriteProgressRequestHeader<'a> {
        /// Topic.
        pub topic: &'a str = "topic",
        /// Store time from which to check, ms.
        #[default(0)]
        pub check_store_time: i64 = "checkStoreTime",
    }
}

header! {
    /// Header of the request EXPORT_ROCKSDB_CONFIG_TO_JSON (355).
    pub struct ExportRocksDBConfigToJsonRequestHeader<'a> {
        /// Kinds of configuration, separated by semicolons.
        pub config_type: &'a str = "configType",
    }
}

body! {
    /// Body of the response to CHECK_ROCKSDB_CQ_WRITE_PROGRESS (354).
    pub struct CheckRocksdbCqWriteResult {
        /// What differs.
        pub check_result: Option<String>,
        /// 0 all is the same, 1 something differs, 2 under way, 3 failed.
        pub check_status: i32,
    }
}
