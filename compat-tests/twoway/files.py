"""The files of a store, read without any broker."""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "differential"))

from frames import quote_keys  # noqa: E402

MAGICS, BLANK = (0xDAA320A7, 0xDAA320AB), 0xCBD43194
UNIT = struct.Struct(">qiq")
# The same, then store time, first queue offset, number of messages, and two without a meaning.
BATCH_UNIT = struct.Struct(">qiqqqhii")
# Of an entry of an extension: size, tags code, store time, length of the bit map behind it.
EXTENSION = struct.Struct(">hqqh")
NO_CODE = -1 << 31
# Begin and end store time, begin and end physical offset, used slots, next item.
INDEX_HEADER = struct.Struct(">qqqqii")
# Hash of the key, physical offset, seconds since the begin time, previous item of the slot.
INDEX_ITEM = struct.Struct(">iqii")


def log(directories):
    """The commit log's records by physical offset, and its blanks and the end as (offset, bytes) in the same table."""
    found, files = {}, [path for directory in directories for path in directory.glob("[0-9]*")]
    for path in sorted(files, key=lambda path: path.name):
        start, data, at = int(path.name), path.read_bytes(), 0
        while at + 8 <= len(data):
            size, magic = struct.unpack_from(">iI", data, at)
            if magic == BLANK:
                found[start + at] = data[at:at + 8]
                break
            if magic not in MAGICS:
                return found
            found[start + at] = data[at:at + size]
            at += size
    return found


def queues(root):
    """The units of each consume queue, by (topic, queue), simple ones each with its entry of the extension or None; blank
    ones at the end of a file are none."""
    found = {}
    for kind, unit in (("consumequeue", UNIT), ("batchconsumequeue", BATCH_UNIT)):
        for directory in root.glob(f"{kind}/*/*"):
            data = b"".join(path.read_bytes() for path in sorted(directory.iterdir()))
            units = list(unit.iter_unpack(data))
            while units and units[-1][1] == 0:
                units.pop()
            if unit is UNIT:
                extension = extensions(root / "consumequeue_ext" / directory.parent.name / directory.name)
                units = [(*unit, extension(unit[2])) for unit in units]
            found[directory.parent.name, int(directory.name)] = units
    return found


def extensions(directory):
    """What leads from the tags codes of a queue to the entries of its extension: tags code, store time and bit map."""
    data = {int(path.name): path.read_bytes() for path in directory.glob("[0-9]*")}

    def entry(code):
        # Hashes are no addresses.
        if code >= NO_CODE:
            return None
        place = code + (1 << 63)
        start = max((start for start in data if start <= place), default=None)
        if start is None or place - start + EXTENSION.size > len(data[start]):
            return "no file"
        size, tags, time, bits = EXTENSION.unpack_from(data[start], place - start)
        if size != EXTENSION.size + bits:
            return "no entry"
        at = place - start + EXTENSION.size
        return tags, time, data[start][at:at + bits].hex()

    return entry


def indexes(root, slots):
    """The index files in order: header, slots and items."""
    found = []
    for path in sorted(root.glob("index/*")):
        data = path.read_bytes()
        header = INDEX_HEADER.unpack_from(data)
        table = struct.unpack_from(f">{slots}i", data, INDEX_HEADER.size)
        # Item 0 is never used.
        start = INDEX_HEADER.size + 4 * slots + INDEX_ITEM.size
        items = [INDEX_ITEM.unpack_from(data, start + INDEX_ITEM.size * n) for n in range(max(header[5] - 1, 0))]
        found.append((header, table, items))
    return found


def checkpoint(root):
    """Its first six numbers: times up to which log, queues and index are on disk; offsets flushed, confirmed, dispatched."""
    return struct.unpack_from(">6q", (root / "checkpoint").read_bytes())


def table(path):
    """One of config/*.json."""
    return json.loads(quote_keys("".join(path.read_text().split())))
