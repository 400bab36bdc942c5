"""What requests to a broker look like, for all case files about brokers."""

import json

from steps import Request

BROKER, CLUSTER = "diff-a", "DiffCluster"
# Addresses, times and offset ids (which hold both) are each server's own.
OWN = [r'"timestamp": \d+', r"127\.0\.0\.1:\d+", r"\b1[6-9]\d{11}\b", r"\b[0-9A-F]{32}([0-9A-F]{24})?\b",
       r'"(topicPut|consume)Tps": [\d.]+', r'"counter": \d+']
FAST = "fast"
NOT_CHECKED = "the reference runs into a null pointer or does nothing; ours refuses what is not there to read"
MALFORMED = "the reference takes a malformed number for an absent one; ours names the field"
NULL = "the reference runs into a null pointer or takes null for a name; ours names the missing field"
NAME, VALUE = "\x01", "\x02"


def request(name, code, fields=None, body=b"", **more):
    return Request(name, code, fields, body, **{"scrub": OWN, **more})


def missing(name, code, fields, body=b"", needed=None, **more):
    """The request once without each of the fields that it needs."""
    return [request(f"{name}: without {left_out}", code, {k: v for k, v in fields.items() if k != left_out}, body,
                    **{"differs": NULL, "ours": 1, **more})
            for left_out in needed or fields]


def malformed(name, code, fields, numbers, body=b"", **more):
    """The request with each of its numbers once replaced by what is none."""
    return [request(f"{name}: malformed {field} {bad!r}", code, {**fields, field: bad}, body,
                    **{"differs": MALFORMED, "ours": 1, **more})
            for field in numbers for bad in ("x", "99999999999999999999")]


def topic_fields(topic, read=2, write=2, perm=6, **more):
    return {"topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(read), "writeQueueNums": str(write),
            "perm": str(perm), "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false", **more}


def topic_config(name, read=2, write=2, perm=6, **more):
    return {"topicName": name, "readQueueNums": read, "writeQueueNums": write, "perm": perm, "topicSysFlag": 0,
            "topicFilterType": "SINGLE_TAG", "order": False, "attributes": {}, **more}


def group_config(name, **more):
    return {"groupName": name, "consumeEnable": True, "consumeFromMinEnable": True, "consumeBroadcastEnable": True,
            "consumeMessageOrderly": False, "retryQueueNums": 1, "retryMaxTimes": 16, "brokerId": 0,
            "whichBrokerWhenConsumeSlowly": 1, "notifyConsumerIdsChangedEnable": True, "groupSysFlag": 0,
            "consumeTimeoutMinute": 15, "attributes": {}, **more}


LONG = {"a": "producerGroup", "b": "topic", "c": "defaultTopic", "d": "defaultTopicQueueNums", "e": "queueId", "f": "sysFlag",
        "g": "bornTimestamp", "h": "flag", "i": "properties", "j": "reconsumeTimes", "k": "unitMode", "l": "maxReconsumeTimes",
        "m": "batch"}


def pairs(**properties):
    return "".join(f"{name}{NAME}{value}{VALUE}" for name, value in properties.items())


UNIQUE = pairs(UNIQ_KEY="7F000001000018B4AAC2000000000001")


def send_fields(topic, queue=0, properties=UNIQUE, batch=False, **more):
    return {"a": "DiffP", "b": topic, "c": "TBW102", "d": "4", "e": str(queue), "f": "0", "g": "1700000000000", "h": "0",
            "i": properties, "j": "0", "k": "false", "m": "true" if batch else "false", **more}


def send(name, topic="Diff", body=b"hello", code=310, fields=None, **more):
    fields = fields or send_fields(topic)
    if code == 10:
        fields = {LONG[k]: v for k, v in fields.items()}
    return request(f"send: {name}", code, fields, body, **more)


def pull_fields(topic="Diff", queue=0, offset=0, group="DiffG", **more):
    return {"consumerGroup": group, "topic": topic, "queueId": str(queue), "queueOffset": str(offset), "maxMsgNums": "32",
            "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "500", "subscription": "*",
            "subVersion": "1", "expressionType": "TAG", **more}


PULLED = ("code", "remark", "fields", "records", "serialize")


def pull(name, code=11, fields=None, **more):
    at = more.pop("at", {})
    return request(f"pull: {name}", code, fields or pull_fields(**at), **{"compare": PULLED, **more})


def kept(topic, number=0, name="", **more):
    """What is stored in a queue that nobody consumes."""
    return pull(f"{name}{topic} {number}", fields=pull_fields(topic, number, group="LookG"), **{"within": 10, **more})


def max_offset(topic, expected, number=0):
    """The last offset of a queue, waited for: messages are dispatched at a time of their own."""
    return request(f"max offset: {topic} {number}", 30, {"topic": topic, "queueId": str(number), "committed": "true"}, within=15,
                   until={"offset": str(expected)})


def heartbeat(client, consumers=(), producers=(), fingerprint=0, without=False):
    return json.dumps({"clientID": client, "consumerDataSet": list(consumers),
                       "producerDataSet": [{"groupName": p} for p in producers], "heartbeatFingerprint": fingerprint,
                       "withoutSub": without})


def java_hash(text):
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def subscription(topic, tags="*", version=10, kind="TAG"):
    names = [] if tags == "*" else [t.strip() for t in tags.split("||")]
    return {"classFilterMode": False, "topic": topic, "subString": tags, "tagsSet": names,
            "codeSet": [java_hash(t) for t in names], "subVersion": version, "expressionType": kind}


def consumer(group, *subscriptions, model="CLUSTERING", kind="CONSUME_PASSIVELY", where="CONSUME_FROM_LAST_OFFSET", unit=False):
    return {"groupName": group, "consumeType": kind, "messageModel": model, "consumeFromWhere": where, "unitMode": unit,
            "subscriptionDataSet": list(subscriptions)}


def queue(topic="DiffPull", number=0, broker=BROKER):
    return {"topic": topic, "brokerName": broker, "queueId": number}


def query_fields(key, **more):
    return {"topic": "Diff", "key": key, "maxNum": "32", "beginTimestamp": "0", "endTimestamp": "9223372036854775807", **more}
