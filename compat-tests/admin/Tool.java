import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * The reference's admin tool in one virtual machine for many commands. Lines with tabs between their words come in, and each is
 * answered with a number of bytes in a line and that many bytes: what the command printed.
 *
 * <pre>
 * mqadmin SECONDS LINES WORD ...              a command; left alone after so many seconds, or lines that it printed
 * consumer NAMESRV CLIENT GROUP TOPIC TAGS    a push consumer that agrees to everything
 * producer NAMESRV CLIENT GROUP TOPIC         a producer; it sends nothing
 * persist CLIENT                              makes a consumer tell its broker how far it is
 * end CLIENT                                  ends a consumer or producer
 * </pre>
 */
public class Tool extends MQAdminStartup {
    private static final Map<String, DefaultMQPushConsumer> CONSUMERS = new HashMap<>();
    private static final Map<String, DefaultMQProducer> PRODUCERS = new HashMap<>();
    /** What the threads of one command print. */
    private static final InheritableThreadLocal<ByteArrayOutputStream> PRINTED = new InheritableThreadLocal<>();

    public static void main(String[] arguments) {
        try {
            serve();
        } catch (Exception e) {
            e.printStackTrace();
        }
        // Threads of the library may still run.
        System.exit(0);
    }

    private static void serve() throws Exception {
        PrintStream out = System.out;
        PrintStream caught = new PrintStream(new Caught(), true, StandardCharsets.UTF_8);
        System.setOut(caught);
        System.setErr(caught);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            byte[] printed = run(line.split("\t"));
            out.println(printed.length);
            out.write(printed, 0, printed.length);
            out.flush();
        }
    }

    private static byte[] run(String[] words) throws InterruptedException {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        boolean isCommand = words[0].equals("mqadmin");
        Thread thread = new Thread(() -> {
            PRINTED.set(printed);
            try {
                if (isCommand) {
                    // Commands keep what they were asked last.
                    SUB_COMMANDS.clear();
                    main0(Arrays.copyOfRange(words, 3, words.length), null);
                } else {
                    client(words);
                }
            } catch (Exception e) {
                e.printStackTrace();
            }
        });
        thread.setDaemon(true);
        thread.start();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(isCommand ? Long.parseLong(words[1]) : 60);
        long most = isCommand ? Long.parseLong(words[2]) : Long.MAX_VALUE;
        while (thread.isAlive() && System.nanoTime() < end && lines(printed) < most) {
            thread.join(10);
            hurry(thread);
        }
        synchronized (printed) {
            return printed.toByteArray();
        }
    }

    /** The library's shutdown waits up to three seconds for a thread of its own that looks at an empty queue: it is woken. */
    private static void hurry(Thread thread) {
        if (Arrays.stream(thread.getStackTrace())
            .anyMatch(frame -> frame.getClassName().endsWith("NettyRemotingClient") && frame.getMethodName().equals("shutdown"))) {
            Thread[] threads = new Thread[Thread.activeCount() + 16];
            int count = Thread.enumerate(threads);
            Arrays.stream(threads, 0, count).filter(other -> other.getName().contains("NettyEventExecutor"))
                .forEach(Thread::interrupt);
        }
    }

    private static long lines(ByteArrayOutputStream printed) {
        synchronized (printed) {
            return printed.toString(StandardCharsets.UTF_8).lines().count();
        }
    }

    private static void client(String[] words) throws Exception {
        String client = words[0].equals("persist") || words[0].equals("end") ? words[1] : words[2];
        switch (words[0]) {
            case "consumer":
                DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(words[3]);
                consumer.setNamesrvAddr(words[1]);
                consumer.setInstanceName(client);
                consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
                consumer.subscribe(words[4], words[5]);
                consumer.registerMessageListener(
                    (MessageListenerConcurrently) (messages, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
                consumer.start();
                CONSUMERS.put(client, consumer);
                break;
            case "producer":
                DefaultMQProducer producer = new DefaultMQProducer(words[3]);
                producer.setNamesrvAddr(words[1]);
                producer.setInstanceName(client);
                producer.start();
                // Who knows a topic's brokers tells them of itself.
                producer.getDefaultMQProducerImpl().getMqClientFactory().updateTopicRouteInfoFromNameServer(words[4]);
                producer.getDefaultMQProducerImpl().getMqClientFactory().sendHeartbeatToAllBrokerWithLock();
                PRODUCERS.put(client, producer);
                break;
            case "persist":
                CONSUMERS.get(client).getDefaultMQPushConsumerImpl().persistConsumerOffset();
                break;
            default:
                if (CONSUMERS.containsKey(client)) {
                    CONSUMERS.remove(client).shutdown();
                } else {
                    PRODUCERS.remove(client).shutdown();
                }
        }
    }

    private static final class Caught extends OutputStream {
        @Override
        public void write(int letter) {
            write(new byte[] {(byte) letter}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int count) {
            ByteArrayOutputStream printed = PRINTED.get();
            if (printed != null) {
                synchronized (printed) {
                    printed.write(bytes, from, count);
                }
            }
        }
    }
}
