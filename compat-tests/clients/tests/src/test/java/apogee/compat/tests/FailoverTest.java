package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;

import apogee.compat.client.ClientException;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Queue;
import apogee.compat.client.Sent;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Two of each: what one name server or one broker of two still does when the other is gone. */
class FailoverTest {
    @AutoClose
    private static Cluster cluster;

    @BeforeAll
    static void start() {
        // The shortest period that the reference accepts.
        cluster = Cluster.own(2, 2, Map.of("registerNameServerPeriod", "10000"));
    }

    @Test
    void clientsUseTheOtherNameServerAndTheFirstLearnsAllAgain() {
        cluster.nameServer().kill();
        try {
            for (String version : Clients.ALL) {
                String topic = unique("OtherNameServer", version);
                Inbox inbox = new Inbox();
                try (Producer producer = cluster.producer(version)) {
                    Await.until("a topic of client " + version, Inbox.DEADLINE, () -> isDone(() -> cluster.createTopic(producer, topic, 1)));
                    Await.until("a send by client " + version, Inbox.DEADLINE, () -> isDone(() -> producer.send(new Outgoing(topic, "m"))));
                    Await.until("a consumer of client " + version, Inbox.DEADLINE, () -> isDone(() -> {
                        Subscription.Options options = cluster.options(unique("g", version), topic, inbox);
                        try (Subscription consumer = Clients.of(version).subscribe(options)) {
                            inbox.awaitSize(1);
                        }
                    }));
                }
            }
        } finally {
            cluster.nameServer().start();
        }
        try (Admin admin = new Admin(cluster.nameServer().address())) {
            Await.until("both brokers registered with the name server that came back", Inbox.DEADLINE, () ->
                admin.tool().examineBrokerClusterInfo().getBrokerAddrTable().keySet().equals(Set.of("broker-0", "broker-1")));
        }
    }

    @Test
    void sendsGoToTheOtherBrokerAndTheLostOnesMessagesComeWithIt() {
        Map<String, Producer> producers = new HashMap<>();
        Map<String, String> topics = new HashMap<>();
        Map<String, List<String>> sent = new HashMap<>();
        try {
            for (String version : Clients.ALL) {
                Producer producer = cluster.producer(version);
                producers.put(version, producer);
                String topic = unique("OtherBroker", version);
                topics.put(version, topic);
                sent.put(version, new ArrayList<>());
                for (Queue queue : cluster.createTopic(producer, topic, 2)) {
                    String text = "before" + queue;
                    producer.send(new Outgoing(topic, text), queue);
                    sent.get(version).add(text);
                }
            }
            cluster.brokers.get(1).kill();
            for (String version : Clients.ALL) {
                for (int i = 0; i < 20; i++) {
                    Sent answer = producers.get(version).send(new Outgoing(topics.get(version), "without" + i));
                    assertEquals("broker-0", answer.queue().broker());
                    sent.get(version).add("without" + i);
                }
            }
            cluster.brokers.get(1).start();
            for (String version : Clients.ALL) {
                Inbox inbox = new Inbox();
                Subscription.Options options = cluster.options(unique("g", version), topics.get(version), inbox);
                try (Subscription consumer = Clients.of(version).subscribe(options)) {
                    inbox.awaitAll(sent.get(version));
                }
            }
        } finally {
            producers.values().forEach(Producer::close);
        }
    }

    /** False when the client chose the name server that is away, which it tells its caller; its next choice is the other one. */
    private static boolean isDone(Runnable call) {
        try {
            call.run();
            return true;
        } catch (ClientException e) {
            if (e.getMessage().contains("connect to ")) {
                return false;
            }
            throw e;
        }
    }
}
