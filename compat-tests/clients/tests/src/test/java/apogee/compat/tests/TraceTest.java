package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.Client;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Received;
import apogee.compat.client.Sent;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.rocketmq.remoting.protocol.admin.TopicOffset;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** Clients that send traces of what they send and consume. */
class TraceTest {
    private static final String TOPIC = "RMQ_SYS_TRACE_TOPIC";
    private static final String FIELD = "\u0001";
    private static final String TRACE = "\u0002";
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    @AutoClose
    private static Cluster cluster;

    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, 1, Map.of("traceTopicEnable", "true", "regionId", "North"));
    }

    @ParameterizedTest(name = "client {0}")
    @FieldSource("apogee.compat.tests.Clients#SINCE_4_6")
    void aMessageIsTracedFromItsProducerToItsConsumer(String version) {
        Client client = Clients.of(version);
        String topic = unique("Traced", version);
        String consuming = unique("g", version);
        String producing = unique("p", version);
        Inbox traces = new Inbox();
        Inbox inbox = new Inbox();
        try (Producer producer = client.tracedProducer(cluster.namesrvAddr(), producing);
             Subscription tracing = client.subscribe(cluster.options(unique("g", version), TOPIC, traces))) {
            cluster.createTopic(producer, topic, 1);
            try (Subscription consumer = client.subscribe(cluster.options(consuming, topic, inbox).asTraced())) {
                // A client does not try again to send a trace: on a busy machine one may be missing.
                Set<String> texts = new HashSet<>();
                Traced traced = Await.value("a message with all its traces", Inbox.DEADLINE, () -> {
                    String text = "m" + texts.size();
                    Sent sent = producer.send(new Outgoing(topic, "TagA", "key", text.getBytes(StandardCharsets.UTF_8), Map.of()));
                    texts.add(text);
                    return Await.value("the traces of " + sent.msgId(), PATIENCE, () -> traced(sent, traces));
                });
                Sent sent = traced.sent();
                List<String[]> found = traced.traces();
                inbox.awaitAll(texts);
                assertEquals(Set.of("Pub", "SubBefore", "SubAfter"), Set.copyOf(found.stream().map(trace -> trace[0]).toList()), consumer.clientId());
                String[] published = of("Pub", found);
                assertEquals(List.of("North", producing, topic, sent.msgId(), "TagA", "key"), List.of(published).subList(2, 8), tracing.clientId());
                assertEquals(sent.offsetMsgId(), published[12]);
                String[] before = of("SubBefore", found);
                assertEquals(consuming, before[3]);
                // Sending again must not hide that the broker keeps traces back: each that it has taken comes.
                Await.until("every trace that is stored", Inbox.DEADLINE, () -> places(traces) == stored());
            }
        }
        // They are found by the keys of the message, too.
        assertTrue(traces.messages().stream().map(Received::keys).allMatch(keys -> keys.contains("key")));
    }

    /** A message with its traces, each with its kind first. */
    private record Traced(Sent sent, List<String[]> traces) {
    }

    private static Traced traced(Sent sent, Inbox inbox) {
        List<String[]> traces = inbox.texts().stream().flatMap(text -> Stream.of(text.split(TRACE))).filter(trace -> trace.contains(sent.msgId()))
            .map(trace -> trace.split(FIELD)).toList();
        boolean isWhole = traces.stream().map(trace -> trace[0]).distinct().count() == 3;
        return isWhole ? new Traced(sent, traces) : null;
    }

    /** In how many places of the topic the traces were that came. */
    private static long places(Inbox traces) {
        return traces.messages().stream().map(trace -> List.of(trace.queue(), trace.queueOffset())).distinct().count();
    }

    private static long stored() throws Exception {
        return cluster.admin().examineTopicStats(TOPIC).getOffsetTable().values().stream().mapToLong(TopicOffset::getMaxOffset).sum();
    }

    private static String[] of(String kind, List<String[]> traces) {
        return traces.stream().filter(trace -> trace[0].equals(kind)).findFirst().orElseThrow();
    }
}
