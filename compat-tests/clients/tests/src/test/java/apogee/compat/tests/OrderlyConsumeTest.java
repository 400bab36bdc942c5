package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;

import apogee.compat.client.Client;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;

/** Orderly consumption: the broker locks each queue for one client, and the messages of a queue come in order, one by one. */
class OrderlyConsumeTest {
    private final Cluster cluster = Cluster.shared();

    @EveryClient
    void messagesOfAQueueComeInOrder(String version) {
        Client client = Clients.of(version);
        String topic = unique("Orderly", version);
        Inbox inbox = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 2);
            Subscription.Options options = cluster.options(unique("g", version), topic, inbox).asOrderly();
            try (Subscription consumer = client.subscribe(options)) {
                for (int i = 0; i < 200; i++) {
                    producer.sendOrdered(new Outgoing(topic, "m" + i), "key" + i % 7);
                }
                inbox.awaitSize(200);
                Map<Queue, List<Received>> queues = inbox.messages().stream().collect(Collectors.groupingBy(Received::queue));
                queues.forEach((queue, messages) -> {
                    List<Long> offsets = messages.stream().map(Received::queueOffset).toList();
                    assertEquals(offsets.stream().sorted().distinct().toList(), offsets, queue + " at " + consumer.clientId());
                });
            }
        }
    }

    @EveryClient
    void aQueueHasOneConsumerAtATimeWhileClientsComeAndGo(String version) {
        Client client = Clients.of(version);
        String topic = unique("OrderlyLock", version);
        String group = unique("g", version);
        Exclusive exclusive = new Exclusive();
        List<Inbox> inboxes = List.of(new Inbox(), new Inbox());
        List<String> sent = new ArrayList<>();
        try (Producer producer = cluster.producer(version)) {
            List<Queue> queues = cluster.createTopic(producer, topic, 2);
            try (Subscription second = client.subscribe(exclusive.options(cluster, group, topic, inboxes.get(1)))) {
                try (Subscription first = client.subscribe(exclusive.options(cluster, group, topic, inboxes.get(0)))) {
                    Await.until("the clients share the queues", Inbox.DEADLINE, () ->
                        PushConsumeTest.owners(producer, queues, sent, inboxes).size() == 2);
                }
                // The locks of the client that left are free at once, not after the 60 s of an expired one.
                Await.until("the second client has all queues", Inbox.DEADLINE, () ->
                    PushConsumeTest.owners(producer, queues, sent, inboxes).equals(Map.of(1, 4L)));
            }
            exclusive.check();
            Inbox.awaitAll(sent, inboxes);
        }
    }

    /** Notices two clients inside the listener for one queue, and a queue that goes backwards. */
    private static final class Exclusive {
        private final Map<Queue, Inbox> inside = new ConcurrentHashMap<>();
        private final Map<Queue, Long> last = new ConcurrentHashMap<>();
        private final AtomicReference<String> fault = new AtomicReference<>();

        Subscription.Options options(Cluster cluster, String group, String topic, Inbox inbox) {
            return cluster.options(group, topic, message -> {
                Inbox other = inside.putIfAbsent(message.queue(), inbox);
                if (other != null) {
                    fault.set("two at once in " + message.queue());
                }
                Long before = last.put(message.queue(), message.queueOffset());
                if (before != null && before > message.queueOffset()) {
                    fault.set(message.queue() + " went from " + before + " to " + message.queueOffset());
                }
                inside.remove(message.queue(), inbox);
                // Last: with all messages the test ends a client, whose queues are free then, even while its listener still runs.
                return inbox.test(message);
            }).asOrderly();
        }

        void check() {
            assertEquals(null, fault.get());
        }
    }
}
