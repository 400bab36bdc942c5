"""The reference deletes topics, makes some anew, expires files and cuts the log while it has the store. Ours then takes nothing
of it for a loss, brings nothing back, and serves what is there."""

import contextlib
import os

import files
from admin import LONGEST, Broker
from chain import Chain, expect
from content import Writer

KEPT, OTHER, GONE, EMPTY, ANEW = "TwoKept", "TwoOther", "TwoGone", "TwoEmpty", "TwoAnew"
MESSAGES, BODY = 60, 3000
DELETE_TOPIC, DELETE_EXPIRED = 215, 329


class Changed:
    """A store with some topics, and how far their queues are to reach."""

    def __init__(self, home, version):
        self.chain, self.version = Chain(home, is_5x=version != "4.9.4"), version
        self.ends, self.first = {}, {}
        with self.running("ours") as broker:
            for topic in (KEPT, OTHER, GONE, EMPTY, ANEW):
                broker.create_topic(topic, 1)
            for _ in range(MESSAGES):
                for topic in (KEPT, OTHER, GONE, EMPTY, ANEW):
                    self.send(broker, topic)

    @contextlib.contextmanager
    def running(self, implementation, end="stop"):
        server = self.chain.start(implementation)
        try:
            broker = Broker(server.address)
            yield broker
            if end == "stop":
                broker.close()
                expect(server.stop(LONGEST), f"{implementation} does not stop")
        finally:
            server.kill()

    def send(self, broker, topic):
        """The body says which message it is."""
        number = self.ends.get(topic, 0)
        body = f"{self.first.get(topic, '')}{topic} {number}".encode().ljust(BODY)
        broker.send(topic, 0, body, {"UNIQ_KEY": f"7F{number:030X}"})
        self.ends[topic] = number + 1

    def begin_anew(self, topic):
        """What is sent from here on is of a topic that only has its name in common with the one before."""
        self.ends[topic], self.first[topic] = 0, "anew "

    def check(self):
        """Ours serves it all, after a stop, after kills, and with one message more."""
        for end in ("kill", "kill", "stop"):
            with self.running("ours", end) as broker:
                for topic, count in self.ends.items():
                    (first, last), found = broker.range(topic, 0), broker.pull(topic, 0)
                    expect(last == count, f"{topic} ends at {last}, not {count}")
                    expect(list(found) == list(range(first, last)), f"{topic} serves {list(found)} of {first} to {last}")
                    for offset, record in found.items():
                        body = f"{self.first.get(topic, '')}{topic} {offset} ".encode()
                        expect(body in record, f"{topic} {offset} is another message")
                    self.send(broker, topic)
            text = "".join(path.read_text(errors="replace") for path in self.chain.folder.rglob("logs/**/*.log"))
            text += (self.chain.folder / "output").read_text(errors="replace")
            expect("store open" in text, "ours writes no log")
            expect("lost units" not in text, "something is taken for lost")


def topics_and_files(version):
    """Topics are deleted and made anew, and old files expire."""
    def scenario(home):
        store = Changed(home, version)
        log = store.chain.root / "commitlog" / f"{0:020}"
        os.utime(log, (0, 0))
        with store.running(version) as broker:
            for topic in (GONE, EMPTY, ANEW):
                broker.ask(DELETE_TOPIC, {"topic": topic})
                store.begin_anew(topic)
            for topic in (EMPTY, ANEW):
                broker.create_topic(topic, 1)
            store.send(broker, ANEW)
            broker.ask(DELETE_EXPIRED)
            Writer.until(lambda: not log.exists())
        del store.ends[GONE]
        store.check()
        # 4.9.4 leaves the directory.
        expect(not list((store.chain.root / "consumequeue" / GONE).glob("*/*")), f"{GONE} came back")
    return scenario


def cut_log(version):
    """The last records do not come to disk, and the log goes on without them."""
    def scenario(home):
        store = Changed(home, version)
        log = files.log([store.chain.root / "commitlog"])
        # one of the last three of each of the five topics
        at = sorted(log)[-15]
        for path in (store.chain.root / "commitlog").iterdir():
            with open(path, "r+b") as file:
                start = max(at - int(path.name), 0)
                size = path.stat().st_size
                if start < size:
                    file.seek(start)
                    file.write(bytes(size - start))
        (store.chain.root / "abort").touch()
        with store.running(version) as broker:
            store.ends = {topic: broker.range(topic, 0)[1] for topic in store.ends}
            expect(set(store.ends.values()) == {MESSAGES - 3}, f"the reference keeps {store.ends}")
            for _ in range(MESSAGES):
                store.send(broker, OTHER)
        store.check()
    return scenario
