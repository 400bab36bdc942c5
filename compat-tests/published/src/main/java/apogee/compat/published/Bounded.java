package apogee.compat.published;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** The beginning of what is written. */
final class Bounded extends FilterOutputStream {
    private int left;

    /** @param most how many bytes are let through */
    Bounded(OutputStream to, int most) {
        super(to);
        left = most;
    }

    @Override
    public synchronized void write(int one) throws IOException {
        if (left > 0) {
            left--;
            out.write(one);
        }
    }

    @Override
    public synchronized void write(byte[] bytes, int from, int length) throws IOException {
        int written = Math.min(left, length);
        left -= written;
        out.write(bytes, from, written);
    }
}
