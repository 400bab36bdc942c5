package apogee.compat.published;

import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import apogee.compat.servers.Causes;
import apogee.compat.servers.Implementation;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * All published methods that are expected to pass, in one virtual machine and against one cluster. {@code -Dpublished.class=PATTERN}
 * chooses among the classes.
 */
class PublishedSuiteTest {
    private static final int SIDE_BY_SIDE = 6;

    private final Expectations expectations = Expectations.load();

    @TestFactory
    Stream<DynamicTest> expectedToPass() throws Exception {
        Pattern chosen = Pattern.compile(System.getProperty("published.class", ""));
        List<PublishedClass> classes = expectations.classes().stream()
            .filter(expectations::anyToPass)
            .filter(c -> chosen.matcher(c.name()).find())
            .toList();
        List<Result> results = new ArrayList<>();
        new Suite(expectations, false, SIDE_BY_SIDE).run(classes, results::add);
        return results.stream().map(result -> dynamicTest(result.name(), () -> assertAsExpected(result)));
    }

    private void assertAsExpected(Result result) {
        Expectation expected = expectations.of(result.className(), result.method());
        if (Verdict.of(result, expected, Implementation.underTest()) == Verdict.UNEXPECTED_FAILURE) {
            throw new AssertionError("attempt %d: %s %s".formatted(result.attempts(), result.outcome(), Causes.of(result.failure())), result.failure());
        }
    }
}
