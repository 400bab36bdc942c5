package apogee.compat.published;

import apogee.compat.servers.Implementation;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** The command line: see the script {@code run} beside the expectations. */
public final class Main {
    private static final int SIDE_BY_SIDE = 4;

    private final PrintStream out = System.out;
    private final Implementation underTest = Implementation.underTest();
    private final Expectations expectations = Expectations.load();
    private final List<Result> results = new ArrayList<>();
    private final Map<Verdict, Integer> counts = new EnumMap<>(Verdict.class);

    private String part = "";
    private Pattern classes = Pattern.compile("");
    private int sideBySide = SIDE_BY_SIDE;
    private Path record;
    private Path log = Path.of("published.log");
    private boolean withLater = true;

    public static void main(String[] arguments) throws Exception {
        int status = new Main().run(arguments);
        // Threads of clients that a test did not end would keep the process.
        System.exit(status);
    }

    private int run(String[] arguments) throws Exception {
        parse(arguments);
        List<PublishedClass> chosen = expectations.classes().stream()
            .filter(c -> part.isEmpty() || c.part().equals(part))
            .filter(c -> classes.matcher(c.name()).find())
            .toList();
        if (chosen.isEmpty()) {
            out.println("no such class");
            return 2;
        }
        // The tests and their clients write much; it is of use only when something fails.
        PrintStream noise = new PrintStream(Files.newOutputStream(log), true);
        System.setOut(noise);
        System.setErr(noise);

        long started = System.nanoTime();
        new Suite(expectations, withLater, sideBySide).run(chosen, this::report);
        out.printf("%d methods in %d s: %s; log: %s%n", results.size(), (System.nanoTime() - started) / 1_000_000_000L, counts, log);
        if (record != null) {
            record();
        }
        return counts.containsKey(Verdict.UNEXPECTED_FAILURE) ? 1 : 0;
    }

    private void parse(String[] arguments) {
        for (int i = 0; i < arguments.length; i++) {
            switch (arguments[i]) {
                case "--part" -> part = arguments[++i];
                case "--class" -> classes = Pattern.compile(arguments[++i]);
                case "--side-by-side" -> sideBySide = Integer.parseInt(arguments[++i]);
                case "--record" -> record = Path.of(arguments[++i]);
                case "--log" -> log = Path.of(arguments[++i]);
                case "--without-later" -> withLater = false;
                default -> throw new IllegalArgumentException(arguments[i]);
            }
        }
    }

    private void report(Result result) {
        results.add(result);
        Expectation expected = expectations.of(result.className(), result.method());
        Verdict verdict = Verdict.of(result, expected, underTest);
        counts.merge(verdict, 1, Integer::sum);
        String note = switch (verdict) {
            case AS_EXPECTED -> "";
            case UNEXPECTED_FAILURE -> "  UNEXPECTED";
            case UNEXPECTED_PASS -> "  UNEXPECTED, " + expected.reason();
        };
        out.printf("%-8s%6.1f s  %s%s%s%n", result.outcome(), result.millis() / 1000.0, result.name(),
            result.attempts() > 1 ? "  attempt " + result.attempts() : "", note);
        if (verdict == Verdict.UNEXPECTED_FAILURE && result.failure() != null) {
            out.println("    " + result.failure().toString().replace("\n", "\n    "));
            result.failure().printStackTrace();
        }
    }

    private void record() throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add("# class\tmethod\toutcome\tattempts\tseconds");
        results.stream().sorted(Comparator.comparing(Result::name)).forEach(result -> lines.add(String.join("\t",
            result.className(), result.method(), result.outcome().name().toLowerCase(),
            Integer.toString(result.attempts()), String.format("%.1f", result.millis() / 1000.0))));
        Files.write(record, lines);
    }
}
