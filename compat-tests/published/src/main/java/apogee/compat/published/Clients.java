package apogee.compat.published;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The clients that the running test has made. Each thread that runs a class has its own list (and the threads that the class
 * starts share it), so that one class does not end the clients of another.
 */
public final class Clients extends AbstractList<Object> {
    private static final InheritableThreadLocal<List<Object>> OF_THREAD = new InheritableThreadLocal<>() {
        @Override
        protected List<Object> initialValue() {
            return Collections.synchronizedList(new ArrayList<>());
        }
    };

    /** Begins an empty list for this thread. */
    static void begin() {
        OF_THREAD.remove();
        OF_THREAD.get();
    }

    @Override
    public Object get(int index) {
        return OF_THREAD.get().get(index);
    }

    @Override
    public int size() {
        return OF_THREAD.get().size();
    }

    @Override
    public void add(int index, Object client) {
        OF_THREAD.get().add(index, client);
    }

    @Override
    public Object remove(int index) {
        return OF_THREAD.get().remove(index);
    }

    /** Empties the list of this thread in one step and returns what was in it. */
    public List<Object> takeAll() {
        List<Object> list = OF_THREAD.get();
        synchronized (list) {
            List<Object> all = List.copyOf(list);
            list.clear();
            return all;
        }
    }
}
