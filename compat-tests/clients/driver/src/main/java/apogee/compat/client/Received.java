package apogee.compat.client;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A message as a consumer got it; {@code msgId} is the unique id where the message has one, else the offset id. */
public record Received(Queue queue, long queueOffset, String msgId, String tags, String keys, byte[] body,
                       Map<String, String> properties, long storeTimestamp, int reconsumeTimes) {
    public String text() {
        return new String(body, StandardCharsets.UTF_8);
    }
}
