package apogee.compat.published;

import apogee.compat.servers.Await;
import apogee.compat.servers.Server;
import apogee.compat.servers.Servers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/**
 * The servers that the published classes find: a name server and three masters of one cluster. Started at first use, for the
 * life of the process.
 */
public final class Cluster {
    public static final String BROKER_NAME_PREFIX = "TestBrokerName_";
    public static final int BROKERS = 3;

    private static final Duration REGISTERED = Duration.ofSeconds(120);
    private static Cluster running;

    private final Servers servers = Servers.create();
    private final Requests requests;
    private final RemoteNameServer nameServer;
    private final List<RemoteBroker> brokers;

    private Cluster() {
        Server names = servers.nameServer("namesrv").start();
        requests = new Requests(names.address());
        nameServer = new RemoteNameServer(names, requests);
        brokers = IntStream.rangeClosed(1, BROKERS).mapToObj(i -> broker(BROKER_NAME_PREFIX + i)).toList();
        brokers.parallelStream().forEach(RemoteBroker::start);
        awaitRegistered();
    }

    /** The cluster, started when it is not running. */
    public static synchronized Cluster running() {
        if (running == null) {
            running = new Cluster();
        }
        return running;
    }

    /** Called before the methods of a class: what the servers' settings are. */
    void beforeClass() {
        brokers.forEach(RemoteBroker::refreshSettings);
        nameServer.refreshSettings();
    }

    /** Called after the methods of a class: undoes its changes of settings and starts what it left stopped. */
    void afterClass() {
        brokers.forEach(RemoteBroker::putBack);
        nameServer.putBack();
        awaitRegistered();
    }

    public RemoteNameServer nameServer() {
        return nameServer;
    }

    public List<RemoteBroker> brokers() {
        return brokers;
    }

    /** The broker of this name, started when it is not running. */
    public RemoteBroker started(String name) {
        RemoteBroker broker = brokers.stream().filter(b -> b.name().equals(name)).findFirst()
            .orElseThrow(() -> new NotApplicable("a further broker " + name));
        broker.start();
        return broker;
    }

    /** Waits until the name server routes to this many brokers of the cluster. */
    public void awaitRegistered(String cluster, int brokerCount) {
        Await.until(brokerCount + " brokers of " + cluster, REGISTERED, () -> requests.brokersOf(cluster) == brokerCount);
    }

    private void awaitRegistered() {
        awaitRegistered(brokers.get(0).getBrokerConfig().getBrokerClusterName(), BROKERS);
    }

    private RemoteBroker broker(String name) {
        Map<String, String> settings = settings();
        Server server = servers.broker(name, settings);
        BrokerConfig brokerConfig = new BrokerConfig();
        MessageStoreConfig storeConfig = new MessageStoreConfig();
        Properties known = new Properties();
        known.putAll(settings);
        known.setProperty("brokerName", name);
        known.setProperty("brokerIP1", "127.0.0.1");
        known.setProperty("listenPort", Integer.toString(server.port()));
        MixAll.properties2Object(known, brokerConfig);
        MixAll.properties2Object(known, storeConfig);
        return new RemoteBroker(server, requests, brokerConfig, storeConfig);
    }

    /** The values that the published classes' own base class gives its brokers (rocketmq-test 5.5.0, IntegrationTestBase). */
    private static Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        settings.put("brokerClusterName", "DefaultCluster");
        settings.put("enablePropertyFilter", "true");
        settings.put("enableCalcFilterBitMap", "true");
        settings.put("enableConsumeQueueExt", "true");
        settings.put("appendAckAsync", "true");
        settings.put("appendCkAsync", "true");
        settings.put("recallMessageEnable", "true");
        settings.put("loadBalancePollNameServerInterval", "500");
        settings.put("popConsumerKVServiceInit", "true");
        settings.put("mappedFileSizeCommitLog", Integer.toString(100 << 20));
        settings.put("maxHashSlotNum", "4000");
        settings.put("maxIndexNum", "1000");
        settings.put("maxTransferCountOnMessageInMemory", "1024");
        settings.put("maxTransferCountOnMessageInDisk", "1024");
        settings.put("deleteWhen", String.join(";", IntStream.range(0, 24).mapToObj(h -> String.format("%02d", h)).toList()));
        return settings;
    }
}
