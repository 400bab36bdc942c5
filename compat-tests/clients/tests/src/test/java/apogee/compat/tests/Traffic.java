package apogee.compat.tests;

import static apogee.compat.tests.Cluster.unique;

import apogee.compat.client.Client;
import apogee.compat.client.ClientException;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Producer;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A producer that sends without pause and a consumer of one client generation; failed sends do not count and do not matter. */
final class Traffic implements AutoCloseable {
    private final String version;
    private final Inbox inbox = new Inbox();
    private final List<String> acknowledged = new CopyOnWriteArrayList<>();
    private final Producer producer;
    private final Subscription consumer;
    private final Thread sender;
    private volatile boolean running = true;
    /** Why the last send failed, if it did. */
    private volatile ClientException failure;

    Traffic(Cluster cluster, String version) {
        this.version = version;
        Client client = Clients.of(version);
        String topic = unique("Traffic", version);
        producer = cluster.producer(version);
        cluster.createTopic(producer, topic, 4);
        consumer = client.subscribe(cluster.options(unique("g", version), topic, inbox));
        sender = new Thread(() -> send(topic), "traffic of " + version);
        sender.start();
    }

    /** Waits until so many more sends have been acknowledged and consumed, which shows that both directions work now. */
    void awaitFlow(int count) {
        int from = acknowledged.size();
        Await.until(count + " more sends by client " + version, Inbox.DEADLINE, () -> {
            ClientException why = failure;
            if (acknowledged.size() < from + count && why != null) {
                throw why;
            }
            return acknowledged.size() >= from + count;
        });
        // Of a copy: a part of a list to which another thread adds cannot be read.
        inbox.awaitAll(List.copyOf(acknowledged).subList(from, from + count));
    }

    /** Ends the sending and waits until everything that was ever acknowledged has been consumed. */
    void awaitNothingLost() {
        running = false;
        try {
            sender.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        inbox.awaitAll(acknowledged);
    }

    @Override
    public void close() {
        running = false;
        consumer.close();
        producer.close();
    }

    private void send(String topic) {
        for (int i = 0; running; i++) {
            String text = version + "-" + i;
            try {
                if (producer.send(new Outgoing(topic, text)).status().equals("SEND_OK")) {
                    acknowledged.add(text);
                    failure = null;
                }
            } catch (ClientException whileAServerIsAway) {
                failure = whileAServerIsAway;
            }
        }
    }
}
