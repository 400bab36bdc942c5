package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.Client;
import apogee.compat.client.Outcome;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Received;
import apogee.compat.client.Subscription;
import apogee.compat.client.Transactions;
import apogee.compat.servers.Await;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Messages that are not visible at once: delayed ones, and those of transactions. */
class LaterTest {
    private static final Map<String, Outcome> AT_ONCE = Map.of("committed", Outcome.COMMIT, "rolled back", Outcome.ROLLBACK);
    private static final Map<String, Outcome> ASKED = Map.of("committed when asked", Outcome.COMMIT, "rolled back when asked", Outcome.ROLLBACK);

    @AutoClose
    private static Cluster cluster;

    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, 1, Map.of("messageDelayLevel", "1s 2h 5s", "transactionCheckInterval", "1000", "transactionTimeOut", "1000",
            // A half waits however long a broker takes to come back.
            "transactionCheckMax", "1000"));
    }

    @EveryClient
    void aDelayedMessageComesWhenItIsDue(String version) {
        String topic = unique("Delayed", version);
        Inbox inbox = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            long before = System.currentTimeMillis();
            producer.sendDelayed(new Outgoing(topic, "in two hours"), 2);
            producer.sendDelayed(new Outgoing(topic, "in a second"), 1);
            producer.send(new Outgoing(topic, "now"));
            try (Subscription consumer = Clients.of(version).subscribe(cluster.options(unique("g", version), topic, inbox))) {
                inbox.awaitAll(Set.of("now", "in a second"));
                Received delayed = inbox.messages().stream().filter(message -> message.text().equals("in a second")).findFirst().orElseThrow();
                assertTrue(delayed.storeTimestamp() - before >= 1000, consumer.clientId() + ": " + delayed.storeTimestamp() + ", " + before);
                assertEquals(Set.of("now", "in a second"), new HashSet<>(inbox.texts()));
            }
        }
    }

    @EveryClient
    void onlyWhatIsCommittedComes(String version) {
        Client client = Clients.of(version);
        String topic = unique("Transaction", version);
        Inbox inbox = new Inbox();
        Set<String> asked = ConcurrentHashMap.newKeySet();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
        }
        try (Subscription consumer = client.subscribe(cluster.options(unique("g", version), topic, inbox));
             Transactions transactions = client.transactions(cluster.namesrvAddr(), unique("p", version),
                 text -> AT_ONCE.getOrDefault(text, Outcome.UNKNOWN), text -> {
                     asked.add(text);
                     // 5.5.0 also asks about halves whose end it has not noted yet: it does so every three seconds.
                     return ASKED.getOrDefault(text, AT_ONCE.get(text));
                 })) {
            for (String text : AT_ONCE.keySet()) {
                transactions.send(new Outgoing(topic, text));
            }
            for (String text : ASKED.keySet()) {
                transactions.send(new Outgoing(topic, text));
            }
            inbox.awaitAll(Set.of("committed", "committed when asked"));
            Await.until("the broker asked for both", Inbox.DEADLINE, () -> asked.containsAll(ASKED.keySet()));
            assertEquals(Set.of("committed", "committed when asked"), new HashSet<>(inbox.texts()), consumer.clientId());
        }
    }

    @Test
    void whatWaitsComesAfterTheBrokerWasStopped() {
        waitThrough(cluster.broker()::stop);
    }

    @Test
    void whatWaitsComesAfterTheBrokerWasKilled() {
        waitThrough(cluster.broker()::kill);
    }

    private static void waitThrough(Runnable end) {
        List<Waiting> all = new ArrayList<>();
        try {
            Clients.ALL.forEach(version -> all.add(new Waiting(version)));
            end.run();
            cluster.broker().start();
            all.forEach(Waiting::awaitEnd);
        } finally {
            all.forEach(Waiting::close);
        }
    }

    /** A delayed message, and halves about which the broker has to ask until it has been away. */
    private static final class Waiting implements AutoCloseable {
        private final Client client;
        private final String topic;
        private final Set<String> rolledBack = ConcurrentHashMap.newKeySet();
        private final Transactions transactions;
        private volatile boolean wasAway;

        Waiting(String version) {
            client = Clients.of(version);
            topic = unique("Waiting", version);
            try (Producer producer = cluster.producer(version)) {
                cluster.createTopic(producer, topic, 1);
                producer.sendDelayed(new Outgoing(topic, "delayed"), 3);
            }
            transactions = client.transactions(cluster.namesrvAddr(), unique("p", version), text -> Outcome.UNKNOWN, this::outcome);
            transactions.send(new Outgoing(topic, "committed"));
            transactions.send(new Outgoing(topic, "rolled back"));
        }

        private Outcome outcome(String text) {
            if (!wasAway) {
                return Outcome.UNKNOWN;
            }
            if (text.equals("committed")) {
                return Outcome.COMMIT;
            }
            rolledBack.add(text);
            return Outcome.ROLLBACK;
        }

        void awaitEnd() {
            wasAway = true;
            Inbox inbox = new Inbox();
            // Not before: a client of 4.3.0 waits half a minute for the answer to a pull of which the broker was killed.
            try (Subscription consumer = client.subscribe(cluster.options(unique("g", client.version()), topic, inbox))) {
                inbox.awaitAll(Set.of("delayed", "committed"));
                Await.until("the broker asked about the other half", Inbox.DEADLINE, () -> !rolledBack.isEmpty());
                assertEquals(Set.of("delayed", "committed"), new HashSet<>(inbox.texts()), consumer.clientId());
            }
        }

        @Override
        public void close() {
            transactions.close();
        }
    }
}
