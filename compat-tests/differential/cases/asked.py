"""Producers that are asked how a transaction ended: what the broker sends them. Only the first question is compared, for the
time between two of them is the servers' own."""

import time

from broker_requests import heartbeat, max_offset, pairs, request, send, send_fields, topic_fields
from steps import Pushed

TOPIC = "Asked"
BORN = str(int(time.time() * 1000))
# In the message id.
PORT = "(?<=7F0000010000)[0-9A-F]{4}(?=0000000000)"
ASKED = ("code", "remark", "fields", "records")


def half(number, group, **more):
    properties = pairs(UNIQ_KEY=f"7F000001000018B4AAC200000000000{number}", TRAN_MSG="true", PGROUP=group) + more.pop("extra", "")
    # Nobody is asked about one that is older than the log's files.
    fields = send_fields(TOPIC, 1, properties, a=group, f="4", g=BORN, h="5")
    return send(f"half {number}", fields=fields, body=b"a message", **more)


def steps(side):
    return [
        request("topic", 17, topic_fields(TOPIC, 2, 2)),
        request("producer", 34, {}, heartbeat("p@1", producers=["AskedP"]), on="producer"),
        half(0, "AskedP", extra=pairs(KEYS="a b", TAGS="TagA", COLOUR="red", WAIT="true")),
        Pushed("asked", 39, on="producer", compare=ASKED, within=60, scrub=[PORT]),
        max_offset(TOPIC, 0, 1),
        # Behind any number of questions about the first one.
        request("another producer", 34, {}, heartbeat("p@2", producers=["AskedQ"]), on="another producer", serialize=1),
        half(1, "AskedQ", serialize=1),
        Pushed("asked, binary", 39, on="another producer", compare=ASKED, within=60,
               scrub=[r'"(tranStateTableOffset|commitLogOffset|offsetMsgId)": "\w+"', r'"offset": \d+']),
    ]
