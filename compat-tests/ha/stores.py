"""Two stores on disk, compared byte by byte where both have something."""

import pathlib
import struct

from cluster import FILE_SIZE, Failed

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
                    raise Failed(f"the record at {self.start + at} says that it is at {place}")
                yield place, size
                at += size
            else:
                return

    def slice(self, start, end):
        return self.bytes[start - self.start:end - self.start]


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


def compare(master, slave, is_prefix=False):
    """Raises what differs first; gives the slave's log. With `is_prefix` the master was killed: the slave may lack the end of
    its log, and it may lack units that it did not write in time."""
    ours, theirs = Log(master), Log(slave)
    if not theirs.records:
        raise Failed("the slave has nothing")
    if ours.end != theirs.end and not (is_prefix and theirs.end < ours.end):
        raise Failed(f"the master's log ends at {ours.end}, the slave's at {theirs.end}")
    start, end = max(ours.start, theirs.start), theirs.end
    if (left := ours.slice(start, end)) != (right := theirs.slice(start, end)):
        at = start + next(n for n, pair in enumerate(zip(left, right)) if pair[0] != pair[1])
        raise Failed(f"the logs differ at {at}")
    in_common = [{key: unit for key, unit in units(store).items() if start <= unit[0] < end} for store in (master, slave)]
    if is_prefix:
        in_common[0] |= {key: unit for key, unit in in_common[1].items() if key not in in_common[0]}
    if in_common[0] != in_common[1]:
        key = next(key for key in sorted(in_common[0] | in_common[1])
                   if in_common[0].get(key) != in_common[1].get(key))
        raise Failed(f"the queues differ at {key}: {in_common[0].get(key)}, {in_common[1].get(key)}")
    expected = sum(1 for place, _ in theirs.records if place >= start)
    if len(in_common[1]) < expected:
        raise Failed(f"{expected} records, and {len(in_common[1])} units in queues")
    return theirs
