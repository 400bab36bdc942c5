//! Bits of a message's sysFlag (constants.md, section 3).

/// The body is compressed.
pub const COMPRESSED: i32 = 0x1;
/// The message has several tags.
pub const MULTI_TAGS: i32 = 0x2;
/// Mask of the transaction state.
pub const TRANSACTION_TYPE: i32 = 0xC;
/// Transaction state: first half of a transaction.
pub const TRANSACTION_PREPARED: i32 = 0x4;
/// Transaction state: committed.
pub const TRANSACTION_COMMIT: i32 = 0x8;
/// Transaction state: rolled back.
pub const TRANSACTION_ROLLBACK: i32 = 0xC;
/// The born host is an IPv6 address.
pub const BORN_HOST_V6: i32 = 0x10;
/// The store host is an IPv6 address.
pub const STORE_HOST_V6: i32 = 0x20;
/// The body is a batch that its reader takes apart.
pub const NEED_UNWRAP: i32 = 0x40;
/// The record is a batch within one record.
pub const INNER_BATCH: i32 = 0x80;
/// Mask of the compression type; 0 is ZLIB by an old client.
pub const COMPRESSION_TYPE: i32 = 0x700;
/// Compression type LZ4.
pub const COMPRESSION_LZ4: i32 = 0x100;
/// Compression type ZSTD.
pub const COMPRESSION_ZSTD: i32 = 0x200;
/// Compression type ZLIB.
pub const COMPRESSION_ZLIB: i32 = 0x300;

/// The flag with another transaction state.
pub const fn with_transaction_type(sys_flag: i32, state: i32) -> i32 {
    sys_flag & !TRANSACTION_TYPE | state
}
