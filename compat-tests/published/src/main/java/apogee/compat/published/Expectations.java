package apogee.compat.published;

import apogee.compat.servers.Implementation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The file of expectations: every published class, with what is expected of its methods. */
final class Expectations {
    /** Below the repository's root. */
    static final Path FILE = Path.of("compat-tests/published/expectations.tsv");

    private final List<Expectation> lines;
    private final Map<String, Expectation> byMethod = new HashMap<>();

    private Expectations(List<Expectation> lines) {
        this.lines = lines;
        for (Expectation line : lines) {
            if (byMethod.put(key(line.className(), line.method()), line) != null) {
                throw new IllegalArgumentException("twice: " + line.className() + " " + line.method());
            }
        }
    }

    /** @throws IllegalArgumentException when a line cannot be read, or a method has two */
    static Expectations load() {
        try {
            return new Expectations(Files.readAllLines(Implementation.repository().resolve(FILE)).stream()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .map(Expectation::parse)
                .toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The classes of which at least one method can be run, in the file's order. */
    List<PublishedClass> classes() {
        return lines.stream()
            .filter(line -> line.status() != Status.NOT_APPLICABLE)
            .map(line -> new PublishedClass(line.part(), line.className()))
            .distinct()
            .toList();
    }

    /** Whether a method of the class is expected to pass now. */
    boolean anyToPass(PublishedClass published) {
        return any(published, Status.PASS) || anyFlaky(published);
    }

    /** Whether a method of the class may have to be tried again. */
    boolean anyFlaky(PublishedClass published) {
        return any(published, Status.FLAKY);
    }

    private boolean any(PublishedClass published, Status status) {
        return lines.stream().anyMatch(line -> line.className().equals(published.name()) && line.status() == status);
    }

    /**
     * What is expected of a method. A class without a line of its own is an error: the file is complete.
     *
     * @param method the name as JUnit shows it; the index of a parameterized one is ignored
     */
    Expectation of(String className, String method) {
        Expectation own = byMethod.get(key(className, method.replaceFirst("\\[.*", "")));
        Expectation found = own != null ? own : byMethod.get(key(className, Expectation.ALL));
        if (found == null) {
            throw new IllegalStateException(FILE + " says nothing about " + className + "." + method);
        }
        return found;
    }

    private static String key(String className, String method) {
        return className + "#" + method;
    }
}
