package apogee.compat.tests;

import apogee.compat.client.Received;
import apogee.compat.client.Subscription;
import apogee.compat.servers.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;

/** A listener that accepts and remembers every message in the order of arrival. */
final class Inbox implements Predicate<Received> {
    /**
     * Longer than the 20 s after which a client balances the queues anew without having been told, several times over: on a
     * busy machine a client's limits of 1 s (locks) and 3 s end its first attempts. Only a failure takes that long.
     */
    static final Duration DEADLINE = Duration.ofSeconds(120);

    private final List<Received> messages = new ArrayList<>();

    @Override
    public synchronized boolean test(Received message) {
        messages.add(message);
        return true;
    }

    synchronized List<Received> messages() {
        return List.copyOf(messages);
    }

    synchronized int size() {
        return messages.size();
    }

    List<String> texts() {
        return messages().stream().map(Received::text).toList();
    }

    /** Waits until each of the texts has come at least once. */
    void awaitAll(Collection<String> expected) {
        awaitAll(expected, List.of(this));
    }

    /** Waits until each of the texts has come at least once to one of the inboxes. */
    static void awaitAll(Collection<String> expected, List<Inbox> inboxes) {
        Set<String> missing = new HashSet<>(expected);
        try {
            Await.until("all messages", DEADLINE, () -> {
                inboxes.forEach(inbox -> inbox.texts().forEach(missing::remove));
                return missing.isEmpty();
            });
        } catch (AssertionError e) {
            throw new AssertionError(missing.size() + " of " + expected.size() + " messages missing: " + new TreeSet<>(missing), e);
        }
    }

    /**
     * Waits until a consumer counts so many messages as consumed. What its listener has only just accepted it would not tell
     * the broker at its end, and who goes on in the group would get it again.
     */
    static void awaitConsumed(Subscription consumer, long count) {
        Await.until(count + " messages consumed by " + consumer.clientId(), DEADLINE, () -> consumer.consumed() >= count);
    }

    /** Waits until at least so many have come. */
    void awaitSize(int count) {
        Await.until(count + " messages", DEADLINE, () -> size() >= count);
    }
}
