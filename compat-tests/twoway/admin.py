"""What is asked of a broker, in few words. Any answer but the expected one ends the run."""

import json
import pathlib
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "differential"))

from broker_requests import consumer, group_config, heartbeat, pairs, pull_fields, send_fields, subscription, topic_fields  # noqa: E402
from frames import Connection, quote_keys  # noqa: E402

SUCCESS, QUERY_NOT_FOUND = 0, 22
# Seconds, also for a slow and busy machine.
LONGEST = 120


class Refused(Exception):
    """An answer that is not the expected one, or none."""


class Broker:
    """One connection to a broker."""

    def __init__(self, address):
        self.connection = Connection(address, LONGEST)

    def ask(self, code, fields=None, body=b"", good=(SUCCESS,)):
        deadline = time.monotonic() + LONGEST
        while True:
            answer = self.connection.request(LONGEST, code=code, fields=fields or {}, body=body)
            # the reference on a busy machine: it has not begun with the request
            is_busy = not isinstance(answer, str) and "TIMEOUT_CLEAN_QUEUE" in (answer.get("remark") or "")
            if not is_busy or time.monotonic() > deadline:
                break
        if isinstance(answer, str) or answer["code"] not in good:
            raise Refused(f"request {code} {fields}: {answer}"[:600])
        return answer

    def close(self):
        self.connection.close()

    # Writing

    def send(self, topic, queue, body, properties, **fields):
        """Sends a message; where it is now: queue offset and physical offset, of each record in case of a batch."""
        batch = isinstance(body, list)
        data = members(body) if batch else body
        header = send_fields(topic, queue, pairs(**properties), batch, **fields)
        answer = self.ask(320 if batch else 310, header, data)["extFields"]
        first = int(answer["queueOffset"])
        return [(first + n, physical(name)) for n, name in enumerate(answer["msgId"].split(","))], answer

    def end_transaction(self, half, commit):
        """Commits or rolls back the half at (queue offset, physical offset)."""
        self.ask(37, {"topic": "", "producerGroup": "TwoP", "tranStateTableOffset": str(half[0]), "commitLogOffset": str(half[1]),
                      "commitOrRollback": "8" if commit else "12", "fromTransactionCheck": "false", "msgId": "", "transactionId": ""})

    def give_back(self, topic, at, level):
        self.ask(36, {"offset": str(at), "group": "TwoG", "delayLevel": str(level), "originMsgId": "", "originTopic": topic,
                      "unitMode": "false", "maxReconsumeTimes": "16"})

    def create_topic(self, name, queues, attributes=""):
        self.ask(17, topic_fields(name, queues, queues, attributes=attributes))

    def create_group(self, name, **more):
        self.ask(200, {}, json.dumps(group_config(name, **more)).encode())

    def subscribe(self, topic, group, expression):
        """Makes the expression known by which a group chooses its messages."""
        self.ask(34, {}, heartbeat("two@1", [consumer(group, subscription(topic, expression, kind="SQL92"))]).encode())

    def commit(self, topic, queue, group, offset):
        self.ask(15, {"topic": topic, "queueId": str(queue), "consumerGroup": group, "commitOffset": str(offset)})

    # Reading

    def range(self, topic, queue):
        """First offset and the one behind the last."""
        fields = {"topic": topic, "queueId": str(queue)}
        return tuple(int(self.ask(code, fields)["extFields"]["offset"]) for code in (31, 30))

    def pull(self, topic, queue):
        """All records of a queue as they are on disk, by queue offset."""
        (at, end), found = self.range(topic, queue), {}
        # An empty batch queue begins at -1.
        at = max(at, 0)
        while at < end:
            answer = self.ask(11, pull_fields(topic, queue, at, "TwoG"))
            for n, record in enumerate(split(answer["body"])):
                # A record has only one of its offsets in its head.
                found[at + n if topic.startswith("%LMQ%") else struct.unpack_from(">q", record, 20)[0]] = record
            at = int(answer["extFields"]["nextBeginOffset"])
        return found

    def by_id(self, offset):
        return self.ask(33, {"offset": str(offset)})["body"]

    def by_key(self, topic, key):
        fields = {"topic": topic, "key": key, "maxNum": "32", "beginTimestamp": "0", "endTimestamp": str((1 << 63) - 1)}
        return list(split(self.ask(12, fields, good=(SUCCESS, QUERY_NOT_FOUND))["body"]))

    def committed(self, topic, queue, group):
        return int(self.ask(14, {"topic": topic, "queueId": str(queue), "consumerGroup": group})["extFields"]["offset"])

    def topics(self):
        """The number of changes to the table so far, and the table."""
        return self._table(21, "topicConfigTable")

    def groups(self):
        return self._table(201, "subscriptionGroupTable")

    def _table(self, code, key):
        return table(json.loads(quote_keys(self.ask(code)["body"].decode())), key)


def table(content, key):
    return content["dataVersion"]["counter"], content[key]


def members(bodies):
    """The body of a batch."""
    return b"".join(member(*each) for each in bodies)


def member(body, properties):
    data = pairs(**properties).encode()
    content = struct.pack(">iiii", 0, 0, 0, len(body)) + body + struct.pack(">h", len(data)) + data
    return struct.pack(">i", 4 + len(content)) + content


def physical(message_id):
    """The physical offset in an offset message id."""
    return int(message_id[-16:], 16)


def split(data):
    at = 0
    while at < len(data):
        size, = struct.unpack_from(">i", data, at)
        yield data[at:at + size]
        at += size
