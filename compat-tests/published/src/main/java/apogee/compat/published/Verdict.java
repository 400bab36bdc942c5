package apogee.compat.published;

import apogee.compat.servers.Implementation;

/** How a result compares with what was expected. */
enum Verdict {
    AS_EXPECTED, UNEXPECTED_FAILURE, UNEXPECTED_PASS;

    /** What our servers cannot do yet, the reference can. */
    static Verdict of(Result result, Expectation expected, Implementation underTest) {
        boolean later = expected.status() == Status.LATER && underTest == Implementation.APOGEE;
        boolean passed = result.outcome() == Result.Outcome.PASSED;
        if (passed) {
            return later ? UNEXPECTED_PASS : AS_EXPECTED;
        }
        return later ? AS_EXPECTED : UNEXPECTED_FAILURE;
    }
}
