package apogee.compat.client;

import java.util.List;

/** Pulls from queues of its choice, by offset. Every method throws {@link ClientException} on failure. */
public interface Puller extends AutoCloseable {
    List<Queue> queues(String topic);

    /** Answers at once. */
    Pulled pull(Queue queue, String expression, long offset, int max);

    /** Answers at once what a condition over properties lets through; libraries before 4.5 cannot. */
    Pulled pullBySql(Queue queue, String condition, long offset, int max);

    /** Is held by the broker until a message comes (20 s at most). */
    Pulled pullOrWait(Queue queue, String expression, long offset, int max);

    long minOffset(Queue queue);

    long maxOffset(Queue queue);

    /** The first offset at or after a time in milliseconds. */
    long offsetAt(Queue queue, long timestamp);

    /** Writes the group's position to the broker. */
    void commit(Queue queue, long offset);

    /** The group's position on the broker; -1 where it has none. */
    long committed(Queue queue);

    @Override
    void close();
}
