package apogee.compat.published;

/**
 * One line of expectations.tsv.
 *
 * @param part 4x, 5x, tls, grpc or internal
 * @param className below org.apache.rocketmq.test
 * @param method a method, or * for all that have no line of their own
 * @param reason why, where the status needs a reason
 */
record Expectation(String part, String className, String method, Status status, String reason) {
    static final String ALL = "*";

    static Expectation parse(String line) {
        String[] cells = line.split("\t", -1);
        if (cells.length != 5) {
            throw new IllegalArgumentException("not five columns: " + line);
        }
        Status status = Status.of(cells[3]);
        if (status != Status.PASS && cells[4].isBlank()) {
            throw new IllegalArgumentException("no reason: " + line);
        }
        return new Expectation(cells[0], cells[1], cells[2], status, cells[4]);
    }
}
