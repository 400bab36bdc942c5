package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import apogee.compat.client.Outcome;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Puller;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.client.Transactions;
import apogee.compat.servers.Await;
import apogee.compat.servers.Implementation;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is on disk after transactions is what 5.5.0 has there after the same ones: notes of ends, many in one message, and counts of what is pending. */
class TransactionFilesTest {
    private static final String VERSION = "5.5.0";
    private static final Queue NOTES = new Queue("RMQ_SYS_TRANS_OP_HALF_TOPIC", "broker-0", 0);
    private static final Pattern METRIC = Pattern.compile("\"(FileTx[^\"]*)\":\\{\"count\":(-?\\d+),\"timeStamp\":\\d{13}\\}");
    private static final Map<String, String> SETTINGS = Map.of("transactionMetricFlushInterval", "1000", "transactionOpBatchInterval", "1000");
    private static final int ENDED = 40;
    private static final int PENDING = 3;

    @Test
    void theSameIsOnDiskAsWithTheReference() throws Exception {
        assumeTrue(Implementation.underTest() != Implementation.REFERENCE_4, "4.9.4 has neither");
        Files550 ours = run(Implementation.underTest());
        Files550 theirs = run(Implementation.REFERENCE_5);
        assertEquals(theirs.noted, ours.noted);
        assertEquals(theirs.form, ours.form);
        assertEquals(theirs.metrics, ours.metrics);
        // Pending ones alone: each of those that ended was counted twice.
        assertEquals(Map.of("FileTxA", (long) PENDING, "FileTxB", 0L), ours.metrics);
        assertTrue(ours.messages < ENDED / 2 && theirs.messages < ENDED / 2, ours.messages + " and " + theirs.messages + " messages for " + ENDED + " ends");
    }

    /**
     * @param noted offsets of halves in the notes, sorted
     * @param form the notes' tags and properties, and what their bodies look like, each once
     * @param messages how many notes there are
     * @param metrics pending transactions by topic
     */
    private record Files550(List<Long> noted, List<String> form, int messages, Map<String, Long> metrics) {
    }

    private static Files550 run(Implementation implementation) throws Exception {
        try (Cluster cluster = Cluster.own(implementation, 1, 1, SETTINGS)) {
            try (Producer producer = cluster.producer(VERSION)) {
                cluster.createTopic(producer, "FileTxA", 1);
                cluster.createTopic(producer, "FileTxB", 1);
            }
            try (Transactions transactions = Clients.of(VERSION).transactions(cluster.namesrvAddr(), unique("p", VERSION),
                TransactionFilesTest::outcome, text -> Outcome.UNKNOWN)) {
                IntStream.range(0, ENDED).forEach(n -> transactions.send(new Outgoing(n % 4 < 2 ? "FileTxA" : "FileTxB", n % 2 == 0 ? "commit" : "roll back")));
                IntStream.range(0, PENDING).forEach(n -> transactions.send(new Outgoing("FileTxA", "pending")));
            }
            try (Puller puller = cluster.puller(VERSION)) {
                List<Received> notes = Await.value("all notes", Inbox.DEADLINE, () -> {
                    List<Received> found = puller.pull(NOTES, "*", 0, 32).messages();
                    return offsets(found).count() >= ENDED ? found : null;
                });
                Map<String, Long> expected = Map.of("FileTxA", (long) PENDING, "FileTxB", 0L);
                Map<String, Long> metrics = Await.value("the counts", Inbox.DEADLINE, () -> {
                    Map<String, Long> found = metrics(cluster);
                    return found.equals(expected) ? found : null;
                });
                List<String> form = notes.stream().map(TransactionFilesTest::form).distinct().sorted().toList();
                return new Files550(offsets(notes).sorted().toList(), form, notes.size(), metrics);
            }
        }
    }

    private static Outcome outcome(String text) {
        return switch (text) {
            case "commit" -> Outcome.COMMIT;
            case "roll back" -> Outcome.ROLLBACK;
            default -> Outcome.UNKNOWN;
        };
    }

    private static Stream<Long> offsets(List<Received> notes) {
        return notes.stream().flatMap(note -> Stream.of(note.text().split(","))).filter(text -> !text.isEmpty()).map(Long::valueOf);
    }

    /** Whose id it is, and which offsets of a queue there are, the client has put in. */
    private static String form(Received note) {
        Map<String, String> properties = new TreeMap<>(note.properties());
        properties.keySet().removeAll(List.of("MIN_OFFSET", "MAX_OFFSET", "CLUSTER"));
        return note.tags() + " " + note.keys() + " " + properties + " " + note.text().replaceAll("\\d+,", "N").replaceAll("N+", "N,");
    }

    private static Map<String, Long> metrics(Cluster cluster) throws IOException {
        Matcher found = METRIC.matcher(Files.readString(cluster.broker().store().resolve("config/transactionMetrics")));
        Map<String, Long> metrics = new TreeMap<>();
        while (found.find()) {
            metrics.put(found.group(1), Long.valueOf(found.group(2)));
        }
        return metrics;
    }
}
