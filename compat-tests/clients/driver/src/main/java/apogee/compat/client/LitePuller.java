package apogee.compat.client;

import java.util.Collection;
import java.util.List;

/** The lite pull consumer: subscribed queues are balanced in the group, assigned ones are not. */
public interface LitePuller extends AutoCloseable {
    void subscribe(String topic, String expression);

    void assign(Collection<Queue> queues);

    void seek(Queue queue, long offset);

    List<Queue> queues(String topic);

    /** What has been fetched so far, or what arrives within the time. */
    List<Received> poll(long timeoutMillis);

    /** Writes the positions behind the polled messages to the broker. */
    void commit();

    long committed(Queue queue);

    @Override
    void close();
}
