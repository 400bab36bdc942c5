package apogee.compat.client;

/**
 * The answer to a send.
 *
 * @param status SEND_OK and its relatives, as the library names them
 * @param msgId the client's unique id; of a batch all, separated by commas
 * @param offsetMsgId the broker's id; of a batch all, separated by commas
 * @param queueOffset of a batch the offset of its first member
 */
public record Sent(String status, String msgId, String offsetMsgId, Queue queue, long queueOffset) {
}
