"""Delayed messages: how they wait, what is delivered, and how far that is."""

from broker_requests import FAST, UNIQUE, kept, max_offset, pairs, request, send, send_fields, topic_fields

TOPIC, WAITING = "Delay", "SCHEDULE_TOPIC_XXXX"


def delayed(name, level, queue=0, **more):
    return send(name, fields=send_fields(TOPIC, queue, UNIQUE + pairs(DELAY=level, TAGS="A", KEYS="k"), h="5"), **more)


def sent():
    return [
        request("topic", 17, topic_fields(TOPIC, 2, 2)),
        delayed("level 1", "1"),
        delayed("level 1, queue 1, V1", "1", 1, code=10),
        delayed("level 1, fast, binary", "1", on=FAST, serialize=1),
        *(delayed(f"level {level}", level) for level in ("2", "3", "2147483647")),
        *(delayed(f"level {level}: not delayed", level) for level in ("0", "-1")),
        send("to an automatic topic", fields=send_fields("DelayNew", properties=UNIQUE + pairs(DELAY="1"))),
        send("with what the broker sets", fields=send_fields(TOPIC, 1, UNIQUE + pairs(DELAY="2", REAL_TOPIC="Other", REAL_QID="7"))),
        send("with another time besides", fields=send_fields(TOPIC, 1, UNIQUE + pairs(DELAY="2", TIMER_DELAY_SEC="3600"))),
        send("with a queue that is not there", fields=send_fields(TOPIC, 7, UNIQUE + pairs(DELAY="1"))),
        send("the topic of those that wait", fields=send_fields(WAITING)),
        delayed("level that is none", "x", differs="the reference throws; ours names the property", ours=1),
    ]


def delivered():
    return [
        # Those of level 1.
        max_offset(WAITING, 4),
        kept(WAITING),
        max_offset(TOPIC, 4),
        max_offset(TOPIC, 1, 1),
        max_offset("DelayNew", 1),
        *(kept(TOPIC, number) for number in (0, 1)),
        kept("DelayNew"),
        # Those that wait for two hours.
        kept(WAITING, 1),
        request("progress", 45, {}, within=5),
        request("progress: fast, binary", 45, None, on=FAST, serialize=1),
    ]


def steps(side):
    everything = [*sent(), *delivered()]
    return sorted(everything, key=lambda step: getattr(step, "differs", None) is not None)
