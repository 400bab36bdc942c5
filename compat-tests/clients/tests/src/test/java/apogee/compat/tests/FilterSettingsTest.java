package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.Client;
import apogee.compat.client.ClientException;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Puller;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import apogee.compat.servers.Implementation;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.remoting.protocol.ResponseCode;
import org.apache.rocketmq.remoting.protocol.body.ConsumeQueueData;
import org.apache.rocketmq.remoting.protocol.heartbeat.SubscriptionData;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** What a broker is told of filters: whether it serves them, what its queues remember for them, whether retries pass them, who else filters. */
class FilterSettingsTest {
    @AutoClose
    private static Cluster cluster;

    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, 1, Map.of("enablePropertyFilter", "true", "filterSupportRetry", "true", "enableConsumeQueueExt", "true",
            "enableCalcFilterBitMap", "true", "messageDelayLevel", "1s 1s 1s 1s"));
    }

    @EveryClient
    void aBrokerMayNotServeFilters(String version) throws Exception {
        String topic = unique("FilterOff", version);
        Subscription.Options options = cluster.options(unique("g", version), topic, new Inbox());
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            cluster.update("enablePropertyFilter", "false");
            ClientException refused = assertThrows(ClientException.class, () -> Clients.of(version).subscribe(options.sql("a > 5")).close());
            assertEquals(ResponseCode.SYSTEM_ERROR, refused.code(), refused.getMessage());
            assertTrue(refused.getMessage().contains("does not support consumer to filter message by SQL92"), refused.getMessage());
        } finally {
            cluster.update("enablePropertyFilter", "true");
        }
    }

    @EveryClient
    void queuesRememberWhoseFiltersAMessagePasses(String version) throws Exception {
        String topic = unique("FilterBits", version);
        String group = unique("g", version);
        Inbox inbox = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            Queue queue = cluster.createTopic(producer, topic, 1).get(0);
            send(producer, topic, "zero", Map.of("a", "0"));
            try (Subscription consumer = Clients.of(version).subscribe(cluster.options(group, topic, inbox).sql("a > 5"))) {
                Await.until("its filter is registered", Inbox.DEADLINE, () -> {
                    String known = cluster.admin().queryConsumeQueue(cluster.broker().address(), topic, queue.id(), 0, 1, group).getFilterData();
                    return known != null && known.contains("a > 5");
                });
                send(producer, topic, "five", Map.of("a", "5"));
                send(producer, topic, "six", Map.of("a", "6"));
                inbox.awaitAll(Set.of("six"));
                assertEquals(Set.of("six"), Set.copyOf(inbox.texts()), consumer.clientId());
                List<ConsumeQueueData> units = cluster.admin().queryConsumeQueue(cluster.broker().address(), topic, queue.id(), 1, 2, group).getQueueData();
                assertEquals(List.of(false, true), units.stream().map(ConsumeQueueData::isEval).toList());
                assertTrue(units.stream().allMatch(unit -> unit.getBitMap() != null), "no bits");
            }
        }
    }

    /** A retry topic is asked by SQL for what comes from topics that its group filters: their conditions hold, not that of the question. */
    @ParameterizedTest(name = "client {0}")
    @FieldSource("apogee.compat.tests.Clients#SINCE_4_6")
    void retriesAreFilteredAsTheirGroupFiltersTheirTopic(String version) throws Exception {
        Client client = Clients.of(version);
        String topic = unique("FilterRetry", version);
        String group = unique("g", version);
        Inbox again = new Inbox();
        Subscription.Options options = cluster.options(group, topic, message -> message.reconsumeTimes() > 0 && again.test(message)).retryLevel(1);
        try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
            cluster.createTopic(producer, topic, 1);
            // A consumer that finds no retry topic looks for it again 20 s later.
            client.subscribe(options).close();
            Await.until("the retry topic", Inbox.DEADLINE, () -> !puller.queues("%RETRY%" + group).isEmpty());
            try (Subscription consumer = client.subscribe(options.sql("a > 5"))) {
                send(producer, topic, "six", Map.of("a", "6"));
                send(producer, topic, "nine", Map.of("a", "9"));
                again.awaitAll(Set.of("six", "nine"));
                // Until its next heartbeat the puller does not know that its broker can filter.
                Await.until("all retries", Inbox.DEADLINE, () -> retries(puller, group, "a = 0").equals(Set.of("six", "nine")));
            }
            try (Subscription consumer = client.subscribe(options.sql("a > 8"))) {
                Await.until("the group wants less", Inbox.DEADLINE, () -> retries(puller, group, "a = 0").equals(Set.of("nine")));
                cluster.update("filterSupportRetry", "false");
                assertEquals(Set.of(), retries(puller, group, "a = 0"), consumer.clientId());
                assertEquals(Set.of("six"), retries(puller, group, "a = 6"), consumer.clientId());
            } finally {
                cluster.update("filterSupportRetry", "true");
            }
        }
    }

    @EveryClient
    void aFilterServerIsShownInRoutes(String version) {
        String topic = unique("FilterServer", version);
        String address = "127.0.0.1:1";
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            int code = producer.requests().registerFilterServer(cluster.broker().address(), address);
            // 4.9.4 takes it up, 5.5.0 no longer does.
            if (cluster.servers.implementation() == Implementation.REFERENCE_5) {
                assertEquals(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, code);
                return;
            }
            assertEquals(ResponseCode.SUCCESS, code);
            Await.until("the filter server in the route", Inbox.DEADLINE, () -> {
                // Again, because one that is silent for half a minute is taken for gone.
                producer.requests().registerFilterServer(cluster.broker().address(), address);
                return producer.requests().filterServers(topic).equals(Map.of(cluster.broker().address(), List.of(address)));
            });
        }
        try (Producer other = cluster.producer(version)) {
            Await.until("no filter server any more", Inbox.DEADLINE, () -> other.requests().filterServers(topic).isEmpty());
        }
    }

    /** Classes went with 4.3: a consumer that names one is taken up, and asks filter servers, which 5.5.0 no longer knows. */
    @EveryClient
    void aClassFilterIsTakenUp(String version) throws Exception {
        String topic = unique("FilterClass", version);
        String group = unique("g", version);
        Inbox inbox = new Inbox();
        String broker = cluster.broker().address();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            send(producer, topic, "m", Map.of());
            try (Subscription consumer = Clients.of(version).subscribe(cluster.options(group, topic, inbox).filter("CLASS", "x.Y"))) {
                SubscriptionData known = Await.value("its subscription", Inbox.DEADLINE, () ->
                    cluster.admin().examineConsumerConnectionInfo(group).getSubscriptionTable().get(topic));
                assertTrue(known.isClassFilterMode(), consumer.clientId());
                assertEquals("x.Y", known.getSubString());
                if (producer.requests().registerFilterServer(broker, broker) == ResponseCode.REQUEST_CODE_NOT_SUPPORTED) {
                    assertEquals(Implementation.REFERENCE_5, cluster.servers.implementation());
                    return;
                }
                // Asked in place of a filter server, a broker lets everything pass.
                Await.until("its message", Inbox.DEADLINE, () -> {
                    producer.requests().registerFilterServer(broker, broker);
                    return inbox.texts().contains("m");
                });
            }
        }
    }

    /** As an expression that cannot be read. */
    @EveryClient
    void aFilterOfAnUnknownKindIsRefused(String version) {
        String topic = unique("FilterKind", version);
        Subscription.Options options = cluster.options(unique("g", version), topic, new Inbox());
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            ClientException refused = assertThrows(ClientException.class, () -> Clients.of(version).subscribe(options.filter("ODD", "x.Y")).close());
            assertEquals(ResponseCode.SUBSCRIPTION_PARSE_FAILED, refused.code(), refused.getMessage());
        }
    }

    /** What passes a condition of the first 32 messages of a group's retry topic. */
    private static Set<String> retries(Puller puller, String group, String condition) {
        Queue queue = new Queue("%RETRY%" + group, "broker-0", 0);
        return Set.copyOf(puller.pullBySql(queue, condition, 0, 32).messages().stream().map(Received::text).toList());
    }

    private static void send(Producer producer, String topic, String text, Map<String, String> properties) {
        producer.send(new Outgoing(topic, null, null, text.getBytes(StandardCharsets.UTF_8), properties));
    }
}
