package apogee.compat.client;

import java.util.List;

/**
 * The answer to a pull.
 *
 * @param status FOUND, NO_NEW_MSG, NO_MATCHED_MSG or OFFSET_ILLEGAL
 */
public record Pulled(String status, long nextOffset, long minOffset, long maxOffset, List<Received> messages) {
}
