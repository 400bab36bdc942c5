package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Queue;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.body.LockBatchRequestBody;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A client that locked a queue and fell silent keeps it for a minute; here for a shorter time. */
class LockExpiryTest {
    private static final long LIFETIME = 4000;
    private static final long DEFAULT_LIFETIME = 60_000;
    private static final long TIMEOUT = 15_000;

    @AutoClose
    private static Cluster cluster;

    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, 1, Map.of("rocketmq.broker.rebalance.lockMaxLiveTime", Long.toString(LIFETIME)));
    }

    @EveryClient
    void theQueueOfASilentClientGoesToAnother(String version) throws Exception {
        String topic = unique("LockExpiry", version);
        String group = unique("g", version);
        Inbox inbox = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            Queue queue = cluster.createTopic(producer, topic, 1).get(0);
            producer.send(new Outgoing(topic, "m"));
            long asked = System.nanoTime();
            assertEquals(1, lock(group, "silent", queue).size());
            // A client that is refused asks again 20 s later.
            try (Subscription consumer = Clients.of(version).subscribe(cluster.options(group, topic, inbox).asOrderly())) {
                inbox.awaitAll(Set.of("m"));
                assertTrue(since(asked) > LIFETIME, consumer.clientId() + ": " + since(asked));
                assertEquals(Set.of(), lock(group, "other", queue));
            }
        }
    }

    @Test
    void aLockHoldsAsLongAsItIsRenewed() throws Exception {
        String group = unique("g", "5.5.0");
        Queue queue = new Queue("Renewed", "broker-0", 0);
        long began = System.nanoTime();
        long renewed = began;
        while (since(began) < 2 * LIFETIME) {
            long asked = System.nanoTime();
            assumeTrue(lock(group, "living", queue).size() == 1 && since(renewed) < LIFETIME, "the machine was too busy to renew it in time");
            renewed = asked;
            assertEquals(Set.of(), lock(group, "other", queue));
            Thread.sleep(LIFETIME / 8);
        }
        Await.until("another one's lock", Inbox.DEADLINE, () -> !lock(group, "other", queue).isEmpty());
        long after = since(renewed);
        assertTrue(after > LIFETIME && after < DEFAULT_LIFETIME, "after " + after);
    }

    private static long since(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
    }

    private static Set<MessageQueue> lock(String group, String client, Queue queue) throws Exception {
        LockBatchRequestBody body = new LockBatchRequestBody();
        body.setConsumerGroup(group);
        body.setClientId(client);
        body.setMqSet(Set.of(new MessageQueue(queue.topic(), queue.broker(), queue.id())));
        return cluster.admin().getDefaultMQAdminExtImpl().getMqClientInstance().getMQClientAPIImpl().lockBatchMQ(cluster.broker().address(), body, TIMEOUT);
    }
}
