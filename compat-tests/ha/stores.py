"""Two stores on disk, compared byte by byte where both have something."""

import pathlib
import struct
import subprocess

from cluster import BROKER, FILE_SIZE, SCRIPTS, Failed

MAGICS = (0xDAA320A7, 0xDAA320AB)
BLANK = 0xCBD43194
UNIT = struct.Struct(">qiq")


class Log:
    """The bytes of a commit log."""

    def __init__(self, store):
        files = sorted(path for path in (pathlib.Path(store) / "commitlog").iterdir() if path.name.isdigit())
        self.start = int(files[0].name) if files else 0
        self.bytes = b"".join(path.read_bytes() for path in files)
        self.records = list(self._records())
        self.end = self.records[-1][0] + self.records[-1][1] if self.records else self.start

    def _records(self):
        """Place and size of each record, up to the first place where none is."""
        at = 0
        while at + 8 <= len(self.bytes):
            size, magic = struct.unpack_from(">II", self.bytes, at)
            if magic == BLANK:
                at += FILE_SIZE - at % FILE_SIZE
            elif magic in MAGICS and size > 90 and at + size <= len(self.bytes):
                place, = struct.unpack_from(">q", self.bytes, at + 28)
                if place != self.start + at:
                    return
                yield place, size
                at += size
            else:
                return

    def slice(self, start, end):
        return self.bytes[start - self.start:end - self.start]

    def without_torn_end(self, other):
        """Leaves the last record away if only its beginning was written."""
        if self.records and self._is_torn(self.records[-1], other):
            self.end, _ = self.records.pop()

    def torn(self, other, start):
        """Places of the records from `start` on of which only the beginning was written, as the other log shows."""
        return {record[0] for record in self.records if record[0] >= start and self._is_torn(record, other)}

    def _is_torn(self, record, other):
        mine, theirs = (log.slice(record[0], record[0] + record[1]) for log in (self, other))
        return mine != theirs and not any(mine[first_difference(mine, theirs):])


def first_difference(left, right):
    return next(n for n, pair in enumerate(zip(left, right)) if pair[0] != pair[1])


def units(store):
    """All units of a store by topic, queue and index."""
    found = {}
    root = pathlib.Path(store) / "consumequeue"
    for file in root.glob("*/*/*"):
        topic, queue = file.parts[-3:-1]
        first = int(file.name) // UNIT.size
        content = file.read_bytes()
        for n, unit in enumerate(UNIT.iter_unpack(content[:len(content) // UNIT.size * UNIT.size])):
            if unit[1] > 0 and unit[1] != 0x7FFFFFFF:
                found[topic, queue, first + n] = unit
    return found


def compare(master, slave, is_prefix=False, may_tear=False):
    """Raises what differs first; gives the slave's log. With `is_prefix` both were killed: the slave may lack the end of the
    log, and either may lack units that it did not write in time. With `may_tear` the slave is the reference's and was killed: it
    writes what comes as it comes, and keeps a record for good of which the body is whole and the end of the properties is not."""
    ours, theirs = Log(master), Log(slave)
    if not theirs.records:
        raise Failed("the slave has nothing")
    if is_prefix:
        theirs.without_torn_end(ours)
    if ours.end != theirs.end and not (is_prefix and theirs.end < ours.end):
        raise Failed(f"the master's log ends at {ours.end}, the slave's at {theirs.end}")
    start, end = max(ours.start, theirs.start), theirs.end
    torn = set()
    if (left := ours.slice(start, end)) != (right := theirs.slice(start, end)):
        torn = theirs.torn(ours, start) if may_tear else torn
        right = bytearray(right)
        for place, size in theirs.records:
            if place in torn:
                right[place - start:place - start + size] = ours.slice(place, place + size)
        if left != right:
            raise Failed(f"the logs differ at {start + first_difference(left, right)}")
    in_common = [{key: unit for key, unit in units(store).items() if start <= unit[0] < end and unit[0] not in torn}
                 for store in (master, slave)]
    if is_prefix:
        both = in_common[0].keys() & in_common[1].keys()
        in_common = [{key: found[key] for key in both} for found in in_common]
    if in_common[0] != in_common[1]:
        key = next(key for key in sorted(in_common[0] | in_common[1])
                   if in_common[0].get(key) != in_common[1].get(key))
        raise Failed(f"the queues differ at {key}: {in_common[0].get(key)}, {in_common[1].get(key)}")
    expected = sum(1 for place, _ in theirs.records if place >= start and place not in torn)
    if len(in_common[1]) < expected and not is_prefix:
        raise Failed(f"{expected} records, and {len(in_common[1])} units in queues")
    return theirs


def diff(master, slave):
    """The same, and whether the index leads to the same messages, as `mqstore diff` sees it. A reference that was killed has
    no whole index afterwards, and that of 4.9.4 knows no tags."""
    mqstore("diff", master, slave)


def verify(store):
    """Whether queues and index of a store of ours hold all that is in its log, and nothing else."""
    mqstore("verify", store)


def mqstore(command, *stores):
    shape = ["--index-slots", str(BROKER["maxHashSlotNum"])]
    ended = subprocess.run([SCRIPTS / "mqstore", command, *shape, *stores], capture_output=True, text=True)
    if ended.returncode:
        raise Failed(f"mqstore {command}: {ended.stdout}{ended.stderr}")
