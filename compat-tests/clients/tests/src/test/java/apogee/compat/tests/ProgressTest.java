package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Queue;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.body.QueueTimeSpan;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Putting groups elsewhere: resets amid consumption, and offsets taken over from another group. */
class ProgressTest {
    @AutoClose
    private static Cluster cluster;
    private static DefaultMQAdminExt tool;

    /** Two brokers: the first notes resets itself, the second tells the consumers. */
    @BeforeAll
    static void start() throws Exception {
        cluster = Cluster.own(1, 2, Map.of());
        tool = cluster.admin();
        Properties change = new Properties();
        change.setProperty("useServerSideResetOffset", "false");
        tool.updateBrokerConfig(cluster.brokers.get(1).address(), change);
    }

    /** All generations at once, because each waits for ten seconds before it goes on at another offset. */
    @Test
    void aResetAmidConsumptionBringsEverythingAgain() throws Exception {
        List<Resetting> all = new ArrayList<>();
        try {
            for (String version : Clients.ALL) {
                all.add(new Resetting(version));
            }
            for (Resetting one : all) {
                one.consumeAll();
            }
            for (Resetting one : all) {
                Map<MessageQueue, Long> offsets = tool.resetOffsetByTimestamp(one.topic, one.group, 0, true);
                assertEquals(2, offsets.size(), offsets.toString());
                assertEquals(Set.of(0L), new HashSet<>(offsets.values()));
            }
            for (Resetting one : all) {
                one.awaitAllAgain();
            }
        } finally {
            all.forEach(Resetting::close);
        }
    }

    @EveryClient
    void aGroupTakesOverTheOffsetsOfAnother(String version) throws Exception {
        String topic = unique("Clone", version);
        String first = unique("g", version);
        String second = unique("g", version);
        Inbox before = new Inbox();
        Inbox after = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            Queue queue = cluster.createTopic(producer, topic, 1).get(0);
            for (int i = 0; i < 10; i++) {
                producer.send(new Outgoing(topic, "early" + i), queue);
            }
            try (Subscription consumer = Clients.of(version).subscribe(cluster.options(first, topic, before))) {
                before.awaitSize(10);
                Inbox.awaitConsumed(consumer, 10);
                assertTrue(tool.queryTopicConsumeByWho(topic).getGroupList().contains(first), consumer.clientId());
            }
            Await.until("all is committed", Inbox.DEADLINE, () -> committed(first, topic) == 10);
            List<QueueTimeSpan> spans = tool.queryConsumeTimeSpan(topic, first);
            assertEquals(2, spans.size());
            assertTrue(spans.stream().allMatch(span -> span.getConsumeTimeStamp() == span.getMaxTimeStamp()), spans.toString());

            tool.cloneGroupOffset(first, second, topic, true);
            producer.send(new Outgoing(topic, "late"), queue);
            try (Subscription consumer = Clients.of(version).subscribe(cluster.options(second, topic, after))) {
                after.awaitAll(Set.of("late"));
                assertEquals(List.of("late"), after.texts(), consumer.clientId());
                Await.until("the second group is further", Inbox.DEADLINE, () -> committed(second, topic) == 11);
            }
            long slowest = producer.requests().correctedOffsets(address(queue.broker()), topic, second).get(queue.id());
            assertEquals(10, slowest);
        }
    }

    private static String address(String broker) {
        return cluster.brokers.stream().filter(server -> server.name().equals(broker)).findFirst().orElseThrow().address();
    }

    private static long committed(String group, String topic) throws Exception {
        return tool.examineConsumeStats(group, topic).getOffsetTable().values().stream().mapToLong(offset -> offset.getConsumerOffset()).sum();
    }

    /** A consumer of a topic with one queue on each broker. */
    private static final class Resetting implements AutoCloseable {
        final String topic;
        final String group;
        private final Inbox inbox = new Inbox();
        private final List<String> sent = new ArrayList<>();
        private final Producer producer;
        private final Subscription consumer;

        Resetting(String version) {
            topic = unique("Reset", version);
            group = unique("g", version);
            producer = cluster.producer(version);
            cluster.createTopic(producer, topic, 1);
            consumer = Clients.of(version).subscribe(cluster.options(group, topic, inbox));
        }

        void consumeAll() {
            for (int i = 0; i < 10; i++) {
                for (Queue queue : producer.queues(topic)) {
                    String text = queue.broker() + "-" + i;
                    producer.send(new Outgoing(topic, text), queue);
                    sent.add(text);
                }
            }
            inbox.awaitAll(sent);
            Await.until("all is committed", Inbox.DEADLINE, () -> committed(group, topic) == sent.size());
        }

        void awaitAllAgain() {
            Await.until("everything again at " + consumer.clientId(), Inbox.DEADLINE, () -> {
                List<String> texts = inbox.texts();
                return sent.stream().allMatch(text -> texts.stream().filter(text::equals).count() >= 2);
            });
        }

        @Override
        public void close() {
            consumer.close();
            producer.close();
        }
    }
}
