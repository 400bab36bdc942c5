package apogee.compat.published;

/** The reference's proxy, which the gRPC classes start over the brokers. */
public final class Proxy {
    private Proxy() {
    }

    /** Not offered yet: the gRPC classes are not part of the run. */
    public static void start(String namesrvAddr) {
        throw new NotApplicable("a proxy over the brokers at " + namesrvAddr);
    }
}
