"""Moving a broker over to ours and back, as docs/migration.md says, while producers go on."""

import json
import shutil

from cluster import BROKER, FILE_SIZE, OURS, Failed, Process, wait
from load import TOPICS, Load
from pair import Pair
from stores import Log, compare, diff, units


def migrate_in_place(folder, seed, version):
    """The reference's broker is ended, ours goes on with its files, and then the reference's again."""
    broker = Process("broker", version, folder / "broker", {**BROKER, "brokerName": "ha-a"})
    try:
        with Load(broker, seed, pause=0.01) as load:
            broker.start().ready()
            load.start()
            for n, kind in enumerate((OURS, version)):
                before = load.count()
                wait(lambda: load.count() > before + 100, f"messages go to {broker.kind}")
                consumed(broker, 10 + n)
                broker.stop()
                broker.start(kind).ready()
                wait(lambda: where_group_is(broker) is not None, f"{broker.kind} says where the group is")
                if (offset := where_group_is(broker)) != 10 + n:
                    raise Failed(f"the group is at {offset}, and was at {10 + n}")
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
        consumed(old, 10)
        files = sorted((old.home / "store/commitlog").glob("0*"))
        (new.home / "store/commitlog").mkdir(parents=True)
        # The reference makes the next file ahead: of those that messages are in, all but the last.
        for file in files[:old.log_end() // FILE_SIZE]:
            shutil.copy2(file, new.home / "store/commitlog")
        wait(lambda: copied(old.home / "store/config", new.home / "store/config"), "the folder with the tables is copied")
        new.start().ready()
        for offset, _ in enumerate(("forward", "back"), start=10):
            pair.caught_up(moving=True)
            wait(lambda: where_group_is(new) == offset, f"{new.kind} knows that the group is at {offset}")
            load.stop()
            pair.caught_up()
            old.stop()
            new.stop()
            new.settings |= {"brokerRole": "ASYNC_MASTER", "brokerId": 0}
            old.settings |= {"brokerRole": "SLAVE", "brokerId": 1}
            new.start().ready()
            wait(lambda: where_group_is(new) is not None, f"{new.kind} says where the group is")
            if (there := where_group_is(new)) != offset:
                raise Failed(f"the group is at {there}, and was at {offset}")
            load.go_on_with(new).start()
            consumed(new, offset + 1)
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


def copied(folder, to):
    """Copies a folder, if no file of it is just being replaced."""
    try:
        return shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*.tmp"), dirs_exist_ok=True)
    except shutil.Error:
        return None


def all_there(broker, load):
    """Whether what was acknowledged is in the log, and what is in the log is in the queues."""
    store = broker.home / "store"
    places = {place for place, _ in Log(store).records}
    if missing := set(load.acknowledged) - places:
        raise Failed(f"{len(missing)} acknowledged messages are not in the log, the first at {min(missing)}")
    if missing := places - {unit[0] for unit in units(store).values()}:
        raise Failed(f"{len(missing)} messages are in no queue, the first at {min(missing)}")
    return f"{load.count()} messages, all there"


def consumed(broker, offset):
    """A group has consumed up to an offset. A broker that is busy, or has just started, may have to be told again."""
    group = {"groupName": GROUP["consumerGroup"]}
    commit = {**GROUP, "commitOffset": str(offset)}
    wait(lambda: broker.ask(200, {}, json.dumps(group).encode()) is not None and broker.ask(15, commit) is not None,
         f"{broker.kind} takes an offset")


def where_group_is(broker):
    """The offset that the group has consumed up to; None when the broker does not say."""
    answer = broker.ask(14, GROUP)
    return answer and int(answer["extFields"]["offset"])


GROUP = {"consumerGroup": "HaGroup", "topic": TOPICS[0], "queueId": "0"}
