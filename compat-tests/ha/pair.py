"""A master, a slave and a name server."""

from cluster import BROKER, OURS, Process, wait


class Pair:
    """A name server of ours, a master and a slave; whatever happens, none of them outlives the block that it is made for."""

    def __init__(self, folder, master, slave, host="127.0.0.1", **settings):
        self.host = host
        self.name_server = Process("namesrv", OURS, folder / "namesrv", {"kvConfigPath": folder / "namesrv/kv.json"}, host)
        self.shared = {**BROKER, "brokerName": "ha-a", "namesrvAddr": self.name_server.address, **settings}
        as_master = {"brokerRole": "ASYNC_MASTER", **self.shared, "brokerId": 0}
        self.master = Process("broker", master, folder / "master", as_master, host)
        self.slave = self.another_slave(folder / "slave", slave, 1)

    def another_slave(self, folder, kind, number):
        return Process("broker", kind, folder, {**self.shared, "brokerRole": "SLAVE", "brokerId": number}, self.host)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in (self.slave, self.master, self.name_server):
            server.kill()

    def start(self):
        self.name_server.start().ready()
        # Both take their time; the slave learns of the master with its next registration.
        self.master.start().ready()
        self.slave.start().ready()
        return self

    def caught_up(self, moving=False):
        """Waits until the slave has what the master has, and both have it in their queues. While messages come, until the
        slave has what the master had before."""
        if moving:
            # A server that has just started may not answer yet.
            wait(lambda: self.master.log_end() > 0, "the master says where its log ends")
            before = self.master.log_end()
            wait(lambda: before <= self.slave.log_end(), f"the slave comes to {before}")
            return

        def look():
            end = self.master.log_end()
            return 0 < end == self.slave.log_end() and all(side.is_dispatched() for side in (self.master, self.slave))

        wait(look, "the slave has the same end as the master, and all is dispatched")

    def stop(self):
        for server in (self.slave, self.master, self.name_server):
            server.stop()
