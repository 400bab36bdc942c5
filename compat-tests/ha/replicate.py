"""Either side is killed again and again under load; what both have must be equal, and what was promised must be there."""

import random
import time

from cluster import OURS, Failed, wait
from load import Load
from pair import Pair
from stores import Log, compare, diff, verify


def replicate(folder, seed, rounds, master, slave, is_sync=False):
    """Kills a side or both at random moments. Whenever both are dead the slave alone has to do: its log is the beginning of
    the master's, and where the master is synchronous it has every message that was acknowledged. Afterwards the stores are
    equal."""
    choice = random.Random(seed)
    settings = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": 2, "flushDiskType": "SYNC_FLUSH"} if is_sync else {}
    with Pair(folder, master, slave, **settings) as pair, Load(pair.master, seed, threads=8 if is_sync else 2) as load:
        pair.start()
        first_to_slave(pair, load)
        load.start()
        kinds = [[pair.slave], [pair.master], [pair.master, pair.slave]]
        most = 0
        for n in range(rounds):
            time.sleep(choice.uniform(0.2, 2))
            # Each kind in turn, the last at the end, and otherwise whatever chance says.
            victims = kinds[2] if n == rounds - 1 else kinds[n] if n < 2 else choice.choice(kinds)
            for victim in victims:
                victim.kill()
            if victims == kinds[2]:
                most = max(most, lost_with_master(pair, load, is_sync))
            time.sleep(choice.uniform(0, 1))
            for victim in victims:
                victim.start()
            for victim in victims:
                victim.ready()
        before = load.count()
        wait(lambda: load.count() > before + 50, "messages are acknowledged again")
        load.stop()
        pair.caught_up()
        return f"{finish(pair, load)}, at most {most} messages lost with the master's disk"


def first_to_slave(pair, load):
    """Sends no more than a few messages until the slave has them: it would begin with the last file of the log."""
    load.start()
    wait(lambda: load.codes, "the master answers")
    load.stop()
    wait(lambda: pair.slave.log_end() > 0, "messages come to the slave")


def lost_with_master(pair, load, is_sync):
    """How many acknowledged messages would be lost if the master's disk were thrown away now that both sides are dead."""
    acknowledged = set(load.acknowledged)
    log = compare(pair.master.home / "store", pair.slave.home / "store", is_prefix=True, may_tear=pair.slave.kind != OURS)
    if log.start > 0:
        raise Failed(f"the slave's log begins at {log.start}")
    missing = acknowledged - {place for place, _ in log.records}
    if missing and (is_sync or min(missing) < log.end):
        raise Failed(f"{len(missing)} acknowledged messages are missing on the slave, whose log ends at {log.end}; the first "
                     f"at {min(missing)}")
    return len(missing)


def finish(pair, load):
    """Ends all, and compares what is on the disks."""
    pair.stop()
    stores = pair.master.home / "store", pair.slave.home / "store"
    log = compare(*stores, may_tear=pair.slave.kind != OURS)
    missing = set(load.acknowledged) - {place for place, _ in Log(stores[0]).records}
    if missing:
        raise Failed(f"{len(missing)} acknowledged messages are not in the master's log, the first at {min(missing)}")
    kinds = {pair.master.kind: stores[0], pair.slave.kind: stores[1]}
    if len(kinds) == 1:
        diff(*stores)
    verify(kinds[OURS])
    return f"{load.count()} messages, {log.end - log.start} bytes equal, codes {load.codes}"
