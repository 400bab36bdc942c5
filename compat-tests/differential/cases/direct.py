"""Asking and telling clients through the broker: running consumers, one message directly, replies, connections."""

import json

from broker_requests import (BROKER, CLUSTER, FAST, LONG, UNIQUE, consumer, heartbeat, malformed, missing, pairs,
                             request, send, send_fields, subscription, topic_fields)
from steps import Answers, Close, Pushed

TOPIC, GROUP, REPLIES = "Direct", "DirectG", f"{CLUSTER}_REPLY_TOPIC"


def setup():
    beat = heartbeat("d@1", [consumer(GROUP, subscription(TOPIC, "TagA"))], ["DirectP"])
    return [
        request("topic", 17, topic_fields(TOPIC, 1, 1)),
        send("a message", fields=send_fields(TOPIC, properties=UNIQUE + pairs(TAGS="TagA"))),
        request("consumer", 34, {}, beat, on="consumer"),
        Answers(307, "consumer", body='{"properties":{"PROP_CLIENT_VERSION":"V5_5_0"}}'),
        Answers(309, "consumer", body='{"consumeResult":"CR_SUCCESS"}'),
        Answers(221, "consumer", body=json.dumps({"messageQueueTable": {}})),
        Answers(326, "consumer"),
    ]


def running():
    fields = {"consumerGroup": GROUP, "clientId": "d@1", "jstackEnable": "true"}
    return [
        request("running info", 307, fields),
        Pushed("running info: asked", 307, on="consumer"),
        request("running info: fast, binary", 307, fields, on=FAST, serialize=1),
        Pushed("running info: asked again", 307, on="consumer"),
        request("running info: an unknown extra field", 307, {**fields, "zz": "1"}),
        Pushed("running info: passed on", 307, on="consumer"),
        request("running info: unknown group", 307, {**fields, "consumerGroup": "none"}),
        request("running info: unknown client", 307, {**fields, "clientId": "none"}),
        Answers(307, "consumer", answer=1, remark="not now"),
        request("running info: refused by the client", 307, fields),
        Pushed("running info: asked in vain", 307, on="consumer"),
        *missing("running info", 307, fields, needed=("consumerGroup", "clientId")),
    ]


def directly():
    # The first record of the log.
    place = "7F000001" + "0" * 24
    fields = {"consumerGroup": GROUP, "clientId": "d@1", "msgId": place, "topic": TOPIC}
    asked = ("fields", "records")
    return [
        request("directly", 309, fields),
        Pushed("directly: asked", 309, on="consumer", compare=asked),
        request("directly: fast, binary", 309, fields, on=FAST, serialize=1),
        Pushed("directly: asked again", 309, on="consumer", compare=asked),
        request("directly: without topic", 309, {k: v for k, v in fields.items() if k != "topic"}),
        Pushed("directly: asked without topic", 309, on="consumer", compare=asked),
        request("directly: unknown topic", 309, {**fields, "topic": "none", "brokerName": "mine"}),
        Pushed("directly: asked, unknown topic", 309, on="consumer", compare=asked),
        request("directly: unknown client", 309, {**fields, "clientId": "none"}),
        request("directly: unknown group", 309, {**fields, "consumerGroup": "none"}),
        request("directly: without client", 309, {k: v for k, v in fields.items() if k != "clientId"}),
        request("directly: no such message", 309, {**fields, "msgId": place[:-8] + "00FFFFFF"}, compare=("code",)),
        request("directly: no message id", 309, {**fields, "msgId": "x"}, compare=("code",)),
        request("directly: without message id", 309, {k: v for k, v in fields.items() if k != "msgId"}, compare=("code",)),
        *missing("directly", 309, fields, needed=("consumerGroup",)),
    ]


def status():
    fields = {"topic": TOPIC, "group": GROUP}
    return [
        request("status", 223, fields),
        Pushed("status: asked", 221, on="consumer"),
        request("status: of one", 223, {**fields, "clientAddr": "d@1"}),
        Pushed("status: one asked", 221, on="consumer"),
        request("status: of another", 223, {**fields, "clientAddr": "d@2"}),
        request("status: fast, binary", 223, fields, on=FAST, serialize=1),
        Pushed("status: asked, fast", 221, on="consumer"),
        Answers(221, "consumer", answer=1),
        request("status: refused by the client", 223, fields),
        Pushed("status: asked in vain", 221, on="consumer"),
        request("status: nobody there", 223, {**fields, "group": "none"}, compare=("code",)),
        *missing("status", 223, fields, compare=("code",)),
    ]


