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
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;

/** Messages that are not consumed the first time, and groups that may not consume. */
class RetryTest {
    private static final int DEFAULT_RETRIES = 16;

    @AutoClose
    private static Cluster cluster;

    /** The broker chooses the third level for the first retry, and one more for each that follows; the first is a consumer's choice. */
    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, 1, Map.of("messageDelayLevel", "2s 1s 1s 1s 1s"));
    }

    @EveryClient
    void aMessageComesAgainUntilItIsADeadLetter(String version) {
        Subscription.Options options = cluster.options(unique("g", version), unique("Retry", version), message -> true);
        Sent sent = refuse(version, options);
        Received dead = deadLetter(version, options);
        assertEquals(List.of("refused", options.topic(), sent.offsetMsgId()), List.of(dead.text(),
            dead.properties().get("RETRY_TOPIC"), dead.properties().get("ORIGIN_MESSAGE_ID")));
    }

    @EveryClient
    void inOrderAMessageHoldsTheQueueUntilItIsADeadLetter(String version) {
        Subscription.Options options = cluster.options(unique("g", version), unique("RetryOrder", version), message -> true).asOrderly();
        refuse(version, options);
        Received dead = deadLetter(version, options);
        assertEquals(List.of("refused", options.topic()), List.of(dead.text(), dead.properties().get("RETRY_TOPIC")));
    }

    @EveryClient
    void aConsumerChoosesTheLevelOfARetry(String version) throws Exception {
        String topic = unique("RetryLevel", version);
        SubscriptionGroupConfig group = group(version);
        group.setRetryQueueNums(2);
        update(group);
        AtomicLong refused = new AtomicLong();
        Inbox again = new Inbox();
        Subscription.Options first = cluster.options(group.getGroupName(), topic, message -> {
            refused.compareAndSet(0, System.currentTimeMillis());
            return message.reconsumeTimes() > 0 && again.test(message);
        }).retryLevel(1);
        String retries = "%RETRY%" + group.getGroupName();
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            makeRetryTopic(version, first);
            try (Subscription consumer = Clients.of(version).subscribe(first)) {
                producer.send(new Outgoing(topic, "m"));
                again.awaitAll(Set.of("m"));
                assertTrue(again.messages().get(0).storeTimestamp() - refused.get() >= 2000, consumer.clientId());
            }
        }
        TopicConfig config = cluster.admin().examineTopicConfig(cluster.broker().address(), retries);
        assertEquals(List.of(2, 2), List.of(config.getReadQueueNums(), config.getWriteQueueNums()));
    }

    @EveryClient
    void aConsumerAsksForNoRetry(String version) {
        Inbox refused = new Inbox();
        Subscription.Options options = cluster.options(unique("g", version), unique("RetryNever", version), message -> !refused.test(message)).retryLevel(-1);
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, options.topic(), 1);
            producer.send(new Outgoing(options.topic(), "m"));
            try (Subscription consumer = Clients.of(version).subscribe(options)) {
                assertEquals("m", deadLetter(version, options).text(), consumer.clientId());
                assertTrue(refused.size() < DEFAULT_RETRIES, refused.size() + " times");
            }
        }
    }

    @EveryClient
    void aDisabledGroupGetsItsMessagesWhenItIsEnabled(String version) throws Exception {
        Client client = Clients.of(version);
        String topic = unique("Disabled", version);
        SubscriptionGroupConfig group = group(version);
        Inbox disabled = new Inbox();
        Inbox others = new Inbox();
        group.setConsumeEnable(false);
        update(group);
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            try (Subscription a = client.subscribe(cluster.options(group.getGroupName(), topic, disabled));
                 Subscription b = client.subscribe(cluster.options(unique("g", version), topic, others))) {
                producer.send(new Outgoing(topic, "m"));
                others.awaitAll(Set.of("m"));
                assertEquals(List.of(), disabled.texts(), a.clientId() + " beside " + b.clientId());
                group.setConsumeEnable(true);
                update(group);
                disabled.awaitAll(Set.of("m"));
            }
        }
    }

    /** Consumes a message behind one that is refused twice, the first time and when it comes again. */
    private static Sent refuse(String version, Subscription.Options options) {
        Inbox refused = new Inbox();
        Inbox accepted = new Inbox();
        Subscription.Options refusing = options.retries(1)
            .listener(message -> message.text().equals("refused") ? !refused.test(message) : accepted.test(message));
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, options.topic(), 1);
            makeRetryTopic(version, refusing);
            Sent sent = producer.send(new Outgoing(options.topic(), "refused"));
            producer.send(new Outgoing(options.topic(), "behind"));
            try (Subscription consumer = Clients.of(version).subscribe(refusing)) {
                accepted.awaitAll(Set.of("behind"));
                refused.awaitSize(2);
                assertEquals(List.of(0, 1), refused.messages().stream().map(Received::reconsumeTimes).toList().subList(0, 2), consumer.clientId());
                // The dead letter is sent by the consumer.
                deadLetter(version, options);
            }
            return sent;
        }
    }

    /** A consumer that finds no such topic when it starts looks for it again 20 s later. */
    private static void makeRetryTopic(String version, Subscription.Options options) {
        Clients.of(version).subscribe(cluster.options(options.group(), options.topic(), options.listener())).close();
        awaitRoute("%RETRY%" + options.group());
    }

    private static void awaitRoute(String topic) {
        Await.until("route of " + topic, Inbox.DEADLINE, () -> cluster.admin().examineTopicRouteInfo(topic) != null);
    }

    private static Received deadLetter(String version, Subscription.Options options) {
        String topic = "%DLQ%" + options.group();
        awaitRoute(topic);
        Inbox inbox = new Inbox();
        Subscription.Options dead = cluster.options(unique("g", version), topic, inbox);
        try (Subscription consumer = Clients.of(version).subscribe(dead)) {
            inbox.awaitSize(1);
            assertEquals(1, inbox.size(), consumer.clientId());
            return inbox.messages().get(0);
        }
    }

    private static SubscriptionGroupConfig group(String version) {
        SubscriptionGroupConfig group = new SubscriptionGroupConfig();
        group.setGroupName(unique("g", version));
        return group;
    }

    private static void update(SubscriptionGroupConfig group) throws Exception {
        cluster.admin().createAndUpdateSubscriptionGroupConfig(cluster.broker().address(), group);
    }
}
