package apogee.compat.published;

import java.util.Set;

/** A class of the published artifact, named below org.apache.rocketmq.test. */
record PublishedClass(String part, String name) {
    private static final String PACKAGE = "org.apache.rocketmq.test.";

    /** Classes that change settings of the servers, stop and start them, or leave others no processor: none may run beside them. */
    private static final Set<String> ALONE = Set.of(
        "smoke.NormalMessageSendAndRecvIT",
        "client.consumer.filter.SqlFilterIT",
        "offset.OffsetResetIT",
        "offset.OffsetResetForPopIT",
        "offset.LagCalculationIT",
        "client.consumer.pop.BatchAckIT",
        "client.consumer.pop.PopBigMessageIT",
        "client.consumer.pop.PopPriorityIT",
        "client.consumer.pop.PopOrderlyIT",
        "recall.SendAndRecallDelayMessageIT",
        "route.CreateAndUpdateTopicIT");

    Class<?> load() {
        try {
            return Class.forName(PACKAGE + name);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    boolean runsAlone() {
        return ALONE.contains(name);
    }
}
