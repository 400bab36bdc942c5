package apogee.compat.client;

/** How a transaction ends; {@code UNKNOWN} leaves it open until the broker asks. */
public enum Outcome {
    COMMIT, ROLLBACK, UNKNOWN
}
