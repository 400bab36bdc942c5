package apogee.compat.published;

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
 */
final class Suite {
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
        runSideBySide(classes.stream().filter(c -> !c.runsAlone()).toList(), report);
        for (PublishedClass alone : classes.stream().filter(PublishedClass::runsAlone).toList()) {
            cluster.beforeClass();
            execution(alone).run().forEach(report);
            cluster.afterClass();
        }
    }

    private void runSideBySide(List<PublishedClass> classes, Consumer<Result> report) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(sideBySide);
        try {
            CompletionService<List<Result>> done = new ExecutorCompletionService<>(threads);
            // Those that may be tried again first: a failed attempt waits for two minutes, better beside the others than after them.
            classes.stream().sorted(Comparator.comparing(c -> !expectations.anyFlaky(c)))
                .forEach(c -> done.submit(() -> execution(c).run()));
            for (int i = 0; i < classes.size(); i++) {
                done.take().get().forEach(report);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private Execution execution(PublishedClass published) {
        return new Execution(published, expectations, withLater);
    }
}
