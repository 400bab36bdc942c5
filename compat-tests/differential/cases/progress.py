"""Where groups are, and putting them elsewhere: reset, clone, correction, figures."""

import json

from broker_requests import (CLUSTER, FAST, consumer, group_config, heartbeat, malformed, missing, pull, pull_fields,
                             request, send, send_fields, subscription, topic_fields)
from steps import Close, Pushed

TOPIC, EMPTY = "Progress", "ProgressEmpty"
COPIED = "the reference copies nothing without a topic, though its tools say that it copies all"
# Negative times are told as they are, in the local zone of the server.
END, NEVER = "-1", "4000000000000"


def reset_fields(group="ProgressG", topic=TOPIC, time=END, queue=None, offset=None, force="true", **more):
    fields = {"group": group, "topic": topic, "timestamp": time, "isForce": force, **more}
    fields.update({} if queue is None else {"queueId": str(queue)}, **({} if offset is None else {"offset": str(offset)}))
    return fields


def commit(group, queue=0, offset=0, topic=TOPIC):
    return {"consumerGroup": group, "topic": topic, "queueId": str(queue), "commitOffset": str(offset)}


def where(name, group="ProgressG", queue=0, **more):
    fields = {"consumerGroup": group, "topic": TOPIC, "queueId": str(queue), "setZeroIfNotFound": "false"}
    return request(f"{name}: the group is at", 14, fields, **more)


def setup():
    steps = [request(f"topic: {topic}", 17, topic_fields(topic, 2, 2)) for topic in (TOPIC, EMPTY)]
    for group in ("ProgressG", "ProgressSlowG", "ProgressConsumersG"):
        steps.append(request(f"group: {group}", 200, {}, json.dumps(group_config(group))))
        steps += [request(f"group: {group} is at {queue}", 15, commit(group, queue, 3 - queue)) for queue in (0, 1)]
    steps += [send(f"{number}", fields=send_fields(TOPIC, number % 2)) for number in range(10)]
    return steps


def resets():
    return [
        request("reset: to the end", 222, reset_fields()),
        where("reset: to the end"),
        request("reset: a commit before the pull", 15, commit("ProgressG", 0, 1)),
        where("reset: a commit before the pull"),
        pull("the pull after a reset", fields=pull_fields(TOPIC, group="ProgressG")),
        pull("the pull after that", fields=pull_fields(TOPIC, group="ProgressG")),
        request("reset: a commit after the pull", 15, commit("ProgressG", 0, 1)),
        where("reset: a commit after the pull"),
        request("reset: to the start", 222, reset_fields(time="0")),
        where("reset: to the start", queue=1),
        request("reset: to the future", 222, reset_fields(time=NEVER)),
        request("reset: without force", 222, reset_fields(time="0", force="false")),
        request("reset: fast, binary", 222, reset_fields(time="0"), on=FAST, serialize=1),
        request("reset: as C++", 222, reset_fields(time="0"), language="CPP"),
        *(request(f"reset: queue {queue} to {offset}", 222, reset_fields(queue=queue, offset=offset))
          for queue in (0, 1, 7, -1) for offset in (0, 3, 5, 6, 7, -1, -2)),
        request("reset: queue 1 to a time", 222, reset_fields(queue=1, time="0")),
        request("reset: a new queue", 222, reset_fields(topic=EMPTY)),
        request("reset: a group that never consumed", 222, reset_fields(group="ProgressSlowG", topic=EMPTY)),
        request("reset: unknown topic", 222, reset_fields(topic="none")),
        request("reset: unknown group", 222, reset_fields(group="none")),
        request("reset: without flags", 222, {k: v for k, v in reset_fields().items() if k in ("group", "topic", "timestamp")}),
        *missing("reset", 222, reset_fields(), needed=("group", "topic")),
        *malformed("reset", 222, reset_fields(queue=0, offset=1), ("timestamp", "queueId", "offset")),
        request("reset: group gone", 207, {"groupName": "ProgressG", "cleanOffset": "true"}),
        where("reset: group gone"),
        request("reset: group back", 200, {}, json.dumps(group_config("ProgressG"))),
        pull("nothing left of a reset", fields=pull_fields(TOPIC, group="ProgressG", offset=5)),
    ]


