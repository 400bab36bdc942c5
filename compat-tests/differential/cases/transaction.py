"""Transactions: how halves are stored, how they end, and what may not end them."""

from broker_requests import FAST, NAME, VALUE, kept, malformed, max_offset, pairs, request, send, send_fields, topic_fields

TOPIC, GROUP = "Transaction", "TransactionP"
HALVES, NOTES = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
COMMIT, ROLLBACK = 8, 12
# Bytes of the record of a half: they are the first records of the log, and all but the last ones are as long.
SIZE = 363
# The client gives up a request that is not answered, as one is whose producer does not know.
ONE_WAY = 2


def half(name, number, group=GROUP, **more):
    properties = pairs(UNIQ_KEY=f"7F000001000018B4AAC200000000000{number}", TRAN_MSG="true", PGROUP=group, KEYS=f"k{number}")
    extra = more.pop("extra", pairs(COLOUR="red"))
    fields = send_fields(TOPIC, 1, properties + extra, a=group, f="4", h="5", **more.pop("with_", {}))
    return send(f"half {number}: {name}", fields=fields, body=b"a message", **more)


def end(name, number, how, group=GROUP, place=None, **more):
    fields = {"producerGroup": group, "tranStateTableOffset": str(number), "commitOrRollback": str(how), "msgId": "m", "transactionId": "t",
              "commitLogOffset": str(number * SIZE if place is None else place), "fromTransactionCheck": "false", **more.pop("with_", {})}
    return request(f"end {number}: {name}", 37, fields, **more)


def stored(number):
    return request(f"half {number}: as it is stored", 33, {"offset": str(number * SIZE)}, compare=("code", "records"))


def halves():
    return [
        request("topic", 17, topic_fields(TOPIC, 2, 2)),
        half("plain", 0),
        half("to be rolled back", 1),
        half("fast", 2, on=FAST),
        half("binary", 3, serialize=1),
        half("V1", 4, code=10),
        half("that is too late", 5, extra=f"{CHECK_AFTER}{NAME}1{VALUE}"),
        half("of no group", 6, group=""),
        *(stored(number) for number in range(5)),
        max_offset(HALVES, 7),
        max_offset(TOPIC, 0, 1),
        send("to the halves", fields=send_fields(HALVES)),
        send("to the notes", fields=send_fields(NOTES)),
    ]


def refused():
    return [
        end("another group", 0, COMMIT, group="Other"),
        end("no group", 0, COMMIT, group=""),
        end("another half", 1, COMMIT, place=0),
        end("nothing there", 0, COMMIT, place=99999999999),
        end("before the log", 0, COMMIT, place=-1),
        end("within a record", 0, COMMIT, place=7, compare=("code",)),
        end("rolled back by another group", 0, ROLLBACK, group="Other"),
        end("rolled back by another group, asked", 0, ROLLBACK, group="Other", with_={"fromTransactionCheck": "true"}),
        *malformed("end", 37, {"producerGroup": GROUP, "tranStateTableOffset": "0", "commitOrRollback": "8", "commitLogOffset": "0"},
                   ("tranStateTableOffset", "commitLogOffset", "commitOrRollback")),
        max_offset(TOPIC, 0, 1),
    ]


def ended():
    return [
        end("committed", 0, COMMIT),
        end("rolled back", 1, ROLLBACK),
        end("committed, fast, binary", 2, COMMIT, on=FAST, serialize=1),
        end("committed when asked", 3, COMMIT, with_={"fromTransactionCheck": "true"}),
        end("committed with a topic and without ids", 4, COMMIT, with_={"topic": TOPIC, "msgId": "", "transactionId": ""}),
        end("too late to be asked for", 5, COMMIT),
        end("too late, rolled back", 5, ROLLBACK),
        max_offset(TOPIC, 4, 1),
        kept(TOPIC, 1),
        end("unknown, one-way", 5, 0, flag=ONE_WAY),
        max_offset(TOPIC, 4, 1),
    ]


def switched_off():
    return [
        request("switched off", 25, {}, "rejectTransactionMessage=true\n"),
        half("refused", 9),
        request("switched on", 25, {}, "rejectTransactionMessage=false\n"),
        request("resumed: no such message", 323, {"msgId": "7F000001" + "0" * 14 + "FFFFFF0000"}, compare=("code",)),
        request("resumed: no id", 323, {"msgId": "x"}, compare=("code",)),
        half("that is to wait", 7, extra=pairs(DELAY="1"), ours=0, theirs=0,
             differs="the reference lets the half wait and then drops it; ours lets the message wait once it is committed"),
    ]


CHECK_AFTER = "CHECK_IMMUNITY_TIME_IN_SECONDS"


def steps(side):
    everything = [*halves(), *refused(), *ended(), *switched_off()]
    return sorted(everything, key=lambda step: getattr(step, "differs", None) is not None)
