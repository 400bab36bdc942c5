package apogee.compat.client.impl;

import apogee.compat.client.Client;
import apogee.compat.client.LitePuller;
import apogee.compat.client.Outcome;
import apogee.compat.client.Producer;
import apogee.compat.client.Puller;
import apogee.compat.client.Subscription;
import apogee.compat.client.Transactions;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.MQVersion;

/** The library that this class's loader sees. */
public final class JavaClient implements Client {
    private static final AtomicInteger INSTANCES = new AtomicInteger();

    @Override
    public String version() {
        return MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION);
    }

    @Override
    public Producer producer(String namesrvAddr, String group) {
        return new JavaProducer(new DefaultMQProducer(group), namesrvAddr);
    }

    @Override
    public Producer tracedProducer(String namesrvAddr, String group) {
        return new JavaProducer(new DefaultMQProducer(group, true, null), namesrvAddr);
    }

    @Override
    public Transactions transactions(String namesrvAddr, String group, Function<String, Outcome> atOnce,
                                     Function<String, Outcome> whenAsked) {
        return new JavaTransactions(namesrvAddr, group, atOnce, whenAsked);
    }

    @Override
    public Subscription subscribe(Subscription.Options options) {
        return new JavaSubscription(options);
    }

    @Override
    public Puller puller(String namesrvAddr, String group) {
        return new JavaPuller(namesrvAddr, group);
    }

    @Override
    public LitePuller litePuller(String namesrvAddr, String group) {
        return new JavaLitePuller(namesrvAddr, group);
    }

    /** Every client of a test is one of its own for the broker, though all share the process. */
    static void connectAlone(ClientConfig config, String namesrvAddr) {
        config.setNamesrvAddr(namesrvAddr);
        config.setClientIP("127.0.0.1");
        // Each generation counts for itself: without its version two members of a group could have the same id. And what a
        // broadcasting client of an earlier run has noted under its id, in the user's home, is not this one's.
        config.setInstanceName("compat-" + MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION) + "-" + ProcessHandle.current().pid()
            + "-" + INSTANCES.incrementAndGet());
        config.setPollNameServerInterval(1000);
        config.setHeartbeatBrokerInterval(1000);
        config.setPersistConsumerOffsetInterval(1000);
        patient(config);
    }

    /**
     * Generation 4.3 has 3 s for heartbeats, routes, members and filters throughout. What ends late closes the connection, and
     * with it fails whatever else waits there: too little for a busy machine with a slow disk.
     */
    private static void patient(ClientConfig config) {
        try {
            ClientConfig.class.getMethod("setMqClientApiTimeout", int.class).invoke(config, JavaProducer.SEND_TIMEOUT_MILLIS);
        } catch (NoSuchMethodException fixed) {
            // Nothing to set.
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
