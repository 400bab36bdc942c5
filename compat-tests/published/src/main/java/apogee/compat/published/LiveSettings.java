package apogee.compat.published;

import static org.mockito.Mockito.withSettings;

import java.lang.reflect.InvocationTargetException;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.rocketmq.common.MixAll;
import org.mockito.Mockito;
import org.mockito.invocation.InvocationOnMock;

/**
 * A configuration object of the reference whose setters also change the setting of the server process, until the changes are
 * put back.
 */
final class LiveSettings<T> {
    private final T values;
    private final T live;
    private final BiConsumer<String, String> update;
    private final Map<String, String> before = new TreeMap<>();

    /**
     * @param values the server's values so far as they are known
     * @param update sends a key and its new value to the server
     */
    LiveSettings(Class<T> type, T values, BiConsumer<String, String> update) {
        this.values = values;
        this.update = update;
        live = Mockito.mock(type, withSettings().stubOnly().defaultAnswer(this::answer));
    }

    /** The object to hand to a test. */
    T live() {
        return live;
    }

    /** Takes over what the server says its settings are. */
    void refresh(Properties fromServer) {
        MixAll.properties2Object(fromServer, values);
    }

    /** Gives every setting that was changed since the last call its earlier value again. */
    void putBack() {
        Map<String, String> changed = new TreeMap<>(before);
        before.clear();
        changed.forEach((key, value) -> {
            if (!value.equals(current(key))) {
                Properties one = new Properties();
                one.setProperty(key, value);
                MixAll.properties2Object(one, values);
                update.accept(key, value);
            }
        });
    }

    private Object answer(InvocationOnMock call) throws Throwable {
        String name = call.getMethod().getName();
        boolean setter = name.startsWith("set") && call.getArguments().length == 1;
        String key = setter ? Character.toLowerCase(name.charAt(3)) + name.substring(4) : null;
        if (setter) {
            before.putIfAbsent(key, current(key));
        }
        Object result;
        try {
            result = call.getMethod().invoke(values, call.getArguments());
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
        if (setter) {
            update.accept(key, current(key));
        }
        return result;
    }

    private String current(String key) {
        return String.valueOf(MixAll.object2Properties(values).getProperty(key));
    }
}
