package apogee.compat.published;

import apogee.compat.servers.Implementation;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/**
 * Runs published classes against one cluster. Most of them mostly wait (for consumers to be balanced, for messages that must
 * not come), so several run side by side.
 *
 * <p>Their clients have limits of one to three seconds, after which they lose what a test counts, and the classes cannot be
 * changed. A class of which a method failed runs once more, after all others and alone; what is wrong fails again.
 */
final class Suite {
    private static final int PRINTED_AT_MOST = 64 << 10;

    private final Expectations expectations;
    private final boolean withLater;
    private final int sideBySide;

    /** @param sideBySide how many classes run at a time */
    Suite(Expectations expectations, boolean withLater, int sideBySide) {
        this.expectations = expectations;
        this.withLater = withLater;
        this.sideBySide = sideBySide;
    }

    /**
     * Runs the classes.
     *
     * @param report told each result of a class when the class is done
     */
    void run(List<PublishedClass> classes, Consumer<Result> report) throws Exception {
        Cluster cluster = Cluster.running();
        cluster.beforeClass();
        List<Done> done = new ArrayList<>();
        runSideBySide(classes.stream().filter(c -> !c.runsAlone()).toList(), one -> settle(one, done, report));
        for (PublishedClass alone : classes.stream().filter(PublishedClass::runsAlone).toList()) {
            settle(runAlone(cluster, alone), done, report);
        }
        for (Done failed : done) {
            failed.results().stream().filter(this::isFailed).forEach(Suite::print);
            runAlone(cluster, failed.published()).results().forEach(result -> report.accept(result.afterAttempts(result.attempts() + 1)));
        }
    }

    /** The results of a class. */
    private record Done(PublishedClass published, List<Result> results) {
    }

    private Done runAlone(Cluster cluster, PublishedClass published) {
        cluster.beforeClass();
        PrintStream before = System.err;
        // One class prints an exception without pause while it waits for its client: 600 MB.
        System.setErr(new PrintStream(new Bounded(before, PRINTED_AT_MOST), true));
        List<Result> results;
        try {
            results = execution(published).run();
        } finally {
            System.setErr(before);
        }
        cluster.afterClass();
        return new Done(published, results);
    }

    /** Reports what passed, and keeps what is to run once more. */
    private void settle(Done one, List<Done> again, Consumer<Result> report) {
        if (one.results().stream().anyMatch(this::isFailed)) {
            again.add(one);
        } else {
            one.results().forEach(report);
        }
    }

    private boolean isFailed(Result result) {
        Expectation expected = expectations.of(result.className(), result.method());
        return result.outcome() == Result.Outcome.FAILED
            && Verdict.of(result, expected, Implementation.underTest()) == Verdict.UNEXPECTED_FAILURE;
    }

    /** Not to be forgotten, should the class pass now. */
    private static void print(Result failed) {
        System.err.println(failed.name() + " failed, and its class runs once more alone");
        if (failed.failure() != null) {
            failed.failure().printStackTrace();
        }
    }

    private void runSideBySide(List<PublishedClass> classes, Consumer<Done> report) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(sideBySide);
        try {
            CompletionService<Done> done = new ExecutorCompletionService<>(threads);
            // Those that may be tried again first: a failed attempt waits for two minutes, better beside the others than after them.
            classes.stream().sorted(Comparator.comparing(c -> !expectations.anyFlaky(c)))
                .forEach(c -> done.submit(() -> new Done(c, execution(c).run())));
            for (int i = 0; i < classes.size(); i++) {
                report.accept(done.take().get());
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private Execution execution(PublishedClass published) {
        return new Execution(published, expectations, withLater);
    }
}
