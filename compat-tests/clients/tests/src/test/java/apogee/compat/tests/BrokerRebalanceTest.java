package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;

import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.servers.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageQueue;
import org.junit.jupiter.api.Test;

/** Consumers of 5.5.0 that let the broker share out the queues. */
class BrokerRebalanceTest {
    private static final String TOOL = "admin";

    /** A broker that asked the name server too early asks again after 30 s, and the consumers it after 20 s. */
    private static final Duration PATIENCE = Inbox.DEADLINE.plusMinutes(1);

    private final Cluster cluster = Cluster.shared();

    @Test
    void theBrokerSharesOutQueues() throws Exception {
        String topic = unique("Shared", TOOL);
        String group = unique("g", TOOL);
        List<String> received = Collections.synchronizedList(new ArrayList<>());
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        try (Producer producer = cluster.producer("5.5.0")) {
            // All queues before the consumers: brokers and consumers look for new ones every 30 s only.
            int share = cluster.createTopic(producer, topic, 2).size() / 2;
            producer.send(new Outgoing(topic, "m0"));
            try {
                for (int i = 0; i < 2; i++) {
                    consumers.add(consumer(topic, group, unique("client", TOOL), received));
                }
                Await.until("shares of both", PATIENCE, () -> {
                    List<Set<Object>> shares = consumers.stream().map(consumer -> queues(consumer, topic)).toList();
                    Set<Object> both = shares.stream().flatMap(Set::stream).collect(Collectors.toSet());
                    return shares.stream().allMatch(one -> one.size() == share) && both.size() == 2 * share;
                });
                Set<String> wanted = new TreeSet<>(Set.of("m0"));
                for (int i = 1; i < 40; i++) {
                    producer.send(new Outgoing(topic, "m" + i));
                    wanted.add("m" + i);
                }
                Await.until("all messages", Inbox.DEADLINE, () -> new TreeSet<>(received).equals(wanted));
            } finally {
                consumers.forEach(DefaultMQPushConsumer::shutdown);
            }
        }
    }

    private DefaultMQPushConsumer consumer(String topic, String group, String name, List<String> received) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(cluster.namesrvAddr());
        consumer.setInstanceName(name);
        // Each broker shares out among those whose heartbeats it got, and a client sends them to the brokers of its route.
        consumer.setPollNameServerInterval(1000);
        consumer.setHeartbeatBrokerInterval(1000);
        consumer.setClientRebalance(false);
        consumer.setAllocateMessageQueueStrategy(new OfTheBroker());
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(message -> received.add(new String(message.getBody())));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return consumer;
    }

    /** The name says to the broker how to share out. A client that a broker refuses shares out itself: it gets nothing here. */
    private static final class OfTheBroker implements AllocateMessageQueueStrategy {
        @Override
        public List<MessageQueue> allocate(String group, String client, List<MessageQueue> queues, List<String> clients) {
            return List.of();
        }

        @Override
        public String getName() {
            return "AVG";
        }
    }

    /** The queues that a consumer works on. */
    private static Set<Object> queues(DefaultMQPushConsumer consumer, String topic) {
        return consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
            .filter(queue -> queue.getTopic().equals(topic)).collect(Collectors.toSet());
    }
}
