package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.Client;
import apogee.compat.client.Outcome;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Received;
import apogee.compat.client.Sent;
import apogee.compat.client.Subscription;
import apogee.compat.client.Transactions;
import apogee.compat.servers.Await;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Messages that are not visible at once: delayed ones, and those of transactions. */
class LaterTest {
    private static final Map<String, Outcome> AT_ONCE = Map.of("committed", Outcome.COMMIT, "rolled back", Outcome.ROLLBACK);
    private static final Map<String, Outcome> ASKED = Map.of("committed when asked", Outcome.COMMIT, "rolled back when asked", Outcome.ROLLBACK);

    /** A half about which the broker may not ask for three seconds. */
    private static final String LATE = "committed late";
    private static final String MANY = "1000";

    @AutoClose
    private static Cluster cluster;

    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, 1, Map.of("messageDelayLevel", "1s 2h 5s 2h", "transactionCheckInterval", "1000", "transactionTimeOut", "1000",
            // A half waits however long a broker takes to come back.
            "transactionCheckMax", MANY));
    }

    @EveryClient
    void aDelayedMessageComesWhenItIsDue(String version) {
        String topic = unique("Delayed", version);
        Inbox inbox = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            long before = System.currentTimeMillis();
            producer.sendDelayed(new Outgoing(topic, "in two hours"), 2);
            List<String> soon = List.of("in a second", "behind it", "and behind that");
            soon.forEach(text -> producer.sendDelayed(new Outgoing(topic, text), 1));
            producer.send(new Outgoing(topic, "now"));
            try (Subscription consumer = Clients.of(version).subscribe(cluster.options(unique("g", version), topic, inbox))) {
                inbox.awaitAll(soon);
                inbox.awaitAll(Set.of("now"));
                List<Received> stored = inbox.messages().stream().sorted(Comparator.comparingLong(Received::queueOffset))
                    .filter(message -> !message.text().equals("now")).toList();
                assertEquals(soon, stored.stream().map(Received::text).distinct().toList());
                long after = stored.get(0).storeTimestamp() - before;
                assertTrue(after >= 1000, consumer.clientId() + ": " + after);
            }
        }
    }

    @EveryClient
    void onlyWhatIsCommittedComes(String version) {
        Client client = Clients.of(version);
        String topic = unique("Transaction", version);
        Inbox inbox = new Inbox();
        Set<String> all = ConcurrentHashMap.newKeySet();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
        }
        String group = unique("p", version);
        AtomicLong asked = new AtomicLong();
        long before = System.currentTimeMillis();
        // Its producer group is asked, and has another member then.
        try (Transactions gone = client.transactions(cluster.namesrvAddr(), group, text -> Outcome.UNKNOWN, text -> Outcome.UNKNOWN)) {
            ASKED.keySet().forEach(text -> gone.send(new Outgoing(topic, text)));
        }
        try (Subscription consumer = client.subscribe(cluster.options(unique("g", version), topic, inbox));
             Transactions transactions = client.transactions(cluster.namesrvAddr(), group,
                 text -> AT_ONCE.getOrDefault(text, Outcome.UNKNOWN), text -> {
                     all.add(text);
                     if (text.equals(LATE)) {
                         asked.compareAndSet(0, System.currentTimeMillis());
                     }
                     // 5.5.0 also asks about halves whose end it has not noted yet: it does so every three seconds.
                     return ASKED.getOrDefault(text, AT_ONCE.getOrDefault(text, Outcome.COMMIT));
                 })) {
            transactions.send(new Outgoing(topic, null, null, LATE.getBytes(StandardCharsets.UTF_8), Map.of("CHECK_IMMUNITY_TIME_IN_SECONDS", "3")));
            for (String text : AT_ONCE.keySet()) {
                transactions.send(new Outgoing(topic, text));
            }
            Set<String> committed = Set.of("committed", "committed when asked", LATE);
            inbox.awaitAll(committed);
            assertTrue(asked.get() - before >= 3000, consumer.clientId());
            Await.until("the broker asked for both", Inbox.DEADLINE, () -> all.containsAll(ASKED.keySet()));
            assertEquals(committed, new HashSet<>(inbox.texts()), consumer.clientId());
        }
    }

    /** All generations at once, for the broker checks once a second. */
    @Test
    void whatWasAskedTooOftenIsGivenUpUntilAnOperatorResumesIt() throws Exception {
        List<GivenUp> all = new ArrayList<>();
        try {
            cluster.update("transactionCheckMax", "2");
            Clients.ALL.forEach(version -> all.add(new GivenUp(version)));
            all.forEach(GivenUp::awaitEnd);
            cluster.update("transactionCheckMax", MANY);
            all.forEach(GivenUp::resume);
            all.forEach(GivenUp::awaitCommit);
        } finally {
            all.forEach(GivenUp::close);
            cluster.update("transactionCheckMax", MANY);
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
            cluster.broker().set("messageDelayLevel", "1s 2h 5s 1s").start();
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
                producer.sendDelayed(new Outgoing(topic, "of a level that is shorter afterwards"), 4);
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
                Set<String> due = Set.of("delayed", "of a level that is shorter afterwards", "committed");
                inbox.awaitAll(due);
                Await.until("the broker asked about the other half", Inbox.DEADLINE, () -> !rolledBack.isEmpty());
                assertEquals(due, new HashSet<>(inbox.texts()), consumer.clientId());
            }
        }

        @Override
        public void close() {
            transactions.close();
        }
    }
    /** A half whose producer does not know its end before it is resumed. */
    private static final class GivenUp implements AutoCloseable {
        private final String topic;
        private final Inbox inbox = new Inbox();
        private final Transactions transactions;
        private final Subscription consumer;
        private final Sent sent;
        private volatile boolean resumed;

        GivenUp(String version) {
            Client client = Clients.of(version);
            topic = unique("GivenUp", version);
            try (Producer producer = cluster.producer(version)) {
                cluster.createTopic(producer, topic, 1);
            }
            consumer = client.subscribe(cluster.options(unique("g", version), topic, inbox));
            transactions = client.transactions(cluster.namesrvAddr(), unique("p", version), text -> Outcome.UNKNOWN,
                text -> resumed ? Outcome.COMMIT : Outcome.UNKNOWN);
            sent = transactions.send(new Outgoing(topic, "given up"));
        }

        void awaitEnd() {
            Await.until("the half among those given up", Inbox.DEADLINE, () -> cluster.admin().viewMessage("TRANS_CHECK_MAX_TIME_TOPIC", sent.msgId()) != null);
            assertEquals(List.of(), inbox.texts(), consumer.clientId());
        }

        void resume() {
            resumed = true;
            Await.until("it is resumed", Inbox.DEADLINE, () -> cluster.admin().resumeCheckHalfMessage("TRANS_CHECK_MAX_TIME_TOPIC", sent.msgId()));
        }

        void awaitCommit() {
            inbox.awaitAll(Set.of("given up"));
        }

        @Override
        public void close() {
            consumer.close();
            transactions.close();
        }
    }
}
