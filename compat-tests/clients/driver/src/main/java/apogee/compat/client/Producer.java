package apogee.compat.client;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Sends messages. Every method throws {@link ClientException} when the client library reports a failure. */
public interface Producer extends AutoCloseable {
    Sent send(Outgoing message);

    Sent send(Outgoing message, Queue queue);

    /** Sends to the queue that a hash of the key chooses, so that messages of one key stay in order. */
    Sent sendOrdered(Outgoing message, String key);

    /** Sends a message that comes after the delay of a level. */
    Sent sendDelayed(Outgoing message, int level);

    CompletableFuture<Sent> sendAsync(Outgoing message);

    void sendOneway(Outgoing message);

    /** Sends messages of one topic in one request. */
    Sent sendBatch(List<Outgoing> messages);

    /** Sends a request and waits for the text of its reply; libraries before 4.6 cannot. */
    String request(Outgoing message, Queue queue, Duration timeout);

    /** Replies to a request that a consumer got; libraries before 4.6 cannot. */
    Sent reply(Received request, String text);

    /** The same with the long names of fields that requests had before (324); returns the codes of the requests that the library made of it. */
    List<Integer> replyInLongForm(Received request, String text);

    /** Asks the brokers that have the automatic topic (TBW102) to create a topic. */
    void createTopic(String topic, int queues);

    /** The queues that a producer may write to, from the route. */
    List<Queue> queues(String topic);

    /** The texts of the messages that the brokers find by a key, whenever they were stored. */
    List<String> find(String topic, String key);

    /** The text of the message of this id, the client's or the broker's. */
    String view(String topic, String id);

    /** What else the library can ask of servers, over the connections of this client. */
    Requests requests();

    /** The library's own limit, checked before anything is sent; in bytes of the body. */
    void maxMessageSize(int bytes);

    @Override
    void close();
}
