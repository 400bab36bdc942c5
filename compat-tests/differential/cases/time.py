"""Messages by time, on a store of which the first files have expired: some queues begin in the middle of a file, others are empty.
What this shows: whatever the time, the answer lies within the queue."""

import json
import pathlib

from broker_requests import request

GOLDEN = pathlib.Path(__file__).resolve().parent.parent.parent.parent / "store" / "tests" / "golden" / "expired.json"
FAR = 4102444800000


def steps(side):
    golden = json.loads(GOLDEN.read_text())
    everything = []
    for queue in golden["queues"]:
        at = {"topic": queue["topic"], "queueId": str(queue["queueId"])}
        name = f"{queue['topic']} {queue['queueId']}"
        stored = sorted(message["storeTimestamp"] for message in golden["messages"]
                        if (message["topic"], message["queueId"]) == (queue["topic"], queue["queueId"]))
        everything += [request(f"{what}: {name}", code, at) for what, code in (("max", 30), ("min", 31), ("earliest", 32))]
        around = {time + step for time in {*stored[:1], *stored[-1:], *stored[len(stored) // 2:][:1]} for step in (-1, 0, 1)}
        for time in (-1, 0, 1, *sorted(around), FAR):
            fails = not stored and time < 0
            for boundary in ({}, {"boundaryType": "LOWER"}, {"boundaryType": "UPPER"}):
                more = {"differs": "a time before 1970 is too early for the reference's empty queues", "ours": 0, "theirs": 1} if fails else {}
                everything.append(request(f"search: {name}, {time} {boundary}", 29, {**at, "timestamp": str(time), **boundary}, **more))
    return sorted(everything, key=lambda step: step.differs is not None)
