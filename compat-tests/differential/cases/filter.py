"""Filters by properties: checked, brought by pulls, registered by heartbeats, in held pulls, for retries."""

import json

from broker_requests import (FAST, UNIQUE, consumer, group_config, heartbeat, pairs, pull, pull_fields, request, send, send_fields,
                             subscription, topic_fields)
from steps import Close

TOPIC, GROUP, RETRY = "Filter", "FilterG", "%RETRY%FilterG"
PASSES_ALL = "the reference cannot compile the expression and lets every message pass; ours refuses it"
WORDS = "the remark names a class of the reference; ours says what is wrong"
# What the messages have, by number.
MESSAGES = ({"a": "1"}, {"a": "7"}, {"a": "x"}, {"a": "7", "b": "it's"}, {"b": "é"}, {}, {"a": "2147483648"}, {"a": "7.0"},
            {"TAGS": "TagA", "a": "9"})
EXPRESSIONS = ("a > 5", "a > 5.0", "a = '7'", "a = 7", "a IS NULL", "a IS NOT NULL AND b IS NULL", "b = 'it''s'", "b CONTAINS '''s'",
               "a NOT IN ('1', 'x')", "NOT (b STARTSWITH 'i')", "b NOT ENDSWITH 'é'", "a BETWEEN 1 AND 7", "a NOT BETWEEN 1 AND 7",
               "TAGS = 'TagA'", "TRUE", "FALSE", "NULL", "a", "a = b", "-9 < 5 -- no end", "/**/a > 5 OR TRUE", "a = 7 b @", "a LIKE 'x'")
NONE = ("a >", "a > 'x'", "a = NULL", "5", "'a'", "a > 0.0", "a BETWEEN 7 AND 1", "a IN (1)", "a & b", "NOT a IN ('1')",
        "a = 9223372036854775808", " ")


def sql(topic=TOPIC, text="a > 5", version=10, kind="SQL92"):
    return {**subscription(topic, "*", version, kind), "subString": text, "tagsSet": [], "codeSet": []}


def by(text, offset=0, topic=TOPIC, **more):
    return pull_fields(topic, group=GROUP, offset=offset, **{"subscription": text, "expressionType": "SQL92", **more})


def registered(version, topic=TOPIC, group=GROUP, **more):
    fields = pull_fields(topic, group=group, **{"sysFlag": "0", "subVersion": str(version), **more})
    return {name: value for name, value in fields.items() if name not in ("subscription", "expressionType")}


def beat(name, *subscriptions, group=GROUP, on="consumer"):
    return request(f"heartbeat: {name}", 34, {}, heartbeat(f"{on}@1", [consumer(group, *subscriptions)]), on=on)


def check(name, data, **more):
    return request(f"check: {name}", 46, {}, json.dumps({"clientId": "c", "group": GROUP, "subscriptionData": data}), **more)


def setup():
    return [
        request("topic", 17, topic_fields(TOPIC, 1, 1)),
        request("group", 200, {}, json.dumps(group_config(GROUP))),
        *(send(f"{number}", body=f"{number}".encode(), fields=send_fields(TOPIC, properties=UNIQUE + pairs(**properties)))
          for number, properties in enumerate(MESSAGES)),
        pull("all are there", fields=pull_fields(TOPIC, group=GROUP), within=10),
    ]


def not_served():
    return [
        check("not served", sql()),
        pull("not served", fields=by("a > 5")),
        pull("not served, none", fields=by("a >")),
        beat("not served", sql()),
        pull("registered, not served", fields=registered(10), on="consumer"),
        pull("registered, newer, not served", fields=registered(11), on="consumer"),
        Close("consumer"),
        request("served from now on", 25, {}, "enablePropertyFilter=true\n"),
    ]


def checks():
    return [
        *(check(f"{text!r}", sql(text=text)) for text in EXPRESSIONS),
        *(check(f"none: {text!r}", sql(text=text), compare=("code", "fields", "body")) for text in NONE),
        check("of tags", sql(text="a >", kind="TAG")),
        check("fast, binary", sql(), on=FAST, serialize=1),
        check("unknown type", sql(kind="ODD"), compare=("code",)),
        check("none: remark", sql(text="a >"), differs=WORDS, ours=23, theirs=23),
    ]


def pulls():
    return [
        *(pull(f"by {text!r}", fields=by(text)) for text in EXPRESSIONS),
        *(pull(f"none: {text!r}", fields=by(text), differs=PASSES_ALL, ours=23, theirs=0) for text in NONE),
        pull("no expression", fields=by("")),
        pull("unknown type", fields=by("a > 5", expressionType="ODD"), differs=PASSES_ALL, ours=23, theirs=0),
        pull("unknown type, no expression", fields=by("", expressionType="ODD")),
        pull("from the middle", fields=by("a > 5", 3)),
        pull("few", fields=by("b IS NULL", maxMsgNums="1")),
        pull("behind the last that passes", fields=by("a = '7'", 4)),
        pull("lite", code=361, fields=by("a > 5")),
        pull("binary", fields=by("a > 5"), serialize=1),
        pull("held", fields=by("a > 5", len(MESSAGES), sysFlag="6")),
        pull("held, looks at what is there", fields=by("a = '1'", 2, sysFlag="6")),
    ]


