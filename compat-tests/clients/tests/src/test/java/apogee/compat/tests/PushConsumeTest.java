package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.Client;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Push consumers: sharing of queues in a group, broadcasting, tags, positions, and messages that come while a pull is held. */
class PushConsumeTest {
    private final Cluster cluster = Cluster.shared();

    @EveryClient
    void aGroupSharesTheQueuesAndTakesOverWhenOneLeaves(String version) {
        Client client = Clients.of(version);
        String topic = unique("PushShare", version);
        String group = unique("g", version);
        Inbox first = new Inbox();
        Inbox second = new Inbox();
        List<String> sent = new ArrayList<>();
        try (Producer producer = cluster.producer(version)) {
            List<Queue> queues = cluster.createTopic(producer, topic, 2);
            Subscription staying = client.subscribe(cluster.options(group, topic, first));
            Subscription leaving = client.subscribe(cluster.options(group, topic, second));
            try (staying) {
                try (leaving) {
                    Await.until("each of the two has two of the four queues", Inbox.DEADLINE, () -> {
                        List<Inbox> inboxes = List.of(first, second);
                        return owners(producer, queues, sent, inboxes).values().stream().sorted().toList().equals(List.of(2L, 2L));
                    });
                }
                Await.until("the one that stays has all four queues", Inbox.DEADLINE, () ->
                    owners(producer, queues, sent, List.of(first)).getOrDefault(0, 0L) == 4);
            }
            Inbox.awaitAll(sent, List.of(first, second));
        }
    }

    @EveryClient
    void broadcastingReachesEveryConsumer(String version) {
        Client client = Clients.of(version);
        String topic = unique("PushBroadcast", version);
        String group = unique("g", version);
        List<Inbox> inboxes = List.of(new Inbox(), new Inbox());
        try (Producer producer = cluster.producer(version)) {
            List<Queue> queues = cluster.createTopic(producer, topic, 2);
            Subscription.Options options = cluster.options(group, topic, inboxes.get(0)).asBroadcast();
            Subscription.Options others = cluster.options(group, topic, inboxes.get(1)).asBroadcast();
            try (Subscription one = client.subscribe(options); Subscription other = client.subscribe(others)) {
                // Both from the first message on, whenever they find the queues.
                queues.forEach(queue -> producer.send(new Outgoing(topic, "in " + queue.broker() + " " + queue.id()), queue));
                List<String> sent = queues.stream().map(queue -> "in " + queue.broker() + " " + queue.id()).toList();
                inboxes.forEach(inbox -> inbox.awaitAll(sent));
            }
        }
    }

