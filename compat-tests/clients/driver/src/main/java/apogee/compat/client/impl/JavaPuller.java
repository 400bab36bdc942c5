package apogee.compat.client.impl;

import apogee.compat.client.Pulled;
import apogee.compat.client.Puller;
import apogee.compat.client.Queue;
import java.util.List;
import java.util.Set;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;

// Deprecated by the library in favour of the lite pull consumer, and still what older applications use.
@SuppressWarnings("deprecation")
final class JavaPuller implements Puller {
    private final DefaultMQPullConsumer consumer;

    JavaPuller(String namesrvAddr, String group) {
        consumer = new DefaultMQPullConsumer(group);
        JavaClient.connectAlone(consumer, namesrvAddr);
        Calls.run(consumer::start);
    }

    @Override
    public List<Queue> queues(String topic) {
        return Calls.get(() -> consumer.fetchSubscribeMessageQueues(topic).stream().map(Messages::queue).toList());
    }

    @Override
    public Pulled pull(Queue queue, String expression, long offset, int max) {
        return Calls.get(() -> Messages.pulled(consumer.pull(Messages.queue(queue), expression, offset, max), queue.broker()));
    }

    @Override
    public Pulled pullBySql(Queue queue, String condition, long offset, int max) {
        return Calls.get(() -> Messages.pulled(consumer.pull(Messages.queue(queue), MessageSelector.bySql(condition), offset, max), queue.broker()));
    }

    @Override
    public Pulled pullOrWait(Queue queue, String expression, long offset, int max) {
        return Calls.get(() -> Messages.pulled(consumer.pullBlockIfNotFound(Messages.queue(queue), expression, offset, max), queue.broker()));
    }

    @Override
    public long minOffset(Queue queue) {
        return Calls.get(() -> consumer.minOffset(Messages.queue(queue)));
    }

    @Override
    public long maxOffset(Queue queue) {
        return Calls.get(() -> consumer.maxOffset(Messages.queue(queue)));
    }

    @Override
    public long offsetAt(Queue queue, long timestamp) {
        return Calls.get(() -> consumer.searchOffset(Messages.queue(queue), timestamp));
    }

    @Override
    public void commit(Queue queue, long offset) {
        Calls.run(() -> {
            consumer.updateConsumeOffset(Messages.queue(queue), offset);
            consumer.getOffsetStore().persistAll(Set.of(Messages.queue(queue)));
        });
    }

    @Override
    public long committed(Queue queue) {
        return Calls.get(() -> consumer.fetchConsumeOffset(Messages.queue(queue), true));
    }

    @Override
    public void close() {
        consumer.shutdown();
    }
}
