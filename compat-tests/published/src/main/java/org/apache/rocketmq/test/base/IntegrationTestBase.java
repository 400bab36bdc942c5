package org.apache.rocketmq.test.base;

import apogee.compat.published.Cluster;
import apogee.compat.published.Proxy;
import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.TopicAttributes;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.attribute.CQType;
import org.apache.rocketmq.common.attribute.TopicMessageType;
import org.apache.rocketmq.logging.org.slf4j.Logger;
import org.apache.rocketmq.logging.org.slf4j.LoggerFactory;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.test.util.MQAdminTestUtils;

/**
 * Stands in for the published class of this name, with the members that its subclasses and users are compiled against. Where
 * the original starts servers in this process, the servers are processes of their own.
 */
public class IntegrationTestBase {
    public static Logger logger = LoggerFactory.getLogger(IntegrationTestBase.class);

    protected static final String SEP = File.separator;
    protected static final String BROKER_NAME_PREFIX = Cluster.BROKER_NAME_PREFIX;
    protected static final AtomicInteger BROKER_INDEX = new AtomicInteger();
    protected static final List<File> TMPE_FILES = new ArrayList<>();
    protected static final List<BrokerController> BROKER_CONTROLLERS = new ArrayList<>();
    protected static final List<NamesrvController> NAMESRV_CONTROLLERS = new ArrayList<>();
    protected static final int INDEX_NUM = 1000;
    /** Seconds within which a new topic must be there. */
    protected static int topicCreateTime = 30;
    public static volatile int commitLogSize = 100 << 20;

    private static final int QUEUES = 8;

    public static String createBaseDir() {
        File directory = new File(System.getProperty("java.io.tmpdir"), "published-" + UUID.randomUUID());
        TMPE_FILES.add(directory);
        return directory.getPath();
    }

    public static NamesrvController createAndStartNamesrv() {
        NamesrvController controller = Cluster.running().nameServer().controller();
        NAMESRV_CONTROLLERS.add(controller);
        return controller;
    }

    public static BrokerController createAndStartBroker(String nsAddr) {
        return start(BROKER_NAME_PREFIX + BROKER_INDEX.incrementAndGet());
    }

    public static BrokerController createAndStartBroker(MessageStoreConfig storeConfig, BrokerConfig brokerConfig) {
        return start(brokerConfig.getBrokerName());
    }

    public static void createAndStartProxy(String nsAddr) {
        Proxy.start(nsAddr);
    }

    public static boolean initTopic(String topic, String nsAddr, String clusterName, CQType cqType) {
        return initTopic(topic, nsAddr, clusterName, QUEUES, cqType);
    }

    public static boolean initTopic(String topic, String nsAddr, String clusterName, TopicMessageType topicMessageType) {
        return initTopic(topic, nsAddr, clusterName, QUEUES, CQType.SimpleCQ, topicMessageType);
    }

    public static boolean initTopic(String topic, String nsAddr, String clusterName, int queueNumbers, CQType cqType) {
        return initTopic(topic, nsAddr, clusterName, queueNumbers, cqType, TopicMessageType.NORMAL);
    }

    public static boolean initTopic(String topic, String nsAddr, String clusterName, int queueNumbers, CQType cqType,
        TopicMessageType topicMessageType) {
        return initTopic(topic, nsAddr, clusterName, queueNumbers, cqType, topicMessageType, null);
    }

    public static boolean initTopic(String topic, String nsAddr, String clusterName, int queueNumbers, CQType cqType,
        TopicMessageType topicMessageType, Long liteTtl) {
        Map<String, String> attributes = new HashMap<>();
        if (cqType != CQType.SimpleCQ) {
            attributes.put("+" + TopicAttributes.QUEUE_TYPE_ATTRIBUTE.getName(), cqType.toString());
        }
        if (topicMessageType != TopicMessageType.NORMAL) {
            attributes.put("+" + TopicAttributes.TOPIC_MESSAGE_TYPE_ATTRIBUTE.getName(), topicMessageType.toString());
        }
        if (topicMessageType == TopicMessageType.LITE) {
            attributes.put("+" + TopicAttributes.LITE_EXPIRATION_ATTRIBUTE.getName(), liteTtl.toString());
        }
        return MQAdminTestUtils.createTopic(nsAddr, clusterName, topic, queueNumbers, attributes, topicCreateTime);
    }

    public static void deleteFile(File file) {
        if (file.exists()) {
            UtilAll.deleteFile(file);
        }
    }

    public static void initMQAdmin(String nsAddr) {
        try {
            MQAdminTestUtils.startAdmin(nsAddr);
        } catch (MQClientException e) {
            throw new IllegalStateException(e);
        }
    }

    private static BrokerController start(String name) {
        BrokerController controller = Cluster.running().started(name).controller();
        BROKER_CONTROLLERS.add(controller);
        return controller;
    }
}
