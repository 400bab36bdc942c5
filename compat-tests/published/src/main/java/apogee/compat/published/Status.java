package apogee.compat.published;

/** What is expected of a published method against our servers. */
enum Status {
    /** It passes. */
    PASS("pass"),
    /** It passes, but not always, also on the reference: it may be tried again. */
    FLAKY("flaky"),
    /** It needs something that our servers do not have yet. On the reference it passes. */
    LATER("later"),
    /** It cannot be run from outside the servers' process. */
    NOT_APPLICABLE("not-applicable");

    private final String word;

    Status(String word) {
        this.word = word;
    }

    static Status of(String word) {
        for (Status status : values()) {
            if (status.word.equals(word)) {
                return status;
            }
        }
        throw new IllegalArgumentException("status " + word);
    }
}
