"""Moving a broker over to ours and back, as docs/migration.md says, while producers go on."""

import shutil

from cluster import BROKER, FILE_SIZE, OURS, Failed, Process, wait
from load import Load
from pair import Pair
from stores import Log, compare, diff, units


def migrate_in_place(folder, seed, version):
    """The reference's broker is ended, ours goes on with its files, and then the reference's again."""
    broker = Process("broker", version, folder / "broker", {**BROKER, "brokerName": "ha-a"})
    try:
        with Load(broker, seed, pause=0.01) as load:
            broker.start().ready()
            load.start()
            for kind in (OURS, version):
                before = load.count()
                wait(lambda: load.count() > before + 100, f"messages go to {broker.kind}")
                broker.stop()
                broker.start(kind).ready()
            before = load.count()
            wait(lambda: load.count() > before + 100, f"messages go to {broker.kind}")
        broker.stop()
        return all_there(broker, load)
    finally:
        broker.kill()


def migrate_with_slave(folder, seed, version):
    """Ours joins with a copy of the older files, takes over, and gives back."""
    with Pair(folder, version, OURS) as pair, Load(pair.master, seed) as load:
        old, new = pair.master, pair.slave
        pair.name_server.start().ready()
        old.start().ready()
        load.start()
        wait(lambda: old.log_end() > 2.2 * FILE_SIZE, "the log has several files")
        files = sorted((old.home / "store/commitlog").glob("0*"))
        (new.home / "store/commitlog").mkdir(parents=True)
        # The reference makes the next file ahead: of those that messages are in, all but the last.
        for file in files[:old.log_end() // FILE_SIZE]:
            shutil.copy2(file, new.home / "store/commitlog")
        new.start().ready()
        for _ in ("forward", "back"):
            pair.caught_up(moving=True)
            load.stop()
            pair.caught_up()
            old.stop()
            new.stop()
            new.settings |= {"brokerRole": "ASYNC_MASTER", "brokerId": 0}
            old.settings |= {"brokerRole": "SLAVE", "brokerId": 1}
            new.start().ready()
            load.go_on_with(new).start()
            old.start().ready()
            old, new = new, old
            pair.master, pair.slave = old, new
        pair.caught_up(moving=True)
        load.stop()
        pair.caught_up()
        pair.stop()
        compare(old.home / "store", new.home / "store")
        if version == "5.5.0":
            diff(old.home / "store", new.home / "store")
        return all_there(old, load)


def all_there(broker, load):
    """Whether what was acknowledged is in the log, and what is in the log is in the queues."""
    store = broker.home / "store"
    places = {place for place, _ in Log(store).records}
    if missing := set(load.acknowledged) - places:
        raise Failed(f"{len(missing)} acknowledged messages are not in the log, the first at {min(missing)}")
    if missing := places - {unit[0] for unit in units(store).values()}:
        raise Failed(f"{len(missing)} messages are in no queue, the first at {min(missing)}")
    return f"{load.count()} messages, all there"
