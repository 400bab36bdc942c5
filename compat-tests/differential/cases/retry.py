"""Messages that are given back or sent to be consumed again, and dead letters."""

import json

from broker_requests import (FAST, OWN, UNIQUE, group_config, kept, malformed, missing, pairs, queue, request, send, send_fields,
                             topic_fields)

TOPIC, GROUP = "Retry", "RetryG"
# Of the first copy, with the broker's address.
PLACE = r"ORIGIN_MESSAGE_ID\W+u0001[0-9A-F]{32}"


def back(group=GROUP, offset=0, delay=0, **more):
    return {"offset": str(offset), "group": group, "delayLevel": str(delay), "originMsgId": "m", "originTopic": TOPIC,
            "unitMode": "false", "maxReconsumeTimes": "16", **more}


def without(fields, *names):
    return {name: value for name, value in fields.items() if name not in names}


def copies(name, topic, number=0):
    return kept(topic, number, f"{name}: ", scrub=[*OWN, PLACE])


def setup():
    groups = (group_config(GROUP), group_config("RetryNoneG", retryQueueNums=0), group_config("RetryTwiceG", retryMaxTimes=0),
              group_config("RetryOffG", consumeEnable=False),
              group_config("RetryPolicyG", groupRetryPolicy={"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000, 2000]}}))
    return [
        request("topic", 17, topic_fields(TOPIC, 1, 1)),
        *(request(f"group: {group['groupName']}", 200, {}, json.dumps(group)) for group in groups),
        request("group: its policy", 352, {"group": "RetryPolicyG"}),
        send("a message", fields=send_fields(TOPIC, properties=UNIQUE + pairs(TAGS="A", KEYS="k", WAIT="true"), h="5")),
    ]


def given_back():
    return [
        request("back", 36, back()),
        request("back: retry topic", 351, {"topic": f"%RETRY%{GROUP}"}),
        *(request(f"back: level {level}", 36, back(delay=level)) for level in (2, 18, 19, 99)),
        request("back: fast, binary", 36, back(delay=1), on=FAST, serialize=1),
        request("back: no policy is asked", 36, back("RetryPolicyG")),
        request("back: group without retries", 36, back("RetryNoneG")),
        request("back: group that may not consume", 36, back("RetryOffG")),
        request("back: unit", 36, back("RetryUnitG", unitMode="true")),
        request("back: retry topic of a unit", 351, {"topic": "%RETRY%RetryUnitG"}),
        request("back: unknown group", 36, back("RetryNewG")),
        request("back: bad group", 36, back("a b")),
        request("back: empty group", 36, back("")),
        *(request(f"back: offset {offset}", 36, back(offset=offset)) for offset in (-1, 99999999999)),
        request("back: within a record", 36, back(offset=7), compare=("code",)),
        request("back: without what old clients do not know", 36, without(back(), "maxReconsumeTimes", "unitMode", "originMsgId", "originTopic")),
        request("back: one-way", 36, back("RetryOneWayG", delay=1), flag=2),
        *missing("back", 36, back(), needed=("offset", "group", "delayLevel")),
        *malformed("back", 36, back(), ("offset", "delayLevel", "maxReconsumeTimes")),
        *(copies("back", "SCHEDULE_TOPIC_XXXX", level - 1) for level in (2, 3, 18)),
    ]


def dead_letters():
    return [
        request("dead: no other try", 36, back(delay=-1)),
        request("dead: none allowed", 36, back(delay=2, maxReconsumeTimes="0")),
        request("dead: none allowed by the group", 36, without(back("RetryTwiceG"), "maxReconsumeTimes")),
        request("dead: an old client cannot say how often", 36, back(maxReconsumeTimes="0"), version=100),
        request("dead: an old client in a group that allows none", 36, back("RetryTwiceG"), version=100),
        request("dead: topic", 351, {"topic": f"%DLQ%{GROUP}"}),
        copies("dead", f"%DLQ%{GROUP}"),
        copies("dead", "%DLQ%RetryTwiceG"),
    ]


def sent():
    def fields(times, group=GROUP, **more):
        properties = UNIQUE + pairs(DELAY="2", RETRY_TOPIC=TOPIC, RECONSUME_TIME=str(times))
        return send_fields(f"%RETRY%{group}", properties=properties, j=str(times), **more)

    lock = json.dumps({"consumerGroup": "RetryOrderG", "clientId": "a", "mqSet": [queue("%RETRY%RetryOrderG")]})
    return [
        send("to be retried", fields=fields(16, l="16")),
        send("too often", fields=fields(17, l="16")),
        send("too often, V1", fields=fields(17, l="16"), code=10),
        send("too often for the group", fields=fields(1, "RetryTwiceG")),
        send("too often for an old client's group", fields=fields(17, l="99"), version=100),
        request("locked", 41, {}, lock),
        send("of a group in order", fields=fields(0, "RetryOrderG", l="16")),
        *(copies("sent", topic) for topic in (f"%DLQ%{GROUP}", "%DLQ%RetryTwiceG", "%DLQ%RetryOrderG")),
        copies("sent", "SCHEDULE_TOPIC_XXXX", 1),
    ]


def refused():
    retry = f"%RETRY%{GROUP}"
    return [
        request("refused: retry topic read only", 17, topic_fields(retry, 1, 1, 4)),
        request("refused: by the topic", 36, back()),
        request("refused: retry topic back", 17, topic_fields(retry, 1, 1, 6)),
        request("refused: broker read only", 25, {}, "brokerPermission=4\n"),
        request("refused: by the broker", 36, back()),
        request("refused: broker back", 25, {}, "brokerPermission=6\n"),
        request("refused: no new groups", 25, {}, "autoCreateSubscriptionGroup=false\n"),
        request("refused: unknown group", 36, back("RetryNobodyG")),
        send("to a retry topic of no group", fields=send_fields("%RETRY%RetryNobodyG", j="1")),
    ]


def steps(side):
    everything = [*setup(), *given_back(), *dead_letters(), *sent(), *refused()]
    return sorted(everything, key=lambda step: getattr(step, "differs", None) is not None)
