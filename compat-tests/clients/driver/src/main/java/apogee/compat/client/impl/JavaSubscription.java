package apogee.compat.client.impl;

import apogee.compat.client.ClientException;
import apogee.compat.client.Received;
import apogee.compat.client.Subscription;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

final class JavaSubscription implements Subscription {
    private final DefaultMQPushConsumer consumer;
    private final String topic;

    JavaSubscription(Options options) {
        topic = options.topic();
        consumer = options.traced() ? new DefaultMQPushConsumer(options.group(), true, null) : new DefaultMQPushConsumer(options.group());
        JavaClient.connectAlone(consumer, options.namesrvAddr());
        consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf(options.from()));
        if (options.timestamp() != null) {
            consumer.setConsumeTimestamp(options.timestamp());
        }
        consumer.setMaxReconsumeTimes(options.retries());
        consumer.setConsumeThreadMin(4);
        consumer.setConsumeThreadMax(4);
        if (options.broadcasting()) {
            broadcast();
        }
        if (options.orderly()) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) ->
                consumed(messages, context.getMessageQueue(), options.listener())
                    ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                context.setDelayLevelWhenNextConsume(options.retryLevel());
                return consumed(messages, context.getMessageQueue(), options.listener())
                    ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
            });
        }
        try {
            subscribe(options.topic(), options.expression(), options.filter());
        } catch (ClientException e) {
            consumer.shutdown();
            throw e;
        }
    }

    @SuppressWarnings("deprecation")
    private void subscribe(String topic, String expression, String filter) {
        Calls.run(() -> {
            switch (filter) {
                case "TAG" -> consumer.subscribe(topic, expression);
                case "SQL92" -> consumer.subscribe(topic, MessageSelector.bySql(expression));
                case "CLASS" -> consumer.subscribe(topic, expression, "source");
                default -> consumer.subscribe(topic, selector(filter, expression));
            }
            consumer.start();
        });
    }

    /** Of a kind for which the library has no method. */
    private static MessageSelector selector(String filter, String expression) throws ReflectiveOperationException {
        Constructor<MessageSelector> any = MessageSelector.class.getDeclaredConstructor(String.class, String.class);
        any.setAccessible(true);
        return any.newInstance(filter, expression);
    }

    @Override
    public String clientId() {
        return consumer.buildMQClientId();
    }

    @Override
    public long consumed() {
        return consumer.getDefaultMQPushConsumerImpl().getOffsetStore().cloneOffsetTable(topic).values().stream().mapToLong(offset -> offset).sum();
    }

    @Override
    public void close() {
        consumer.shutdown();
    }

    private static boolean consumed(List<MessageExt> messages, MessageQueue queue, Predicate<Received> listener) {
        return messages.stream().allMatch(message -> listener.test(Messages.received(message, queue.getBrokerName())));
    }

    /** The type of the parameter moved to another package in generation 5. */
    private void broadcast() {
        Method set = Stream.of(DefaultMQPushConsumer.class.getMethods())
            .filter(method -> method.getName().equals("setMessageModel")).findFirst().orElseThrow();
        Object broadcasting = Stream.of(set.getParameterTypes()[0].getEnumConstants())
            .filter(model -> model.toString().equals("BROADCASTING")).findFirst().orElseThrow();
        Calls.run(() -> set.invoke(consumer, broadcasting));
    }
}
