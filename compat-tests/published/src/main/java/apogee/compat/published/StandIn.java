package apogee.compat.published;

import static org.mockito.Mockito.withSettings;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.mockito.Mockito;
import org.mockito.invocation.InvocationOnMock;

/** Objects of the servers' own classes whose methods are answered by an object of ours. */
final class StandIn {
    private StandIn() {
    }

    /**
     * An object of the class, made without its constructor. A call goes to the delegate's method of the same name and
     * parameters; where it has none, the test is {@link NotApplicable}.
     */
    static <T> T of(Class<T> type, Object delegate) {
        return Mockito.mock(type, withSettings().stubOnly().defaultAnswer(call -> answer(call, delegate)));
    }

    private static Object answer(InvocationOnMock call, Object delegate) throws Throwable {
        Method called = call.getMethod();
        Method method;
        try {
            method = delegate.getClass().getMethod(called.getName(), called.getParameterTypes());
        } catch (NoSuchMethodException absent) {
            throw new NotApplicable(called.getDeclaringClass().getSimpleName() + "." + called.getName());
        }
        try {
            return method.invoke(delegate, call.getArguments());
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
