"""Stored messages as a pull brings them: the parts that do not depend on when and where they were stored."""

import struct

HEAD = ">iIiiiqqiq"


def records(body):
    """The messages of a pull's body, as dictionaries. Bytes that are no record come as the text that says so."""
    found, at = [], 0
    while at < len(body):
        try:
            size, = struct.unpack_from(">i", body, at)
            found.append(record(body[at:at + size]))
        except (struct.error, UnicodeDecodeError) as error:
            return [*found, f"no record at {at}: {error}"]
        at += size
    return found


def record(data):
    _, magic, crc, queue, flag, queue_offset, _, system_flag, _ = struct.unpack_from(HEAD, data)
    at = struct.calcsize(HEAD) + (20 if system_flag & 0x10 else 8) + 8 + (20 if system_flag & 0x20 else 8)
    reconsumed, prepared, size = struct.unpack_from(">iqi", data, at)
    at += 16
    body, at = data[at:at + size], at + size
    width = 1 if magic == 0xDAA320A7 else 2
    size, at = int.from_bytes(data[at:at + width], "big"), at + width
    topic, at = data[at:at + size].decode(), at + size
    size, at = int.from_bytes(data[at:at + 2], "big"), at + 2
    properties = data[at:at + size].decode()
    assert at + size == len(data)
    return {"queue": queue, "offset": queue_offset, "flag": flag, "sysFlag": system_flag, "crc": crc, "topic": topic,
            "reconsumed": reconsumed, "prepared": prepared, "body": f"{len(body)}:{body[:40]!r}",
            # Their order is that of a hash table. The last one of a batch's member is closed by a separator only here.
            "properties": sorted(pair[:120] for pair in properties.split("\x02") if pair)}
