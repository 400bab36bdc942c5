package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import apogee.compat.client.ClientException;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Queue;
import apogee.compat.client.Sent;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.RequestCode;
import org.apache.rocketmq.remoting.protocol.body.CMResult;
import org.apache.rocketmq.remoting.protocol.body.ConsumeMessageDirectlyResult;
import org.apache.rocketmq.remoting.protocol.body.ConsumerRunningInfo;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** What goes to clients through the broker: questions of admins, single messages, replies. */
class DirectTest {
    /** What the consumer could not reply to, because its client was not connected yet, comes again after 10 s. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @AutoClose
    private static Admin admin;

    private final Cluster cluster = Cluster.shared();

    @BeforeAll
    static void start() {
        admin = new Admin(Cluster.shared().namesrvAddr());
    }

    @EveryClient
    void aConsumerTellsOfItselfAndConsumesOneMessageDirectly(String version) {
        String topic = unique("Direct", version);
        String group = unique("g", version);
        Inbox inbox = new Inbox();
        try (Producer producer = cluster.producer(version)) {
            Queue queue = cluster.createTopic(producer, topic, 1).get(0);
            try (Subscription consumer = Clients.of(version).subscribe(cluster.options(group, topic, inbox))) {
                Sent sent = producer.send(new Outgoing(topic, "m"), queue);
                inbox.awaitAll(Set.of("m"));
                ConsumerRunningInfo info = Await.value("running info", Inbox.DEADLINE, () ->
                    admin.tool().getConsumerRunningInfo(group, consumer.clientId(), true));
                assertTrue(info.getSubscriptionSet().stream().anyMatch(subscription -> subscription.getTopic().equals(topic)));
                assertTrue(info.getJstack().contains("ConsumeMessageThread_"), info.getJstack());

                Await.until("the offset that the consumer tells", Inbox.DEADLINE, () -> {
                    Map<MessageQueue, Long> offsets = admin.tool().getConsumeStatus(topic, group, consumer.clientId()).get(consumer.clientId());
                    return offsets.get(new MessageQueue(topic, queue.broker(), queue.id())) == 1;
                });

                int before = inbox.size();
                ConsumeMessageDirectlyResult result = Await.value("direct consumption", Inbox.DEADLINE, () ->
                    admin.tool().consumeMessageDirectly(group, consumer.clientId(), topic, sent.offsetMsgId()));
                assertEquals(CMResult.CR_SUCCESS, result.getConsumeResult());
                // Several times, where an answer came too late.
                assertEquals(Set.of("m"), Set.copyOf(inbox.texts().subList(before, inbox.size())));
            }
        }
    }

    @EveryClient
    void aMessageIsFoundByItsKeysAndItsIds(String version) {
        String topic = unique("Lookup", version);
        try (Producer producer = cluster.producer(version)) {
            Queue queue = cluster.createTopic(producer, topic, 1).get(0);
            Sent sent = producer.send(new Outgoing(topic, null, "first second", "m".getBytes(StandardCharsets.UTF_8), Map.of()), queue);
            producer.send(new Outgoing(topic, null, "second", "other".getBytes(StandardCharsets.UTF_8), Map.of()), queue);
            // The index follows the log a moment later, and a client reports what it does not find.
            Await.until("the message by its first key", Inbox.DEADLINE, () -> producer.find(topic, "first").equals(List.of("m")));
            Await.until("both by the second", Inbox.DEADLINE, () -> Set.copyOf(producer.find(topic, "second")).equals(Set.of("m", "other")));
            for (String id : List.of(sent.offsetMsgId(), sent.msgId())) {
                assertEquals("m", Await.value("the message by its id " + id, Inbox.DEADLINE, () -> producer.view(topic, id)));
            }
            assertThrows(ClientException.class, () -> producer.find(topic, "third"));
        }
    }

    @ParameterizedTest(name = "client {0}")
    @FieldSource("apogee.compat.tests.Clients#SINCE_4_6")
    void aRequestIsRepliedTo(String version) {
        String topic = unique("Request", version);
        try (Producer asks = cluster.producer(version); Producer answers = cluster.producer(version)) {
            Queue queue = cluster.createTopic(asks, topic, 1).get(0);
            Subscription.Options options = cluster.options(unique("g", version), topic, request -> {
                answers.reply(request, "re: " + request.text());
                return true;
            });
            try (Subscription consumer = Clients.of(version).subscribe(options)) {
                // The consumer may not have its queues yet: it gets what was asked meanwhile.
                for (String text : List.of("first", "second")) {
                    assertEquals("re: " + text, asks.request(new Outgoing(topic, text), queue, PATIENCE), consumer.clientId());
                }
            }
            assertThrows(ClientException.class, () -> asks.request(new Outgoing(topic, "nobody there"), queue, Duration.ofMillis(500)));
        }
    }

    /** A reply as older libraries send it, and those of today that are told to. */
    @ParameterizedTest(name = "client {0}")
    @FieldSource("apogee.compat.tests.Clients#SINCE_4_6")
    void aReplyMayHaveTheLongForm(String version) {
        String topic = unique("LongReply", version);
        Set<Integer> codes = ConcurrentHashMap.newKeySet();
        try (Producer asks = cluster.producer(version); Producer answers = cluster.producer(version)) {
            Queue queue = cluster.createTopic(asks, topic, 1).get(0);
            Subscription.Options options = cluster.options(unique("g", version), topic, request -> {
                codes.addAll(answers.replyInLongForm(request, "re: " + request.text()));
                return true;
            });
            try (Subscription consumer = Clients.of(version).subscribe(options)) {
                assertEquals("re: m", asks.request(new Outgoing(topic, "m"), queue, PATIENCE), consumer.clientId());
                // The reply is there before the broker answers who sent it.
                Await.until("the end of the reply", Inbox.DEADLINE, () -> codes.contains(RequestCode.SEND_REPLY_MESSAGE));
                assertFalse(codes.contains(RequestCode.SEND_REPLY_MESSAGE_V2), codes.toString());
            }
        }
    }
}
