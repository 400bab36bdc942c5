package apogee.compat.client.impl;

import apogee.compat.client.ClientException;
import java.util.concurrent.Callable;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;

/** Turns the library's checked exceptions into the one of the tests. */
final class Calls {
    private Calls() {
    }

    interface Action {
        void run() throws Exception;
    }

    static void run(Action action) {
        get(() -> {
            action.run();
            return null;
        });
    }

    static <T> T get(Callable<T> call) {
        try {
            return call.call();
        } catch (Exception e) {
            throw failure(e);
        }
    }

    static ClientException failure(Throwable e) {
        if (e instanceof MQBrokerException broker) {
            return new ClientException(broker.getResponseCode(), e);
        }
        if (e.getCause() instanceof MQBrokerException broker) {
            return new ClientException(broker.getResponseCode(), e);
        }
        if (e instanceof MQClientException client) {
            return new ClientException(client.getResponseCode(), e);
        }
        return new ClientException(-1, e);
    }
}
