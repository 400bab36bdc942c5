package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.Client;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Pulled;
import apogee.compat.client.Puller;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.servers.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The pull consumer: every answer to a pull, the offsets of a queue, the positions of a group. */
class PullConsumeTest {
    private final Cluster cluster = Cluster.shared();

    @EveryClient
    void everyStatusOfAPull(String version) {
        String topic = unique("PullStatus", version);
        try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
            Queue queue = producer.send(new Outgoing(topic, "A", "m0")).queue();
            for (int i = 1; i < 40; i++) {
                producer.send(new Outgoing(topic, i < 20 ? "A" : "B", "m" + i), queue);
            }
            Await.until("all dispatched", Inbox.DEADLINE, () -> puller.maxOffset(queue) == 40);
            Pulled found = puller.pull(queue, "*", 0, 10);
            assertEquals("FOUND", found.status());
            assertEquals(10, found.messages().size());
            assertEquals(10, found.nextOffset());
            assertEquals(0, found.minOffset());
            assertEquals(40, found.maxOffset());

            Pulled filtered = puller.pull(queue, "B", 0, 5);
            assertEquals("FOUND", filtered.status());
            assertEquals("m20", filtered.messages().get(0).text());

            assertEquals(32, puller.pull(queue, "*", 0, 100).messages().size(), "the broker's limit from memory");

            Pulled none = puller.pull(queue, "C", 0, 32);
            assertEquals("NO_MATCHED_MSG", none.status());
            assertTrue(none.nextOffset() > 0, "goes on behind what did not match");

            Pulled end = puller.pull(queue, "*", 40, 32);
            assertEquals("NO_NEW_MSG", end.status());
            assertEquals(40, end.nextOffset());

            Pulled beyond = puller.pull(queue, "*", 1_000_040, 32);
            assertEquals("OFFSET_ILLEGAL", beyond.status());
            assertEquals(40, beyond.nextOffset());
        }
    }

    @EveryClient
    void offsetsByTime(String version) {
        String topic = unique("PullTime", version);
        try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
            Queue queue = producer.send(new Outgoing(topic, "m0")).queue();
            for (int i = 1; i < 10; i++) {
                long before = System.currentTimeMillis();
                Await.until("the clock ticks", Inbox.DEADLINE, () -> System.currentTimeMillis() > before + 1);
                producer.send(new Outgoing(topic, "m" + i), queue);
            }
            Await.until("all dispatched", Inbox.DEADLINE, () -> puller.maxOffset(queue) == 10);
            assertEquals(0, puller.minOffset(queue));
            for (Received message : puller.pull(queue, "*", 0, 32).messages()) {
                assertEquals(message.queueOffset(), puller.offsetAt(queue, message.storeTimestamp()));
            }
            assertEquals(0, puller.offsetAt(queue, 0));
        }
    }

    @EveryClient
    void aGroupsPosition(String version) {
        Client client = Clients.of(version);
        String topic = unique("PullPosition", version);
        String group = unique("g", version);
        try (Producer producer = cluster.producer(version);
             Puller puller = client.puller(cluster.namesrvAddr(), group);
             Puller same = client.puller(cluster.namesrvAddr(), group)) {
            Queue queue = producer.send(new Outgoing(topic, "m0")).queue();
            for (int i = 1; i < 10; i++) {
                producer.send(new Outgoing(topic, "m" + i), queue);
            }
            // A broker does not wait for all name servers before it answers the send that made the topic.
            Await.until("queue in the route", Inbox.DEADLINE, () -> puller.queues(topic).contains(queue));
            // The broker knows a group from the first heartbeat after its first pull, and takes positions of known groups only.
            puller.pull(queue, "*", 0, 32);
            Await.until("the other client of the group sees the position", Inbox.DEADLINE, () -> {
                puller.commit(queue, 7);
                return same.committed(queue) == 7;
            });
        }
    }

    @EveryClient
    void aHeldPullIsAnsweredByTheFirstMatch(String version) {
        String topic = unique("PullHeld", version);
        try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
            Queue queue = producer.send(new Outgoing(topic, "other", "m0")).queue();
            Await.until("dispatched", Inbox.DEADLINE, () -> puller.maxOffset(queue) == 1);
            puller.queues(topic);
            long offset = 1;
            List<Long> millis = new ArrayList<>();
            for (int round = 0; round < 9; round++) {
                long from = offset;
                CompletableFuture<Pulled> held = CompletableFuture.supplyAsync(() -> puller.pullOrWait(queue, "rare", from, 32));
                for (int i = 0; i < 30; i++) {
                    producer.send(new Outgoing(topic, "other", "noise" + i), queue);
                }
                assertFalse(held.isDone() && held.join().status().equals("FOUND"), "nothing matches yet");
                long sent = System.nanoTime();
                producer.send(new Outgoing(topic, "rare", "the one"), queue);
                Pulled answer = held.join();
                // A pull that passed over messages without a match may say so and be repeated, as the client does by itself.
                while (answer.status().equals("NO_MATCHED_MSG")) {
                    answer = puller.pullOrWait(queue, "rare", answer.nextOffset(), 32);
                }
                millis.add((System.nanoTime() - sent) / 1_000_000);
                assertEquals("FOUND", answer.status());
                assertEquals("the one", answer.messages().get(0).text());
                offset = answer.nextOffset();
            }
            // Without being woken a held pull is looked at every 5 s; being woken, it may wait for a busy machine now and then.
            assertTrue(millis.stream().sorted().toList().get(4) < 1000, "milliseconds: " + millis);
        }
    }
}
