"""Light queues: messages that are stored once and read from several queues, and what requests say of these."""

import json

from broker_requests import FAST, consumer, group_config, heartbeat, max_offset, pairs, pull, pull_fields, request, send
from broker_requests import send_fields, subscription, topic_fields

TOPIC, A, B, GROUP = "Light", "%LMQ%a", "%LMQ%b", "%LMQ%g"


def to(*names, **more):
    return pairs(UNIQ_KEY="7F000001000018B4AAC2000000000001", INNER_MULTI_DISPATCH=",".join(names), **more)


def message(name, properties, queue=0, **more):
    return send(name, fields=send_fields(TOPIC, queue, properties), **more)


def read(topic, queue=0, offset=0, group=GROUP, **more):
    return pull(f"{topic} {queue} from {offset} by {group}",
                fields=pull_fields(topic, queue, offset, group=group, suspendTimeoutMillis="0"), **more)


def setup():
    return [
        request("topic", 17, topic_fields(TOPIC, 2, 2)),
        message("to one", to(A, TAGS="TagA")),
        message("to two", to(A, B, KEYS="k1", WAIT="true")),
        message("from another queue", to(B, A, TAGS="TagB"), queue=1),
        message("with offsets of its own", to(A, INNER_MULTI_QUEUE_OFFSET="77")),
        message("to nobody", to(" ", TAGS="TagA")),
        message("to none", pairs(UNIQ_KEY="7F000001000018B4AAC2000000000002")),
        message("a lite topic", pairs(UNIQ_KEY="7F000001000018B4AAC2000000000003", __LITE_TOPIC="chat")),
        send("to a group that retries", fields=send_fields("%RETRY%LightG", 0, to(A))),
        max_offset(A, 4), max_offset(B, 2), max_offset(f"%LMQ%${TOPIC}$chat", 1), max_offset(TOPIC, 6),
        max_offset("%RETRY%LightG", 1), max_offset(A, 0, 1), max_offset("%LMQ%none", 0),
    ]


def reads():
    beat = heartbeat("l@1", [consumer(GROUP, subscription(A, "TagA"))])
    return [
        read(A), read(B), read(A, offset=2), read(A, offset=4), read(A, offset=9), read(A, queue=1),
        read(f"%LMQ%${TOPIC}$chat"), read("%LMQ%none"), read(A, group="LightG"), read(TOPIC), read("%RETRY%LightG"),
        pull("only a tag", fields=pull_fields(A, 0, 0, group=GROUP, subscription="TagB", suspendTimeoutMillis="0")),
        request("a consumer", 34, {}, beat, on="consumer"),
        pull("as subscribed", fields={**pull_fields(A, 0, 0, group=GROUP, suspendTimeoutMillis="0"), "sysFlag": "0"}),
        request("by key", 12, {"topic": TOPIC, "key": "k1", "maxNum": "32", "beginTimestamp": "0",
                               "endTimestamp": "9223372036854775807"}, compare=("code", "remark"), within=10),
        *(request(f"min offset: {topic}", 31, {"topic": topic, "queueId": "0"}) for topic in (A, "%LMQ%none")),
        *(request(f"search {time}", 29, {"topic": A, "queueId": "0", "timestamp": time}) for time in ("0", "4000000000000")),
        request("earliest time", 32, {"topic": A, "queueId": "0"}, compare=("code", "remark")),
        request("units", 321, {"topic": A, "queueId": "0", "index": "0", "count": "9", "consumerGroup": GROUP},
                compare=("code",)),
    ]


def offsets():
    def where(name, group=GROUP, queue=0, topic=A):
        fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue), "setZeroIfNotFound": "false"}
        return request(f"{name}: {group} is at", 14, fields)

    def commit(offset, group=GROUP, queue=0, topic=A):
        fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue), "commitOffset": str(offset)}
        return request(f"commit {offset}: {group} {topic} {queue}", 15, fields)

    return [
        where("at first"), commit(2), where("then"), where("any queue", queue=7), commit(3, queue=5), where("from any queue"),
        request("group: LightG", 200, {}, json.dumps(group_config("LightG"))),
        commit(1, "LightG"), where("a group with a topic of its own", "LightG"), where("its other queue", "LightG", 1),
        commit(1, topic=TOPIC), where("in a topic", topic=TOPIC, queue=1),
        request("all offsets", 43, compare=("code", "remark", "body")),
        request("progress", 208, {"consumerGroup": GROUP, "topic": A}),
        request("progress in all topics", 208, {"consumerGroup": GROUP}),
        request("progress of the other group", 208, {"consumerGroup": "LightG", "topic": A}),
        request("topics of the group", 343, {"group": GROUP}),
        request("groups of the queue", 300, {"topic": A}),
        request("the slowest", 308, {"topic": A, "compareGroup": GROUP}),
        request("clone", 314, {"srcGroup": GROUP, "destGroup": "LightCopyG", "topic": A, "offline": "true"}),
        where("nothing cloned", "LightCopyG"),
        request("reset", 222, {"topic": A, "group": GROUP, "timestamp": "-1", "isForce": "true"}),
        read(A), read(A, offset=4), where("after a reset"),
    ]


def administration():
    return [
        request("as a topic", 351, {"topic": A}),
        request("as a group", 352, {"group": GROUP}),
        request("changed as a topic", 17, topic_fields(A, 8, 8)),
        request("changed as a group", 200, {}, json.dumps(group_config(GROUP, consumeEnable=False))),
        request("still the same topic", 351, {"topic": A}),
        request("still the same group", 352, {"group": GROUP}),
        request("topic stats", 202, {"topic": A}),
        request("topic stats: none", 202, {"topic": "%LMQ%none"}),
        request("clean unused", 316),
        max_offset(A, 4),
        request("delete", 215, {"topic": B}),
        max_offset(B, 0),
        message("to a deleted one", to(B)),
        max_offset(B, 1), read(B),
    ]


def read_mode():
    return [*(request(f"read mode {mode}", 2004, {"READ_AHEAD_MODE": mode}) for mode in ("1", "0", "2", "-1", "", "x", "+1")),
            request("read mode: fast, binary", 2004, {"READ_AHEAD_MODE": "0"}, on=FAST, serialize=1),
            request("read mode: other fields", 2004, {"mode": "0"}),
            request("read mode: no fields", 2004, None)]


def steps(side):
    return [*setup(), *reads(), *offsets(), *administration(), *read_mode()]
