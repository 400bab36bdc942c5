package apogee.compat.published;

import apogee.compat.servers.Implementation;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.manipulation.Filter;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * Runs methods of one published class, those that are flaky up to three times. On the reference all are: on a busy machine it
 * refuses what has waited for 200 ms, which can strike any of them.
 */
final class Execution {
    private static final int ATTEMPTS = 3;

    private final PublishedClass published;
    private final Expectations expectations;
    private final boolean withLater;

    /** @param withLater whether methods that our servers cannot pass yet are run too */
    Execution(PublishedClass published, Expectations expectations, boolean withLater) {
        this.published = published;
        this.expectations = expectations;
        this.withLater = withLater;
    }

    /** The results in the order of execution; empty when nothing of the class is to be run. */
    List<Result> run() {
        Map<String, Result> results = new LinkedHashMap<>();
        attempt(this::wanted).forEach(result -> results.put(result.method(), result));
        for (int attempt = 2; attempt <= ATTEMPTS; attempt++) {
            int count = attempt;
            List<String> again = results.values().stream().filter(this::isRetried).map(Result::method).toList();
            if (!again.isEmpty()) {
                attempt(again::contains).forEach(result -> results.put(result.method(), result.afterAttempts(count)));
            }
        }
        return List.copyOf(results.values());
    }

    private boolean wanted(String method) {
        return switch (expectations.of(published.name(), method).status()) {
            case PASS, FLAKY -> true;
            case LATER -> withLater;
            case NOT_APPLICABLE -> false;
        };
    }

    private boolean isRetried(Result result) {
        return result.outcome() == Result.Outcome.FAILED
            && (Implementation.underTest() != Implementation.APOGEE
                || expectations.of(result.className(), result.method()).status() == Status.FLAKY);
    }

    private List<Result> attempt(Predicate<String> methods) {
        Class<?> type = published.load();
        Request all = Request.aClass(type);
        if (!anyOf(all.getRunner().getDescription(), methods)) {
            return List.of();
        }
        Collector collector = new Collector();
        JUnitCore junit = new JUnitCore();
        junit.addListener(collector);
        Clients.begin();
        junit.run(all.filterWith(new ByName(methods)));
        return collector.results;
    }

    private static boolean anyOf(Description description, Predicate<String> methods) {
        return description.isTest()
            ? description.getMethodName() != null && methods.test(description.getMethodName())
            : description.getChildren().stream().anyMatch(child -> anyOf(child, methods));
    }

    private static final class ByName extends Filter {
        private final Predicate<String> methods;

        ByName(Predicate<String> methods) {
            this.methods = methods;
        }

        @Override
        public boolean shouldRun(Description description) {
            return anyOf(description, methods);
        }

        @Override
        public String describe() {
            return "methods by name";
        }
    }

    private final class Collector extends RunListener {
        private final List<Result> results = new ArrayList<>();
        private long started;
        private Result.Outcome outcome;
        private Throwable failure;

        @Override
        public void testStarted(Description description) {
            started = System.nanoTime();
            outcome = Result.Outcome.PASSED;
            failure = null;
        }

        @Override
        public void testFailure(Failure failed) {
            note(failed, Result.Outcome.FAILED);
        }

        @Override
        public void testAssumptionFailure(Failure failed) {
            note(failed, Result.Outcome.NOT_RUN);
        }

        @Override
        public void testIgnored(Description description) {
            started = System.nanoTime();
            outcome = Result.Outcome.NOT_RUN;
            failure = null;
            testFinished(description);
        }

        @Override
        public void testFinished(Description description) {
            long millis = (System.nanoTime() - started) / 1_000_000;
            results.add(new Result(published.name(), description.getMethodName(), outcome, failure, 1, millis));
        }

        private void note(Failure failed, Result.Outcome how) {
            if (failed.getDescription().isTest()) {
                outcome = how;
                failure = failed.getException();
            } else {
                // Before or after the class: not one method's, but nothing of the class can be trusted.
                results.add(new Result(published.name(), Expectation.ALL, how, failed.getException(), 1, 0));
            }
        }
    }
}
