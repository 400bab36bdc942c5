package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import apogee.compat.client.Client;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Received;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import apogee.compat.servers.Implementation;
import apogee.compat.servers.Server;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.body.LockBatchRequestBody;
import org.junit.jupiter.api.Test;

/** Locks on which most brokers of a set have to agree. */
class StrictLockTest {
    private static final long TIMEOUT = 15_000;
    private static final int MESSAGES = 10;
    /** The reference learns of the other brokers only where a slave may act as master. */
    private static final Map<String, String> STRICT = Map.of("lockInStrictMode", "true", "totalReplicas", "2", "enableSlaveActingMaster", "true");

    /** All generations at once, for their servers are their own. */
    @Test
    void inOrderNothingComesBeforeBothBrokersAgree() throws Exception {
        assumeTrue(Implementation.underTest() != Implementation.REFERENCE_4, "4.9.4 has no such locks");
        try (Cluster cluster = Cluster.own(1, 1, STRICT)) {
            List<Ordered> groups = new ArrayList<>();
            try {
                Clients.ALL.forEach(version -> groups.add(new Ordered(cluster, version)));
                groups.forEach(Ordered::awaitOthers);
                // The slave is not there: the master alone is not most of the two.
                assertEquals(Set.of(), lock(cluster));
                Map<String, String> settings = new HashMap<>(STRICT);
                settings.putAll(Map.of("brokerName", "broker-0", "brokerId", "1", "brokerRole", "SLAVE"));
                Server slave = cluster.servers.broker("slave", settings).start();
                Await.until("the lock on both", Inbox.DEADLINE, () -> !lock(cluster).isEmpty());
                groups.forEach(Ordered::subscribe);
                groups.forEach(Ordered::awaitAll);

                slave.kill();
                Await.until("no lock any more", Inbox.DEADLINE, () -> lock(cluster).isEmpty());
            } finally {
                groups.forEach(Ordered::close);
            }
        }
    }

    /** What the master grants to a client of which it knows nothing else. */
    private static Set<MessageQueue> lock(Cluster cluster) throws Exception {
        LockBatchRequestBody body = new LockBatchRequestBody();
        body.setConsumerGroup("Locks");
        body.setClientId("client");
        body.setMqSet(Set.of(new MessageQueue("Locked", "broker-0", 0)));
        return cluster.admin().getDefaultMQAdminExtImpl().getMqClientInstance().getMQClientAPIImpl().lockBatchMQ(cluster.broker().address(), body, TIMEOUT);
    }

    /** A topic whose messages an orderly consumer waits for. */
    private static final class Ordered implements AutoCloseable {
        private final Cluster cluster;
        private final Client client;
        private final String topic;
        private final List<Subscription> consumers = new ArrayList<>();
        private final Inbox nothing = new Inbox();
        private final Inbox others = new Inbox();
        private final Inbox all = new Inbox();

        Ordered(Cluster cluster, String version) {
            this.cluster = cluster;
            client = Clients.of(version);
            topic = unique("StrictLock", version);
            try (Producer producer = cluster.producer(version)) {
                cluster.createTopic(producer, topic, 1);
                for (int i = 0; i < MESSAGES; i++) {
                    producer.send(new Outgoing(topic, "m" + i));
                }
            }
            consumers.add(client.subscribe(options(nothing).asOrderly()));
            consumers.add(client.subscribe(options(others)));
        }

        /** Who needs no locks gets everything. */
        void awaitOthers() {
            others.awaitSize(MESSAGES);
            assertEquals(List.of(), nothing.texts(), client.version());
        }

        /** In a group of its own, for clients that got no lock ask again after 20 s only. */
        void subscribe() {
            consumers.add(client.subscribe(options(all).asOrderly()));
        }

        void awaitAll() {
            all.awaitSize(MESSAGES);
            List<Long> offsets = all.messages().stream().map(Received::queueOffset).distinct().toList();
            assertEquals(offsets.stream().sorted().toList(), offsets, client.version());
        }

        private Subscription.Options options(Inbox inbox) {
            return cluster.options(unique("g", client.version()), topic, inbox);
        }

        @Override
        public void close() {
            consumers.forEach(Subscription::close);
        }
    }
}
