package apogee.compat.client.impl;

import apogee.compat.client.Outgoing;
import apogee.compat.client.Pulled;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.client.Sent;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Between the library's types and those of the tests. */
final class Messages {
    private Messages() {
    }

    static Message message(Outgoing from) {
        Message message = new Message(from.topic(), from.body());
        if (from.tags() != null) {
            message.setTags(from.tags());
        }
        if (from.keys() != null) {
            message.setKeys(from.keys());
        }
        from.properties().forEach(message::putUserProperty);
        return message;
    }

    static Received received(MessageExt from, String broker) {
        return new Received(new Queue(from.getTopic(), broker, from.getQueueId()), from.getQueueOffset(), from.getMsgId(),
            from.getTags(), from.getKeys(), from.getBody(), Map.copyOf(from.getProperties()), from.getStoreTimestamp(), from.getReconsumeTimes());
    }

    static Sent sent(SendResult from) {
        return new Sent(from.getSendStatus().name(), from.getMsgId(), from.getOffsetMsgId(), queue(from.getMessageQueue()), from.getQueueOffset());
    }

    static Pulled pulled(PullResult from, String broker) {
        List<MessageExt> found = from.getMsgFoundList() == null ? List.of() : from.getMsgFoundList();
        return new Pulled(from.getPullStatus().name(), from.getNextBeginOffset(), from.getMinOffset(), from.getMaxOffset(),
            found.stream().map(message -> received(message, broker)).toList());
    }

    static Queue queue(MessageQueue from) {
        return new Queue(from.getTopic(), from.getBrokerName(), from.getQueueId());
    }

    static MessageQueue queue(Queue from) {
        return new MessageQueue(from.topic(), from.broker(), from.id());
    }
}