def resets_by_consumers():
    group = "ProgressConsumersG"

    def told(name):
        return Pushed(f"{name}: the consumer is told", 220, on="consumer", compare=("fields", "body"))

    beat = heartbeat("p@1", [consumer(group, subscription(TOPIC))])
    return [
        request("consumers: by way of them", 25, {}, "useServerSideResetOffset=false\n"),
        request("consumers: nobody there", 222, reset_fields(group)),
        request("consumers: unknown topic", 222, reset_fields(group, topic="none")),
        request("consumers: unknown group", 222, reset_fields("none")),
        request("consumers: never consumed", 222, reset_fields(group, topic=EMPTY)),
        request("consumers: one comes", 34, {}, beat, on="consumer"),
        request("consumers: to the end", 222, reset_fields(group)), told("to the end"),
        request("consumers: to the start", 222, reset_fields(group, time="0")), told("to the start"),
        request("consumers: to the end without force", 222, reset_fields(group, force="false")), told("without force"),
        request("consumers: to the start without force", 222, reset_fields(group, time="0", force="false")), told("back"),
        request("consumers: as C++", 222, reset_fields(group), language="CPP"), told("C++"),
        request("consumers: with a queue and an offset", 222, reset_fields(group, queue=1, offset=2)), told("one queue"),
        request("consumers: before the first", 222, reset_fields(group, time="-5")), told("-5"),
        where("consumers: they commit for themselves", group),
        Close("consumer"),
        request("consumers: gone", 203, {"consumerGroup": group}, within=5),
        request("consumers: nobody left", 222, reset_fields(group)),
        request("consumers: here again", 25, {}, "useServerSideResetOffset=true\n"),
    ]


def clones():
    def fields(to, topic=TOPIC, **more):
        return {"srcGroup": "ProgressSlowG", "destGroup": to, "topic": topic, "offline": "false", **more}

    beat = heartbeat("p@2", [consumer("ProgressSlowG", subscription(TOPIC))])
    return [
        request("clone", 314, fields("ProgressCloneG")),
        *(where("clone", "ProgressCloneG", queue) for queue in (0, 1)),
        request("clone: fast, binary", 314, fields("ProgressCloneFastG"), on=FAST, serialize=1),
        where("clone: fast", "ProgressCloneFastG"),
        request("clone: nothing consumed", 314, fields("ProgressCloneEmptyG", EMPTY)),
        request("clone: unknown topic", 314, fields("ProgressCloneEmptyG", "none")),
        request("clone: unknown source", 314, {**fields("ProgressCloneEmptyG"), "srcGroup": "none"}),
        where("clone: nothing", "ProgressCloneEmptyG"),
        request("clone: a consumer comes", 34, {}, beat, on="cloned"),
        request("clone: subscribed", 314, fields("ProgressClone2G")),
        where("clone: subscribed", "ProgressClone2G"),
        request("clone: not subscribed", 314, fields("ProgressClone3G", EMPTY)),
        request("clone: not subscribed, offline", 314, fields("ProgressClone3G", EMPTY, offline="true")),
        Close("cloned"),
        *missing("clone", 314, fields("ProgressCloneG"), needed=("srcGroup", "destGroup"), compare=("code",)),
        request("clone: all topics", 314, {k: v for k, v in fields("ProgressCloneAllG").items() if k != "topic"},
                differs=COPIED, ours=0, theirs=0),
        where("clone: all topics", "ProgressCloneAllG", differs=COPIED, ours=0, theirs=22),
    ]


def corrections():
    fields = {"topic": TOPIC, "compareGroup": "ProgressSlowG"}
    return [
        request("correction", 308, fields),
        request("correction: fast, binary", 308, fields, on=FAST, serialize=1),
        request("correction: against the fastest", 308, {**fields, "compareGroup": "ProgressConsumersG"}),
        request("correction: against nobody", 308, {**fields, "compareGroup": "none"}),
        request("correction: unknown topic", 308, {**fields, "topic": "none", "compareGroup": "none"}),
        *missing("correction", 308, fields, compare=("code",)),
        request("correction: without some", 308, {**fields, "filterGroups": "ProgressCloneG,ProgressCloneFastG"},
                differs="the reference deletes the offsets of the groups that are to be left out", ours=0, theirs=0),
        where("correction: nothing is lost", "ProgressCloneG", differs="as above", ours=0, theirs=22),
    ]


def figures():
    span = {"topic": TOPIC, "group": "ProgressSlowG"}
    spans = {"scrub": [r'"delayTime": -?\d+', r'"[0-9-]{10}#[0-9:]+"', r"\b1[6-9]\d{11}\b"]}
    return [
        request("time span", 303, span, **spans),
        request("time span: fast, binary", 303, span, on=FAST, serialize=1, **spans),
        request("time span: nothing stored", 303, {**span, "topic": EMPTY}, **spans),
        request("time span: nothing consumed", 303, {**span, "group": "none"}, **spans),
        request("time span: unknown topic", 303, {**span, "topic": "none"}),
        *missing("time span", 303, span, compare=("code",)),
        request("who consumes", 300, {"topic": TOPIC}),
        request("who consumes: nobody", 300, {"topic": "none"}),
        request("who consumes: fast, binary", 300, {"topic": TOPIC}, on=FAST, serialize=1),
        request("topics of a group", 343, {"group": "ProgressSlowG"}),
        request("topics of a group: unknown", 343, {"group": "none"}),
        request("topics of a group: fast, binary", 343, {"group": "ProgressSlowG"}, on=FAST, serialize=1),
        request("consume stats", 208, {"consumerGroup": "ProgressSlowG", "topic": TOPIC}),
        request("consume stats: behind the end", 208, {"consumerGroup": "ProgressConsumersG"}),
    ]


