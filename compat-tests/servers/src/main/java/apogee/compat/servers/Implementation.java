package apogee.compat.servers;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Whose servers are under test. System property {@code server}: {@code apogee} (default), {@code reference-5.5.0} or
 * {@code reference-4.9.4}. The binaries of Apogee come from the directory {@code apogee.bin}, by default target/release and
 * then target/debug of the repository.
 */
public enum Implementation {
    APOGEE(null), REFERENCE_5("5.5.0"), REFERENCE_4("4.9.4");

    private final String version;

    Implementation(String version) {
        this.version = version;
    }

    /** The one that the system property names. */
    public static Implementation underTest() {
        String name = System.getProperty("server", "apogee");
        return switch (name) {
            case "apogee" -> APOGEE;
            case "reference-5.5.0" -> REFERENCE_5;
            case "reference-4.9.4" -> REFERENCE_4;
            default -> throw new IllegalArgumentException("-Dserver=" + name + ": apogee, reference-5.5.0 or reference-4.9.4");
        };
    }

    /** The command that runs a server of this implementation in the foreground, without its arguments. */
    List<String> command(Role role) {
        if (version != null) {
            return List.of(repository().resolve("scripts/reference").toString(), version, role.referenceName());
        }
        String given = System.getProperty("apogee.bin");
        List<Path> places = given != null
            ? List.of(Path.of(given))
            : List.of(repository().resolve("target/release"), repository().resolve("target/debug"));
        for (Path place : places) {
            Path binary = place.resolve(role.binary());
            if (Files.isExecutable(binary)) {
                return List.of(binary.toString());
            }
        }
        throw new IllegalStateException("no " + role.binary() + " in " + places + ": build it, or give -Dapogee.bin=DIR or -Dserver=reference-5.5.0");
    }

    /** The root of the repository, found upwards from the working directory. */
    public static Path repository() {
        for (File dir = new File("").getAbsoluteFile(); dir != null; dir = dir.getParentFile()) {
            if (new File(dir, "scripts/reference").exists()) {
                return dir.toPath();
            }
        }
        throw new IllegalStateException("not inside the repository: " + new File("").getAbsolutePath());
    }
}