    @EveryClient
    void tagsAreFiltered(String version) {
        Client client = Clients.of(version);
        String topic = unique("PushTags", version);
        Inbox two = new Inbox();
        Inbox all = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 2);
            // "Aa" and "BB" have one hash code: the broker cannot tell them apart, the client can.
            for (String tag : List.of("Aa", "BB", "C", "D")) {
                for (int i = 0; i < 10; i++) {
                    producer.send(new Outgoing(topic, tag, tag + i));
                }
            }
            producer.send(new Outgoing(topic, "untagged"));
            Subscription.Options everything = cluster.options(unique("g", version), topic, all);
            Subscription.Options some = cluster.options(unique("g", version), topic, two).expression("Aa || C");
            try (Subscription a = client.subscribe(everything); Subscription b = client.subscribe(some)) {
                all.awaitSize(41);
                two.awaitSize(20);
                producer.send(new Outgoing(topic, "D", "D-last"));
                producer.send(new Outgoing(topic, "C", "C-last"));
                two.awaitAll(Set.of("C-last"));
                assertEquals(Set.of("Aa", "C"), two.messages().stream().map(Received::tags).collect(Collectors.toSet()));
            }
        }
    }

    @EveryClient
    void aGroupGoesOnWhereItStopped(String version) {
        Client client = Clients.of(version);
        String topic = unique("PushResume", version);
        String group = unique("g", version);
        Inbox before = new Inbox();
        Inbox after = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 2);
            List<String> early = send(producer, topic, "early", 40);
            try (Subscription consumer = client.subscribe(cluster.options(group, topic, before))) {
                before.awaitAll(early);
                Inbox.awaitConsumed(consumer, early.size());
            }
            List<String> late = send(producer, topic, "late", 40);
            try (Subscription again = client.subscribe(cluster.options(group, topic, after))) {
                after.awaitAll(late);
                assertEquals(new HashSet<>(late), new HashSet<>(after.texts()), "consumed again by " + again.clientId());
            }
        }
    }

    @EveryClient
    void aHeldPullIsAnsweredWhenTheMessageComes(String version) {
        Client client = Clients.of(version);
        String topic = unique("PushLatency", version);
        Inbox inbox = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            Queue queue = cluster.createTopic(producer, topic, 1).get(0);
            Subscription.Options options = cluster.options(unique("g", version), topic, inbox).expression("wanted");
            try (Subscription consumer = client.subscribe(options)) {
                producer.send(new Outgoing(topic, "wanted", "first"), queue);
                inbox.awaitSize(1);
                List<List<Long>> rounds = new ArrayList<>();
                do {
                    rounds.add(millisOfTwenty(producer, queue, inbox));
                } while (!isWoken(rounds.get(rounds.size() - 1)) && rounds.size() < 3);
                assertTrue(isWoken(rounds.get(rounds.size() - 1)), "milliseconds: " + rounds + " at " + consumer.clientId());
            }
        }
    }

    /** How long messages take from the send to the listener, each sent when the one before has come: the next pull is held or on its way. */
    private static List<Long> millisOfTwenty(Producer producer, Queue queue, Inbox inbox) {
        List<Long> millis = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            int before = inbox.size();
            producer.send(new Outgoing(queue.topic(), "unwanted", "noise"), queue);
            long sent = System.nanoTime();
            producer.send(new Outgoing(queue.topic(), "wanted", "m" + i), queue);
            inbox.awaitSize(before + 1);
            millis.add((System.nanoTime() - sent) / 1_000_000);
        }
        return millis;
    }

    /**
     * Without being woken a held pull is looked at every 5 s only. A client that got an error pauses for 3 s: allow one. A
     * machine that is busy for a while makes one round slow, not all.
     */
    private static boolean isWoken(List<Long> millis) {
        List<Long> sorted = millis.stream().sorted().toList();
        return sorted.get(10) < 500 && sorted.get(18) < 2000;
    }

    @EveryClient
    void generationsShareAGroup(String version) {
        String other = Clients.ALL.get((Clients.ALL.indexOf(version) + 1) % Clients.ALL.size());
        String topic = unique("PushMixed", version);
        String group = unique("g", version);
        Inbox one = new Inbox();
        Inbox two = new Inbox();
        List<String> sent = new ArrayList<>();
        try (Producer producer = cluster.producer(version)) {
            List<Queue> queues = cluster.createTopic(producer, topic, 2);
            try (Subscription a = Clients.of(version).subscribe(cluster.options(group, topic, one));
                 Subscription b = Clients.of(other).subscribe(cluster.options(group, topic, two))) {
                Await.until("each generation has two queues", Inbox.DEADLINE, () ->
                    owners(producer, queues, sent, List.of(one, two)).values().stream().sorted().toList().equals(List.of(2L, 2L)));
                Inbox.awaitAll(sent, List.of(one, two));
            }
        }
    }

    /**
     * Sends one message to each queue, waits until all have come somewhere, and counts by index of the inbox how many it got:
     * in a group the number of its queues.
     */
    static Map<Integer, Long> owners(Producer producer, List<Queue> queues, List<String> sent, List<Inbox> inboxes) {
        List<String> probe = new ArrayList<>();
        for (Queue queue : queues) {
            String text = "probe" + sent.size();
            producer.send(new Outgoing(queue.topic(), text), queue);
            sent.add(text);
            probe.add(text);
        }
        Inbox.awaitAll(probe, inboxes);
        Map<Integer, Long> counts = new HashMap<>();
        for (int i = 0; i < inboxes.size(); i++) {
            long count = inboxes.get(i).texts().stream().filter(probe::contains).distinct().count();
            if (count > 0) {
                counts.put(i, count);
            }
        }
        return counts;
    }

    private static List<String> send(Producer producer, String topic, String prefix, int count) {
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            producer.send(new Outgoing(topic, prefix + i));
            texts.add(prefix + i);
        }
        return texts;
    }
}
