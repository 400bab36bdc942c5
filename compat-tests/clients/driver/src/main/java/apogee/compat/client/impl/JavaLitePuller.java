package apogee.compat.client.impl;

import apogee.compat.client.LitePuller;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import java.util.Collection;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

final class JavaLitePuller implements LitePuller {
    private final DefaultLitePullConsumer consumer;

    JavaLitePuller(String namesrvAddr, String group) {
        consumer = new DefaultLitePullConsumer(group);
        JavaClient.connectAlone(consumer, namesrvAddr);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommit(false);
        Calls.run(consumer::start);
    }

    @Override
    public void subscribe(String topic, String expression) {
        Calls.run(() -> consumer.subscribe(topic, expression));
    }

    @Override
    public void assign(Collection<Queue> queues) {
        List<MessageQueue> all = queues.stream().map(Messages::queue).toList();
        Calls.run(() -> consumer.assign(all));
    }

    @Override
    public void seek(Queue queue, long offset) {
        Calls.run(() -> consumer.seek(Messages.queue(queue), offset));
    }

    @Override
    public List<Queue> queues(String topic) {
        return Calls.get(() -> consumer.fetchMessageQueues(topic).stream().map(Messages::queue).toList());
    }

    @Override
    public List<Received> poll(long timeoutMillis) {
        List<MessageExt> messages = consumer.poll(timeoutMillis);
        return messages.stream().map(message -> Messages.received(message, message.getBrokerName())).toList();
    }

    @Override
    public void commit() {
        Calls.run(consumer::commitSync);
    }

    @Override
    public long committed(Queue queue) {
        return Calls.get(() -> consumer.committed(Messages.queue(queue)));
    }

    @Override
    public void close() {
        consumer.shutdown();
    }
}
