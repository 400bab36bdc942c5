package apogee.compat.servers;

/** The two kinds of servers. */
enum Role {
    NAME_SERVER("mqnamesrv", "namesrv", "The Name Server boot success"),
    BROKER("mqbroker", "broker", "boot success");

    private final String binary;
    private final String referenceName;
    private final String readyLine;

    Role(String binary, String referenceName, String readyLine) {
        this.binary = binary;
        this.referenceName = referenceName;
        this.readyLine = readyLine;
    }

    String binary() {
        return binary;
    }

    String referenceName() {
        return referenceName;
    }

    /** Part of the line on standard output that says that the server can be used. */
    String readyLine() {
        return readyLine;
    }
}
