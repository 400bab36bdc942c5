package apogee.compat.client;

import java.util.function.Function;

/**
 * A Java client library of one generation. Implementations are loaded with their library in a class loader of their own; only
 * the types of this package cross the border.
 */
public interface Client {
    /** The release of the library, for example 4.9.4. */
    String version();

    /** A started producer with the library's defaults. */
    Producer producer(String namesrvAddr, String group);

    /** The same, which also sends traces; libraries before 4.4 have none. */
    Producer tracedProducer(String namesrvAddr, String group);

    /** A started producer of transactions; the text of a message says how it ends, at once and when the broker asks. */
    Transactions transactions(String namesrvAddr, String group, Function<String, Outcome> atOnce, Function<String, Outcome> whenAsked);

    /** A started push consumer. */
    Subscription subscribe(Subscription.Options options);

    /** A started consumer that pulls queues of its choice. */
    Puller puller(String namesrvAddr, String group);

    /** A started lite pull consumer; libraries before 4.6 have none. */
    LitePuller litePuller(String namesrvAddr, String group);
}
