"""One store that goes from broker to broker, each checked against what those before it said and stored."""

import collections
import struct
import threading

import files
import records
from admin import LONGEST, Broker, Refused, table
from content import LEVELS, LIGHT, Writer, prepare
from servers import Server, command

FILE_SIZE, SLOTS, ITEMS = 262144, 100, 400
SETTINGS = f"""brokerClusterName=TwoWay
brokerName=twoway-a
brokerId=0
brokerIP1={{ip}}
brokerIP2=127.0.0.1
storePathRootDir={{store}}
storePathCommitLog={{log}}
readOnlyCommitLogStorePaths={{read_only}}
haListenPort={{{{ha}}}}
mappedFileSizeCommitLog={FILE_SIZE}
maxMessageSize=131072
mappedFileSizeConsumeQueue=1200
mapperFileSizeBatchConsumeQueue=460
maxHashSlotNum={SLOTS}
maxIndexNum={ITEMS}
messageDelayLevel={LEVELS}
autoCreateTopicEnable=false
fileReservedTime=87600
transactionTimeOut=3600000
transactionCheckInterval=3600000
channelExpiredTimeout=3600000
"""
# What is off unless somebody asks for it.
EXTENDED = """enableConsumeQueueExt=true
mappedFileSizeConsumeQueueExt=1200
enableCalcFilterBitMap=true
enablePropertyFilter=true
enableLmq=true
enableMultiDispatch=true
"""
# Enough to be killed in the middle of, and to roll files by.
BURST = 400


class Wrong(Exception):
    """A broker does not say what it has to."""


