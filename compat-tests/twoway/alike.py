"""Compares what two brokers stored of the same input, byte by byte.

Not compared, because nobody can choose it: times, ports, the notes that transactions are over, which a broker gathers and
writes at a time of its own, and how far it has looked through them. What follows from those is taken as the number of the record
that a place belongs to. Not alike on purpose:

- the order of a record's properties, which has no meaning: the reference's is that of a hash table, ours that of arrival
- `delayOffset.json` names no level where nothing was delivered, where the reference writes 0
"""

import re
import struct
from bisect import bisect_left

import files
from chain import SLOTS

NOTES, DELAYED = "RMQ_SYS_TRANS_OP_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX"
# In a record with IPv4 hosts.
PHYSICAL_AT, BORN_PORT_AT, STORE_TIME_AT, STORE_PORT_AT, PREPARED_AT, BODY_AT = 28, 52, 56, 68, 76, 84


class Stored:
    """A store with all that may differ taken out."""

    def __init__(self, root):
        self.root, self.log = root, files.log([root / "commitlog"])
        self.queues, self.indexes = files.queues(root), files.indexes(root, SLOTS)
        self.notes = {at for at, *_ in self.queues.pop((NOTES, 0), [])}
        self.places = [at for at in self.log if at not in self.notes]

    def number(self, at):
        """Which record is at a place."""
        return bisect_left(self.places, at)

    def records(self):
        return [self.record(at) for at in self.places]

    def record(self, at):
        data = bytearray(self.log[at])
        if len(data) == 8:
            return "blank", at, bytes(data)
        properties_at = start_of_properties(data)
        properties = data[properties_at:].decode()
        properties = re.sub("(?<=ORIGIN_MESSAGE_ID\x01)[0-9A-F]+", lambda found: str(self.number(int(found[0][-16:], 16))),
                            properties)
        for place, width in ((PHYSICAL_AT, 8), (BORN_PORT_AT, 4), (STORE_TIME_AT, 8), (STORE_PORT_AT, 4), (PREPARED_AT, 8)):
            data[place:place + width] = bytes(width)
        prepared, = struct.unpack_from(">q", self.log[at], PREPARED_AT)
        return self.number(prepared), bytes(data[:properties_at]), sorted(properties.split("\x02"))

    def units(self):
        """Of each queue."""
        return {name: [self.batch_unit(*unit) if len(unit) > 4 else self.unit(name, *unit) for unit in units]
                for name, units in self.queues.items()}

    def unit(self, name, at, size, code, extension):
        stored = self.store_time(at)
        # Of a delayed message the tags code is the time of its delivery.
        since = stored if name[0] == DELAYED else 0
        if extension is None:
            return self.number(at), size, code - since
        tags, time, bits = extension
        return self.number(at), size, code, tags - since, time == stored, bits

    def batch_unit(self, at, size, code, time, *rest):
        return self.number(at), size, code, time == self.store_time(at), rest

    def index(self):
        """Header, items and slots of each file, up to the first item of a note."""
        found = []
        for (begin, end, first, last, used, count), slots, items in self.indexes:
            found.append(("begin", begin == self.store_time(first), self.number(first)))
            for key, at, seconds, previous in items:
                if at in self.notes:
                    return found
                found.append((key, self.number(at), seconds == (self.store_time(at) - begin) // 1000, previous))
            found.append(("end", end == self.store_time(last), self.number(last), used, count, slots))
        return found

    def store_time(self, at):
        return struct.unpack_from(">q", self.log[at], STORE_TIME_AT)[0]

    def table(self, name, key):
        path = self.root / "config" / name
        return files.table(path)[key] if path.exists() else None


def start_of_properties(record):
    at = BODY_AT + 4 + struct.unpack_from(">i", record, BODY_AT)[0]
    width = 1 if struct.unpack_from(">I", record, 4)[0] == files.MAGICS[0] else 2
    return at + width + int.from_bytes(record[at:at + width], "big") + 2


def differences(ours, theirs):
    """The first difference of each kind, as text."""
    ours, theirs = Stored(ours), Stored(theirs)
    pairs = {"commit log": (ours.records(), theirs.records()), "consume queues": (ours.units(), theirs.units()),
             "index": (ours.index(), theirs.index())}
    for name, key in (("topics.json", "topicConfigTable"), ("subscriptionGroup.json", "subscriptionGroupTable"),
                      ("subscriptionGroup.json", "forbiddenTable"), ("consumerOffset.json", "offsetTable"),
                      ("lmqConsumerOffset.json", "offsetTable"), ("lmqConsumerOffset.json", "lmqOffsetTable")):
        pairs[f"{name} {key}"] = ours.table(name, key), theirs.table(name, key)
    for side in filter(None, pairs["consumerOffset.json offsetTable"] + pairs["lmqConsumerOffset.json offsetTable"]):
        side.pop("RMQ_SYS_TRANS_HALF_TOPIC@CID_RMQ_SYS_TRANS", None)
        side.pop("RMQ_SYS_TRANS_OP_HALF_TOPIC@CID_RMQ_SYS_TRANS", None)
    pairs["delayOffset.json"] = [{level: at for level, at in side.table("delayOffset.json", "offsetTable").items() if at}
                                 for side in (ours, theirs)]
    return [f"{what}: {first(*pair)}" for what, pair in pairs.items() if pair[0] != pair[1]]


def first(ours, theirs):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        name = min(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
        return f"{name}: {first(ours.get(name), theirs.get(name))}"
    if isinstance(ours, list) and isinstance(theirs, list):
        for n, (our, their) in enumerate(zip(ours, theirs)):
            if our != their:
                return f"number {n}: {first(our, their)}"
        return f"{len(ours)} and {len(theirs)}"
    return f"ours {ours}, the reference's {theirs}"[:1000]
