//! The keys of a name server (the reference's `NamesrvConfig`).

use crate::defaults::{below_home, rocketmq_home};

settings! {
    /// What a name server does beside listening.
    pub struct NamesrvConfig {
        // Places.
        rocketmq_home: Option<String> = rocketmq_home(), "rocketmqHome";
        kv_config_path: String = below_home("namesrv/kvConfig.json"), "kvConfigPath";
        config_store_path: String = below_home("namesrv/namesrv.properties"), "configStorePath";

        // Environment and order topics.
        product_env_name: String = "center".to_owned(), "productEnvName";
        cluster_test: bool = false, "clusterTest";
        order_message_enable: bool = false, "orderMessageEnable";
        return_order_topic_config_to_broker: bool = true, "returnOrderTopicConfigToBroker";

        // Threads and queues of the reference: clients asking for routes apart from everything else.
        client_request_thread_pool_nums: i32 = 8, "clientRequestThreadPoolNums";
        default_thread_pool_nums: i32 = 16, "defaultThreadPoolNums";
        client_request_thread_pool_queue_capacity: i32 = 50_000, "clientRequestThreadPoolQueueCapacity";
        default_thread_pool_queue_capacity: i32 = 10_000, "defaultThreadPoolQueueCapacity";

        // Brokers: how often silent ones are looked for (ms), and how many departures may wait.
        scan_not_active_broker_interval: i64 = 5000, "scanNotActiveBrokerInterval";
        un_register_broker_queue_capacity: i32 = 3000, "unRegisterBrokerQueueCapacity";
        support_acting_master: bool = false, "supportActingMaster";

        // What a client may ask for.
        enable_all_topic_list: bool = true, "enableAllTopicList";
        enable_topic_list: bool = true, "enableTopicList";
        notify_min_broker_id_changed: bool = false, "notifyMinBrokerIdChanged";

        // Start-up.
        enable_controller_in_namesrv: bool = false, "enableControllerInNamesrv";
        need_wait_for_service: bool = false, "needWaitForService";
        wait_seconds_for_service: i32 = 45, "waitSecondsForService";

        // Topics that a full registration no longer lists are removed.
        delete_topic_with_broker_registration: bool = false, "deleteTopicWithBrokerRegistration";

        // Keys that no request may change, separated by `;`.
        config_black_list: String = "configBlackList;configStorePath;kvConfigPath".to_owned(), "configBlackList";
    }
}