def replies():
    def fields(client="d@1", topic=REPLIES, **more):
        reply = UNIQUE + pairs(CORRELATION_ID="c1", MSG_TYPE="reply")
        return send_fields(topic, properties=reply + (pairs(REPLY_TO_CLIENT=client) if client else ""), **more)

    long_fields = {LONG[name]: value for name, value in fields().items()}

    def pushed(name):
        return Pushed(f"reply: {name} reaches the producer", 326, on="consumer", compare=("field-names", "body-bytes"))

    return [
        request("reply", 325, fields(), b"answer"), pushed("V2"),
        request("reply: V1", 324, long_fields, b"answer"), pushed("V1"),
        request("reply: fast, binary", 325, fields(), b"answer", on=FAST, serialize=1), pushed("fast"),
        request("reply: queue -1", 325, fields(e="-1"), b"answer"), pushed("any queue"),
        request("reply: unknown producer", 325, fields("none"), b"answer"),
        request("reply: to nobody", 325, fields(None), b"answer"),
        request("reply: without properties", 325, {k: v for k, v in fields().items() if k != "i"}, b"answer"),
        request("reply: queue 7", 325, fields(e="7"), b"answer"),
        request("reply: another topic", 325, fields(topic=TOPIC), b"answer"), pushed("another topic"),
        request("reply: forbidden topic", 325, fields(topic="SCHEDULE_TOPIC_XXXX"), b"answer"),
        request("reply: bad topic", 325, fields(topic="a b"), b"answer"),
        Answers(326, "consumer", answer=1, remark="too late"),
        request("reply: refused by the producer", 325, fields(), b"answer"), pushed("in vain"),
        request("replies: kept", 11, {"consumerGroup": GROUP, "topic": REPLIES, "queueId": "0", "queueOffset": "0", "maxMsgNums": "32",
                "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "500", "subscription": "*", "subVersion": "1"},
                compare=("code", "remark", "fields", "records")),
        request("reply: not to be stored", 25, {}, "storeReplyMessageEnable=false\n"),
        Answers(326, "consumer"),
        request("reply: not stored", 325, fields(), b"answer"), pushed("not stored"),
        request("reply: not stored, unknown producer", 325, fields("none"), b"answer"),
        request("replies: as many as before", 30, {"topic": REPLIES, "queueId": "0"}),
        *missing("reply", 325, fields(), b"answer", needed=("b", "e", "f", "g", "h")),
        *malformed("reply", 325, fields(), ("e",), b"answer"),
    ]


def connected():
    return [
        request("subscription", 345, {"group": GROUP, "topic": TOPIC}),
        request("subscription: another topic", 345, {"group": GROUP, "topic": "none"}),
        request("subscription: unknown group", 345, {"group": "none", "topic": TOPIC}),
        request("subscription: fast, binary", 345, {"group": GROUP, "topic": TOPIC}, on=FAST, serialize=1),
        request("who consumes: subscribed", 300, {"topic": TOPIC}),
        request("who consumes: the retry topic", 300, {"topic": f"%RETRY%{GROUP}"}),
        request("producers", 328, {}),
        request("producers: fast, binary", 328, None, on=FAST, serialize=1),
        Close("consumer"),
        request("producers: none", 328, {}, within=5),
        request("subscription: gone", 345, {"group": GROUP, "topic": TOPIC}, within=5),
    ]


def modes():
    def body(topic=TOPIC, group=GROUP, mode="PULL", **more):
        return json.dumps({"topic": topic, "consumerGroup": group, "mode": mode, "popShareQueueNum": 2, **more})

    return [
        request("mode", 401, {}, body()),
        request("mode: fast, binary", 401, None, body(group="DirectModeG"), on=FAST, serialize=1),
        request("mode: again", 401, {}, body(popShareQueueNum=0)),
        request("mode: of a retry topic", 401, {}, body(f"%RETRY%{GROUP}")),
        request("mode: unknown topic", 401, {}, body("none")),
        request("mode: bad group", 401, {}, body(group="a b")),
        request("mode: no body", 401, {}, compare=("code",)),
        request("modes", 402, {}),
        request("mode: pop", 401, {}, body(group="DirectPopG", mode="POP"), differs="pop is not served yet", ours=1, theirs=0),
    ]


def assignments():
    """No name server knows the topics here; broker/tests/assignment.rs has one."""
    def body(topic=TOPIC, **more):
        return json.dumps({"topic": topic, "consumerGroup": GROUP, "clientId": "d@1", "strategyName": "AVG",
                           "messageModel": "CLUSTERING", **more})

    return [
        request("assignment", 400, {}, body()),
        request("assignment: fast, binary", 400, None, body(), on=FAST, serialize=1),
        request("assignment: broadcasting", 400, {}, body(messageModel="BROADCASTING")),
        request("assignment: retry topic", 400, {}, body(f"%RETRY%{GROUP}")),
        *(request(f"assignment: light queue, {strategy}, {client}", 400, {}, body("%LMQ%a", strategyName=strategy, clientId=client))
          for strategy in ("AVG", "AVG_BY_CIRCLE", "ODD") for client in ("d@1", "none", "")),
        request("assignment: light queue, unknown group", 400, {}, body("%LMQ%a", consumerGroup="none")),
        request("assignment: not shared out", 25, {}, "serverLoadBalancerEnable=false\n"),
        request("assignment: light queue, everything", 400, {}, body("%LMQ%a", clientId="none")),
        request("assignment: no body", 400, {}, compare=("code",)),
        *(request(f"assignment: without {name}", 400, {}, body(**{name: None}), compare=("code",)) for name in ("topic", "messageModel")),
    ]


def cleaning():
    return [
        request("system topics", 305, {}),
        request("system topics: fast, binary", 305, None, on=FAST, serialize=1),
        request("expired queues", 306, {}),
        request("expired queues: fast, binary", 306, None, on=FAST, serialize=1),
        request("unused topics", 316, {}),
        request("unused topics: fast, binary", 316, None, on=FAST, serialize=1),
        request("unused topics: what is used stays", 30, {"topic": TOPIC, "queueId": "0"}),
    ]


def steps(side):
    everything = [*setup(), *running(), *directly(), *status(), *replies(), *modes(), *assignments(), *connected(), *cleaning()]
    return sorted(everything, key=lambda step: getattr(step, "differs", None) is not None)