def counters():
    def fields(name, key):
        return {"statsName": name, "statsKey": key}

    puller = "ProgressPullG"
    numbers = {"scrub": [r'"(avgpt|sum|tps)": [\d.]+']}
    known = {"TOPIC_PUT_NUMS": TOPIC, "TOPIC_PUT_SIZE": TOPIC, "GROUP_GET_NUMS": f"{TOPIC}@{puller}",
             "GROUP_GET_SIZE": f"{TOPIC}@{puller}", "BROKER_PUT_NUMS": CLUSTER, "BROKER_GET_NUMS": CLUSTER,
             "SNDBCK_PUT_NUMS": f"{TOPIC}@{puller}"}
    return [
        pull("something to count", fields=pull_fields(TOPIC, group=puller)),
        request("something given back", 36, {"offset": "0", "group": puller, "delayLevel": "1"}),
        *(request(f"counter: {name}", 315, fields(name, key), **numbers) for name, key in known.items()),
        request("counter: fast, binary", 315, fields("TOPIC_PUT_NUMS", TOPIC), on=FAST, serialize=1, **numbers),
        *(request(f"counter: {name} of nobody", 315, fields(name, "none")) for name in (*known, "ODD")),
        *missing("counter", 315, fields("TOPIC_PUT_NUMS", TOPIC), compare=("code",)),
        request("all consume stats", 317, {"isOrder": "false"}, ours=0, theirs=0,
                differs="the reference takes every pulled offset for 0 and counts messages in flight below zero"),
        request("all consume stats: of ordered topics", 317, {"isOrder": "true"}),
    ]


def units():
    fields = {"topic": TOPIC, "queueId": "0", "index": "0", "count": "3", "consumerGroup": "ProgressUnitsG"}
    return [
        request("units", 321, fields),
        request("units: fast, binary", 321, fields, on=FAST, serialize=1),
        *(request(f"units: {count} from {index}", 321, {**fields, "index": str(index), "count": str(count)})
          for index, count in ((0, 0), (2, 100), (4, 1), (5, 1), (6, 1), (-1, 1), (0, -1))),
        request("units: without group", 321, {k: v for k, v in fields.items() if k != "consumerGroup"}),
        request("units: queue without messages", 321, {**fields, "topic": EMPTY}, compare=("code",)),
        request("units: unknown topic", 321, {**fields, "topic": "none"}),
        request("units: queue 99", 321, {**fields, "queueId": "99"}),
        request("units: a consumer comes", 34, {}, heartbeat("p@4", [consumer("ProgressUnitsG", subscription(TOPIC, "TagA"))]), on="units"),
        request("units: of a subscriber", 321, fields),
        Close("units"),
    ]


def forbidden():
    fields = {"group": "ProgressSlowG", "topic": TOPIC}
    beat = heartbeat("p@3", [consumer("ProgressSlowG", subscription(TOPIC))])
    pulled = pull_fields(TOPIC, group="ProgressSlowG", sysFlag="0")
    return [
        request("forbidden: asked", 353, fields),
        request("forbidden", 353, {**fields, "readable": "false"}),
        request("forbidden: asked again, fast, binary", 353, fields, on=FAST, serialize=1),
        request("forbidden: a consumer comes", 34, {}, beat, on="forbidden"),
        pull("forbidden", fields=pulled),
        request("forbidden: the table", 201, {}),
        request("forbidden: allowed again", 353, {**fields, "readable": "true"}),
        pull("allowed again", fields=pulled),
        request("forbidden: unknown group and topic", 353, {"group": "none", "topic": "none", "readable": "false"}),
        request("forbidden: bad flag", 353, {**fields, "readable": "perhaps"}, compare=("code",)),
        *missing("forbidden", 353, fields, compare=("code",)),
        Close("forbidden"),
    ]


def steps(side):
    everything = [*setup(), *resets(), *resets_by_consumers(), *clones(), *corrections(), *figures(), *counters(),
                  *units(), *forbidden()]
    return sorted(everything, key=lambda step: getattr(step, "differs", None) is not None)
