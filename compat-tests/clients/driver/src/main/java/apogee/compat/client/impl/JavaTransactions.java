package apogee.compat.client.impl;

import apogee.compat.client.Outcome;
import apogee.compat.client.Outgoing;
import apogee.compat.client.Sent;
import apogee.compat.client.Transactions;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

final class JavaTransactions implements Transactions {
    private final TransactionMQProducer producer;

    JavaTransactions(String namesrvAddr, String group, Function<String, Outcome> atOnce, Function<String, Outcome> whenAsked) {
        producer = new TransactionMQProducer(group);
        JavaClient.connectAlone(producer, namesrvAddr);
        producer.setSendMsgTimeout(JavaProducer.SEND_TIMEOUT_MILLIS);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return state(atOnce, message);
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return state(whenAsked, message);
            }
        });
        Calls.run(producer::start);
    }

    @Override
    public Sent send(Outgoing message) {
        return Calls.get(() -> Messages.sent(producer.sendMessageInTransaction(Messages.message(message), null)));
    }

    @Override
    public void close() {
        producer.shutdown();
    }

    private static LocalTransactionState state(Function<String, Outcome> outcome, Message message) {
        return switch (outcome.apply(new String(message.getBody(), StandardCharsets.UTF_8))) {
            case COMMIT -> LocalTransactionState.COMMIT_MESSAGE;
            case ROLLBACK -> LocalTransactionState.ROLLBACK_MESSAGE;
            case UNKNOWN -> LocalTransactionState.UNKNOW;
        };
    }
}
