package apogee.compat.tests;

import apogee.compat.client.Client;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** The client generations, each in a class loader of its own. */
final class Clients {
    static final List<String> ALL = List.of("4.3.0", "4.9.4", "5.5.0");
    /** Those with a lite pull consumer and with requests that are replied to. */
    static final List<String> SINCE_4_6 = List.of("4.9.4", "5.5.0");

    private static final Map<String, Client> LOADED = new ConcurrentHashMap<>();

    private Clients() {
    }

    static Client of(String version) {
        return LOADED.computeIfAbsent(version, Clients::load);
    }

    private static Client load(String version) {
        Path jars = Path.of(System.getProperty("apogee.clients"), version);
        try (Stream<Path> files = Files.list(jars)) {
            URL driver = Client.class.getProtectionDomain().getCodeSource().getLocation();
            URL[] urls = Stream.concat(Stream.of(driver), files.map(Clients::url)).toArray(URL[]::new);
            Loader loader = new Loader(urls);
            Class<?> client = loader.loadClass("apogee.compat.client.impl.JavaClient");
            return inContext(loader, (Client) client.getDeclaredConstructor().newInstance());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("client " + version + " from " + jars, e);
        }
    }

    /** The libraries look for services (logging) through the context class loader, when a client is made and in its threads. */
    private static Client inContext(ClassLoader loader, Client client) {
        return (Client) Proxy.newProxyInstance(Client.class.getClassLoader(), new Class<?>[] {Client.class}, (proxy, method, arguments) -> {
            Thread thread = Thread.currentThread();
            ClassLoader before = thread.getContextClassLoader();
            thread.setContextClassLoader(loader);
            try {
                return method.invoke(client, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            } finally {
                thread.setContextClassLoader(before);
            }
        });
    }

    private static URL url(Path file) {
        try {
            return file.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Sees the Java platform and the border types of the tests, and nothing else of their class path. */
    private static final class Loader extends URLClassLoader {
        private static final String BORDER = "apogee.compat.client.";

        Loader(URL[] urls) {
            super(urls, ClassLoader.getPlatformClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith(BORDER) && !name.startsWith(BORDER + "impl.")) {
                return Client.class.getClassLoader().loadClass(name);
            }
            return super.loadClass(name, resolve);
        }
    }
}
