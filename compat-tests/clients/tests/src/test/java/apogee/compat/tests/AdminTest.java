package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.ClientException;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Puller;
import apogee.compat.client.Queue;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import apogee.compat.servers.Implementation;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.constant.PermName;
import org.apache.rocketmq.remoting.protocol.ResponseCode;
import org.apache.rocketmq.remoting.protocol.admin.TopicOffset;
import org.apache.rocketmq.remoting.protocol.body.ClusterInfo;
import org.apache.rocketmq.remoting.protocol.body.Connection;
import org.apache.rocketmq.remoting.protocol.body.ConsumerConnection;
import org.apache.rocketmq.remoting.protocol.route.QueueData;
import org.apache.rocketmq.remoting.protocol.route.TopicRouteData;
import org.apache.rocketmq.remoting.protocol.subscription.CustomizedRetryPolicy;
import org.apache.rocketmq.remoting.protocol.subscription.GroupRetryPolicy;
import org.apache.rocketmq.remoting.protocol.subscription.GroupRetryPolicyType;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The everyday requests of the admin tool. */
class AdminTest {
    private static final String TOOL = "admin";

    @AutoClose
    private static Cluster cluster;
    private static DefaultMQAdminExt tool;
    private static String broker;

    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, Map.of("orderMessageEnable", "true"), 1, Map.of());
        tool = cluster.admin();
        broker = cluster.broker().address();
    }

    @Test
    void theCluster() throws Exception {
        ClusterInfo cluster = tool.examineBrokerClusterInfo();
        assertEquals(Map.of("DefaultCluster", Set.of("broker-0")), cluster.getClusterAddrTable());
        assertEquals(Map.of(0L, broker), cluster.getBrokerAddrTable().get("broker-0").getBrokerAddrs());
        assertEquals("DefaultCluster", cluster.getBrokerAddrTable().get("broker-0").getCluster());
    }

    @Test
    void topicsAndTheirRoutes() throws Exception {
        String topic = unique("Route", TOOL);
        TopicConfig config = new TopicConfig(topic, 3, 5, PermName.PERM_READ | PermName.PERM_WRITE);
        tool.createAndUpdateTopicConfig(broker, config);
        TopicRouteData route = route(topic);
        assertEquals(1, route.getBrokerDatas().size());
        QueueData queues = route.getQueueDatas().get(0);
        assertEquals(List.of("broker-0", 3, 5, 6), List.of(queues.getBrokerName(), queues.getReadQueueNums(), queues.getWriteQueueNums(), queues.getPerm()));

        config.setPerm(PermName.PERM_READ);
        config.setWriteQueueNums(2);
        tool.createAndUpdateTopicConfig(broker, config);
        Await.until("changed route", Inbox.DEADLINE, () -> {
            QueueData now = tool.examineTopicRouteInfo(topic).getQueueDatas().get(0);
            return now.getPerm() == PermName.PERM_READ && now.getWriteQueueNums() == 2;
        });
        TopicConfig stored = tool.getAllTopicConfig(broker, 5000).getTopicConfigTable().get(topic);
        assertEquals(List.of(3, 2, 4), List.of(stored.getReadQueueNums(), stored.getWriteQueueNums(), stored.getPerm()));
        assertTrue(tool.fetchAllTopicList().getTopicList().contains(topic));
        assertTrue(tool.fetchTopicsByCLuster("DefaultCluster").getTopicList().contains(topic));

        assertEquals(ResponseCode.TOPIC_NOT_EXIST,
            assertThrows(MQClientException.class, () -> tool.examineTopicRouteInfo(unique("Missing", TOOL))).getResponseCode());
    }

    @Test
    void aDeletedTopicStartsAnew() throws Exception {
        String topic = unique("Delete", TOOL);
        String group = unique("g", TOOL);
        Queue queue = new Queue(topic, "broker-0", 0);
        tool.createAndUpdateTopicConfig(broker, new TopicConfig(topic, 1, 1, 6));
        route(topic);
        try (Producer producer = cluster.producer("5.5.0")) {
            for (int i = 0; i < 10; i++) {
                producer.send(new Outgoing(topic, "m" + i));
            }
        }
        try (Puller puller = puller(group)) {
            commit(puller, queue, 7);
        }
        tool.deleteTopicInBroker(Set.of(broker), topic);
        tool.deleteTopicInNameServer(Set.of(cluster.nameServer().address()), topic);
        Await.until("no route", Inbox.DEADLINE, () -> !tool.fetchAllTopicList().getTopicList().contains(topic));
        assertFalse(tool.getAllTopicConfig(broker, 5000).getTopicConfigTable().containsKey(topic));

        tool.createAndUpdateTopicConfig(broker, new TopicConfig(topic, 1, 1, 6));
        route(topic);
        try (Producer producer = cluster.producer("5.5.0")) {
            assertEquals(0, producer.send(new Outgoing(topic, "again")).queueOffset());
        }
        try (Puller puller = puller(group)) {
            assertTrue(puller.committed(queue) <= 0);
            commit(puller, queue, 1);
        }
        tool.deleteSubscriptionGroup(broker, group, true);
        try (Puller puller = puller(group)) {
            assertTrue(puller.committed(queue) <= 0, "a deleted group keeps its position");
        }
    }

    @Test
    void topicStatistics() throws Exception {
        String topic = unique("Stats", TOOL);
        long before = System.currentTimeMillis();
        try (Producer producer = cluster.producer("5.5.0")) {
            List<Queue> queues = cluster.createTopic(producer, topic, 2);
            for (int i = 0; i < 10; i++) {
                producer.send(new Outgoing(topic, "m" + i), queues.get(0));
            }
        }
        Await.until("ten messages in one of two queues", Inbox.DEADLINE, () -> {
            List<TopicOffset> offsets = List.copyOf(tool.examineTopicStats(topic).getOffsetTable().values());
            return offsets.size() == 2 && offsets.stream().allMatch(offset -> offset.getMinOffset() == 0)
                && offsets.stream().mapToLong(TopicOffset::getMaxOffset).sorted().boxed().toList().equals(List.of(0L, 10L))
                && offsets.stream().mapToLong(TopicOffset::getLastUpdateTimestamp).max().orElseThrow() >= before;
        });
    }

    @EveryClient
    void connectionsAndPositionsOfAGroup(String version) throws Exception {
        String topic = unique("Connections", version);
        String group = unique("g", version);
        String producerGroup = unique("p", version);
        Inbox inbox = new Inbox();
        try (Producer producer = Clients.of(version).producer(cluster.namesrvAddr(), producerGroup)) {
            cluster.createTopic(producer, topic, 2);
            Subscription.Options options = cluster.options(group, topic, inbox).expression("A || B");
            try (Subscription consumer = Clients.of(version).subscribe(options)) {
                for (int i = 0; i < 10; i++) {
                    producer.send(new Outgoing(topic, "A", "m" + i));
                }
                inbox.awaitSize(10);
                ConsumerConnection connections = Await.value("the consumer is connected", Inbox.DEADLINE, () -> {
                    ConsumerConnection found = tool.examineConsumerConnectionInfo(group);
                    return found.getConnectionSet().isEmpty() ? null : found;
                });
                Connection connection = connections.getConnectionSet().iterator().next();
                assertEquals(consumer.clientId(), connection.getClientId());
                assertEquals("JAVA", connection.getLanguage().name());
                assertTrue(connection.getClientAddr().startsWith("127.0.0.1:"), connection.getClientAddr());
                assertEquals("CONSUME_PASSIVELY", connections.getConsumeType().name());
                assertEquals("CLUSTERING", connections.getMessageModel().name());
                assertEquals("CONSUME_FROM_FIRST_OFFSET", connections.getConsumeFromWhere().name());
                assertEquals(Set.of("A", "B"), connections.getSubscriptionTable().get(topic).getTagsSet());

                Await.until("nothing left to consume", Inbox.DEADLINE, () -> tool.examineConsumeStats(group).computeTotalDiff() == 0
                    && tool.examineConsumeStats(group, topic).getOffsetTable().values().stream().mapToLong(offset -> offset.getConsumerOffset()).sum() == 10);
                Await.until("the producer is connected", Inbox.DEADLINE, () ->
                    !tool.examineProducerConnectionInfo(producerGroup, topic).getConnectionSet().isEmpty());
            }
            Await.until("the consumer is gone", Inbox.DEADLINE, () -> assertThrows(MQBrokerException.class,
                () -> tool.examineConsumerConnectionInfo(group)).getResponseCode() == ResponseCode.CONSUMER_NOT_ONLINE);
            assertEquals(0, tool.examineConsumeStats(group).computeTotalDiff());
        }
    }

    @Test
    void subscriptionGroups() throws Exception {
        String group = unique("Group", TOOL);
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(group);
        config.setRetryMaxTimes(3);
        config.setRetryQueueNums(2);
        config.setConsumeEnable(false);
        CustomizedRetryPolicy policy = new CustomizedRetryPolicy(new long[] {1000, 2000});
        config.setGroupRetryPolicy(new GroupRetryPolicy());
        config.getGroupRetryPolicy().setType(GroupRetryPolicyType.CUSTOMIZED);
        config.getGroupRetryPolicy().setCustomizedRetryPolicy(policy);
        tool.createAndUpdateSubscriptionGroupConfig(broker, config);
        SubscriptionGroupConfig stored = tool.getAllSubscriptionGroup(broker, 5000).getSubscriptionGroupTable().get(group);
        assertEquals(List.of(3, 2, false), List.of(stored.getRetryMaxTimes(), stored.getRetryQueueNums(), stored.isConsumeEnable()));
        // A policy of 5.x, which 4.9.4 does not keep.
        if (cluster.servers.implementation() != Implementation.REFERENCE_4) {
            assertEquals(2000, stored.getGroupRetryPolicy().getRetryPolicy().nextDelayDuration(1));
        }
        tool.deleteSubscriptionGroup(broker, group, true);
        assertFalse(tool.getAllSubscriptionGroup(broker, 5000).getSubscriptionGroupTable().containsKey(group));
    }

    @EveryClient
    void queuesAreCleanedByAnyLibrary(String version) {
        String topic = unique("Clean", version);
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            producer.send(new Outgoing(topic, "kept"));
            assertTrue(producer.requests().cleanExpiredQueues(broker));
            assertEquals(1, producer.send(new Outgoing(topic, "behind it")).queueOffset());
        }
    }

    @Test
    void aBrokerSettingChangesAtRunTimeAndIsKept() throws Exception {
        assertEquals("broker-0", tool.getBrokerConfig(broker).getProperty("brokerName"));
        try {
            cluster.update("autoCreateTopicEnable", "false");
            assertEquals("false", tool.getBrokerConfig(broker).getProperty("autoCreateTopicEnable"));
            assertTrue(brokerFile().contains("autoCreateTopicEnable=false"), brokerFile());
            try (Producer producer = cluster.producer("5.5.0")) {
                ClientException refused = assertThrows(ClientException.class, () -> producer.send(new Outgoing(unique("NoAuto", TOOL), "m")));
                assertTrue(refused.code() == ResponseCode.TOPIC_NOT_EXIST || refused.code() == 10005, refused.getMessage());
            }
        } finally {
            cluster.update("autoCreateTopicEnable", "true");
        }
        // The reference takes the right to inherit from TBW102 at the first refusal and does not give it back.
        if (cluster.servers.implementation() == Implementation.APOGEE) {
            try (Producer producer = cluster.producer("5.5.0")) {
                assertEquals("SEND_OK", producer.send(new Outgoing(unique("AutoAgain", TOOL), "m")).status());
            }
        }
    }

    @Test
    void runtimeInformation() throws Exception {
        Map<String, String> info = tool.fetchBrokerRuntimeStats(broker).getTable();
        for (String key : List.of("brokerVersionDesc", "bootTimestamp", "runtime", "putTps", "getTotalTps", "getFoundTps", "getMissTps",
            "msgPutTotalTodayNow", "msgPutTotalTodayMorning", "msgGetTotalTodayNow", "putMessageTimesTotal", "putMessageSizeTotal",
            "putMessageAverageSize", "putMessageDistributeTime", "putMessageEntireTimeMax", "getMessageEntireTimeMax", "commitLogDirCapacity", "commitLogDiskRatio",
            "commitLogMinOffset", "commitLogMaxOffset", "consumeQueueDiskRatio", "dispatchBehindBytes", "dispatchMaxBuffer", "earliestMessageTimeStamp",
            "pageCacheLockTimeMills", "pullThreadPoolQueueCapacity", "pullThreadPoolQueueSize", "pullThreadPoolQueueHeadWaitTimeMills",
            "sendThreadPoolQueueCapacity", "sendThreadPoolQueueSize", "sendThreadPoolQueueHeadWaitTimeMills", "queryThreadPoolQueueCapacity",
            "remainHowManyDataToFlush", "remainTransientStoreBufferNumbs", "startAcceptSendRequestTimeStamp")) {
            assertNotNull(info.get(key), key + " missing of " + info.keySet());
        }
        assertTrue(Long.parseLong(info.get("bootTimestamp")) <= System.currentTimeMillis());
    }

    @Test
    void keyValueConfiguration() throws Exception {
        String namespace = unique("Namespace", TOOL);
        tool.createAndUpdateKvConfig(namespace, "colour", "grün");
        tool.createAndUpdateKvConfig(namespace, "number", "1");
        assertEquals("grün", tool.getKVConfig(namespace, "colour"));
        assertEquals(Map.of("colour", "grün", "number", "1"), tool.getKVListByNamespace(namespace).getTable());
        tool.deleteKvConfig(namespace, "number");
        assertEquals(ResponseCode.QUERY_NOT_FOUND,
            assertThrows(MQClientException.class, () -> tool.getKVConfig(namespace, "number")).getResponseCode());
        String file = Files.readString(cluster.nameServer().home().resolve("kvConfig.json"));
        assertTrue(file.contains(namespace) && file.contains("grün"), file);
    }

    @Test
    void theOrderOfATopicIsPartOfItsRoute() throws Exception {
        String topic = unique("Order", TOOL);
        tool.createAndUpdateTopicConfig(broker, new TopicConfig(topic, 4, 4, 6));
        route(topic);
        tool.createOrUpdateOrderConf(topic, "broker-0:2", false);
        assertEquals("broker-0:2", tool.examineTopicRouteInfo(topic).getOrderTopicConf());
        try (Producer producer = cluster.producer("4.9.4")) {
            Await.until("the two queues of the order", Inbox.DEADLINE, () -> producer.queues(topic).size() == 2);
        }
    }

    @Test
    void writePermissionIsTakenAndGivenBack() throws Exception {
        String topic = unique("Wipe", TOOL);
        tool.createAndUpdateTopicConfig(broker, new TopicConfig(topic, 1, 1, 6));
        route(topic);
        assertTrue(tool.wipeWritePermOfBroker(cluster.nameServer().address(), "broker-0") > 0);
        try {
            assertEquals(PermName.PERM_READ, tool.examineTopicRouteInfo(topic).getQueueDatas().get(0).getPerm());
        } finally {
            assertTrue(tool.addWritePermOfBroker(cluster.nameServer().address(), "broker-0") > 0);
        }
        assertEquals(PermName.PERM_READ | PermName.PERM_WRITE, tool.examineTopicRouteInfo(topic).getQueueDatas().get(0).getPerm());
    }

    private static Puller puller(String group) {
        return Clients.of("5.5.0").puller(cluster.namesrvAddr(), group);
    }

    /** Again, should the broker not be connected yet: positions are told one-way. */
    private static void commit(Puller puller, Queue queue, long offset) {
        Await.until("position " + offset, Inbox.DEADLINE, () -> {
            puller.commit(queue, offset);
            return puller.committed(queue) == offset;
        });
    }

    private static TopicRouteData route(String topic) {
        return Await.value("route of " + topic, Inbox.DEADLINE, () -> tool.examineTopicRouteInfo(topic));
    }

    private static String brokerFile() throws IOException {
        return Files.readString(cluster.broker().home().resolve("broker.properties"));
    }
}
