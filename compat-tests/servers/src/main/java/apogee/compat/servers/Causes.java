package apogee.compat.servers;

import java.util.ArrayDeque;
import java.util.Deque;

/** What went wrong, in one line. */
public final class Causes {
    /** A chain that is longer goes in circles. */
    private static final int LONGEST = 10;

    private Causes() {
    }

    /**
     * A throwable and its causes, the innermost first (summaries are cut at their end): "ConnectException: refused, in
     * RemotingConnectException: connect to ... failed". Of messages only the first line, of classes the last name.
     */
    public static String of(Throwable failure) {
        Deque<String> chain = new ArrayDeque<>();
        for (Throwable each = failure; each != null && chain.size() < LONGEST; each = each.getCause()) {
            String message = each.getMessage() == null ? "" : each.getMessage().strip();
            String line = message.lines().findFirst().orElse("");
            chain.addFirst(each.getClass().getSimpleName() + (line.isEmpty() ? "" : ": " + line.strip()));
        }
        return String.join(", in ", chain);
    }
}
