package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;

import apogee.compat.client.ClientException;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import apogee.compat.servers.Server;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;
import org.junit.jupiter.api.Test;

/** A master and its slave: groups go on at the slave while the master is gone, from where they were, and get what comes later. */
class SlaveReadTest {
    private static final int TIMEOUT = 15_000;
    /** Should a slave miss tables, it asks for them again a minute later. */
    private static final Duration TABLES = Inbox.DEADLINE.plusMinutes(1);

    /** All generations at once, for a slave takes over tables once a minute. */
    @Test
    void groupsGoOnAtTheSlave() {
        try (Cluster cluster = Cluster.own(1, 1, Map.of())) {
            DefaultMQAdminExt tool = cluster.admin();
            List<Group> groups = new ArrayList<>();
            try {
                Clients.ALL.forEach(version -> groups.add(new Group(cluster, version)));
                for (Group group : groups) {
                    group.consumeEarly(tool);
                }
                groups.forEach(group -> group.send("unread"));
                Server slave = cluster.servers.broker("slave", Map.of("brokerName", "broker-0", "brokerId", "1", "brokerRole", "SLAVE"));
                slave.start();
                Await.until("the slave has everything", TABLES, () -> hasAll(tool, slave, cluster.broker(), groups));
                cluster.broker().kill();
                Await.until("a route without the master", Inbox.DEADLINE, () ->
                    tool.examineBrokerClusterInfo().getBrokerAddrTable().get("broker-0").getBrokerAddrs().keySet().equals(Set.of(1L)));
                groups.forEach(Group::subscribe);
                groups.forEach(group -> group.await("unread"));
                cluster.broker().start();
                groups.forEach(group -> group.send("after"));
                groups.forEach(group -> group.await("after"));
            } finally {
                groups.forEach(Group::close);
            }
        }
    }

    private static boolean hasAll(DefaultMQAdminExt tool, Server slave, Server master, List<Group> groups) throws Exception {
        // Of the tables, that of the groups is the last to come.
        Set<String> known = tool.getAllSubscriptionGroup(slave.address(), TIMEOUT).getSubscriptionGroupTable().keySet();
        return groups.stream().allMatch(group -> known.contains(group.name)) && end(tool, slave).equals(end(tool, master));
    }

    private static String end(DefaultMQAdminExt tool, Server broker) throws Exception {
        return tool.fetchBrokerRuntimeStats(broker.address()).getTable().get("commitLogMaxOffset");
    }

    /** A group of one client generation with a topic of its own. */
    private static final class Group {
        private final Cluster cluster;
        private final String version;
        private final String topic;
        private final String name;
        private final Producer producer;
        private final Inbox inbox = new Inbox();
        private Subscription consumer;

        Group(Cluster cluster, String version) {
            this.cluster = cluster;
            this.version = version;
            topic = unique("SlaveRead", version);
            name = unique("g", version);
            producer = cluster.producer(version);
            cluster.createTopic(producer, topic, 2);
        }

        void consumeEarly(DefaultMQAdminExt tool) {
            send("early");
            Inbox early = new Inbox();
            try (Subscription first = Clients.of(version).subscribe(cluster.options(name, topic, early))) {
                early.awaitAll(texts("early"));
                Await.until("all is committed", Inbox.DEADLINE, () -> tool.examineConsumeStats(name).computeTotalDiff() == 0);
            }
        }

        void subscribe() {
            consumer = Clients.of(version).subscribe(cluster.options(name, topic, inbox));
        }

        /** Sends until each message is acknowledged: a broker that comes back is not in the client's route at once. */
        void send(String prefix) {
            for (String text : texts(prefix)) {
                Await.until("a send by client " + version, Inbox.DEADLINE, () -> {
                    try {
                        producer.send(new Outgoing(topic, text));
                        return true;
                    } catch (ClientException e) {
                        return false;
                    }
                });
            }
        }

        /** All of these came, and nothing that was consumed before. */
        void await(String prefix) {
            inbox.awaitAll(texts(prefix));
            Set<String> early = new HashSet<>(inbox.texts());
            early.retainAll(texts("early"));
            assertEquals(Set.of(), early, "consumed again by client " + version);
        }

        private static List<String> texts(String prefix) {
            List<String> texts = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                texts.add(prefix + i);
            }
            return texts;
        }

        void close() {
            if (consumer != null) {
                consumer.close();
            }
            producer.close();
        }
    }
}
