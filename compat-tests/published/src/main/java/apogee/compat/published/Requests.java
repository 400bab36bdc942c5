package apogee.compat.published;

import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.exception.OffsetNotFoundException;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.RequestCode;
import org.apache.rocketmq.remoting.protocol.ResponseCode;
import org.apache.rocketmq.remoting.protocol.admin.OffsetWrapper;
import org.apache.rocketmq.remoting.protocol.header.NotificationRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.NotificationResponseHeader;
import org.apache.rocketmq.remoting.protocol.header.QueryConsumerOffsetRequestHeader;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** The requests that take the place of looking into a controller. One client for all, for the life of the process. */
final class Requests {
    private static final long TIMEOUT_MS = 30_000;

    private final DefaultMQAdminExt admin = new DefaultMQAdminExt(TIMEOUT_MS);

    Requests(String namesrvAddr) {
        admin.setNamesrvAddr(namesrvAddr);
        admin.setInstanceName(UUID.randomUUID().toString());
        try {
            admin.start();
        } catch (MQClientException e) {
            throw new IllegalStateException(e);
        }
    }

    DefaultMQAdminExt admin() {
        return admin;
    }

    Properties brokerConfig(String address) throws Exception {
        return admin.getBrokerConfig(address);
    }

    void updateBrokerConfig(String address, String key, String value) throws Exception {
        admin.updateBrokerConfig(address, properties(key, value));
    }

    Properties nameServerConfig(String address) throws Exception {
        Map<String, Properties> all = admin.getNameServerConfig(List.of(address));
        return all.get(address);
    }

    void updateNameServerConfig(String address, String key, String value) throws Exception {
        admin.updateNameServerConfig(properties(key, value), List.of(address));
    }

    long maxOffset(String address, String broker, String topic, int queueId) throws Exception {
        return client().getMaxOffset(address, new MessageQueue(topic, broker, queueId), TIMEOUT_MS);
    }

    long minOffset(String address, String broker, String topic, int queueId) throws Exception {
        return client().getMinOffset(address, new MessageQueue(topic, broker, queueId), TIMEOUT_MS);
    }

    long dispatchBehindBytes(String address) throws Exception {
        return Long.parseLong(admin.fetchBrokerRuntimeStats(address).getTable().get("dispatchBehindBytes"));
    }

    ConcurrentMap<String, TopicConfig> topics(String address) throws Exception {
        return admin.getAllTopicConfig(address, TIMEOUT_MS).getTopicConfigTable();
    }

    /** The committed offset, -1 when there is none. */
    long consumerOffset(String address, String group, String topic, int queueId) throws Exception {
        QueryConsumerOffsetRequestHeader header = new QueryConsumerOffsetRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(topic);
        header.setQueueId(queueId);
        header.setSetZeroIfNotFound(false);
        try {
            return client().queryConsumerOffset(address, header, TIMEOUT_MS);
        } catch (OffsetNotFoundException none) {
            return -1;
        }
    }

    /** The offset up to which the broker has handed out messages, -1 when it knows of none. */
    long pullOffset(String address, String broker, String group, String topic, int queueId) throws Exception {
        OffsetWrapper offsets = client().getConsumeStats(address, group, topic, TIMEOUT_MS)
            .getOffsetTable().get(new MessageQueue(topic, broker, queueId));
        return offsets == null ? -1 : offsets.getPullOffset();
    }

    /** Whether an ordered pop consumer would get something from this queue now. */
    boolean hasOrderedMessage(String address, String group, String topic, int queueId) throws Exception {
        NotificationRequestHeader header = new NotificationRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(topic);
        header.setQueueId(queueId);
        header.setOrder(true);
        header.setBornTime(System.currentTimeMillis());
        header.setPollTime(0);
        RemotingCommand answer = client().getRemotingClient()
            .invokeSync(address, RemotingCommand.createRequestCommand(RequestCode.NOTIFICATION, header), TIMEOUT_MS);
        if (answer.getCode() != ResponseCode.SUCCESS) {
            throw new MQBrokerException(answer.getCode(), answer.getRemark(), address);
        }
        return ((NotificationResponseHeader) answer.decodeCommandCustomHeader(NotificationResponseHeader.class)).isHasMsg();
    }

    /** How many brokers the name server has for the cluster's topic, 0 when it does not know the topic. */
    int brokersOf(String topic) {
        try {
            return admin.examineTopicRouteInfo(topic).getBrokerDatas().size();
        } catch (Exception unknownYet) {
            return 0;
        }
    }

    private MQClientAPIImpl client() {
        return admin.getDefaultMQAdminExtImpl().getMqClientInstance().getMQClientAPIImpl();
    }

    private static Properties properties(String key, String value) {
        Properties properties = new Properties();
        properties.setProperty(key, value);
        return properties;
    }
}
