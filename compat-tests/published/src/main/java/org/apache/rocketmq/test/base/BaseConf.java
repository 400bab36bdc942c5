package org.apache.rocketmq.test.base;

import apogee.compat.published.Clients;
import apogee.compat.published.Cluster;
import apogee.compat.servers.Await;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.client.consumer.MQPullConsumer;
import org.apache.rocketmq.client.consumer.MQPushConsumer;
import org.apache.rocketmq.client.impl.consumer.DefaultMQPushConsumerImpl;
import org.apache.rocketmq.client.producer.MQProducer;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.common.attribute.CQType;
import org.apache.rocketmq.common.attribute.TopicMessageType;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.test.client.rmq.RMQAsyncSendProducer;
import org.apache.rocketmq.test.client.rmq.RMQNormalConsumer;
import org.apache.rocketmq.test.client.rmq.RMQNormalProducer;
import org.apache.rocketmq.test.client.rmq.RMQTransactionalProducer;
import org.apache.rocketmq.test.clientinterface.AbstractMQProducer;
import org.apache.rocketmq.test.clientinterface.MQConsumer;
import org.apache.rocketmq.test.factory.ConsumerFactory;
import org.apache.rocketmq.test.listener.AbstractListener;
import org.apache.rocketmq.test.util.MQAdminTestUtils;
import org.apache.rocketmq.test.util.MQRandomUtils;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;
import org.apache.rocketmq.tools.admin.MQAdminExt;

/**
 * Stands in for the published class of this name, the base of nearly all tests, with the members that they are compiled
 * against: the cluster under test and the making and ending of clients.
 */
public class BaseConf {
    public static final String NAMESRV_ADDR;

    protected static final String CLUSTER_NAME;
    protected static final String BROKER1_NAME;
    protected static final String BROKER2_NAME;
    protected static final String BROKER3_NAME;
    protected static final int BROKER_NUM = Cluster.BROKERS;
    /** Seconds. */
    protected static final int WAIT_TIME = 5;
    /** Milliseconds. */
    protected static final int CONSUME_TIME = 120_000;
    protected static final int QUEUE_NUMBERS = 8;

    protected static NamesrvController namesrvController;
    protected static BrokerController brokerController1;
    protected static BrokerController brokerController2;
    protected static BrokerController brokerController3;
    protected static List<BrokerController> brokerControllerList;
    protected static Map<String, BrokerController> brokerControllerMap;
    protected static List<Object> mqClients = new Clients();
    protected static boolean debug;

    private static final int ADMIN_TIMEOUT_MS = 15_000;
    /** The libraries' 3 s are short for a busy machine with a slow disk. */
    private static final int CLIENT_TIMEOUT_MS = 15_000;
    private static final int ADMIN_POLL_ROUTE_MS = 100;
    private static final int DISPATCH_POLL_MS = 20;
    private static final Duration BEGUN = Duration.ofSeconds(120);
    private static final ExecutorService ENDING = Executors.newCachedThreadPool(BaseConf::daemon);

    static {
        System.setProperty(RemotingCommand.REMOTING_VERSION_KEY, Integer.toString(MQVersion.CURRENT_VERSION));
        namesrvController = IntegrationTestBase.createAndStartNamesrv();
        NAMESRV_ADDR = "127.0.0.1:" + namesrvController.getNettyServerConfig().getListenPort();
        brokerController1 = IntegrationTestBase.createAndStartBroker(NAMESRV_ADDR);
        brokerController2 = IntegrationTestBase.createAndStartBroker(NAMESRV_ADDR);
        brokerController3 = IntegrationTestBase.createAndStartBroker(NAMESRV_ADDR);
        CLUSTER_NAME = brokerController1.getBrokerConfig().getBrokerClusterName();
        BROKER1_NAME = brokerController1.getBrokerConfig().getBrokerName();
        BROKER2_NAME = brokerController2.getBrokerConfig().getBrokerName();
        BROKER3_NAME = brokerController3.getBrokerConfig().getBrokerName();
        brokerControllerList = List.of(brokerController1, brokerController2, brokerController3);
        brokerControllerMap = brokerControllerList.stream()
            .collect(Collectors.toMap(broker -> broker.getBrokerConfig().getBrokerName(), Function.identity()));
        IntegrationTestBase.initMQAdmin(NAMESRV_ADDR);
    }

