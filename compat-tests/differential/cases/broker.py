"""Every request code of the broker's main road, valid and invalid. Both brokers start empty, with the same settings."""

import json
import struct

from broker_requests import (BROKER, CLUSTER, FAST, NAME, NOT_CHECKED, NULL, OWN, UNIQUE, LONG, consumer, group_config, heartbeat,
                             malformed, missing, pairs, pull, pull_fields, query_fields, queue, request, send,
                             send_fields, subscription, topic_config, topic_fields)
from steps import Close, Pushed, Raw

# 4.x has brokerVersion, 5.5.0 has not; tools of both ask here.
TABLE = [r'"commitLogDiskRatio_[^"]*"', r'("brokerVersion", )?"brokerVersionDesc"']


# Topics and groups


def topics():
    fields = topic_fields("Diff")
    nobody = "the reference checks no numbers of a topic and serves it badly afterwards; ours refuses them"
    return [
        request("topic: create", 17, fields),
        request("topic: create again, same", 17, fields),
        request("topic: create, fast port", 17, topic_fields("DiffFast"), on=FAST),
        request("topic: create, binary header", 17, topic_fields("DiffBinary"), serialize=1),
        request("topic: unknown extra field", 17, topic_fields("DiffExtra", whatever="1")),
        request("topic: without sys flag", 17, {k: v for k, v in topic_fields("DiffNoFlag").items() if k != "topicSysFlag"}),
        request("topic: change", 17, topic_fields("DiffExtra", 4, 3, 4, order="true")),
        request("topic: read only", 17, topic_fields("DiffReadOnly", perm=4)),
        request("topic: write only", 17, topic_fields("DiffWriteOnly", perm=2)),
        request("topic: more to read than to write", 17, topic_fields("DiffShrink", 4, 2)),
        *missing("topic", 17, topic_fields("DiffMissing"),
                 needed=("topic", "readQueueNums", "writeQueueNums", "perm", "topicFilterType")),
        request("topic: without order", 17, {k: v for k, v in topic_fields("DiffNoOrder").items() if k != "order"}),
        request("topic: without default topic", 17, {k: v for k, v in topic_fields("DiffNoDefault").items() if k != "defaultTopic"},
                compare=("code",)),
        *malformed("topic", 17, topic_fields("DiffMalformed"), ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")),
        request("topic: header left out", 17, differs=NULL, ours=1),
        request("topic: filter type unknown", 17, topic_fields("DiffType", topicFilterType="NONE"), compare=("code",)),
        request("topic: for one-way messages", 17, topic_fields("DiffOneWay")),
        request("topic: multi tag", 17, topic_fields("DiffMulti", topicFilterType="MULTI_TAG")),
        *(request(f"topic: name {bad!r}", 17, topic_fields(bad)) for bad in
          ("", "  ", "a b", "a.b", "a/b", "ä", "x" * 128, "%RETRY%" + "x" * 249, "TBW102", "SCHEDULE_TOPIC_XXXX",
           "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_x", CLUSTER, BROKER, "OFFSET_MOVED_EVENT", "SELF_TEST_TOPIC", "%SYS%X")),
        request("topic: longest name", 17, topic_fields("x" * 127)),
        request("topic: no queues", 17, topic_fields("DiffZero", 0, 0)),
        request("topic: negative queues", 17, topic_fields("DiffNegative", -1, 2), differs=nobody, ours=29),
        request("topic: perm 9", 17, topic_fields("DiffPerm", perm=9), differs=nobody, ours=29),
        request("topic: attributes", 17, topic_fields("DiffAttributes", attributes="+message.type=FIFO")),
        request("topic: attributes of no kind", 17, topic_fields("DiffAttributes2", attributes="+no.such=1")),
        request("topic: attributes of a wrong value", 17, topic_fields("DiffAttributes2", attributes="+message.type=ODD"), compare=("code", "remark-start")),
        request("topic: attributes without sign", 17, topic_fields("DiffAttributes2", attributes="message.type=FIFO")),
        request("topic: attributes of a wrong form", 17, topic_fields("DiffAttributes2", attributes="+message.type")),
        request("topic: attributes given up on creation", 17, topic_fields("DiffAttributes2", attributes="-message.type")),
        request("topic: attributes twice", 17, topic_fields("DiffAttributes2", attributes="+message.type=FIFO,+message.type=DELAY")),
        request("topic: attribute changed", 17, topic_fields("DiffAttributes", attributes="+message.type=DELAY")),
        request("topic: attribute given up", 17, topic_fields("DiffAttributes", attributes="-message.type")),
        request("topic: mixed", 17, topic_fields("DiffMixed", attributes="+message.type=MIXED")),
        request("topics: list", 18, {}, json.dumps({"topicConfigList": [topic_config("DiffL1"), topic_config("DiffL2", 3, 3)]})),
        request("topics: list, fast, binary", 18, {}, json.dumps({"topicConfigList": [topic_config("DiffL3")]}), on=FAST, serialize=1),
        request("topics: list with a bad one", 18, {}, json.dumps({"topicConfigList": [topic_config("DiffL4"), topic_config("a b")]})),
        request("topics: none of it", 351, {"topic": "DiffL4"}),
        request("topics: list with a system topic", 18, {}, json.dumps({"topicConfigList": [topic_config("TBW102")]})),
        request("topics: empty list", 18, {}, json.dumps({"topicConfigList": []})),
        request("topics: no list", 18, {}, "{}", differs="a null pointer there; here it lists nothing to do", ours=0, theirs=1),
        request("topics: no body", 18, {}, compare=("code",)),
        request("topics: broken body", 18, {}, "{", compare=("code",)),
        *(request(f"topic config: {t}", 351, {"topic": t}) for t in
          ("Diff", "DiffFast", "DiffExtra", "DiffMulti", "DiffAttributes", "DiffZero", "DiffL2", "TBW102", CLUSTER, BROKER,
           "SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC", "BenchmarkTest", "OFFSET_MOVED_EVENT", CLUSTER + "_REPLY_TOPIC",
           "rmq_sys_REVIVE_LOG_" + CLUSTER, "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "rmq_sys_wheel_timer",
           "RMQ_SYS_TRACE_TOPIC", "none", "")),
        request("topic config: fast", 351, {"topic": "Diff"}, on=FAST),
        request("topic config: binary header", 351, {"topic": "Diff"}, serialize=1),
        *missing("topic config", 351, {"topic": "Diff"}),
        request("topic configs: all", 21, {}),
        request("topic configs: without header", 21),
        request("topic configs: fast", 21, {}, on=FAST),
        request("topic configs: first page", 21, {"topicSeq": "0", "maxTopicNum": "3"}, compare=("code", "remark", "fields")),
        request("topic configs: behind the end", 21, {"topicSeq": "10000", "maxTopicNum": "3"}, compare=("code", "remark", "fields")),
        *malformed("topic configs", 21, {"topicSeq": "0"}, ("topicSeq",)),
    ]


def delete_topics():
    return [
        request("delete topic: unknown", 215, {"topic": "none"}),
        request("delete topic: system", 215, {"topic": "TBW102"}),
        request("delete topic: blank", 215, {"topic": " "}),
        request("delete topic: bad name", 215, {"topic": "a b"}),
        *missing("delete topic", 215, {"topic": "none"}),
        request("delete topic", 215, {"topic": "DiffL1"}),
        request("delete topic: again", 215, {"topic": "DiffL1"}),
        request("delete topic: fast, binary", 215, {"topic": "DiffL2"}, on=FAST, serialize=1),
        request("delete topic: gone", 351, {"topic": "DiffL1"}),
    ]


def groups():
    return [
        request("group: create", 200, {}, json.dumps(group_config("DiffG"))),
        request("group: create, without header", 200, None, json.dumps(group_config("DiffG"))),
        request("group: create, fast, binary", 200, {}, json.dumps(group_config("DiffFastG")), on=FAST, serialize=1),
        request("group: only a name", 200, {}, json.dumps({"groupName": "DiffShortG"})),
        request("group: off", 200, {}, json.dumps(group_config("DiffOffG", consumeEnable=False))),
        request("group: no broadcast", 200, {}, json.dumps(group_config("DiffNoBroadcastG", consumeBroadcastEnable=False))),
        request("group: other retry", 200, {}, json.dumps(group_config("DiffRetryG", retryMaxTimes=3, groupRetryPolicy={
            "type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 1000, "max": 2000, "multiplier": 3}}))),
        request("group: attributes", 200, {}, json.dumps(group_config("DiffAttributesG", attributes={"+priority.factor": "5"}))),
        request("group: attributes wrong", 200, {}, json.dumps(group_config("DiffAttributesG2", attributes={"+no.such": "5"})), compare=("code",)),
        *(request(f"group: name {bad!r}", 200, {}, json.dumps(group_config(bad))) for bad in
          ("", " ", "a b", "ä", "x" * 121, "x" * 120, "TOOLS_CONSUMER", "CID_RMQ_SYS_x")),
        request("group: no name", 200, {}, "{}"),
        request("group: no body", 200, {}, differs=NOT_CHECKED, ours=1),
        request("group: broken body", 200, {}, "{", compare=("code",)),
        request("group: a number that is none", 200, {}, '{"groupName":"DiffNaN","retryMaxTimes":"x"}', compare=("code",)),
        request("groups: list", 225, {}, json.dumps({"groupConfigList": [group_config("DiffLG1"), group_config("DiffLG2")]})),
        request("groups: list with a bad name", 225, {}, json.dumps({"groupConfigList": [group_config("DiffLG3"), group_config("a b")]})),
        request("groups: empty list", 225, {}, json.dumps({"groupConfigList": []})),
        request("groups: no list", 225, {}, "{}", differs="a null pointer there; here it lists nothing to do", ours=0, theirs=1),
        request("groups: no body", 225, {}, compare=("code",)),
        request("groups: broken body", 225, {}, "{", compare=("code",)),
        *(request(f"group config: {g}", 352, {"group": g}) for g in
          ("DiffG", "DiffShortG", "DiffOffG", "DiffRetryG", "DiffAttributesG", "DiffLG2", "TOOLS_CONSUMER",
           "CID_ONSAPI_PULL", "SELF_TEST_C_GROUP", "FILTERSRV_CONSUMER", "CID_ONS-HTTP-PROXY", "CID_ONSAPI_PERMISSION",
           "CID_ONSAPI_OWNER", "CID_RMQ_SYS_TRANS", "CID_DefaultHeartBeatSyncerTopic", "SELF_TEST_P_GROUP")),
        request("group config: created by asking", 352, {"group": "DiffNewG"}),
        request("group config: bad name", 352, {"group": "a b"}),
        request("group config: empty name", 352, {"group": ""}),
        request("group config: fast, binary", 352, {"group": "DiffG"}, on=FAST, serialize=1),
        *missing("group config", 352, {"group": "DiffG"}),
        request("group configs: all", 201, {}),
        request("group configs: without header", 201),
        request("group configs: first page", 201, {"groupSeq": "0", "maxGroupNum": "3"}, compare=("code", "remark", "fields")),
        *malformed("group configs", 201, {"groupSeq": "0"}, ("groupSeq",)),
        request("delete group: unknown", 207, {"groupName": "none"}),
        request("delete group", 207, {"groupName": "DiffLG1"}),
        request("delete group: with offsets, fast", 207, {"groupName": "DiffLG2", "cleanOffset": "true"}, on=FAST),
        request("delete group: bad flag", 207, {"groupName": "none", "cleanOffset": "maybe"}),
        *missing("delete group", 207, {"groupName": "none"}),
    ]


# Sending


def member(body=b"m", properties=UNIQUE, flag=0):
    data = properties.encode()
    content = struct.pack(">iiii", 0, 0, flag, len(body)) + body + struct.pack(">h", len(data)) + data
    return struct.pack(">i", 4 + len(content)) + content


def batch(name, *members, topic="Diff", fields=None, **more):
    fields = fields or send_fields(topic, batch=True)
    return request(f"batch: {name}", 320, fields, b"".join(members), **more)


def arrived(name, count):
    """Waits for what was sent one-way, which is in no order with what comes after it."""
    return request(name, 30, {"topic": "DiffOneWay", "queueId": "0"}, within=10, until={"offset": str(count)})


def sized(size):
    """Properties that the broker keeps as they are, this long in all, with what it appends."""
    fixed = UNIQUE + pairs(k="")
    return UNIQUE + pairs(k="v" * (size - len(fixed)))


def sends():
    fields = send_fields("Diff")
    long_fields = {LONG[k]: v for k, v in fields.items()}
    return [
        send("V2"),
        send("V1", code=10),
        send("V2, fast", on=FAST),
        send("V2, binary header", serialize=1),
        send("V1, binary header, fast", code=10, serialize=1, on=FAST),
        send("one-way", "DiffOneWay", flag=2),
        arrived("send: one-way, arrived", 1),
        send("an unknown extra field", fields={**fields, "zz": "1"}),
        send("without properties", fields={k: v for k, v in send_fields("DiffRandom").items() if k != "i"},
             compare=("code", "remark", "field-names")),
        send("empty body", body=b"", differs="5.5.0 runs into a null pointer where 4.9.4 stores the message", ours=0, theirs=1),
        send("properties without last separator", fields=send_fields("Diff", properties=UNIQUE + f"TAGS{NAME}TagA")),
        send("tags and keys", fields=send_fields("Diff", properties=UNIQUE + pairs(TAGS="TagA", KEYS="k1 k2"))),
        send("flags", fields=send_fields("Diff", h="7", f="1", j="2")),
        send("region and trace of its own", fields=send_fields("Diff", properties=UNIQUE + pairs(MSG_REGION="r", TRACE_ON="false", CLUSTER="c"))),
        send("queue -1", fields=send_fields("DiffRandom", -1), compare=("code", "remark", "field-names")),
        send("queue -5", fields=send_fields("DiffRandom", -5), compare=("code", "remark", "field-names")),
        send("queue 2 of 2", fields=send_fields("Diff", 2)),
        send("queue 2 of 2, V1", fields=send_fields("Diff", 2), code=10),
        send("queue between write and read", fields=send_fields("DiffShrink", 3)),
        send("to a read only topic", "DiffReadOnly"),
        send("to a write only topic", "DiffWriteOnly"),
        send("to a topic without queues", "DiffZero"),
        send("to a multi tag topic", "DiffMulti"),
        send("to an unknown topic", "DiffAuto"),
        request("send: the topic it made", 351, {"topic": "DiffAuto"}),
        send("to an unknown topic, 9 queues asked", fields=send_fields("DiffAuto9", d="9")),
        request("send: the topic of 9", 351, {"topic": "DiffAuto9"}),
        send("to an unknown topic, no model", fields=send_fields("DiffAutoNo", c="none")),
        send("to an unknown topic, model that may not be inherited", fields=send_fields("DiffAutoNo", c="Diff")),
        send("to an unknown topic, unit", fields=send_fields("DiffAutoUnit", k="true")),
        request("send: the unit topic", 351, {"topic": "DiffAutoUnit"}),
        send("to a new retry topic", fields=send_fields("%RETRY%DiffG")),
        request("send: the retry topic", 351, {"topic": "%RETRY%DiffG"}),
        *(send(f"to {t!r}", t) for t in
          ("", " ", "a b", "ä", "a.b", "x" * 128, "x" * 127, "TBW102", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC",
           "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT",
           "BenchmarkTest", CLUSTER, BROKER, "RMQ_SYS_TRACE_TOPIC", "rmq_sys_wheel_timer", "%DLQ%DiffG")),
        *missing("send V2", 310, fields, needed=("b", "e", "f", "g", "h")),
        *(send(f"without {f}", fields={k: v for k, v in fields.items() if k != f}, compare=("code",)) for f in ("a", "c", "d")),
        *missing("send V1", 10, long_fields, needed=("topic", "queueId", "sysFlag", "bornTimestamp")),
        *(request(f"send V1: without {f}", 10, {k: v for k, v in long_fields.items() if k != f}, b"x", compare=("code",))
          for f in ("producerGroup", "defaultTopic", "defaultTopicQueueNums")),
        *(send(f"without {f}", fields={k: v for k, v in fields.items() if k != f}) for f in ("j", "k", "m")),
        *malformed("send V2", 310, fields, ("d", "e", "f", "g", "h", "j", "l"), b"x"),
        *malformed("send V1", 10, long_fields, ("queueId",), b"x"),
        request("send: header left out", 310, None, b"x", differs=NULL, ours=1),
        send("body of the maximum", body=b"x" * 4194304),
        send("body above the maximum", body=b"x" * 4194305),
        *(send(f"properties of {size}", fields=send_fields("Diff", properties=sized(size))) for size in (32000, 65536)),
        send("properties of 32767, with those of the broker too long", fields=send_fields("Diff", properties=sized(32767))),
        send("properties of 32768", fields=send_fields("Diff", properties=sized(32768))),
        send("long key", fields=send_fields("Diff", properties=pairs(UNIQ_KEY="u", KEYS="k" * 10000)), scrub=OWN),
        send("after all these", fields=send_fields("Diff", 1)),
        pull("what was sent", at={"queue": 0}),
        pull("what was sent, queue 1", at={"queue": 1}),
        pull("what was sent, 9 queues", at={"topic": "DiffAuto9"}),
        pull("what was sent, multi tag", at={"topic": "DiffMulti"}),
    ]


def batches():
    tagged = UNIQUE + pairs(TAGS="TagA")
    return [
        batch("one", member()),
        batch("three", member(b"1"), member(b"2", tagged), member(b"3", flag=5)),
        batch("one-way", member(), topic="DiffOneWay", flag=2),
        arrived("batch: one-way, arrived", 2),
        batch("fast", member(), member(), on=FAST),
        batch("binary header", member(), member(), serialize=1),
        batch("properties without last separator", member(b"a", tagged[:-1]), member(b"b", tagged)),
        batch("no properties", member(properties=""), member()),
        batch("empty", differs=NOT_CHECKED, ours=13),
        batch("cut short", member()[:-3], compare=("code",), differs="the reference stores the members before the broken one or fails with a text of its own", ours=13),
        batch("a length of none", struct.pack(">i", -1) + member()[4:]),
        batch("not marked as batch", member(), fields=send_fields("Diff")),
        request("batch: code 310 with the mark", 310, send_fields("Diff", batch=True), member() + member()),
        batch("to a retry topic", member(), topic="%RETRY%DiffG"),
        batch("to an unknown topic", member(), member(), topic="DiffAutoBatch"),
        batch("to a forbidden topic", member(), topic="SCHEDULE_TOPIC_XXXX"),
        batch("to a topic too long", member(), topic="x" * 128),
        batch("queue out of range", member(), fields=send_fields("Diff", 9, batch=True)),
        batch("queue -1", member(), fields=send_fields("DiffRandom", -1, batch=True), compare=("code", "remark")),
        *(batch(f"member properties of {size}", member(properties=sized(size)), fields=send_fields("Diff", 1, batch=True))
          for size in (32767,)),
        batch("a member with a negative length of properties", member(b"x", UNIQUE), struct.pack(">iiiiicH", 23, 0, 0, 0, 1, b"x", 0x8001),
              differs="as above", ours=13),
        batch("body above the maximum", member(b"x" * 4194305), differs="the reference ends in an exception, on which producers try again; ours says MESSAGE_ILLEGAL", ours=13, theirs=1),
        batch("together above the maximum", member(b"x" * 2200000), member(b"x" * 2200000),
              differs="as above", ours=13, theirs=1),
        pull("what a batch brought", at={"topic": "DiffAutoBatch"}),
        pull("batches", at={"offset": 20}),
        pull("batches by tag", fields=pull_fields(offset=20, subscription="TagA")),
    ]


# Pulling


def offsets(topic, queue, fields):
    return {"topic": topic, "queueId": str(queue), **fields}


def pulls():
    fields = pull_fields("DiffPull")
    tags = ("TagA", "TagB", "TagA", "Aa", "BB", "TagC")
    steps = [request("pull: topic", 17, topic_fields("DiffPull", 4, 4))]
    for number, tag in enumerate(tags):
        steps.append(send(f"for pulls {number}", fields=send_fields("DiffPull", properties=UNIQUE + pairs(TAGS=tag))))
    most = 1 << 62
    return [
        *steps,
        pull("all", at={"topic": "DiffPull"}),
        pull("lite", code=361, at={"topic": "DiffPull"}),
        pull("binary header", at={"topic": "DiffPull"}, serialize=1),
        pull("fast port", at={"topic": "DiffPull"}, on=FAST),
        pull("lite, fast port", code=361, at={"topic": "DiffPull"}, on=FAST),
        pull("an unknown extra field", fields={**fields, "zz": "1"}),
        pull("two", fields={**fields, "maxMsgNums": "2"}),
        pull("none", fields={**fields, "maxMsgNums": "0"}),
        pull("less than none", fields={**fields, "maxMsgNums": "-1"}),
        pull("a hundred", fields={**fields, "maxMsgNums": "100"}),
        pull("few bytes", fields={**fields, "maxMsgBytes": "300"}, differs="the reference takes no notice of maxMsgBytes; ours keeps to it, and gives at least one message", ours=0, theirs=0),
        pull("one byte", fields={**fields, "maxMsgBytes": "1"}, differs="as above", ours=0, theirs=0),
        pull("no bytes", fields={**fields, "maxMsgBytes": "0"}),
        *(pull(f"tags {t!r}", fields={**fields, "subscription": t}) for t in
          ("TagA", "TagA||TagB", " TagA || TagC ", "TagZ", "Aa", "", "*", "||", " ", "TagA||", "* || TagA")),
        pull("tags from the middle", fields={**fields, "subscription": "TagB", "queueOffset": "2"}),
        pull("without subscription", fields={k: v for k, v in fields.items() if k != "subscription"}),
        pull("without expression type", fields={k: v for k, v in fields.items() if k != "expressionType"}),
        pull("empty expression type", fields={**fields, "expressionType": ""}),
        pull("expression type unknown", fields={**fields, "expressionType": "ODD"}),
        pull("SQL, not enabled", fields={**fields, "expressionType": "SQL92", "subscription": "a > 5"}),
        *(pull(f"at {at}, not held", fields={**fields, "queueOffset": str(at)}) for at in
          (-1, -9, 5, 6, 7, 1000006, most, -most)),
        pull("of an empty queue", fields={**fields, "queueId": "1"}),
        pull("of an empty queue at 5", fields={**fields, "queueId": "1", "queueOffset": "5"}),
        pull("of an empty queue at -1", fields={**fields, "queueId": "1", "queueOffset": "-1"}),
        pull("held, at the end", fields={**fields, "sysFlag": "6", "queueOffset": "6"}),
        pull("held, overflow of one is moved", fields={**fields, "sysFlag": "6", "queueOffset": "7"}),
        pull("held, far overflow is moved", fields={**fields, "sysFlag": "6", "queueOffset": "1000006"}),
        pull("held, of an empty queue", fields={**fields, "sysFlag": "6", "queueId": "1"}),
        pull("held, tag that is not there", fields={**fields, "sysFlag": "6", "subscription": "TagZ"}),
        pull("held for no time", fields={**fields, "sysFlag": "6", "queueOffset": "6", "suspendTimeoutMillis": "0"}),
        *(pull(f"queue {q}", fields={**fields, "queueId": str(q)}) for q in (-1, 4, 99)),
        pull("unknown topic", at={"topic": "none"}),
        pull("empty topic", at={"topic": ""}),
        pull("write only topic", at={"topic": "DiffWriteOnly"}),
        pull("read only topic", at={"topic": "DiffReadOnly"}),
        pull("new group", fields={**fields, "consumerGroup": "DiffPullNewG"}),
        pull("bad group", fields={**fields, "consumerGroup": "a b"}),
        pull("empty group", fields={**fields, "consumerGroup": ""}),
        pull("long group", fields={**fields, "consumerGroup": "x" * 256}),
        pull("group that is off", fields={**fields, "consumerGroup": "DiffOffG"}),
        pull("commits", fields={**fields, "sysFlag": "5", "commitOffset": "3"}),
        request("pull: committed", 14, offsets("DiffPull", 0, {"consumerGroup": "DiffG"})),
        pull("does not commit", fields={**fields, "commitOffset": "4"}),
        request("pull: not committed", 14, offsets("DiffPull", 0, {"consumerGroup": "DiffG"})),
        *missing("pull", 11, fields, needed=("consumerGroup", "topic", "queueId", "queueOffset", "maxMsgNums", "sysFlag")),
        *(pull(f"without {f}", fields={k: v for k, v in fields.items() if k != f}, compare=("code",)) for f in
          ("commitOffset", "suspendTimeoutMillis", "subVersion")),
        *malformed("pull", 11, fields, ("queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset",
                                        "suspendTimeoutMillis", "subVersion", "maxMsgBytes")),
        request("pull: header left out", 11, None, differs=NULL, ours=1),
        pull("without subscription flag, nobody registered", fields={**fields, "sysFlag": "0"}),
        request("pull: heartbeat", 34, {}, heartbeat("c@1", [consumer("DiffSubG", subscription("DiffPull", "TagA"))]), on="subscriber"),
        pull("registered", fields={**fields, "consumerGroup": "DiffSubG", "sysFlag": "0", "subVersion": "10"}),
        pull("registered, older", fields={**fields, "consumerGroup": "DiffSubG", "sysFlag": "0", "subVersion": "9"}),
        pull("registered, newer", fields={**fields, "consumerGroup": "DiffSubG", "sysFlag": "0", "subVersion": "11"}),
        pull("registered, other topic", fields={**fields, "topic": "Diff", "consumerGroup": "DiffSubG", "sysFlag": "0"}),
        request("pull: heartbeat, newer", 34, {}, heartbeat("c@1", [consumer("DiffSubG", subscription("DiffPull", "TagB", 11))]),
                on="subscriber"),
        pull("registered anew", fields={**fields, "consumerGroup": "DiffSubG", "sysFlag": "0", "subVersion": "11"}),
        request("pull: heartbeat, broadcast", 34, {},
                heartbeat("c@2", [consumer("DiffNoBroadcastG", subscription("DiffPull"), model="BROADCASTING")]), on="subscriber"),
        pull("broadcast forbidden", fields={**fields, "consumerGroup": "DiffNoBroadcastG", "sysFlag": "0"}),
    ]


# Clients


def clients():
    watched = subscription("DiffPull", "TagA || TagB")
    check = {"clientId": "c@9", "group": "DiffCheckG", "subscriptionData": subscription("DiffPull", "a > 5", kind="SQL92")}
    reply = ("fields", "body")
    return [
        request("heartbeat: nobody", 34, {}, heartbeat("h@0"), on="h0"),
        request("heartbeat: V1", 34, {}, heartbeat("h@1", [consumer("DiffBeatG", watched)], ["DiffBeatP"]), on="h1"),
        Pushed("heartbeat: members changed", 40, on="h1", compare=reply),
        request("heartbeat: V1 again, without header", 34, None, heartbeat("h@1", [consumer("DiffBeatG", watched)], ["DiffBeatP"]), on="h1"),
        request("heartbeat: V2", 34, {}, heartbeat("h@1", [consumer("DiffBeatG", watched)], fingerprint=7), on="h1"),
        request("heartbeat: V2, same print", 34, {}, heartbeat("h@1", [consumer("DiffBeatG")], fingerprint=7, without=True), on="h1"),
        request("heartbeat: V2, other print", 34, {}, heartbeat("h@1", [consumer("DiffBeatG")], fingerprint=8, without=True), on="h1"),
        request("heartbeat: V2, other print again", 34, {}, heartbeat("h@1", [consumer("DiffBeatG")], fingerprint=8, without=True), on="h1"),
        request("heartbeat: V2, nobody", 34, {}, heartbeat("h@1", fingerprint=9), on="h1"),
        request("heartbeat: V2 without subscriptions, new group", 34, {},
                heartbeat("h@5", [consumer("DiffBeatNewG")], fingerprint=3, without=True), on="h5"),
        request("heartbeat: its retry topic", 351, {"topic": "%RETRY%DiffBeatG"}),
        request("heartbeat: its group", 352, {"group": "DiffBeatG"}),
        request("heartbeat: second client", 34, {}, heartbeat("h@2", [consumer("DiffBeatG", watched)]), on="h2"),
        Pushed("heartbeat: the first is told", 40, on="h1", compare=reply),
        Pushed("heartbeat: the second is told", 40, on="h2", compare=reply),
        request("heartbeat: fast, binary", 34, {}, heartbeat("h@3", [], ["DiffBeatP"]), on="fast-h3", serialize=1),
        request("heartbeat: active consumer", 34, {}, heartbeat("h@6", [consumer("DiffActiveG", watched, kind="CONSUME_ACTIVELY",
                where="CONSUME_FROM_FIRST_OFFSET")]), on="h6"),
        request("heartbeat: unit", 34, {}, heartbeat("h@7", [consumer("DiffUnitG", watched, unit=True)]), on="h7"),
        request("heartbeat: the unit's retry topic", 351, {"topic": "%RETRY%DiffUnitG"}),
        request("heartbeat: bad group", 34, {}, heartbeat("h@8", [consumer("a b", watched)]), on="h8"),
        request("heartbeat: no body", 34, {}, on="h8", compare=("code",)),
        request("heartbeat: broken body", 34, {}, "{", on="h8", compare=("code",)),
        request("heartbeat: of nothing", 34, {}, "{}", on="h8"),
        request("heartbeat: nulls", 34, {}, '{"clientID":"h@8","consumerDataSet":[{}],"producerDataSet":[{}]}', on="h8", compare=("code",)),
        request("heartbeat: empty group", 34, {}, heartbeat("h@8", [consumer("", watched)]), on="h8",
                differs="the reference registers a group without a name", ours=1, theirs=0),
        request("check: tag", 46, {}, json.dumps({**check, "subscriptionData": watched})),
        request("check: SQL, not enabled", 46, {}, json.dumps(check)),
        request("check: without subscription", 46, {}, json.dumps({"clientId": "c", "group": "g"})),
        request("check: fast, binary", 46, {}, json.dumps({**check, "subscriptionData": watched}), on=FAST, serialize=1),
        request("check: unknown type", 46, {}, json.dumps({**check, "subscriptionData": {**watched, "expressionType": "ODD"}})),
        request("check: no body", 46, {}, differs=NOT_CHECKED, ours=1),
        request("check: broken body", 46, {}, "{", compare=("code",)),
        request("members", 38, {"consumerGroup": "DiffBeatG"}),
        request("members: fast, binary", 38, {"consumerGroup": "DiffBeatG"}, on=FAST, serialize=1),
        request("members: unknown group", 38, {"consumerGroup": "none"}),
        request("members: empty group", 38, {"consumerGroup": ""}),
        *missing("members", 38, {"consumerGroup": "x"}),
        request("connections: consumers", 203, {"consumerGroup": "DiffBeatG"}),
        request("connections: active consumers", 203, {"consumerGroup": "DiffActiveG"}),
        request("connections: unknown group", 203, {"consumerGroup": "none"}),
        *missing("connections", 203, {"consumerGroup": "x"}),
        request("connections: producers", 204, {"producerGroup": "DiffBeatP"}),
        request("connections: unknown producers", 204, {"producerGroup": "none"}),
        request("connections: fast, binary", 204, {"producerGroup": "DiffBeatP"}, on=FAST, serialize=1),
        *missing("connections", 204, {"producerGroup": "x"}),
        request("unregister: unknown", 35, {"clientID": "zz", "consumerGroup": "none", "producerGroup": "none"}, on="h2"),
        request("unregister: consumer", 35, {"clientID": "h@2", "consumerGroup": "DiffBeatG"}, on="h2"),
        Pushed("unregister: the first is told", 40, on="h1", compare=reply),
        request("unregister: one member left", 38, {"consumerGroup": "DiffBeatG"}),
        request("unregister: producer, binary", 35, {"clientID": "h@1", "producerGroup": "DiffBeatP"}, on="h1", serialize=1),
        request("unregister: no group", 35, {"clientID": "h@1"}, on="h1"),
        request("unregister: no fields", 35, {}, on="h1"),
        request("unregister: no header", 35, None, on="h1"),
        Close("h1"),
        request("closed: nobody left", 38, {"consumerGroup": "DiffBeatG"}, within=5),
        request("closed: no connection", 203, {"consumerGroup": "DiffBeatG"}, within=5),
    ]


def locks():
    def body(client, *queues, group="DiffLockG", **more):
        return json.dumps({"consumerGroup": group, "clientId": client, "mqSet": list(queues), "onlyThisBroker": False, **more})

    return [
        request("lock", 41, {}, body("a", queue(), queue(number=1))),
        request("lock: again", 41, {}, body("a", queue())),
        request("lock: another client", 41, {}, body("b", queue(), queue(number=2))),
        request("lock: fast, binary", 41, {}, body("b", queue(number=3)), on=FAST, serialize=1),
        request("lock: unknown topic and broker", 41, {}, body("a", queue("none", 9, "other"))),
        request("lock: none", 41, {}, body("a")),
        request("lock: without header", 41, None, body("a", queue())),
        request("lock: no body", 41, {}, compare=("code",)),
        request("lock: broken body", 41, {}, "{", compare=("code",)),
        request("lock: no group", 41, {}, json.dumps({"clientId": "a", "mqSet": [queue()]}), compare=("code",)),
        request("lock: no queues", 41, {}, json.dumps({"clientId": "a", "consumerGroup": "DiffLockG"})),
        request("unlock: another's", 42, {}, body("b", queue())),
        request("unlock: still held", 41, {}, body("b", queue())),
        request("unlock", 42, {}, body("a", queue())),
        request("unlock: free", 41, {}, body("b", queue())),
        request("unlock: unknown group", 42, {}, body("a", queue(), group="none")),
        request("unlock: fast, binary", 42, {}, body("b", queue()), on=FAST, serialize=1),
        request("unlock: no body", 42, {}, compare=("code",)),
        request("unlock: broken body", 42, {}, "{", compare=("code",)),
    ]


def consumed():
    query = {"consumerGroup": "DiffOffsetG", "topic": "DiffPull", "queueId": "0"}
    update = {**query, "commitOffset": "4"}
    at = {"topic": "DiffPull", "queueId": "0"}
    search = {**at, "timestamp": "0"}
    return [
        request("update offset: before there is such a group", 15, update),
        request("offsets: group", 200, {}, json.dumps(group_config("DiffOffsetG"))),
        request("query offset: new group", 14, query),
        request("query offset: new group, empty queue", 14, {**query, "queueId": "1"}),
        request("query offset: new group, zero wanted", 14, {**query, "setZeroIfNotFound": "true"}),
        request("query offset: new group, zero unwanted", 14, {**query, "setZeroIfNotFound": "false"}),
        request("query offset: queue -1", 14, {**query, "queueId": "-1"}),
        request("query offset: queue 99", 14, {**query, "queueId": "99"}),
        request("query offset: unknown topic", 14, {**query, "topic": "none"}),
        request("query offset: unknown group", 14, {**query, "consumerGroup": "none"}),
        request("query offset: empty group", 14, {**query, "consumerGroup": ""}),
        *missing("query offset", 14, query),
        *malformed("query offset", 14, query, ("queueId",)),
        request("update offset", 15, update),
        request("update offset: kept", 14, query),
        request("update offset: fast, binary", 15, {**update, "queueId": "1"}, on=FAST, serialize=1),
        request("query offset: fast, binary", 14, {**query, "queueId": "1"}, on=FAST, serialize=1),
        request("update offset: back", 15, {**update, "commitOffset": "1"}),
        request("update offset: kept back", 14, query),
        request("update offset: negative", 15, {**update, "commitOffset": "-3"}),
        request("update offset: kept negative", 14, query),
        request("update offset: behind the end", 15, {**update, "commitOffset": "999"}),
        request("update offset: kept behind the end", 14, query),
        request("update offset: queue 99", 15, {**update, "queueId": "99"}),
        request("update offset: queue -1", 15, {**update, "queueId": "-1"}),
        request("update offset: unknown topic", 15, {**update, "topic": "none"}),
        request("update offset: unknown group", 15, {**update, "consumerGroup": "DiffOffsetNewG"}),
        request("update offset: empty group", 15, {**update, "consumerGroup": ""}),
        request("update offset: one-way", 15, update, flag=2),
        request("update offset: kept one-way", 14, query, within=10, until={"offset": update["commitOffset"]}),
        *missing("update offset", 15, update),
        *malformed("update offset", 15, update, ("queueId", "commitOffset")),
        request("max offset", 30, at),
        request("max offset: not committed", 30, {**at, "committed": "false"}),
        request("max offset: empty queue", 30, {**at, "queueId": "1"}),
        request("max offset: queue 99", 30, {**at, "queueId": "99"}),
        request("max offset: unknown topic", 30, {**at, "topic": "none"}),
        request("max offset: fast, binary", 30, at, on=FAST, serialize=1),
        request("max offset: bad flag", 30, {**at, "committed": "maybe"}),
        *missing("max offset", 30, at),
        *malformed("max offset", 30, at, ("queueId",)),
        request("min offset", 31, at),
        request("min offset: empty queue", 31, {**at, "queueId": "1"}),
        request("min offset: unknown topic", 31, {**at, "topic": "none"}),
        request("min offset: fast, binary", 31, at, on=FAST, serialize=1),
        *missing("min offset", 31, at),
        *malformed("min offset", 31, at, ("queueId",)),
        request("earliest time", 32, at),
        request("earliest time: empty queue", 32, {**at, "queueId": "1"}),
        request("earliest time: unknown topic", 32, {**at, "topic": "none"}),
        request("earliest time: fast, binary", 32, at, on=FAST, serialize=1),
        *missing("earliest time", 32, at),
        *malformed("earliest time", 32, at, ("queueId",)),
        *(request(f"search: {when}, {kind}", 29, {**search, "timestamp": str(when), **({"boundaryType": kind} if kind else {})})
          for when in (0, -1, 1, 4000000000000) for kind in (None, "LOWER", "UPPER", "upper", "ODD", "")),
        request("search: empty queue", 29, {**search, "queueId": "1"}),
        request("search: empty queue, upper", 29, {**search, "queueId": "1", "boundaryType": "UPPER"}),
        request("search: unknown topic", 29, {**search, "topic": "none"}),
        request("search: fast, binary", 29, search, on=FAST, serialize=1),
        *missing("search", 29, search),
        *malformed("search", 29, search, ("queueId", "timestamp")),
        request("all offsets", 43, {}),
        request("all offsets: fast, binary", 43, None, on=FAST, serialize=1),
    ]


# Looking up messages


def queries():
    unique, none = "7F000001000018B4AAC2000000000001", "no such key"
    found = ("code", "remark", "field-names", "records")
    return [
        *(request(f"query: {name}", 12, query_fields(key, **more), compare=found) for name, key, more in (
            ("key", "k1", {}), ("second key", "k2", {}), ("key as type K", "k1", {"indexType": "K"}),
            ("key as type U", "k1", {"indexType": "U"}), ("unknown type", "k1", {"indexType": "X"}),
            ("tag", "TagA", {"indexType": "T"}), ("unique", unique, {"_UNIQUE_KEY_QUERY": "true"}),
            ("one of many", unique, {"maxNum": "1"}),
            ("unique key beats the type", "k1", {"_UNIQUE_KEY_QUERY": "TRUE", "indexType": "T", "maxNum": "0"}),
            ("not flagged", "k1", {"_UNIQUE_KEY_QUERY": "no"}))),
        request("query: fast, binary", 12, query_fields("k1"), on=FAST, serialize=1, compare=found),
        request("query: unknown key", 12, query_fields(none)),
        request("query: unknown key, binary", 12, query_fields(none), serialize=1),
        request("query: unknown topic", 12, query_fields("k1", topic="none")),
        request("query: key that is no tag", 12, query_fields("k1", indexType="T")),
        request("query: empty key", 12, query_fields("")),
        request("query: none wanted", 12, query_fields("k1", maxNum="0")),
        request("query: fewer than none", 12, query_fields("k1", maxNum="-1"), compare=("code",)),
        request("query: long ago", 12, query_fields("k1", endTimestamp="1000")),
        request("query: backwards", 12, query_fields("k1", beginTimestamp="9223372036854775807", endTimestamp="0")),
        *missing("query", 12, query_fields("k1")),
        *malformed("query", 12, query_fields("k1"), ("maxNum", "beginTimestamp", "endTimestamp")),
    ]


# Administration


def administration():
    update = "the reference takes no notice of what it does not understand"
    unsupported = (0, 1, 99, 302, 362, 1001, 9999, -5, 12345678)
    return [
        request("config: keys", 26, {}, compare=("code", "remark", "field-names", "keys")),
        request("config: without header, fast", 26, None, on=FAST, compare=("code", "remark", "field-names", "keys")),
        request("config: update", 25, {}, "flushIntervalCommitLog=600\nmaxMessageSize=4194304\n"),
        request("config: update, binary", 25, {}, "flushIntervalCommitLog=500\n", serialize=1, on=FAST),
        request("config: no body", 25, {}),
        request("config: unknown key", 25, {}, "noSuchKey=1\n"),
        request("config: bad number", 25, {}, "flushIntervalCommitLog=soon\n", differs=update, ours=29, theirs=0),
        request("config: bad flag", 25, {}, "traceOn=perhaps\n", differs=update, ours=29, theirs=0),
        *(request(f"config: black list: {key}", 25, {}, f"flushIntervalCommitLog=700\n{key}=/tmp/x\n", compare=("code", "remark-start"))
          for key in ("brokerConfigPath", "rocketmqHome", "configBlackList")),
        *(request(f"config: black list: {key}", 25, {}, f"flushIntervalCommitLog=700\n{key}=/tmp/x\n", ours=16, theirs=0,
                  differs="the reference lets a path or the number of a started program be changed from afar")
          for key in ("configStorePath", "filterServerNums")),
        request("config: nothing of a mixed update", 26, {}, compare=("code", "remark", "field-names", "keys")),
        request("runtime: keys", 28, {}, compare=("code", "remark", "fields", "table-keys"), scrub=TABLE),
        request("runtime: fast, binary", 28, None, on=FAST, serialize=1, compare=("code", "remark", "fields", "table-keys"), scrub=TABLE),
        request("view: first record", 33, {"offset": "0"}, compare=("code", "remark", "fields", "records")),
        request("view: fast, binary", 33, {"offset": "0"}, on=FAST, serialize=1, compare=("code", "remark", "fields", "records")),
        request("view: within a record", 33, {"offset": "7"}, compare=("code",)),
        request("view: behind the end", 33, {"offset": "99999999999"}),
        request("view: negative", 33, {"offset": "-1"}),
        request("view: with topic", 33, {"offset": "0", "topic": "Diff"}, compare=("code", "remark", "fields", "records")),
        *missing("view", 33, {"offset": "0"}),
        *malformed("view", 33, {"offset": "0"}, ("offset",)),
        request("topic stats", 202, {"topic": "DiffPull"}),
        request("topic stats: fast, binary", 202, {"topic": "DiffPull"}, on=FAST, serialize=1),
        request("topic stats: without queues", 202, {"topic": "DiffZero"}),
        request("topic stats: more to read", 202, {"topic": "DiffShrink"}),
        request("topic stats: unknown", 202, {"topic": "none"}),
        request("topic stats: empty", 202, {"topic": ""}),
        *missing("topic stats", 202, {"topic": "x"}, compare=("code",)),
        request("consume stats", 208, {"consumerGroup": "DiffOffsetG", "topic": "DiffPull"}),
        request("consume stats: all topics", 208, {"consumerGroup": "DiffOffsetG"}),
        request("consume stats: of a subscriber", 208, {"consumerGroup": "DiffSubG", "topic": "DiffPull"}),
        request("consume stats: topic list", 208, {"consumerGroup": "DiffOffsetG", "topicList": "DiffPull;none"}),
        request("consume stats: unknown group", 208, {"consumerGroup": "none"}),
        request("consume stats: unknown topic", 208, {"consumerGroup": "DiffOffsetG", "topic": "none"}),
        request("consume stats: topic not subscribed", 208, {"consumerGroup": "DiffSubG", "topic": "Diff"}),
        request("consume stats: fast, binary", 208, {"consumerGroup": "DiffOffsetG", "topic": "DiffPull"}, on=FAST, serialize=1),
        *missing("consume stats", 208, {"consumerGroup": "x"}),
        request("RocksDB: queues", 354, {"topic": "Diff"}),
        request("RocksDB: queues, fast, binary", 354, {"topic": "Diff", "checkStoreTime": "0"}, on=FAST, serialize=1),
        request("RocksDB: queues, without topic", 354, {}),
        request("RocksDB: tables", 355, {"configType": "topics;subscriptionGroups;consumerOffsets"}),
        request("RocksDB: tables, fast, binary", 355, {"configType": " Topics ;;"}, on=FAST, serialize=1),
        request("RocksDB: unknown table", 355, {"configType": "topics;other"}, compare=("code",)),
        *missing("RocksDB: tables", 355, {"configType": "topics"}),
        request("static topic", 513, topic_fields("DiffStatic"), "{}", differs="static topics are not served yet", ours=3),
        *(request(f"unsupported: {code}", code, {}) for code in unsupported),
        request("unsupported: fast", 9999, {}, on=FAST),
        request("unsupported: binary header", 9999, {}, serialize=1),
        request("unsupported: pull on the fast port, binary", 11, {}, on=FAST, serialize=1),
    ]


def replication():
    """A master without slaves, and without a name server; more in broker/tests/replication.rs."""
    status = [r'"masterCommitLogMaxOffset": \d+']
    told = {"masterHaAddress": "127.0.0.1:1", "masterAddress": "127.0.0.1:2", "masterFlushOffset": "0"}
    return [
        request("where slaves connect", 906, {}),
        request("where slaves connect: without header", 906),
        request("where slaves connect: fast, binary", 906, {}, on=FAST, serialize=1),
        request("where slaves connect: an unknown extra field", 906, {"zz": "1"}),
        request("where slaves connect: a master is told of another", 906, told),
        request("where slaves connect: as before", 906, {}),
        *malformed("where slaves connect", 906, told, ("masterFlushOffset",)),
        request("replication", 907, {}, scrub=[*OWN, *status]),
        request("replication: without header", 907, scrub=[*OWN, *status]),
        request("replication: fast, binary", 907, {}, on=FAST, serialize=1, scrub=[*OWN, *status]),
        request("what a master flushed", 908, {"masterFlushOffset": "0"}),
        request("what a master flushed: fast, binary", 908, {"masterFlushOffset": "0"}, on=FAST, serialize=1),
        request("the smallest broker id: none", 905, {}, differs="a null pointer there; here there is nothing to do", ours=0, theirs=1),
    ]


def permissions():
    return [
        request("permission: broker may not be read", 25, {}, "brokerPermission=2\n"),
        pull("broker not readable", at={"topic": "DiffPull"}),
        request("permission: broker may not be written", 25, {}, "brokerPermission=4\n"),
        send("broker not writable", "DiffPull"),
        send("broker not writable, ordered topic", "DiffExtra"),
        request("permission: back", 25, {}, "brokerPermission=6\n"),
        request("no automatic creation", 25, {}, "autoCreateTopicEnable=false\nautoCreateSubscriptionGroup=false\n"),
        pull("no automatic group", fields=pull_fields("DiffPull", group="DiffNoAutoG")),
        request("heartbeat: no automatic group", 34, {}, heartbeat("na@1", [consumer("DiffNoAutoG", subscription("DiffPull"))]), on="na"),
        request("group config: no automatic group", 352, {"group": "DiffNoAutoG"}),
        request("query offset: no automatic group", 14, {"consumerGroup": "DiffNoAutoG", "topic": "DiffPull", "queueId": "0"}),
        request("lite pull off", 25, {}, "litePullMessageEnable=false\n"),
        pull("lite pull off", code=361, at={"topic": "DiffPull"}),
        request("long polling off", 25, {}, "longPollingEnable=false\nshortPollingTimeMills=100\n"),
        pull("held shortly", fields=pull_fields("DiffPull", offset=6, sysFlag="6")),
        request("mixed types on", 25, {}, "enableMixedMessageType=true\n"),
        request("topic: mixed, allowed", 17, topic_fields("DiffMixed", attributes="+message.type=MIXED")),
        request("trace off", 25, {}, "traceOn=false\nregionId=R2\n"),
        send("no trace, other region", "DiffPull"),
        request("not yet", 25, {}, "startAcceptSendRequestTimeStamp=4000000000000\n"),
        send("before the time", "DiffPull", compare=("code", "remark-start", "fields")),
        request("now", 25, {}, "startAcceptSendRequestTimeStamp=0\n"),
    ]


def frames():
    return [
        Raw("frame: length 3", struct.pack(">i", 3) + b"abc", differs="the reference may keep the connection and never answer"),
        Raw("frame: TLS where plain is spoken", bytes.fromhex("1603010200010001fc0303"), differs="as above"),
        Raw("frame: HTTP where frames are spoken", b"GET / HTTP/1.1\r\n\r\n", differs="as above"),
        request("frame: the others are served", 30, {"topic": "DiffPull", "queueId": "0"}, on="fresh"),
    ]


def steps(side):
    everything = [*topics(), *groups(), *sends(), *batches(), *pulls(), *clients(), *locks(), *consumed(), *queries(),
                  *administration(), *replication(), *delete_topics(), *permissions(), *frames()]
    # What differs on purpose comes last: only one of the two has changed its state by it.
    return sorted(everything, key=lambda step: getattr(step, "differs", None) is not None)
