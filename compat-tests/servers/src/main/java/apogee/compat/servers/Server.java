package apogee.compat.servers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * One name server or broker: a configuration file, a home directory and, while it runs, a process. It keeps its port, its
 * home and its store when it is stopped or killed and started again.
 */
public final class Server implements AutoCloseable {
    /** Generous: a Java broker on a busy machine. */
    private static final Duration START = Duration.ofSeconds(300);
    private static final Duration STOP = Duration.ofSeconds(120);
    /** A reference that lives for a few tests is quicker without its optimizing compiler. */
    private static final String SHORT_LIVED_JAVA = "-Xms128m -Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto";

    private final Role role;
    private final Implementation implementation;
    private final String name;
    private final Path home;
    private final int port;
    private final TreeMap<String, String> settings;

    private Process process;
    private List<String> output = new ArrayList<>();

    Server(Role role, Implementation implementation, String name, Path home, int port, Map<String, String> settings) {
        this.role = role;
        this.implementation = implementation;
        this.name = name;
        this.home = home;
        this.port = port;
        this.settings = new TreeMap<>(settings);
    }

    /** Starts the process and returns when it has printed its ready line. */
    public Server start() {
        if (isRunning()) {
            throw new IllegalStateException(name + " runs already");
        }
        try {
            launch();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    /** Asks the process to end (SIGTERM) and waits until it has; kills it when it does not. */
    public void stop() {
        if (process == null) {
            return;
        }
        process.destroy();
        if (!ended(STOP)) {
            kill();
            throw new AssertionError(name + " did not end within " + STOP.toSeconds() + " s of SIGTERM");
        }
    }

    /** Ends the process at once (SIGKILL): nothing is flushed, nothing unregistered. */
    public void kill() {
        if (process != null) {
            process.destroyForcibly();
            ended(STOP);
        }
    }

    /** Changes the configuration file; seen at the next start. */
    public Server set(String key, String value) {
        settings.put(key, value);
        return this;
    }

    public boolean isRunning() {
        return process != null && process.isAlive();
    }

    /** The process id; of the current or the last process. */
    public long pid() {
        return process.pid();
    }

    /** The exit status of a process that has ended. */
    public int exitStatus() {
        return process.exitValue();
    }

    public String name() {
        return name;
    }

    public int port() {
        return port;
    }

    /** {@code 127.0.0.1:port}. */
    public String address() {
        return "127.0.0.1:" + port;
    }

    /** Everything the server owns lies below: configuration file, store, logs. */
    public Path home() {
        return home;
    }

    /** storePathRootDir of a broker. */
    public Path store() {
        return home.resolve("store");
    }

    /** What the current process has written to standard output and standard error. */
    public synchronized List<String> output() {
        return List.copyOf(output);
    }

    @Override
    public void close() {
        kill();
    }

    private void launch() throws IOException {
        Files.createDirectories(home);
        Path file = home.resolve(role.referenceName() + ".properties");
        List<String> lines = new ArrayList<>();
        settings.forEach((key, value) -> lines.add(key + "=" + value));
        Files.write(file, lines);

        List<String> command = new ArrayList<>(implementation.command(role));
        command.add("-c");
        command.add(file.toString());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).directory(home.toFile());
        builder.environment().put("ROCKETMQ_HOME", home.toString());
        builder.environment().put("REFERENCE_JAVA_OPTS", System.getenv().getOrDefault("REFERENCE_JAVA_OPTS", SHORT_LIVED_JAVA) + systemProperties());
        builder.environment().remove("NAMESRV_ADDR");
        process = builder.start();
        process.getOutputStream().close();

        CountDownLatch ready = new CountDownLatch(1);
        List<String> seen = new ArrayList<>();
        synchronized (this) {
            output = seen;
        }
        Process started = process;
        Thread reader = new Thread(() -> read(started, seen, ready), name + " output");
        reader.setDaemon(true);
        reader.start();
        awaitReady(ready);
    }

    /** Some keys of ours are system properties of the reference, which takes no notice of them in a file. */
    private String systemProperties() {
        return settings.entrySet().stream().filter(setting -> setting.getKey().startsWith("rocketmq."))
            .map(setting -> " -D" + setting.getKey() + "=" + setting.getValue()).collect(Collectors.joining());
    }

    private void awaitReady(CountDownLatch readyOrEnded) {
        try {
            boolean inTime = readyOrEnded.await(START.toSeconds(), TimeUnit.SECONDS);
            boolean ready = output().stream().anyMatch(line -> line.contains(role.readyLine()));
            if (!inTime || !ready) {
                kill();
                throw new AssertionError(name + " did not start, its output:\n" + String.join("\n", output()));
            }
        } catch (InterruptedException e) {
            kill();
            throw new AssertionError("interrupted while " + name + " started", e);
        }
    }

    private void read(Process from, List<String> into, CountDownLatch ready) {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(from.getInputStream(), StandardCharsets.UTF_8));
             Writer log = Files.newBufferedWriter(home.resolve("output.log"), StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                synchronized (this) {
                    into.add(line);
                }
                log.write(line + "\n");
                log.flush();
                if (line.contains(role.readyLine())) {
                    ready.countDown();
                }
            }
        } catch (IOException streamClosed) {
            // The process was killed while a line was read: what came before is all there is.
        } finally {
            ready.countDown();
        }
    }

    private boolean ended(Duration within) {
        try {
            return process.waitFor(within.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
