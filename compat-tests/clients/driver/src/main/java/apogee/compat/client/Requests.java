package apogee.compat.client;

import java.util.List;
import java.util.Map;

/** What the libraries can ask of servers beside sending and consuming; an address is {@code host:port} of a broker. */
public interface Requests {
    /** Says that this client is a filter server at an address (301), for which libraries have no call; returns the code of the answer. */
    int registerFilterServer(String broker, String address);

    /** The filter servers in the route of a topic, by address of their broker. */
    Map<String, List<String>> filterServers(String topic);

    /** Cleans what no longer has messages (306); false when the broker refuses. */
    boolean cleanExpiredQueues(String broker);

    /** How far a topic is consumed: in each queue the position of its slowest group, as compared with one of them (308). */
    Map<Integer, Long> correctedOffsets(String broker, String topic, String group);
}
