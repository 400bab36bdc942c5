package apogee.compat.client;

import java.util.function.Predicate;

/** A running push consumer. */
public interface Subscription extends AutoCloseable {
    /** As the broker knows the client. */
    String clientId();

    /** How many messages of its topic it counts as consumed, and tells the broker at its end: the sum of its positions. */
    long consumed();

    /** Leaves the group: positions are written back and the broker is told. */
    @Override
    void close();

    /**
     * How to consume.
     *
     * @param expression tags, for example "*" or "A || B"; with another filter what that reads, for example a condition over properties
     * @param filter TAG, SQL92, CLASS for the name of a class that filter servers had, or the name of a filter that nobody knows
     * @param broadcasting every consumer of the group gets every message
     * @param orderly one thread for each queue, which the broker locks for the consumer
     * @param from CONSUME_FROM_LAST_OFFSET, CONSUME_FROM_FIRST_OFFSET or CONSUME_FROM_TIMESTAMP
     * @param timestamp yyyyMMddHHmmss, for the third of them
     * @param traced also sends traces; libraries before 4.4 have none
     * @param retries how often a message may come again; -1 for the library's default
     * @param retryLevel the delay level of a retry where consumption is not orderly; 0 lets the broker choose, -1 asks for none
     * @param listener called for each message; true when it is consumed
     */
    record Options(String namesrvAddr, String group, String topic, String expression, String filter, boolean broadcasting, boolean orderly,
                   String from, String timestamp, boolean traced, int retries, int retryLevel, Predicate<Received> listener) {
        /** A concurrent clustering consumer of everything, from the first message on. */
        public Options(String namesrvAddr, String group, String topic, Predicate<Received> listener) {
            this(namesrvAddr, group, topic, "*", "TAG", false, false, "CONSUME_FROM_FIRST_OFFSET", null, false, -1, 0, listener);
        }

        public Options expression(String tags) {
            return new Options(namesrvAddr, group, topic, tags, "TAG", broadcasting, orderly, from, timestamp, traced, retries, retryLevel, listener);
        }

        public Options sql(String condition) {
            return filter("SQL92", condition);
        }

        public Options filter(String kind, String text) {
            return new Options(namesrvAddr, group, topic, text, kind, broadcasting, orderly, from, timestamp, traced, retries, retryLevel, listener);
        }

        public Options asBroadcast() {
            return new Options(namesrvAddr, group, topic, expression, filter, true, orderly, from, timestamp, traced, retries, retryLevel, listener);
        }

        public Options asOrderly() {
            return new Options(namesrvAddr, group, topic, expression, filter, broadcasting, true, from, timestamp, traced, retries, retryLevel, listener);
        }

        public Options asTraced() {
            return new Options(namesrvAddr, group, topic, expression, filter, broadcasting, orderly, from, timestamp, true, retries, retryLevel, listener);
        }

        public Options retries(int times) {
            return new Options(namesrvAddr, group, topic, expression, filter, broadcasting, orderly, from, timestamp, traced, times, retryLevel, listener);
        }

        public Options retryLevel(int level) {
            return new Options(namesrvAddr, group, topic, expression, filter, broadcasting, orderly, from, timestamp, traced, retries, level, listener);
        }

        public Options listener(Predicate<Received> other) {
            return new Options(namesrvAddr, group, topic, expression, filter, broadcasting, orderly, from, timestamp, traced, retries, retryLevel, other);
        }

        public Options from(String where, String time) {
            return new Options(namesrvAddr, group, topic, expression, filter, broadcasting, orderly, where, time, traced, retries, retryLevel, listener);
        }
    }
}