    public BaseConf() {
        waitBrokerRegistered(NAMESRV_ADDR, CLUSTER_NAME, BROKER_NUM);
    }

    public static void waitBrokerRegistered(String nsAddr, String clusterName, int expectedBrokerNum) {
        Cluster.running().awaitRegistered(clusterName, expectedBrokerNum);
    }

    /** Whether every broker has dispatched all of its log before the time is over. */
    public boolean awaitDispatchMs(long timeMs) throws Exception {
        long end = System.currentTimeMillis() + timeMs;
        do {
            if (brokerControllerList.stream().allMatch(broker -> broker.getMessageStore().dispatchBehindBytes() == 0)) {
                return true;
            }
            Thread.sleep(DISPATCH_POLL_MS);
        } while (System.currentTimeMillis() <= end);
        return false;
    }

    public static String initTopic() {
        return initTopicWithName(MQRandomUtils.getRandomTopic());
    }

    public static String initTopic(TopicMessageType topicMessageType) {
        return initTopicWithName(MQRandomUtils.getRandomTopic(), topicMessageType);
    }

    public static String initTopicWithName(String topicName) {
        return initTopicOnSampleTopicBroker(topicName, CLUSTER_NAME);
    }

    public static String initTopicWithName(String topicName, TopicMessageType topicMessageType) {
        return initTopicOnSampleTopicBroker(topicName, CLUSTER_NAME, topicMessageType);
    }

    public static String initTopicOnSampleTopicBroker(String sampleTopic) {
        return initTopicOnSampleTopicBroker(MQRandomUtils.getRandomTopic(), sampleTopic);
    }

    public static String initTopicOnSampleTopicBroker(String sampleTopic, TopicMessageType topicMessageType) {
        return initTopicOnSampleTopicBroker(MQRandomUtils.getRandomTopic(), sampleTopic, topicMessageType);
    }

    public static String initTopicOnSampleTopicBroker(String topicName, String sampleTopic) {
        IntegrationTestBase.initTopic(topicName, NAMESRV_ADDR, sampleTopic, CQType.SimpleCQ);
        return topicName;
    }

    public static String initTopicOnSampleTopicBroker(String topicName, String sampleTopic, TopicMessageType topicMessageType) {
        IntegrationTestBase.initTopic(topicName, NAMESRV_ADDR, sampleTopic, topicMessageType);
        return topicName;
    }

    public static String initConsumerGroup() {
        return initConsumerGroup(MQRandomUtils.getRandomConsumerGroup());
    }

    public static String initConsumerGroup(String group) {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(group);
        return initConsumerGroup(config);
    }

    public static String initConsumerGroup(SubscriptionGroupConfig config) {
        MQAdminTestUtils.createSub(NAMESRV_ADDR, CLUSTER_NAME, config);
        return config.getGroupName();
    }

    public static DefaultMQAdminExt getAdmin(String nsAddr) {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(ADMIN_TIMEOUT_MS);
        admin.setNamesrvAddr(nsAddr);
        admin.setPollNameServerInterval(ADMIN_POLL_ROUTE_MS);
        mqClients.add(admin);
        return admin;
    }

    public static RMQNormalProducer getProducer(String nsAddr, String topic) {
        return getProducer(nsAddr, topic, false);
    }

    public static RMQNormalProducer getProducer(String nsAddr, String topic, boolean useTLS) {
        return made(new RMQNormalProducer(nsAddr, topic, useTLS));
    }

    public static RMQNormalProducer getProducer(String nsAddr, String topic, String producerGoup, String instanceName) {
        return made(new RMQNormalProducer(nsAddr, topic, producerGoup, instanceName));
    }

    public static RMQTransactionalProducer getTransactionalProducer(String nsAddr, String topic, TransactionListener transactionListener) {
        return made(new RMQTransactionalProducer(nsAddr, topic, false, transactionListener));
    }

    public static RMQAsyncSendProducer getAsyncProducer(String nsAddr, String topic) {
        return made(new RMQAsyncSendProducer(nsAddr, topic));
    }

    public static RMQNormalConsumer getConsumer(String nsAddr, String topic, String subExpression, AbstractListener listener) {
        return getConsumer(nsAddr, topic, subExpression, listener, false);
    }

    public static RMQNormalConsumer getConsumer(String nsAddr, String topic, String subExpression, AbstractListener listener, boolean useTLS) {
        return getConsumer(nsAddr, initConsumerGroup(), topic, subExpression, listener, useTLS);
    }