def registrations():
    return [
        pull("nobody registered", fields=registered(10)),
        beat("SQL", sql()),
        pull("registered", fields=registered(10), on="consumer"),
        pull("registered, older", fields=registered(9), on="consumer"),
        pull("registered, newer", fields=registered(11), on="consumer"),
        pull("registered, lite", code=361, fields=registered(10), on="consumer"),
        beat("same version, other text", sql(text="a = '1'")),
        pull("same version, other text", fields=registered(10), on="consumer"),
        beat("older, other text", sql(text="a = '1'", version=9)),
        pull("older, other text", fields=registered(9), on="consumer"),
        beat("newer, same text", sql(version=12)),
        pull("newer, same text", fields=registered(12), on="consumer"),
        beat("newer, other text", sql(text="a = '1'", version=13)),
        pull("newer, other text", fields=registered(13), on="consumer"),
        beat("none", sql(text="a >", version=14)),
        pull("registered, none", fields=registered(14), on="consumer"),
        beat("mended", sql(version=15)),
        pull("registered, mended", fields=registered(15), on="consumer"),
        beat("unknown type", sql(version=16, kind="ODD")),
        pull("registered, unknown type", fields=registered(16), on="consumer"),
        beat("no text", sql(version=17, text="")),
        pull("registered, no text", fields=registered(17), on="consumer"),
        beat("tags", subscription(TOPIC, "TagA", 18)),
        pull("registered, tags", fields=registered(18), on="consumer"),
        beat("a class", {**subscription(TOPIC, "x.Y", 19), "classFilterMode": True}),
        pull("registered, a class", fields=registered(19), on="consumer"),
        beat("a class of SQL", {**sql(version=20), "classFilterMode": True}),
        pull("registered, a class of SQL", fields=registered(20), on="consumer"),
        beat("SQL again", sql(version=21)),
        beat("two of a group", sql(version=21), on="second"),
        Close("consumer"),
        pull("one of two is gone", fields=registered(21), on="second"),
        request("connections", 203, {"consumerGroup": GROUP}, on="second"),
        request("leave", 35, {"clientID": "second@1", "consumerGroup": GROUP}, on="second"),
        pull("all are gone", fields=registered(21), on="second"),
        beat("back again", sql(version=21), on="second"),
        pull("back again", fields=registered(21), on="second"),
    ]


def retries():
    return [
        *(send(f"retry of {topic}, a={a}", body=a.encode(), fields=send_fields(RETRY, properties=UNIQUE + pairs(a=a, RETRY_TOPIC=topic)))
          for topic in (TOPIC, "Other") for a in ("1", "8")),
        pull("retries", fields=pull_fields(RETRY, group=GROUP), within=10),
        pull("retries by SQL", fields=by("a = '1'", topic=RETRY)),
        request("retries by their origin", 25, {}, "filterSupportRetry=true\n"),
        pull("retries by their origin", fields=by("a = '1'", topic=RETRY)),
        pull("retries by tags", fields=pull_fields(RETRY, group=GROUP)),
        pull("no retries", fields=by("a = '1'")),
    ]


def units():
    """What queues and their extensions say of messages, and whether they may pass."""
    def at(index=0, group=GROUP, topic=TOPIC):
        return {"topic": topic, "queueId": "0", "index": str(index), "count": "32", "consumerGroup": group}

    return [
        *(send(f"known, a={a}", body=a.encode(), fields=send_fields(TOPIC, properties=UNIQUE + pairs(a=a))) for a in ("1", "8")),
        pull("known are there", fields=pull_fields(TOPIC, group=GROUP, offset=len(MESSAGES) + 1), within=10),
        request("units of SQL", 321, at(), on="second"),
        request("units of SQL: fast, binary", 321, at(len(MESSAGES)), on=FAST, serialize=1),
        request("units of SQL: nobody there", 321, at(group="none")),
        beat("units: by tags", subscription(TOPIC, "TagA"), group="FilterTagsG", on="tags"),
        request("units of tags", 321, at(group="FilterTagsG")),
        beat("units: all", subscription(TOPIC), group="FilterAllG", on="all"),
        request("units of all", 321, at(group="FilterAllG")),
    ]


def filter_servers():
    older = "4.9.4 takes filter servers up, 5.5.0 no longer does; ours does"
    return [request("filter server", 301, {"filterServerAddr": "127.0.0.1:1"}, on="server", differs=older, ours=0, theirs=3),
            request("filter server: without address", 301, {}, on="server", differs=older, ours=1, theirs=3)]


def steps(side):
    everything = [*setup(), *not_served(), *checks(), *pulls(), *registrations(), *units(), *retries(), *filter_servers()]
    # What differs on purpose comes last: only one of the two has changed its state by it.
    return sorted(everything, key=lambda step: getattr(step, "differs", None) is not None)
