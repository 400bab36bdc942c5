package apogee.compat.client;

/** Sends messages that become visible when their transaction is committed. */
public interface Transactions extends AutoCloseable {
    Sent send(Outgoing message);

    @Override
    void close();
}
