package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;

/** Topics whose queues for producers stand in the name server's key-value table. */
class OrderTopicTest {
    @AutoClose
    private static Cluster cluster;

    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, Map.of("orderMessageEnable", "true"), 2, Map.of());
    }

    @EveryClient
    void messagesOfAKeyStayInOneQueueOfTheTable(String version) throws Exception {
        String topic = unique("OrderTopic", version);
        Inbox inbox = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 4);
            cluster.admin().createOrUpdateOrderConf(topic, "broker-1:2;broker-0:1", true);
            List<Queue> order = List.of(new Queue(topic, "broker-1", 0), new Queue(topic, "broker-1", 1), new Queue(topic, "broker-0", 0));
            Await.until("the queues of the table, in its order", Inbox.DEADLINE, () -> producer.queues(topic).equals(order));
            Map<Queue, List<String>> sent = new HashMap<>();
            for (int i = 0; i < 60; i++) {
                String text = "m" + i;
                Queue queue = producer.sendOrdered(new Outgoing(topic, text), "key" + i % 7).queue();
                sent.computeIfAbsent(queue, any -> new ArrayList<>()).add(text);
            }
            assertTrue(order.containsAll(sent.keySet()), sent.keySet().toString());
            try (Subscription consumer = Clients.of(version).subscribe(cluster.options(unique("g", version), topic, inbox).asOrderly())) {
                inbox.awaitSize(60);
                Map<Queue, List<String>> received = inbox.messages().stream()
                    .collect(Collectors.groupingBy(Received::queue, Collectors.mapping(Received::text, Collectors.toList())));
                assertEquals(sent, received, consumer.clientId());
            }
        }
    }
}
