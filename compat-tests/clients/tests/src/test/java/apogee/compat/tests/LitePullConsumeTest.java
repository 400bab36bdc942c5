package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;

import apogee.compat.client.Client;
import apogee.compat.client.LitePuller;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Queue;
import apogee.compat.servers.Await;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** The lite pull consumer of the generations that have it. */
class LitePullConsumeTest {
    private static final long POLL_MILLIS = 200;

    private final Cluster cluster = Cluster.shared();

    @ParameterizedTest(name = "client {0}")
    @FieldSource("apogee.compat.tests.Clients#SINCE_4_6")
    void subscribedQueuesArePolledAndCommitted(String version) {
        Client client = Clients.of(version);
        String topic = unique("LiteSubscribe", version);
        String group = unique("g", version);
        try (Producer producer = cluster.producer(version)) {
            Queue queue = producer.send(new Outgoing(topic, "A", "m0")).queue();
            Set<String> wanted = new TreeSet<>(Set.of("m0"));
            for (int i = 1; i < 60; i++) {
                producer.send(new Outgoing(topic, i % 3 == 0 ? "A" : "B", "m" + i), queue);
                if (i % 3 == 0) {
                    wanted.add("m" + i);
                }
            }
            try (LitePuller puller = client.litePuller(cluster.namesrvAddr(), group)) {
                puller.subscribe(topic, "A");
                assertEquals(wanted, poll(puller, wanted));
                Await.until("position behind the last message", Inbox.DEADLINE, () -> {
                    puller.poll(POLL_MILLIS);
                    puller.commit();
                    // From the client's memory; it tells the broker at its end.
                    return puller.committed(queue) >= 58;
                });
            }
            producer.send(new Outgoing(topic, "A", "after"), queue);
            try (LitePuller again = client.litePuller(cluster.namesrvAddr(), group)) {
                again.subscribe(topic, "A");
                assertEquals(Set.of("after"), poll(again, Set.of("after")));
            }
        }
    }

    @ParameterizedTest(name = "client {0}")
    @FieldSource("apogee.compat.tests.Clients#SINCE_4_6")
    void assignedQueuesAreReadFromAnyOffset(String version) {
        Client client = Clients.of(version);
        String topic = unique("LiteAssign", version);
        try (Producer producer = cluster.producer(version);
             LitePuller puller = client.litePuller(cluster.namesrvAddr(), unique("g", version))) {
            Queue queue = producer.send(new Outgoing(topic, "m0")).queue();
            for (int i = 1; i < 50; i++) {
                producer.send(new Outgoing(topic, "m" + i), queue);
            }
            Await.until("queue in the route", Inbox.DEADLINE, () -> puller.queues(topic).contains(queue));
            puller.assign(List.of(queue));
            for (long offset : List.of(45L, 3L)) {
                Await.until("message at offset " + offset, Inbox.DEADLINE, () -> arrivesAfterSeek(puller, queue, offset));
            }
        }
    }

    /**
     * Seeks, and polls for a while: the library may still hand out what it had fetched before it moved.
     *
     * <p>To be tried again, since all of these happen in the library: a seek that meets a pull task that is just starting is
     * lost (the old task takes the new offset and ends); a pull of 5.5.0 that is interrupted by a seek before it is sent closes
     * the connection, and with it fails the next request; and the end of a queue follows the answer to a send a moment later.
     */
    private static boolean arrivesAfterSeek(LitePuller puller, Queue queue, long offset) {
        puller.seek(queue, offset);
        for (int i = 0; i < 10; i++) {
            if (puller.poll(POLL_MILLIS).stream()
                .anyMatch(message -> message.queueOffset() == offset && message.text().equals("m" + offset))) {
                return true;
            }
        }
        return false;
    }

    /** The texts of all that comes until each of these has come. */
    private static Set<String> poll(LitePuller puller, Set<String> wanted) {
        Set<String> texts = new TreeSet<>();
        Await.until("polled " + wanted, Inbox.DEADLINE, () -> {
            puller.poll(POLL_MILLIS).forEach(message -> texts.add(message.text()));
            return texts.containsAll(wanted);
        });
        return texts;
    }
}
