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
import apogee.compat.servers.Server;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Servers that end and come back while all client generations send and consume: nothing that was acknowledged is lost. */
class RestartTest {
    /** Each of these sends waits for the disk, which may take a second. */
    private static final int FLOW = 20;

    @AutoClose
    private static Cluster cluster;

    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, 1, Map.of("flushDiskType", "SYNC_FLUSH"));
    }

    @Test
    void theBrokerRestarts() {
        through(cluster.broker()::stop, cluster.broker());
    }

    @Test
    void theBrokerIsKilled() {
        through(cluster.broker()::kill, cluster.broker());
    }

    @Test
    void theNameServerRestarts() {
        through(cluster.nameServer()::stop, cluster.nameServer());
    }

    @Test
    void positionsTopicsAndOffsetsSurviveTheBroker() {
        List<Group> groups = Clients.ALL.stream().map(Group::consumeSome).toList();
        cluster.broker().stop();
        cluster.broker().start();
        groups.forEach(Group::goOn);
    }

    @Test
    void queuesAreConsumedInOrderThroughARestartOfTheBroker() {
        List<Ordered> all = new ArrayList<>();
        try {
            Clients.ALL.forEach(version -> all.add(new Ordered(version)));
            all.forEach(Ordered::sendAndConsume);
            cluster.broker().stop();
            cluster.broker().start();
            all.forEach(Ordered::sendAndConsume);
        } finally {
            all.forEach(Ordered::close);
        }
    }

    private static void through(Runnable end, Server server) {
        List<Traffic> all = new ArrayList<>();
        try {
            Clients.ALL.forEach(version -> all.add(new Traffic(cluster, version)));
            all.forEach(traffic -> traffic.awaitFlow(FLOW));
            end.run();
            server.start();
            all.forEach(traffic -> traffic.awaitFlow(FLOW));
            all.forEach(Traffic::awaitNothingLost);
        } finally {
            all.forEach(Traffic::close);
        }
    }

    /** A group that has consumed the first messages of a queue. */
    private record Group(String version, String topic, String name, Queue queue) {
        static Group consumeSome(String version) {
            Client client = Clients.of(version);
            String topic = unique("Survive", version);
            String group = unique("g", version);
            Inbox inbox = new Inbox();
            try (Producer producer = cluster.producer(version)) {
                Queue queue = cluster.createTopic(producer, topic, 1).get(0);
                List<String> early = send(producer, topic, "early");
                try (Subscription consumer = client.subscribe(cluster.options(group, topic, inbox))) {
                    inbox.awaitAll(early);
                    assertEquals(new HashSet<>(early), new HashSet<>(inbox.texts()), consumer.clientId());
                    Inbox.awaitConsumed(consumer, early.size());
                }
                return new Group(version, topic, group, queue);
            }
        }

        void goOn() {
            Client client = Clients.of(version);
            Inbox inbox = new Inbox();
            try (Producer producer = cluster.producer(version); Puller puller = cluster.puller(version)) {
                Await.until("route of the old topic", Inbox.DEADLINE, () -> producer.queues(topic).equals(List.of(queue)));
                assertEquals(0, puller.minOffset(queue));
                assertEquals(20, puller.maxOffset(queue));
                List<String> late = send(producer, topic, "late");
                Await.until("all dispatched", Inbox.DEADLINE, () -> puller.maxOffset(queue) == 40);
                try (Subscription consumer = client.subscribe(cluster.options(name, topic, inbox))) {
                    inbox.awaitAll(late);
                    assertEquals(new HashSet<>(late), new HashSet<>(inbox.texts()), "consumed again by " + consumer.clientId());
                }
            }
        }

        private static List<String> send(Producer producer, String topic, String prefix) {
            List<String> texts = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                producer.send(new Outgoing(topic, prefix + i));
                texts.add(prefix + i);
            }
            return texts;
        }
    }

    /** An orderly consumer of one queue; what comes again may, but nothing comes before what was sent earlier. */
    private static final class Ordered implements AutoCloseable {
        private final Inbox inbox = new Inbox();
        private final List<String> sent = new ArrayList<>();
        private final String topic;
        private final Producer producer;
        private final Subscription consumer;

        Ordered(String version) {
            topic = unique("Ordered", version);
            producer = cluster.producer(version);
            cluster.createTopic(producer, topic, 1);
            consumer = Clients.of(version).subscribe(cluster.options(unique("g", version), topic, inbox).asOrderly());
        }

        void sendAndConsume() {
            for (int i = 0; i < 20; i++) {
                String text = "m" + sent.size();
                Await.until("acknowledgement of " + text, Inbox.DEADLINE, () -> producer.send(new Outgoing(topic, text)).status().equals("SEND_OK"));
                sent.add(text);
            }
            inbox.awaitAll(sent);
            assertEquals(sent, inbox.texts().stream().distinct().toList(), consumer.clientId());
        }

        @Override
        public void close() {
            consumer.close();
            producer.close();
        }
    }
}
