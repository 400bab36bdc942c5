"""Compares what two brokers stored of the same requests: log, queues and the offsets of groups, times and ports aside."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "twoway"))

from alike import Stored, first  # noqa: E402


def offsets(table):
    """Without those of the broker's own group, which has looked through the transactions at a time of its own."""
    return {name: at for name, at in table.items() if not name.endswith("@CID_RMQ_SYS_TRANS")}


def differences(ours, theirs):
    """The first difference of each kind, as text."""
    ours, theirs = Stored(ours), Stored(theirs)
    pairs = {"commit log": (ours.records(), theirs.records()), "consume queues": (ours.units(), theirs.units())}
    for key in ("offsetTable", "lmqOffsetTable"):
        pairs[key] = tuple(offsets(side.table("lmqConsumerOffset.json", key)) for side in (ours, theirs))
    return [f"{what}: {first(*pair)}" for what, pair in pairs.items() if pair[0] != pair[1]]
