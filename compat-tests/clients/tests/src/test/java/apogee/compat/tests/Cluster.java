package apogee.compat.tests;

import apogee.compat.client.Producer;
import apogee.compat.client.Puller;
import apogee.compat.client.Queue;
import apogee.compat.client.Received;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import apogee.compat.servers.Implementation;
import apogee.compat.servers.Server;
import apogee.compat.servers.Servers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Started name servers and brokers. */
final class Cluster implements AutoCloseable {
    /** A Java broker that has just started refuses what waited 200 ms, on a busy machine even the first few sends. */
    private static final Map<String, String> PATIENT = Map.of("waitTimeMillsInSendQueue", "10000");
    private static final AtomicInteger NAMES = new AtomicInteger();

    final Servers servers;
    final List<Server> nameServers = new ArrayList<>();
    final List<Server> brokers = new ArrayList<>();
    private Admin admin;

    private Cluster(Implementation implementation) {
        servers = Servers.create(implementation);
    }

    /** Two name servers and two brokers for the tests that disturb nobody; they end with the virtual machine. */
    static Cluster shared() {
        return Shared.CLUSTER;
    }

    /** Servers that a test may stop and configure as it likes. */
    static Cluster own(int nameServers, int brokers, Map<String, String> brokerSettings) {
        return own(nameServers, Map.of(), brokers, brokerSettings);
    }

    /** The same of a chosen implementation. */
    static Cluster own(Implementation implementation, int nameServers, int brokers, Map<String, String> brokerSettings) {
        return own(implementation, nameServers, Map.of(), brokers, brokerSettings);
    }

    static Cluster own(int nameServers, Map<String, String> nameServerSettings, int brokers, Map<String, String> brokerSettings) {
        return own(Implementation.underTest(), nameServers, nameServerSettings, brokers, brokerSettings);
    }

    private static Cluster own(Implementation implementation, int nameServers, Map<String, String> nameServerSettings, int brokers,
                               Map<String, String> brokerSettings) {
        Cluster cluster = new Cluster(implementation);
        for (int i = 0; i < nameServers; i++) {
            cluster.nameServers.add(cluster.servers.nameServer("nameserver-" + i, nameServerSettings));
        }
        for (int i = 0; i < brokers; i++) {
            Map<String, String> settings = new HashMap<>(PATIENT);
            settings.putAll(brokerSettings);
            cluster.brokers.add(cluster.servers.broker("broker-" + i, settings));
        }
        cluster.nameServers.parallelStream().forEach(Server::start);
        cluster.brokers.parallelStream().forEach(Server::start);
        return cluster;
    }

    String namesrvAddr() {
        return servers.namesrvAddr();
    }

    Server nameServer() {
        return nameServers.get(0);
    }

    Server broker() {
        return brokers.get(0);
    }

    /** A producer of this client generation, in a group of its own. */
    Producer producer(String version) {
        return Clients.of(version).producer(namesrvAddr(), unique("p", version));
    }

    /** A pull consumer of this client generation, in a group of its own. */
    Puller puller(String version) {
        return Clients.of(version).puller(namesrvAddr(), unique("g", version));
    }

    /** A concurrent clustering consumer of everything in a topic, from the first message on. */
    Subscription.Options options(String group, String topic, Predicate<Received> listener) {
        return new Subscription.Options(namesrvAddr(), group, topic, listener);
    }

    /** Creates a topic on every broker, with so many queues on each, and returns its queues when producers see them all. */
    List<Queue> createTopic(Producer producer, String topic, int queuesEach) {
        return Await.value("route of " + topic, Inbox.DEADLINE, () -> {
            // Again, should a broker have been late to register: only those in the route are asked.
            producer.createTopic(topic, queuesEach);
            List<Queue> queues = producer.queues(topic);
            return queues.size() == queuesEach * brokers.size() ? queues : null;
        });
    }

    /** A name for a topic or a group that nobody else has; the client generation in it makes logs readable. */
    static String unique(String what, String version) {
        return what + "_" + version.replace('.', '_') + "_" + NAMES.incrementAndGet();
    }

    /** The library under the admin tool, connected to the name servers; it ends with the cluster. */
    synchronized DefaultMQAdminExt admin() {
        if (admin == null) {
            admin = new Admin(namesrvAddr());
        }
        return admin.tool();
    }

    /** Changes a setting of the first broker while it runs. */
    void update(String key, String value) throws Exception {
        Properties change = new Properties();
        change.setProperty(key, value);
        admin().updateBrokerConfig(broker().address(), change);
    }

    @Override
    public synchronized void close() {
        if (admin != null) {
            admin.close();
        }
        servers.close();
    }

    private static final class Shared {
        static final Cluster CLUSTER = own(2, 2, Map.of("enablePropertyFilter", "true"));
    }
}
