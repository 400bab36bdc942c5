package apogee.compat.servers;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;

/** Waits for conditions instead of sleeping for a time. */
public final class Await {
    private static final long POLL_NANOS = Duration.ofMillis(10).toNanos();

    private Await() {
    }

    /**
     * Returns as soon as the condition holds.
     *
     * @param what named in the failure, e.g. "message arrives"
     * @throws AssertionError when the condition does not hold before the deadline; the condition's last exception is its cause
     */
    public static void until(String what, Duration deadline, Callable<Boolean> condition) {
        value(what, deadline, () -> condition.call() ? Boolean.TRUE : null);
    }

    /** Returns the supplier's first value that is not null; a supplier that throws is asked again until the deadline. */
    public static <T> T value(String what, Duration deadline, Callable<T> supplier) {
        long end = System.nanoTime() + deadline.toNanos();
        Throwable last = null;
        do {
            try {
                T value = supplier.call();
                if (value != null) {
                    return value;
                }
                last = null;
            } catch (Exception | AssertionError e) {
                last = e;
            }
            LockSupport.parkNanos(POLL_NANOS);
        } while (System.nanoTime() < end);
        String why = last == null ? "" : ", last " + Causes.of(last);
        throw new AssertionError("within " + deadline.toMillis() + " ms not seen: " + what + why, last);
    }
}
