"""What is written into a store: each kind of record that a broker makes, and the tables beside them."""

import json
import time
import zlib

from admin import LONGEST, members
from broker_requests import group_config

# A topic that needs two bytes for the length of its name. Its group can only come by a file; 4.x knows no such record.
LONG_GROUP = "TwoG_" + "L" * 125
LONG_TOPIC = "%RETRY%" + LONG_GROUP
# The same in all that is compared, and young enough that no broker asks a producer for the end of its transaction.
BORN = str(int(time.time() * 1000))
DELAYED, LATER, NEVER = "1", "2", "3"
# Queues that messages of a topic are put into, too.
LIGHT = "%LMQ%two-a", "%LMQ%two-b"
LEVELS = "1s 3s 2h"


def prepare(store):
    """What must be there before the first broker starts."""
    (store / "config").mkdir(parents=True)
    groups = {"dataVersion": {"counter": 1, "stateVersion": 0, "timestamp": 1700000000000},
              "subscriptionGroupTable": {LONG_GROUP: group_config(LONG_GROUP)}}
    (store / "config" / "subscriptionGroup.json").write_text(json.dumps(groups))


class Writer:
    """Writes to a broker, and keeps what was acknowledged: a sent message's place, body and unique key."""

    def __init__(self, broker, turn, is_5x, has_light):
        self.broker, self.turn, self.is_5x, self.has_light = broker, turn, is_5x, has_light
        self.sent, self.count, self.half, self.offsets = [], 0, None, {}

    def all(self):
        self.tables()
        for queue in range(4):
            for _ in range(25):
                self.send("TwoPlain", queue, b"plain")
        for n in range(60):
            self.send("TwoTags", n % 2, b"tagged", TAGS=f"Tag{n % 3}", KEYS=f"k{self.turn}-{n} shared{self.turn}-{n % 7}",
                      number=str(n))
        # No body is empty: 5.5.0 fails on that.
        for size in (1, 100, 60_000, 90_000, 120_000, 120_000, 120_000, 7):
            self.send("TwoLarge", 0, bytes([size % 251]) * size)
        for _ in range(3):
            self.batch("TwoBatch", [bytes([n]) * 200 for n in range(10)])
        if self.is_5x:
            for n in range(9):
                self.inner_batch("TwoInner", n % 2, [bytes([n]) * 100] * (n + 1))
                self.send("TwoInner", n % 2, b"single", KEYS=f"single{self.turn}-{n}")
        for flag in (1, 0x301):
            self.send("TwoPlain", 0, zlib.compress(b"compressed" * 20), f=str(flag), h="7")
        self.send("TwoPlain", 1, "Grüße 消息 🚀".encode(), KEYS="ключ", text="значение 🚀")
        if self.is_5x:
            self.send(LONG_TOPIC, 0, b"long topic", KEYS="long")
        if self.has_light:
            self.light()
        self.delays()
        self.returns()
        self.commits()
        self.transactions()

    def tables(self):
        for name, queues in (("TwoPlain", 4), ("TwoTags", 2), ("TwoLarge", 1), ("TwoBatch", 1), ("TwoDelay", 1), ("TwoTrans", 1)):
            self.broker.create_topic(name, queues)
        # Such an attribute cannot be set once more.
        if self.is_5x and self.turn == 1:
            self.broker.create_topic("TwoInner", 2, "+queue.type=BatchCQ")
        self.broker.create_topic(f"TwoFifo{self.turn}", 3, "+message.type=FIFO")
        self.broker.create_group("TwoG")
        self.broker.create_group(f"TwoG{self.turn}", retryMaxTimes=self.turn, consumeBroadcastEnable=False)
        self.broker.create_group("TwoSql", notifyConsumerIdsChangedEnable=False)
        # Where filters are not enabled nobody asks for it.
        self.broker.subscribe("TwoTags", "TwoSql", "number > 3 AND number < 30 OR TAGS = 'Tag0'")

    def light(self):
        before = [self.broker.range(name, 0)[1] for name in LIGHT]
        for n in range(12):
            self.send("TwoPlain", n % 4, b"light", TAGS=f"Tag{n % 3}", **self.to_light(n))
        self.until(lambda: [self.broker.range(name, 0)[1] for name in LIGHT] == [before[0] + 8, before[1] + 8])

    def to_light(self, n):
        """What makes a message go into light queues: the first, the other, both, by turns."""
        return {"INNER_MULTI_DISPATCH": ",".join(name for name, turns in zip(LIGHT, ((0, 2), (1, 2))) if n % 3 in turns)} \
            if self.has_light else {}

    def delays(self):
        """One that comes soon, and one that does not."""
        before = self.broker.range("TwoDelay", 0)[1]
        self.send("TwoDelay", 0, b"delayed", is_readable=False, DELAY=DELAYED)
        self.until(lambda: self.broker.range("TwoDelay", 0)[1] > before)
        self.send("TwoDelay", 0, b"delayed", is_readable=False, DELAY=NEVER)

    def transactions(self):
        """Committed, rolled back, and one whose end is left to who has the store next."""
        before = self.broker.range("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0)[1]
        halves = [self.send("TwoTrans", 0, b"half", is_readable=False, TRAN_MSG="true", PGROUP="TwoP") for _ in range(3)]
        self.broker.end_transaction(halves[0], True)
        self.broker.end_transaction(halves[1], False)
        self.half = halves[2]
        # What notes that they are over is written a little later.
        self.until(lambda: self.broker.range("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0)[1] > before)

    def last(self):
        """What is still on its way when the broker ends: a message that may be delivered before or after, once."""
        self.send("TwoDelay", 0, b"later", is_readable=False, DELAY=LATER)

    def returns(self):
        at = self.sent[0]["physical"]
        before = self.broker.range("%RETRY%TwoG", 0)[1] if "%RETRY%TwoG" in self.broker.topics()[1] else 0
        self.broker.give_back("TwoPlain", at, -1)
        self.broker.give_back("TwoPlain", at, int(DELAYED))
        self.until(lambda: self.broker.range("%RETRY%TwoG", 0)[1] > before)

    def commits(self):
        for group in ("TwoG", f"TwoG{self.turn}"):
            for queue in range(4):
                self.offsets["TwoPlain", queue, group] = 3 * self.turn + queue
                self.broker.commit("TwoPlain", queue, group, 3 * self.turn + queue)
        if self.has_light:
            self.offsets[LIGHT[0], 0, "%LMQ%TwoG"] = self.turn
            self.broker.commit(LIGHT[0], 0, "%LMQ%TwoG", self.turn)

    def send(self, topic, queue, body, is_readable=True, **more):
        """Sends one message; where it is."""
        fields = {letter: more.pop(letter) for letter in "fh" if letter in more}
        properties = {"UNIQ_KEY": self.unique(), **more}
        (place,), answer = self.broker.send(topic, queue, body, properties, g=BORN, **fields)
        if is_readable:
            self.keep(topic, int(answer["queueId"]), place, body, properties)
        return place

    def batch(self, topic, bodies):
        members = [(body, {"UNIQ_KEY": self.unique(), "KEYS": f"b{self.turn}"}) for body in bodies]
        places, answer = self.broker.send(topic, 0, members, {"WAIT": "true"}, g=BORN)
        for place, (body, properties) in zip(places, members, strict=True):
            self.keep(topic, int(answer["queueId"]), place, body, properties)

    def inner_batch(self, topic, queue, bodies):
        """Many messages in one record, found by the key of all of them."""
        bodies = [(body, {"UNIQ_KEY": self.unique()}) for body in bodies]
        properties = {"UNIQ_KEY": self.unique(), "WAIT": "true", "KEYS": f"inner{self.turn}-{len(bodies)}"}
        (place,), answer = self.broker.send(topic, queue, bodies, properties, g=BORN)
        self.keep(topic, int(answer["queueId"]), place, members(bodies), properties)

    def keep(self, topic, queue, place, body, properties):
        self.sent.append({"topic": topic, "queue": queue, "offset": place[0], "physical": place[1], "body": body,
                          "keys": [properties["UNIQ_KEY"], *properties.get("KEYS", "").split()]})

    def unique(self):
        self.count += 1
        return self.unique_key()

    def unique_key(self):
        """The key of the last message."""
        return f"7F000001{self.turn:08X}{self.count:016X}"

    @staticmethod
    def until(condition):
        deadline = time.monotonic() + LONGEST
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError("what a broker does by itself does not happen")
            time.sleep(0.05)
