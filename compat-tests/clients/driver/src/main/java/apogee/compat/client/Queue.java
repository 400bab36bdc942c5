package apogee.compat.client;

/** One queue of a topic on one broker. */
public record Queue(String topic, String broker, int id) {
}
