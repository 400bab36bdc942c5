package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;

import apogee.compat.client.Client;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Puller;
import apogee.compat.client.Queue;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import apogee.compat.servers.Implementation;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;

/**
 * Where a new group starts. The broker decides first: while the oldest message of a queue still exists and is likely to be in
 * memory, a new group starts at it whatever it asked for. Here nothing counts as in memory, so that the client's wish is asked.
 *
 * <p>Difference: 5.5.0 looks whether the page is in memory indeed, so that on it every group here starts at the first message.
 */
class ConsumeFromWhereTest {
    private static final DateTimeFormatter SECONDS = DateTimeFormatter.ofPattern("yyyyMMddHHmmss").withZone(ZoneId.systemDefault());

    @AutoClose
    private static Cluster cluster;

    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, 1, Map.of("accessMessageInMemoryMaxRatio", "0"));
    }

    @EveryClient
    void fromTheFirstMessage(String version) {
        check(version, "CONSUME_FROM_FIRST_OFFSET", Set.of("early", "middle", "late"));
    }

    @EveryClient
    void fromATime(String version) {
        check(version, "CONSUME_FROM_TIMESTAMP", Set.of("middle", "late"));
    }

    @EveryClient
    void fromTheLastMessage(String version) {
        check(version, "CONSUME_FROM_LAST_OFFSET", Set.of("late"));
    }

    @EveryClient
    void aYoungQueueIsConsumedFromItsFirstMessage(String version) {
        Client client = Clients.of(version);
        String topic = unique("Young", version);
        Inbox inbox = new Inbox();
        Cluster shared = Cluster.shared();
        try (Producer producer = shared.producer(version)) {
            Queue queue = shared.createTopic(producer, topic, 1).get(0);
            producer.send(new Outgoing(topic, "early"), queue);
            Subscription.Options options = shared.options(unique("g", version), topic, inbox);
            try (Subscription consumer = client.subscribe(options.from("CONSUME_FROM_LAST_OFFSET", null))) {
                inbox.awaitSize(1);
                assertEquals(List.of("early"), inbox.texts(), consumer.clientId());
            }
        }
    }

    private static void check(String version, String from, Set<String> wanted) {
        Set<String> expected = cluster.servers.implementation() == Implementation.REFERENCE_5 ? Set.of("early", "middle", "late") : wanted;
        Client client = Clients.of(version);
        String topic = unique(from, version);
        String group = unique("g", version);
        Inbox inbox = new Inbox();
        try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
            Queue queue = cluster.createTopic(producer, topic, 1).get(0);
            producer.send(new Outgoing(topic, "early"), queue);
            Instant second = Instant.ofEpochSecond(Instant.now().getEpochSecond() + 1);
            Await.until("the next second", Inbox.DEADLINE, () -> !Instant.now().isBefore(second));
            producer.send(new Outgoing(topic, "middle"), queue);
            Await.until("dispatched", Inbox.DEADLINE, () -> puller.maxOffset(queue) == 2);
            Subscription.Options options = cluster.options(group, topic, inbox).from(from, SECONDS.format(second));
            try (Subscription consumer = client.subscribe(options)) {
                Await.until("position of " + consumer.clientId(), Inbox.DEADLINE, () -> started(group, queue));
                producer.send(new Outgoing(topic, "late"), queue);
                inbox.awaitAll(expected);
                assertEquals(expected, new TreeSet<>(inbox.texts()));
            }
        }
    }

    /** The client has decided where to start, has consumed what there is, and has told the broker so. */
    private static boolean started(String group, Queue queue) throws Exception {
        return cluster.admin().examineConsumeStats(group, queue.topic()).getOffsetTable().values().stream()
            .anyMatch(offset -> offset.getConsumerOffset() == 2);
    }
}
