package apogee.compat.servers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/** Free ports of the loopback interface, outside the range from which the system takes ports of outgoing connections. */
final class Ports {
    private static final int FIRST = 12_000;
    private static final int LAST = 32_000;
    /** A broker listens on its port, two below (the fast port) and one above (replication). */
    private static final int STEP = 4;

    private static final Set<Integer> GIVEN = new HashSet<>();

    private Ports() {
    }

    /** A port p where p - 2 to p + 1 are free and will not be given again in this process. */
    static synchronized int next() {
        for (int attempt = 0; attempt < 1000; attempt++) {
            int port = FIRST + STEP * ThreadLocalRandom.current().nextInt((LAST - FIRST) / STEP) + 2;
            if (free(port - 2) && free(port - 1) && free(port) && free(port + 1) && GIVEN.add(port)) {
                return port;
            }
        }
        throw new IllegalStateException("no four free ports in a row between " + FIRST + " and " + LAST);
    }

    private static boolean free(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}
