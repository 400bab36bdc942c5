//! The keys of a listening server (the reference's `NettyServerConfig`).

settings! {
    /// How a server listens. The start-up sets `listenPort` to 10911 (broker) or 9876 (name server) before the file is read.
    pub struct NettyServerConfig {
        // Where.
        bind_address: String = "0.0.0.0".to_owned(), "bindAddress";
        listen_port: i32 = 0, "listenPort";

        // Threads and requests in flight.
        server_worker_threads: i32 = 8, "serverWorkerThreads";
        server_callback_executor_threads: i32 = 0, "serverCallbackExecutorThreads";
        server_selector_threads: i32 = 3, "serverSelectorThreads";
        server_oneway_semaphore_value: i32 = 256, "serverOnewaySemaphoreValue";
        server_async_semaphore_value: i32 = 64, "serverAsyncSemaphoreValue";

        // Connections: idle limit (s), socket buffers and water marks (bytes, 0: the system decides), backlog.
        server_channel_max_idle_time_seconds: i32 = 120, "serverChannelMaxIdleTimeSeconds";
        server_socket_snd_buf_size: i32 = 0, "serverSocketSndBufSize";
        server_socket_rcv_buf_size: i32 = 0, "serverSocketRcvBufSize";
        write_buffer_high_water_mark: i32 = 0, "writeBufferHighWaterMark";
        write_buffer_low_water_mark: i32 = 0, "writeBufferLowWaterMark";
        server_socket_backlog: i32 = 1 << 10, "serverSocketBacklog";

        // Buffers and worker groups of the reference.
        server_netty_worker_group_enable: bool = true, "serverNettyWorkerGroupEnable";
        server_pooled_byte_buf_allocator_enable: bool = true, "serverPooledByteBufAllocatorEnable";

        // Leaving: tell clients to go elsewhere, and wait for them (s).
        enable_shutdown_gracefully: bool = false, "enableShutdownGracefully";
        shutdown_wait_time_seconds: i32 = 30, "shutdownWaitTimeSeconds";
        use_epoll_native_selector: bool = false, "useEpollNativeSelector";
    }
}