    public static RMQNormalConsumer getConsumer(String nsAddr, String consumerGroup, String topic, String subExpression,
        AbstractListener listener) {
        return getConsumer(nsAddr, consumerGroup, topic, subExpression, listener, false);
    }

    public static RMQNormalConsumer getConsumer(String nsAddr, String consumerGroup, String topic, String subExpression,
        AbstractListener listener, boolean useTLS) {
        RMQNormalConsumer consumer =
            ConsumerFactory.getRMQNormalConsumer(nsAddr, consumerGroup, topic, subExpression, listener, useTLS);
        if (debug) {
            consumer.setDebug();
        }
        mqClients.add(consumer);
        DefaultMQPushConsumerImpl push = consumer.getConsumer().getDefaultMQPushConsumerImpl();
        push.getmQClientFactory().getClientConfig().setMqClientApiTimeout(CLIENT_TIMEOUT_MS);
        awaitQueues(push, topic, consumerGroup);
        Await.until("the group is at the beginning of empty queues", BEGUN, () -> begins(push, topic));
        return consumer;
    }

    /**
     * A new group starts behind what is in a queue when its consumer asks, and many tests send as soon as they have the
     * consumer: it has asked for its queues when this returns. Without queues in time the test goes on; it will say so.
     */
    private static void awaitQueues(DefaultMQPushConsumerImpl consumer, String topic, String group) {
        long end = System.nanoTime() + Duration.ofSeconds(15).toNanos();
        while (!hasShare(consumer, topic, group) && System.nanoTime() < end) {
            LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
        }
    }

    private static boolean hasShare(DefaultMQPushConsumerImpl consumer, String topic, String group) {
        Set<MessageQueue> queues = consumer.getRebalanceImpl().getTopicSubscribeInfoTable().getOrDefault(topic, Set.of());
        List<String> members = consumer.getmQClientFactory().findConsumerIdList(topic, group);
        long held = consumer.getRebalanceImpl().getProcessQueueTable().keySet().stream().filter(queues::contains).count();
        return !queues.isEmpty() && members != null && !members.isEmpty() && held >= queues.size() / members.size();
    }

    /**
     * Every new owner of a queue asks where to start, one that consumes in order again when it first pulls, half a second or more
     * later. It asks twice: where its group is, which nobody knows yet, and then where the queue ends. What is sent
     * between the two is passed over, whoever serves. A group that is noted at the beginning of an empty queue, where it
     * is anyway, needs no second question.
     */
    private static boolean begins(DefaultMQPushConsumerImpl consumer, String topic) throws Exception {
        for (MessageQueue queue : consumer.getRebalanceImpl().getTopicSubscribeInfoTable().getOrDefault(topic, Set.of())) {
            if (consumer.maxOffset(queue) == 0) {
                consumer.getOffsetStore().updateConsumeOffsetToBroker(queue, 0, false);
            }
        }
        return true;
    }

    public static Set<String> getBrokers() {
        return new HashSet<>(List.of(BROKER1_NAME, BROKER2_NAME, BROKER3_NAME));
    }

    /** Ends the clients of the running test, in the background. */
    public static void shutdown() {
        shutdown(mqClients instanceof Clients clients ? clients.takeAll() : mqClients);
    }

    public static void shutdown(List<Object> mqClients) {
        List.copyOf(mqClients).forEach(client -> ENDING.execute(() -> end(client)));
    }

    private static <P extends AbstractMQProducer> P made(P producer) {
        if (debug) {
            producer.setDebug();
        }
        mqClients.add(producer);
        if (producer instanceof RMQNormalProducer normal) {
            normal.getProducer().setSendMsgTimeout(CLIENT_TIMEOUT_MS);
        }
        return producer;
    }

    private static void end(Object client) {
        if (client instanceof AbstractMQProducer producer) {
            producer.shutdown();
        } else if (client instanceof MQConsumer consumer) {
            consumer.shutdown();
        } else if (client instanceof MQAdminExt admin) {
            admin.shutdown();
        } else if (client instanceof MQProducer producer) {
            producer.shutdown();
        } else if (client instanceof MQPullConsumer consumer) {
            consumer.shutdown();
        } else if (client instanceof MQPushConsumer consumer) {
            consumer.shutdown();
        }
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "end clients");
        thread.setDaemon(true);
        return thread;
    }
}
