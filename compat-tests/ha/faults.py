"""Master and slave on two hosts with a bad network between them, a synchronous master, and kills."""

import random
import time

from cluster import OURS, Failed, Process, wait
from load import OK, SLAVE_NOT_AVAILABLE, Load
from network import ASIDE, HERE, THERE, Network
from pair import Pair
from replicate import finish, first_to_slave, lost_with_master

SYNC = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": 2, "flushDiskType": "SYNC_FLUSH"}
# Silence for so long is the end of a connection.
QUICK = {"haSendHeartbeatInterval": 500, "haHousekeepingInterval": 3000}


class FarPair(Pair):
    """The slave is on the other host."""

    def __init__(self, folder, network, master, slave, **settings):
        super().__init__(folder, master, slave, host=HERE, **QUICK, **settings)
        self.slave.enter, self.slave.asked_at = network.enter, ASIDE
        self.slave.settings |= {"brokerIP1": THERE, "brokerIP2": THERE}

    def slaves(self):
        """The slaves that the master knows of; None when it does not answer."""
        status = self.master.table(907)
        return status and status.get("haConnectionInfo", [])

    def wait_for_slaves(self, count, load, what):
        """Waits until the master has no slave or one. A 4.9.4 does not say so but to producers, who wait for one."""
        if self.master.kind != "4.9.4":
            wait(lambda: (slaves := self.slaves()) is not None and len(slaves) == count, what)
            return
        code = SLAVE_NOT_AVAILABLE if count == 0 else OK
        before = load.codes.get(code, 0)
        wait(lambda: load.codes.get(code, 0) > before + 10, what)


def bad_network(folder, seed, rounds, master, slave):
    """Latency, loss, narrow links, partitions of one and both ways, and kills that the other side hears nothing of."""
    choice = random.Random(seed)
    with Network(seed) as network, FarPair(folder, network, master, slave, **SYNC) as pair, \
            Load(pair.master, seed, threads=4, pause=0.01) as load:
        pair.start()
        first_to_slave(pair, load)
        load.start()
        met = {}
        for n in range(rounds):
            fault = FAULTS[n] if n < len(FAULTS) else choice.choice(FAULTS)
            met[fault.__name__] = met.get(fault.__name__, 0) + 1
            fault(choice, network, pair)
            time.sleep(choice.uniform(0.2, 4))
            victims = choice.choice([[], [pair.slave], [pair.master], [pair.master, pair.slave]])
            for victim in victims:
                victim.kill()
            if len(victims) == 2:
                lost_with_master(pair, load, is_sync=True)
            network.heal()
            for victim in victims:
                victim.start()
            for victim in victims:
                victim.ready()
            before = load.count()
            wait(lambda: load.count() > before + 10, f"messages are acknowledged after {fault.__name__}")
        half_open(network, pair, load)
        load.stop()
        pair.caught_up()
        return f"{finish(pair, load)}, faults {met}"


def half_open(network, pair, load):
    """A slave that vanishes without a word is given up after the time for housekeeping, and so is a master."""
    pair.wait_for_slaves(1, load, "the slave is there")
    partition(None, network, pair)
    pair.slave.kill()
    pair.wait_for_slaves(0, load, "the master gives up the slave that vanished")
    network.heal()
    pair.slave.start().ready()
    pair.wait_for_slaves(1, load, "the slave is back")
    partition(None, network, pair)
    pair.master.kill()
    pair.master.start().ready()
    network.heal()
    pair.wait_for_slaves(1, load, "the slave has given up the master that vanished, and found it again")


def latency(choice, network, _):
    network.forth.delay, network.back.delay = choice.uniform(0.01, 0.2), choice.uniform(0.01, 0.2)


def loss(choice, network, _):
    network.forth.loss = network.back.loss = choice.uniform(0.01, 0.1)


def narrow(choice, network, _):
    network.forth.rate = choice.uniform(20_000, 200_000)


def partition(_, network, __):
    network.forth.is_cut = network.back.is_cut = True


def deaf_slave(_, network, __):
    network.forth.is_cut = True


def mute_slave(_, network, __):
    network.back.is_cut = True


FAULTS = [partition, loss, mute_slave, narrow, deaf_slave, latency]


def slow_slave(folder, seed):
    """A slave behind a narrow link slows neither producers nor another slave, and takes none of the master's memory."""
    with Network(seed) as network, FarPair(folder, network, OURS, OURS) as pair:
        near = pair.another_slave(folder / "near", OURS, 2)
        with near, Load(pair.master, seed, threads=4, size=60_000, pause=0) as load:
            pair.start()
            near.start().ready()
            wait(lambda: len(pair.slaves() or []) == 2, "both slaves are there")
            network.forth.rate = 50_000
            memory = pair.master.memory()
            load.start()
            wait(lambda: pair.master.log_end() > MUCH, "much is sent")
            load.stop()
            end = pair.master.log_end()
            wait(lambda: near.log_end() == end, "the near slave has it all")
            if (far := pair.slave.log_end()) > end - MUCH // 2:
                raise Failed(f"the slow slave has {far} of {end} already")
            if (grown := pair.master.memory() - memory) > MUCH // 4:
                raise Failed(f"the master's memory grew by {grown} while a slave was {end - far} behind")
            network.heal()
            pair.caught_up()
            near.stop()
            return f"{finish(pair, load)}, {end - far} bytes behind, {grown} of memory"


MUCH = 128 << 20
