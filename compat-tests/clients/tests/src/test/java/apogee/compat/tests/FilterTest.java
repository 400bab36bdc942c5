package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import apogee.compat.client.Client;
import apogee.compat.client.ClientException;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Subscription;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Consumers that filter by the properties of messages. */
class FilterTest {
    private static final int SUBSCRIPTION_PARSE_FAILED = 23;
    private final Cluster cluster = Cluster.shared();

    @EveryClient
    void messagesAreFilteredByTheirProperties(String version) {
        Client client = Clients.of(version);
        String topic = unique("Filter", version);
        Inbox inbox = new Inbox();
        Subscription.Options options = cluster.options(unique("g", version), topic, inbox).sql("a > 5 AND (b IS NULL OR b <> 'no')");
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            for (int i = 0; i < 10; i++) {
                send(producer, topic, "early" + i, Map.of("a", "" + i));
            }
            send(producer, topic, "no", Map.of("a", "7", "b", "no"));
            send(producer, topic, "none", Map.of());
            try (Subscription consumer = client.subscribe(options)) {
                inbox.awaitAll(List.of("early6", "early7", "early8", "early9"));
                // Pulls are held now: others do not end them, these do.
                send(producer, topic, "other", Map.of("a", "5"));
                send(producer, topic, "late", Map.of("a", "8", "b", "yes"));
                inbox.awaitAll(List.of("late"));
                assertEquals(Set.of("early6", "early7", "early8", "early9", "late"), Set.copyOf(inbox.texts()));
            }
        }
    }

    @EveryClient
    void aNewExpressionTakesThePlaceOfTheOld(String version) {
        Client client = Clients.of(version);
        String topic = unique("FilterNew", version);
        String group = unique("g", version);
        Inbox first = new Inbox();
        Inbox second = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            send(producer, topic, "x1", Map.of("a", "x"));
            try (Subscription consumer = client.subscribe(cluster.options(group, topic, first).sql("a = 'x'"))) {
                first.awaitAll(List.of("x1"));
            }
            try (Subscription consumer = client.subscribe(cluster.options(group, topic, second).sql("a STARTSWITH 'y'"))) {
                send(producer, topic, "x2", Map.of("a", "x"));
                send(producer, topic, "y1", Map.of("a", "yes"));
                second.awaitAll(List.of("y1"));
                assertEquals(List.of("y1"), second.texts());
            }
        }
    }

    @EveryClient
    void aWrongExpressionIsRefused(String version) {
        String topic = unique("FilterWrong", version);
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            Subscription.Options options = cluster.options(unique("g", version), topic, new Inbox()).sql("a >");
            ClientException refused = assertThrows(ClientException.class, () -> Clients.of(version).subscribe(options).close());
            assertEquals(SUBSCRIPTION_PARSE_FAILED, refused.code());
        }
    }

    private static void send(Producer producer, String topic, String text, Map<String, String> properties) {
        producer.send(new Outgoing(topic, null, null, text.getBytes(StandardCharsets.UTF_8), properties));
    }
}
