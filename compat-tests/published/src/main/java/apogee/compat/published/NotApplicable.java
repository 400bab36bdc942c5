package apogee.compat.published;

import org.junit.AssumptionViolatedException;

/** A published method asks for something that only the inside of the server's process can answer. JUnit counts it as not run. */
final class NotApplicable extends AssumptionViolatedException {
    private static final long serialVersionUID = 1L;

    NotApplicable(String what) {
        super("no request for " + what);
    }
}
