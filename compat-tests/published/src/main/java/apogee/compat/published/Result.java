package apogee.compat.published;

/**
 * How the last attempt at a method ended.
 *
 * @param failure the reason where it did not pass, else null
 * @param attempts how often it was run
 * @param millis of the last attempt
 */
record Result(String className, String method, Outcome outcome, Throwable failure, int attempts, long millis) {
    enum Outcome {
        PASSED, FAILED, NOT_RUN
    }

    String name() {
        return className + "." + method;
    }

    Result afterAttempts(int count) {
        return new Result(className, method, outcome, failure, count, millis);
    }
}
