package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;

import apogee.compat.client.Client;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Received;
import apogee.compat.client.Sent;
import apogee.compat.client.Subscription;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;

/** Messages that are not consumed the first time, and groups that may not consume. */
class RetryTest {
    @AutoClose
    private static Cluster cluster;

    /** The broker chooses the third level for the first retry, and one more for each that follows. */
    @BeforeAll
    static void start() {
        cluster = Cluster.own(1, 1, Map.of("messageDelayLevel", "1s 1s 1s 1s 1s"));
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
    void aDisabledGroupGetsItsMessagesWhenItIsEnabled(String version) throws Exception {
        Client client = Clients.of(version);
        String topic = unique("Disabled", version);
        String group = unique("g", version);
        Inbox disabled = new Inbox();
        Inbox others = new Inbox();
        enable(group, false);
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, topic, 1);
            try (Subscription a = client.subscribe(cluster.options(group, topic, disabled));
                 Subscription b = client.subscribe(cluster.options(unique("g", version), topic, others))) {
                producer.send(new Outgoing(topic, "m"));
                others.awaitAll(Set.of("m"));
                assertEquals(List.of(), disabled.texts(), a.clientId() + " beside " + b.clientId());
                enable(group, true);
                disabled.awaitAll(Set.of("m"));
            }
        }
    }

    /** Consumes a message behind one that is refused twice, the first time and when it comes again. */
    private static Sent refuse(String version, Subscription.Options options) {
        Inbox refused = new Inbox();
        Inbox accepted = new Inbox();
        Subscription.Options refusing = new Subscription.Options(options.namesrvAddr(), options.group(), options.topic(),
            options.expression(), options.sql(), options.broadcasting(), options.orderly(), options.from(), options.timestamp(), false, 1,
            message -> message.text().equals("refused") ? !refused.test(message) : accepted.test(message));
        try (Producer producer = cluster.producer(version)) {
            cluster.createTopic(producer, options.topic(), 1);
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

    private static Received deadLetter(String version, Subscription.Options options) {
        Inbox inbox = new Inbox();
        Subscription.Options dead = cluster.options(unique("g", version), "%DLQ%" + options.group(), inbox);
        try (Subscription consumer = Clients.of(version).subscribe(dead)) {
            inbox.awaitSize(1);
            assertEquals(1, inbox.size(), consumer.clientId());
            return inbox.messages().get(0);
        }
    }

    private static void enable(String group, boolean consume) throws Exception {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(group);
        config.setConsumeEnable(consume);
        cluster.admin().createAndUpdateSubscriptionGroupConfig(cluster.broker().address(), config);
    }
}
