package apogee.compat.client.impl;

import apogee.compat.client.Requests;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

final class JavaRequests implements Requests {
    private static final int REGISTER_FILTER_SERVER = 301;

    private final MQClientAPIImpl api;

    JavaRequests(MQClientAPIImpl api) {
        this.api = api;
    }

    @Override
    public int registerFilterServer(String broker, String address) {
        RemotingCommand request = RemotingCommand.createRequestCommand(REGISTER_FILTER_SERVER, null);
        request.setExtFields(new HashMap<>(Map.of("filterServerAddr", address)));
        return Calls.get(() -> api.getRemotingClient().invokeSync(broker, request, JavaProducer.SEND_TIMEOUT_MILLIS).getCode());
    }

    /** The type of the route moved to another package in generation 5. */
    @Override
    @SuppressWarnings("unchecked")
    public Map<String, List<String>> filterServers(String topic) {
        return Calls.get(() -> {
            Object route = MQClientAPIImpl.class.getMethod("getTopicRouteInfoFromNameServer", String.class, long.class)
                .invoke(api, topic, JavaProducer.SEND_TIMEOUT_MILLIS);
            return (Map<String, List<String>>) route.getClass().getMethod("getFilterServerTable").invoke(route);
        });
    }

    @Override
    public boolean cleanExpiredQueues(String broker) {
        return Calls.get(() -> api.cleanExpiredConsumeQueue(broker, JavaProducer.SEND_TIMEOUT_MILLIS));
    }

    @Override
    public Map<Integer, Long> correctedOffsets(String broker, String topic, String group) {
        return Calls.get(() -> api.queryCorrectionOffset(broker, topic, group, Set.of(), JavaProducer.SEND_TIMEOUT_MILLIS));
    }
}
