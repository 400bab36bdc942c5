package apogee.compat.servers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A set of servers with one temporary directory. Closing ends every process and removes the directory (kept with
 * {@code -Dkeep}); the end of the virtual machine does the same.
 *
 * <pre>
 * try (Servers servers = Servers.create()) {
 *     Server nameServer = servers.nameServer("ns").start();
 *     Server broker = servers.broker("broker-a", Map.of("flushDiskType", "SYNC_FLUSH")).start();
 * }
 * </pre>
 */
public final class Servers implements AutoCloseable {
    private final Implementation implementation;
    private final Path directory;
    private final List<Server> nameServers = new ArrayList<>();
    private final List<Server> brokers = new ArrayList<>();
    private final Thread atExit = new Thread(this::endAll);

    private Servers(Implementation implementation) {
        this.implementation = implementation;
        try {
            directory = Files.createTempDirectory("apogee-compat");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /** Servers of the implementation that the system property names. */
    public static Servers create() {
        return create(Implementation.underTest());
    }

    /** Servers of a chosen implementation, for example the reference beside ours. */
    public static Servers create(Implementation implementation) {
        return new Servers(implementation);
    }

    /** A name server, not started yet. */
    public Server nameServer(String name) {
        return nameServer(name, Map.of());
    }

    /** A name server with further keys in its configuration file, not started yet. */
    public Server nameServer(String name, Map<String, String> settings) {
        int port = Ports.next();
        Path home = directory.resolve(name);
        Map<String, String> all = new HashMap<>();
        all.put("listenPort", Integer.toString(port));
        all.put("kvConfigPath", home.resolve("kvConfig.json").toString());
        all.put("configStorePath", home.resolve("namesrv.properties").toString());
        all.putAll(settings);
        Server server = new Server(Role.NAME_SERVER, implementation, name, home, port, all);
        nameServers.add(server);
        return server;
    }

    /** A master that registers with every name server made before it, not started yet. */
    public Server broker(String name) {
        return broker(name, Map.of());
    }

    /** A master with further keys in its configuration file (they win over the defaults here), not started yet. */
    public Server broker(String name, Map<String, String> settings) {
        int port = Ports.next();
        Path home = directory.resolve(name);
        Path store = home.resolve("store");
        Map<String, String> all = new HashMap<>();
        all.put("brokerClusterName", "DefaultCluster");
        all.put("brokerName", name);
        all.put("brokerId", "0");
        all.put("brokerIP1", "127.0.0.1");
        all.put("brokerIP2", "127.0.0.1");
        all.put("listenPort", Integer.toString(port));
        all.put("haListenPort", Integer.toString(port + 1));
        all.put("namesrvAddr", namesrvAddr());
        all.put("storePathRootDir", store.toString());
        all.put("storePathCommitLog", store.resolve("commitlog").toString());
        all.put("mappedFileSizeCommitLog", Integer.toString(64 << 20));
        // The machine that runs the tests may have a rather full disk; that is not what they are about.
        all.put("diskMaxUsedSpaceRatio", "95");
        all.putAll(settings);
        Server server = new Server(Role.BROKER, implementation, name, home, port, all);
        brokers.add(server);
        return server;
    }

    /** The addresses of all name servers as clients take them: {@code 127.0.0.1:1;127.0.0.1:2}. */
    public String namesrvAddr() {
        return nameServers.stream().map(Server::address).collect(Collectors.joining(";"));
    }

    public Implementation implementation() {
        return implementation;
    }

    /** The temporary directory; every server's home is a directory of its name below. */
    public Path directory() {
        return directory;
    }

    @Override
    public void close() {
        endAll();
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException alreadyExiting) {
            // The hook runs or has run.
        }
    }

    private void endAll() {
        brokers.forEach(Server::close);
        nameServers.forEach(Server::close);
        if (System.getProperty("keep") == null) {
            delete();
        }
    }

    private void delete() {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException | UncheckedIOException gone) {
            // Temporary files: nothing depends on their removal.
        }
    }
}
