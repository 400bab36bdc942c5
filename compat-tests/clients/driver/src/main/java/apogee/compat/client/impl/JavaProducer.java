package apogee.compat.client.impl;

import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.client.Requests;
import apogee.compat.client.Sent;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

final class JavaProducer implements Producer {
    /** The library's 3 s are short for a Java broker that has just started on a busy machine. */
    static final int SEND_TIMEOUT_MILLIS = 15_000;

    private static final int FOUND_AT_MOST = 32;

    private final DefaultMQProducer producer;

    JavaProducer(DefaultMQProducer producer, String namesrvAddr) {
        this.producer = producer;
        JavaClient.connectAlone(producer, namesrvAddr);
        // 4.3.0 alone has another default ("AUTO_CREATE_TOPIC_KEY"), which no broker since 4.4 offers.
        producer.setCreateTopicKey("TBW102");
        producer.setSendMsgTimeout(SEND_TIMEOUT_MILLIS);
        Calls.run(producer::start);
    }

    @Override
    public Sent send(Outgoing message) {
        return Calls.get(() -> Messages.sent(producer.send(Messages.message(message))));
    }

    @Override
    public Sent send(Outgoing message, Queue queue) {
        return Calls.get(() -> Messages.sent(producer.send(Messages.message(message), Messages.queue(queue))));
    }

    @Override
    public Sent sendOrdered(Outgoing message, String key) {
        return Calls.get(() -> Messages.sent(producer.send(Messages.message(message), new SelectMessageQueueByHash(), key)));
    }

    @Override
    public Sent sendDelayed(Outgoing message, int level) {
        return Calls.get(() -> {
            Message delayed = Messages.message(message);
            delayed.setDelayTimeLevel(level);
            return Messages.sent(producer.send(delayed));
        });
    }

    @Override
    public CompletableFuture<Sent> sendAsync(Outgoing message) {
        CompletableFuture<Sent> answer = new CompletableFuture<>();
        Calls.run(() -> producer.send(Messages.message(message), new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                answer.complete(Messages.sent(result));
            }

            @Override
            public void onException(Throwable e) {
                answer.completeExceptionally(Calls.failure(e));
            }
        }));
        return answer;
    }

    @Override
    public void sendOneway(Outgoing message) {
        Calls.run(() -> producer.sendOneway(Messages.message(message)));
    }

    @Override
    public Sent sendBatch(List<Outgoing> messages) {
        List<Message> batch = messages.stream().map(Messages::message).toList();
        return Calls.get(() -> Messages.sent(producer.send(batch)));
    }

    @Override
    public String request(Outgoing message, Queue queue, Duration timeout) {
        // Without a queue 4.9.4 takes the request itself for its reply as soon as it is sent.
        return text(Calls.get(() -> producer.request(Messages.message(message), Messages.queue(queue), timeout.toMillis())));
    }

    @Override
    public Sent reply(Received request, String text) {
        Message asked = new Message(request.queue().topic(), request.body());
        request.properties().forEach((name, value) -> MessageAccessor.putProperty(asked, name, value));
        return Calls.get(() -> {
            Message reply = MessageUtil.createReplyMessage(asked, text.getBytes(StandardCharsets.UTF_8));
            return Messages.sent(producer.send(reply));
        });
    }

    @Override
    public List<Integer> replyInLongForm(Received request, String text) {
        List<Integer> codes = new CopyOnWriteArrayList<>();
        RPCHook hook = new RPCHook() {
            @Override
            public void doBeforeRequest(String address, RemotingCommand command) {
                codes.add(command.getCode());
            }

            @Override
            public void doAfterResponse(String address, RemotingCommand command, RemotingCommand answer) {
                // Of no interest.
            }
        };
        return Calls.get(() -> {
            // A setting of the whole library: what others send meanwhile has the long form, too.
            Field isShort = MQClientAPIImpl.class.getDeclaredField("sendSmartMsg");
            isShort.setAccessible(true);
            producer.getDefaultMQProducerImpl().getmQClientFactory().getMQClientAPIImpl().getRemotingClient().registerRPCHook(hook);
            isShort.set(null, false);
            try {
                reply(request, text);
            } finally {
                isShort.set(null, true);
            }
            return codes;
        });
    }

    @Override
    public void createTopic(String topic, int queues) {
        // Generation 5 added a parameter for the attributes and took the shorter method away.
        Method create = Stream.of(DefaultMQProducer.class.getMethods())
            .filter(method -> method.getName().equals("createTopic"))
            .min(Comparator.comparingInt(Method::getParameterCount)).orElseThrow();
        Object[] arguments = {"TBW102", topic, queues, Map.of()};
        Calls.run(() -> {
            try {
                create.invoke(producer, Arrays.copyOf(arguments, create.getParameterCount()));
            } catch (InvocationTargetException e) {
                throw (Exception) e.getCause();
            }
        });
    }

    @Override
    public List<Queue> queues(String topic) {
        return Calls.get(() -> producer.fetchPublishMessageQueues(topic).stream().map(Messages::queue).toList());
    }

    @Override
    public List<String> find(String topic, String key) {
        return Calls.get(() -> producer.queryMessage(topic, key, FOUND_AT_MOST, 0, Long.MAX_VALUE).getMessageList().stream().map(JavaProducer::text).toList());
    }

    @Override
    public String view(String topic, String id) {
        return Calls.get(() -> text(producer.viewMessage(topic, id)));
    }

    @Override
    public Requests requests() {
        return new JavaRequests(producer.getDefaultMQProducerImpl().getmQClientFactory().getMQClientAPIImpl());
    }

    @Override
    public void maxMessageSize(int bytes) {
        producer.setMaxMessageSize(bytes);
    }

    @Override
    public void close() {
        producer.shutdown();
    }

    private static String text(Message message) {
        return new String(message.getBody(), StandardCharsets.UTF_8);
    }
}
