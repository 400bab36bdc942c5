package apogee.compat.published;

import apogee.compat.servers.Server;
import java.util.Properties;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.offset.ConsumerOffsetManager;
import org.apache.rocketmq.broker.out.BrokerOuterAPI;
import org.apache.rocketmq.broker.pop.orderly.ConsumerOrderInfoManager;
import org.apache.rocketmq.broker.subscription.SubscriptionGroupManager;
import org.apache.rocketmq.broker.topic.TopicConfigManager;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.MessageStore;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/**
 * A broker process as the published classes see it: the public methods are those of {@link BrokerController} that have an
 * answer outside the process.
 */
public final class RemoteBroker {
    /** Asks the broker to register at once; the value is the default (readable and writable), so nothing else changes. */
    private static final String REGISTER_KEY = "brokerPermission";
    private static final String READ_AND_WRITE = "6";

    private final Server server;
    private final Requests requests;
    private final LiveSettings<BrokerConfig> brokerSettings;
    private final LiveSettings<MessageStoreConfig> storeSettings;
    private final BrokerController controller;

    private final MessageStore store;
    private final TopicConfigManager topics;
    private final SubscriptionGroupManager groups;
    private final ConsumerOffsetManager offsets;
    private final ConsumerOrderInfoManager order;
    private final BrokerOuterAPI outerApi;

    RemoteBroker(Server server, Requests requests, BrokerConfig brokerConfig, MessageStoreConfig storeConfig) {
        this.server = server;
        this.requests = requests;
        brokerSettings = new LiveSettings<>(BrokerConfig.class, brokerConfig, this::update);
        storeSettings = new LiveSettings<>(MessageStoreConfig.class, storeConfig, this::update);
        // Two classes ask whether the store is of this type.
        store = StandIn.of(DefaultMessageStore.class, new Store());
        topics = StandIn.of(TopicConfigManager.class, new Topics());
        groups = StandIn.of(SubscriptionGroupManager.class, new Groups());
        offsets = StandIn.of(ConsumerOffsetManager.class, new Offsets());
        order = StandIn.of(ConsumerOrderInfoManager.class, new Order());
        outerApi = StandIn.of(BrokerOuterAPI.class, new OuterApi());
        controller = StandIn.of(BrokerController.class, this);
    }

    /** The object to hand to a test. */
    public BrokerController controller() {
        return controller;
    }

    String name() {
        return server.name();
    }

    /** Reads the settings that the server has. Left as they are known when it does not say. */
    void refreshSettings() {
        Properties settings;
        try {
            settings = requests.brokerConfig(getBrokerAddr());
        } catch (Exception notAnswered) {
            return;
        }
        brokerSettings.refresh(settings);
        storeSettings.refresh(settings);
    }

    /** Undoes what the last class changed: starts the broker when it was left stopped, puts its settings back. */
    void putBack() {
        brokerSettings.putBack();
        storeSettings.putBack();
        start();
    }

    void start() {
        if (!server.isRunning()) {
            server.start();
        }
    }

    public BrokerConfig getBrokerConfig() {
        return brokerSettings.live();
    }

    public MessageStoreConfig getMessageStoreConfig() {
        return storeSettings.live();
    }

    public String getBrokerAddr() {
        return server.address();
    }

    public MessageStore getMessageStore() {
        return store;
    }

    public TopicConfigManager getTopicConfigManager() {
        return topics;
    }

    public SubscriptionGroupManager getSubscriptionGroupManager() {
        return groups;
    }

    public ConsumerOffsetManager getConsumerOffsetManager() {
        return offsets;
    }

    public ConsumerOrderInfoManager getConsumerOrderInfoManager() {
        return order;
    }

    public BrokerOuterAPI getBrokerOuterAPI() {
        return outerApi;
    }

    public void registerBrokerAll(boolean checkOrderConfig, boolean oneway, boolean forceRegister) throws Exception {
        requests.updateBrokerConfig(getBrokerAddr(), REGISTER_KEY, READ_AND_WRITE);
    }

    public void shutdown() {
        server.stop();
    }

    private void update(String key, String value) {
        server.set(key, value);
        if (!server.isRunning()) {
            return;
        }
        try {
            requests.updateBrokerConfig(getBrokerAddr(), key, value);
        } catch (Exception e) {
            throw new IllegalStateException(name() + " does not take " + key + "=" + value, e);
        }
    }

    /** Of the message store. */
    public final class Store {
        public long getMaxOffsetInQueue(String topic, int queueId) throws Exception {
            return requests.maxOffset(getBrokerAddr(), name(), topic, queueId);
        }

        public long getMinOffsetInQueue(String topic, int queueId) throws Exception {
            return requests.minOffset(getBrokerAddr(), name(), topic, queueId);
        }

        public long dispatchBehindBytes() throws Exception {
            return requests.dispatchBehindBytes(getBrokerAddr());
        }
    }

    /** Of the topics. */
    public final class Topics {
        public ConcurrentMap<String, TopicConfig> getTopicConfigTable() throws Exception {
            return requests.topics(getBrokerAddr());
        }

        public TopicConfig selectTopicConfig(String topic) throws Exception {
            return getTopicConfigTable().get(topic);
        }

        public void updateTopicConfig(TopicConfig config) throws Exception {
            requests.admin().createAndUpdateTopicConfig(getBrokerAddr(), config);
        }
    }

    /** Of the consumer groups. */
    public final class Groups {
        public SubscriptionGroupConfig findSubscriptionGroupConfig(String group) throws Exception {
            return requests.admin().examineSubscriptionGroupConfig(getBrokerAddr(), group);
        }

        public void updateSubscriptionGroupConfig(SubscriptionGroupConfig config) throws Exception {
            requests.admin().createAndUpdateSubscriptionGroupConfig(getBrokerAddr(), config);
        }
    }

    /** Of the consumer offsets. */
    public final class Offsets {
        public long queryOffset(String group, String topic, int queueId) throws Exception {
            return requests.consumerOffset(getBrokerAddr(), group, topic, queueId);
        }

        public long queryPullOffset(String group, String topic, int queueId) throws Exception {
            return requests.pullOffset(getBrokerAddr(), name(), group, topic, queueId);
        }
    }

    /** Of ordered pop consumption. */
    public final class Order {
        /** A queue is blocked when there is something to consume and the broker does not offer it. */
        public boolean checkBlock(String attemptId, String topic, String group, int queueId, long invisibleTime) throws Exception {
            long committed = Math.max(0, consumerOffset(group, topic, queueId));
            boolean empty = committed >= requests.maxOffset(getBrokerAddr(), name(), topic, queueId);
            return !empty && !requests.hasOrderedMessage(getBrokerAddr(), group, topic, queueId);
        }

        private long consumerOffset(String group, String topic, int queueId) throws Exception {
            try {
                return requests.consumerOffset(getBrokerAddr(), group, topic, queueId);
            } catch (MQBrokerException noneYet) {
                return 0;
            }
        }
    }

    /** Of the broker as a client. */
    public final class OuterApi {
        /** Of no use from outside: a process learns routes by its own interval. */
        public void refreshMetadata() {
            // Nothing to do.
        }
    }
}
