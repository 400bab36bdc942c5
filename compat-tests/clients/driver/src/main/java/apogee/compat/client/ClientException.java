package apogee.compat.client;

import apogee.compat.servers.Causes;

/** What a client library throws, in one form for all generations. */
public final class ClientException extends RuntimeException {
    private final int code;

    /** @param code the response code of the server, or of the client library; -1 where the library gives none */
    public ClientException(int code, Throwable cause) {
        super("code " + code + ": " + Causes.of(cause), cause);
        this.code = code;
    }

    public int code() {
        return code;
    }
}
