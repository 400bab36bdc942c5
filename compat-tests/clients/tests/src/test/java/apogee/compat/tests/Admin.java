package apogee.compat.tests;

import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** The library under the admin tool of 5.5.0, started. */
final class Admin implements AutoCloseable {
    private static final long TIMEOUT_MILLIS = 15_000;
    private static final AtomicInteger INSTANCES = new AtomicInteger();

    private final DefaultMQAdminExt tool = new DefaultMQAdminExt("compat-admin", TIMEOUT_MILLIS);

    Admin(String namesrvAddr) {
        tool.setNamesrvAddr(namesrvAddr);
        tool.setInstanceName("admin-" + INSTANCES.incrementAndGet());
        try {
            tool.start();
        } catch (MQClientException e) {
            throw new IllegalStateException(e);
        }
    }

    DefaultMQAdminExt tool() {
        return tool;
    }

    @Override
    public void close() {
        tool.shutdown();
    }
}
