package apogee.compat.client;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * A message to send.
 *
 * @param tags null for none
 * @param keys null for none; several are separated by spaces
 */
public record Outgoing(String topic, String tags, String keys, byte[] body, Map<String, String> properties) {
    public Outgoing(String topic, String body) {
        this(topic, null, null, body.getBytes(StandardCharsets.UTF_8), Map.of());
    }

    public Outgoing(String topic, String tags, String body) {
        this(topic, tags, null, body.getBytes(StandardCharsets.UTF_8), Map.of());
    }
}
