package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.ClientException;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Pulled;
import apogee.compat.client.Puller;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.client.Sent;
import apogee.compat.servers.Await;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Every way to send a message, and what is stored of it. */
class SendTest {
    private static final int MESSAGE_ILLEGAL = 13;

    private final Cluster cluster = Cluster.shared();

    @EveryClient
    void aMessageIsStoredWithAllItsParts(String version) {
        String topic = unique("SendParts", version);
        try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
            Outgoing message = new Outgoing(topic, "Rot", "k1 k2", "Grüße, 世界 🌍".getBytes(StandardCharsets.UTF_8),
                Map.of("colour", "grün", "a b", "c=d;e"));
            Sent sent = producer.send(message);
            assertEquals("SEND_OK", sent.status());
            assertEquals(0, sent.queueOffset());

            awaitDispatched(puller, sent.queue(), 1);
            Received stored = only(puller.pull(sent.queue(), "*", 0, 32));
            assertEquals("Rot", stored.tags());
            assertEquals("k1 k2", stored.keys());
            assertEquals("Grüße, 世界 🌍", stored.text());
            assertEquals(sent.msgId(), stored.msgId());
            message.properties().forEach((name, value) -> assertEquals(value, stored.properties().get(name), name));
            assertEquals("DefaultCluster", stored.properties().get("CLUSTER"));
        }
    }

    @EveryClient
    void offsetsOfAQueueCountUp(String version) {
        String topic = unique("SendOffsets", version);
        try (Producer producer = cluster.producer(version)) {
            Queue queue = producer.send(new Outgoing(topic, "first")).queue();
            Set<String> ids = new HashSet<>();
            for (int i = 1; i <= 100; i++) {
                Sent sent = producer.send(new Outgoing(topic, "m" + i), queue);
                assertEquals(queue, sent.queue());
                assertEquals(i, sent.queueOffset());
                assertTrue(ids.add(sent.offsetMsgId()), "two messages with offset id " + sent.offsetMsgId());
            }
        }
    }

    @EveryClient
    void manyAsynchronousSendsAreAllAnswered(String version) {
        String topic = unique("SendAsync", version);
        try (Producer producer = cluster.producer(version)) {
            producer.send(new Outgoing(topic, "creates the topic"));
            List<CompletableFuture<Sent>> answers = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                answers.add(producer.sendAsync(new Outgoing(topic, "m" + i)));
            }
            Map<Queue, Set<Long>> offsets = new HashMap<>();
            for (CompletableFuture<Sent> answer : answers) {
                Sent sent = answer.join();
                assertEquals("SEND_OK", sent.status());
                assertTrue(offsets.computeIfAbsent(sent.queue(), queue -> new HashSet<>()).add(sent.queueOffset()), "an offset twice: " + sent);
            }
        }
    }

    @EveryClient
    void oneWayMessagesArrive(String version) {
        String topic = unique("SendOneway", version);
        try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
            List<Queue> queues = cluster.createTopic(producer, topic, 2);
            // Nobody notices a one-way message that a cold broker drops: the first ones wait for an answer.
            queues.forEach(queue -> producer.send(new Outgoing(topic, "warm"), queue));
            for (int round = 0; round < 5; round++) {
                int from = round * 10;
                List<String> texts = IntStream.range(from, from + 10).mapToObj(i -> "m" + i).toList();
                texts.forEach(text -> producer.sendOneway(new Outgoing(topic, text)));
                Await.until("one-way messages " + texts, Inbox.DEADLINE, () -> everything(puller, queues).containsAll(texts));
            }
        }
    }

    @EveryClient
    void aBatchIsStoredInOrder(String version) {
        String topic = unique("SendBatch", version);
        try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
            List<Outgoing> batch = IntStream.range(0, 20)
                .mapToObj(i -> new Outgoing(topic, i % 2 == 0 ? "even" : "odd", "key" + i, ("m" + i).getBytes(StandardCharsets.UTF_8), Map.of("n", "" + i)))
                .toList();
            Sent sent = producer.sendBatch(batch);
            assertEquals("SEND_OK", sent.status());
            assertEquals(20, sent.msgId().split(",").length);
            assertEquals(20, sent.offsetMsgId().split(",").length);

            awaitDispatched(puller, sent.queue(), sent.queueOffset() + 20);
            Pulled all = puller.pull(sent.queue(), "*", sent.queueOffset(), 32);
            assertEquals(batch.stream().map(message -> new String(message.body(), StandardCharsets.UTF_8)).toList(), texts(all));
            assertEquals(List.of(sent.msgId().split(",")), all.messages().stream().map(Received::msgId).toList());
            for (int i = 0; i < 20; i++) {
                Received stored = all.messages().get(i);
                assertEquals("key" + i, stored.keys());
                assertEquals("" + i, stored.properties().get("n"));
                assertEquals(sent.queueOffset() + i, stored.queueOffset());
            }
            assertEquals(10, puller.pull(sent.queue(), "odd", sent.queueOffset(), 32).messages().size());
        }
    }

    @EveryClient
    void messagesOfAKeyStayInOneQueueInOrder(String version) {
        String topic = unique("SendOrdered", version);
        try (Producer producer = cluster.producer(version)) {
            // A topic that a send creates on one broker after the other has other queues, and a key another one, from one refreshed route to the next.
            cluster.createTopic(producer, topic, 2);
            for (String key : List.of("anna", "bert", "cora")) {
                List<Sent> sent = IntStream.range(0, 20).mapToObj(i -> producer.sendOrdered(new Outgoing(topic, key + i), key)).toList();
                assertEquals(1, sent.stream().map(Sent::queue).distinct().count());
                List<Long> offsets = sent.stream().map(Sent::queueOffset).toList();
                assertEquals(offsets.stream().sorted().toList(), offsets);
            }
        }
    }

    @EveryClient
    void sendsAreSpreadOverAllBrokers(String version) {
        String topic = unique("SendSpread", version);
        try (Producer producer = cluster.producer(version)) {
            List<Queue> queues = cluster.createTopic(producer, topic, 2);
            Set<Queue> used = IntStream.range(0, 16).mapToObj(i -> producer.send(new Outgoing(topic, "m" + i)).queue()).collect(Collectors.toSet());
            assertEquals(Set.copyOf(queues), used);
        }
    }

    @EveryClient
    void largeBodiesComeBackUnchanged(String version) {
        String topic = unique("SendLarge", version);
        byte[] noise = new byte[4 * 1024 * 1024 - 64 * 1024];
        new Random(7).nextBytes(noise);
        // Compressed by the client: more than 4 KiB, and compressible.
        byte[] zeros = new byte[100_000];
        try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
            for (byte[] body : List.of(noise, zeros, new byte[] {0})) {
                Sent sent = producer.send(new Outgoing(topic, null, null, body, Map.of()));
                assertEquals("SEND_OK", sent.status());
                awaitDispatched(puller, sent.queue(), sent.queueOffset() + 1);
                assertArrayEquals(body, only(puller.pull(sent.queue(), "*", sent.queueOffset(), 1)).body());
            }
        }
    }

    @EveryClient
    void theBrokerRefusesWhatIsTooLarge(String version) {
        String topic = unique("SendTooLarge", version);
        byte[] noise = new byte[4 * 1024 * 1024 + 1];
        new Random(7).nextBytes(noise);
        try (Producer producer = cluster.producer(version)) {
            producer.maxMessageSize(16 * 1024 * 1024);
            Queue queue = producer.send(new Outgoing(topic, "fits")).queue();
            ClientException refused = assertThrows(ClientException.class,
                () -> producer.send(new Outgoing(topic, null, null, noise, Map.of()), queue));
            assertEquals(MESSAGE_ILLEGAL, refused.code(), refused.getMessage());
            assertEquals(1, producer.send(new Outgoing(topic, "fits"), queue).queueOffset());
        }
    }

    @EveryClient
    void theBrokerRefusesTooManyProperties(String version) {
        String topic = unique("SendProperties", version);
        try (Producer producer = cluster.producer(version)) {
            Queue queue = producer.send(new Outgoing(topic, "fits")).queue();
            Outgoing message = new Outgoing(topic, null, null, new byte[] {1}, Map.of("large", "x".repeat(32_768)));
            ClientException refused = assertThrows(ClientException.class, () -> producer.send(message, queue));
            assertEquals(MESSAGE_ILLEGAL, refused.code(), refused.getMessage());
            assertEquals(1, producer.send(new Outgoing(topic, "fits"), queue).queueOffset());
        }
    }

    /** A message that was just sent can be pulled a moment later. */
    private static void awaitDispatched(Puller puller, Queue queue, long end) {
        Await.until("dispatched", Inbox.DEADLINE, () -> puller.maxOffset(queue) >= end);
    }

    private static Set<String> everything(Puller puller, List<Queue> queues) {
        return queues.stream()
            .flatMap(queue -> puller.pull(queue, "*", 0, 32).messages().stream())
            .map(Received::text).collect(Collectors.toSet());
    }

    private static List<String> texts(Pulled pulled) {
        return pulled.messages().stream().map(Received::text).toList();
    }

    private static Received only(Pulled pulled) {
        assertEquals("FOUND", pulled.status());
        assertEquals(1, pulled.messages().size());
        return pulled.messages().get(0);
    }
}