class Chain:
    """The store, and what is known of it."""

    def __init__(self, folder, is_5x=True, ip="127.0.0.1", directories=("commitlog",), extended=False, settings=""):
        self.folder, self.is_5x, self.ip, self.root = folder, is_5x, ip, folder / "store"
        # Units have entries in extensions of their queues, and there are light queues, which change the name of a table.
        self.extended, self.settings = extended, settings
        self.offsets_file = "lmqConsumerOffset.json" if extended else "consumerOffset.json"
        prepare(self.root)
        # Of the log: all of them, and those that take no new files.
        self.directories, self.read_only = [self.root / name for name in directories], []
        # `killed`: at some time.
        self.turn, self.killed = 0, False
        # By (topic, queue, offset): records, and sent messages that the broker before did not serve any more.
        self.known, self.promised = {}, {}
        self.sent, self.halves, self.offsets = [], [], {}
        self.topics = self.groups = 0, {}
        self.later = collections.Counter()

    def visit(self, implementation, end, write=True):
        """Starts a broker on the store, checks all that is known, writes more, and ends it: "stop" or "kill"."""
        self.turn += 1
        before = files.log(self.directories), files.queues(self.root), self.log_files()
        server = self.start(implementation)
        try:
            broker = Broker(server.address)
            self.check(broker)
            if write:
                self.write(self.writer(broker, implementation))
            if end == "kill":
                self.kill(server, implementation)
            else:
                broker.close()
                expect(server.stop(LONGEST), f"{implementation} does not stop")
        finally:
            server.kill()
        self.check_files(before, end)

    def look_at_tables(self, implementation):
        server = self.start(implementation)
        try:
            self.check_tables(Broker(server.address))
        finally:
            server.kill()

    def start(self, implementation):
        settings = SETTINGS.format(ip=self.ip, store=self.root, log=",".join(map(str, self.directories)),
                                   read_only=",".join(map(str, self.read_only))) + EXTENDED * self.extended + self.settings
        server = Server(command(implementation, "broker"), self.folder, settings)
        server.ready()
        return server

    # What a broker says

    def check(self, broker):
        found = self.everything(broker)
        for place, record in self.known.items():
            expect(found.get(place) == record, f"{place} has changed or is gone")
        for place, sent in self.promised.items():
            expect(place in found, f"{place} was acknowledged and is gone")
            self.check_sent(sent, found)
        check_light(found)
        for sent in self.sent:
            record = self.known[sent["topic"], sent["queue"], sent["offset"]]
            expect(broker.by_id(sent["physical"]) == record, f"no message by id: {sent}")
            for key in sent["keys"]:
                expect(record in broker.by_key(sent["topic"], key), f"no message by key {key}: {sent}"[:300])
        self.check_tables(broker)
        self.check_later(broker)

    def check_tables(self, broker):
        for (topic, queue, group), offset in self.offsets.items():
            now = broker.committed(topic, queue, group)
            expect(now == offset, f"{group} had consumed {topic} {queue} up to {offset}, now {now}")
        for (known_version, known), (version, now) in ((self.topics, broker.topics()), (self.groups, broker.groups())):
            # 4.9.4 does not read that of groups.
            expect(version >= known_version or not self.is_5x, f"version {known_version} of a table is followed by {version}")
            for name, config in known.items():
                expect(name in now, f"{name} is gone")
                # 4.x does not keep what is new in 5.x.
                changed = [key for key in config if config[key] != now[name].get(key, None if self.is_5x else config[key])]
                expect(not changed, f"{changed} of {name} have changed: {config} {now[name]}")

    def check_later(self, broker):
        """What was on its way when the broker before ended arrives, after a clean stop once."""
        def counted():
            found = [records.record(record) for record in broker.pull("TwoDelay", 0).values()]
            return collections.Counter(unique_key(record) for record in found)

        if self.later:
            Writer.until(lambda: not self.later - counted())
            again = {key: n for key, n in counted().items() if n > 1}
            expect(self.killed or not again, f"delivered again: {again}")

    @staticmethod
    def check_sent(sent, found):
        raw = found.get((sent["topic"], sent["queue"], sent["offset"]))
        expect(raw is not None, f"not served: {sent}"[:300])
        expect(struct.unpack_from(">q", raw, 28)[0] == sent["physical"] and sent["body"] in raw
               and all(key.encode() in raw for key in sent["keys"]), f"not what was sent: {sent}"[:300])

    def everything(self, broker):
        """All records of all queues that are on disk. 4.9.4 lets nobody read those of transactions."""
        found = {}
        for topic, queue in sorted({place.parts[-2:] for place in self.root.glob("*consumequeue/*/*")}):
            try:
                pulled = broker.pull(topic, int(queue))
            except Refused:
                expect(topic.startswith("RMQ_SYS_TRANS_") and not self.is_5x, f"{topic} cannot be read")
                continue
            found |= {(topic, int(queue), offset): record for offset, record in pulled.items()}
        return found

    # What it is given

    def writer(self, broker, implementation, turns=0):
        # 4.9.4 counts the offsets in light queues from 0 at each start.
        return Writer(broker, turns + self.turn, self.is_5x, self.extended and implementation != "4.9.4")

    def write(self, writer):
        broker = writer.broker
        for half in self.halves:
            broker.end_transaction(half, self.turn % 2 == 0)
        writer.all()
        self.sent += writer.sent
        self.halves = [writer.half]
        self.offsets |= writer.offsets
        self.topics, self.groups = broker.topics(), broker.groups()
        self.known = self.everything(broker)
        check_light(self.known)
        for sent in self.sent:
            self.check_sent(sent, self.known)
        # Not at first, as these files are also compared.
        if self.turn > 1:
            writer.last()
            self.later[writer.unique_key()] += 1

    def kill(self, server, implementation):
        """Ends the broker in the middle of its work; what it acknowledged stays promised."""
        writer = self.writer(Broker(server.address), implementation, turns=1000)
        half_way = threading.Event()

        def burst():
            try:
                for n in range(BURST):
                    writer.send("TwoPlain", n % 4, b"burst" * 100, **writer.to_light(n))
                    if n == BURST // 2:
                        half_way.set()
            except (Refused, OSError):
                pass
            half_way.set()

        sender = threading.Thread(target=burst)
        sender.start()
        half_way.wait()
        server.kill()
        sender.join()
        expect(len(writer.sent) > BURST // 2, "too few messages were taken to be killed in the middle")
        self.promised |= {(sent["topic"], sent["queue"], sent["offset"]): sent for sent in writer.sent}
        self.killed = True
        # The rest was in memory only.
        self.offsets = self.written_offsets(self.offsets_file)

    def written_offsets(self, name):
        path = self.root / "config" / name
        written = files.table(path) if path.exists() else {"offsetTable": {}}
        # Those of groups of light queues are in one queue.
        queues = written["offsetTable"] | {name: {0: offset} for name, offset in written.get("lmqOffsetTable", {}).items()}
        return {(topic, int(queue), group): offset for name, offsets in queues.items()
                for topic, _, group in [name.rpartition("@")] if topic in ("TwoPlain", *LIGHT) for queue, offset in offsets.items()}

    def tear(self):
        """Leaves of each table half of its file, and with that the one before it."""
        config = self.root / "config"
        for backup in config.glob("*.json.bak"):
            torn = backup.with_suffix("")
            torn.write_bytes(torn.read_bytes()[:torn.stat().st_size // 2])
        self.topics = table(files.table(config / "topics.json.bak"), "topicConfigTable")
        self.groups = table(files.table(config / "subscriptionGroup.json.bak"), "subscriptionGroupTable")
        if (config / f"{self.offsets_file}.bak").exists():
            self.offsets = self.written_offsets(f"{self.offsets_file}.bak")

    # What is on disk

    def check_files(self, before, end):
        log, queues = files.log(self.directories), files.queues(self.root)
        # After a kill the last bytes may be half of a record that nobody was promised.
        surely = max((sent["physical"] for sent in self.promised.values()), default=0) if self.killed else max(log)
        for at, record in before[0].items():
            expect(log.get(at) == record or at > surely, f"the log has changed at {at}")
        for name, units in before[1].items():
            units = [unit for unit in units if unit[0] <= surely]
            now = queues.get(name, [])[:len(units)]
            expect(not any(isinstance(unit[3], str) for unit in now), f"the queue {name} leads to no entry: {now}"[:1000])
            if name[0] == "SCHEDULE_TOPIC_XXXX" and not self.is_5x:
                # In its recovery 4.9.4 writes no time of delivery but 0, which others mend in theirs.
                units, now = [unit[:2] for unit in units], [unit[:2] for unit in now]
            if self.killed:
                # Filters that were not on disk yet leave no bit map in what is made again.
                units, now = [without_bit_map(unit) for unit in units], [without_bit_map(unit) for unit in now]
            expect(now == units, f"the queue {name} has changed: {set(now) ^ set(units)}")
        taking = sorted(str(directory) for directory in self.directories if directory not in self.read_only)
        for path in self.log_files() - before[2]:
            turn = int(path.name) // FILE_SIZE % len(taking)
            expect(str(path.parent) == taking[turn], f"{path} is not where it belongs")
        expect((self.root / "abort").exists() == (end == "kill"), f"the mark of an unclean stop after a {end}")

    def log_files(self):
        return {path for directory in self.directories for path in directory.glob("[0-9]*")}


def without_bit_map(unit):
    return (*unit[:2], *unit[3][:2]) if len(unit) == 4 and unit[3] else unit


def unique_key(record):
    return properties(record)["UNIQ_KEY"]


def properties(record):
    return dict(pair.split("\x01") for pair in record["properties"])


def check_light(found):
    """Every record is in all light queues that it names, at the offset that it says."""
    for (topic, *_), raw in list(found.items()):
        named = properties(records.record(raw)) if topic == "TwoPlain" and b"%LMQ%" in raw else {}
        queues, offsets = (named.get(f"INNER_MULTI_{name}", "").split(",") for name in ("DISPATCH", "QUEUE_OFFSET"))
        for queue, offset in zip(queues, offsets) if named else ():
            expect(found.get((queue, 0, int(offset))) == raw, f"{named} is not in {queue}")


def expect(truth, otherwise):
    if not truth:
        raise Wrong(otherwise)
