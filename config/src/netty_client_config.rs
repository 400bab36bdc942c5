//! The keys of outgoing connections (the reference's `NettyClientConfig`).

use crate::defaults::cores;

settings! {
    /// How a broker or a name server calls others.
    pub struct NettyClientConfig {
        // Threads and requests in flight.
        client_worker_threads: i32 = 4, "clientWorkerThreads";
        client_callback_executor_threads: i32 = cores(), "clientCallbackExecutorThreads";
        client_oneway_semaphore_value: i32 = 65_535, "clientOnewaySemaphoreValue";
        client_async_semaphore_value: i32 = 65_535, "clientAsyncSemaphoreValue";

        // Connections: times (ms; idle limit in s, 0 means none), socket buffers (bytes, 0: the system decides).
        connect_timeout_millis: i32 = 3000, "connectTimeoutMillis";
        channel_not_active_interval: i64 = 60_000, "channelNotActiveInterval";
        is_scan_available_name_srv: bool = true, "isScanAvailableNameSrv", fixed;
        client_channel_max_idle_time_seconds: i32 = 120, "clientChannelMaxIdleTimeSeconds";
        client_socket_snd_buf_size: i32 = 0, "clientSocketSndBufSize";
        client_socket_rcv_buf_size: i32 = 0, "clientSocketRcvBufSize";
        client_pooled_byte_buf_allocator_enable: bool = false, "clientPooledByteBufAllocatorEnable";
        client_close_socket_if_timeout: bool = true, "clientCloseSocketIfTimeout";

        // TLS and proxies.
        use_tls: bool = false, "useTLS";
        socks_proxy_config: String = "{}".to_owned(), "socksProxyConfig";

        // Water marks (bytes), callbacks, reconnection (s).
        write_buffer_high_water_mark: i32 = 0, "writeBufferHighWaterMark";
        write_buffer_low_water_mark: i32 = 0, "writeBufferLowWaterMark";
        disable_callback_executor: bool = false, "disableCallbackExecutor";
        disable_netty_worker_group: bool = false, "disableNettyWorkerGroup";
        max_reconnect_interval_time_seconds: i64 = 60, "maxReconnectIntervalTimeSeconds";
        enable_reconnect_for_go_away: bool = true, "enableReconnectForGoAway";
    }
}
