"""Producers that go on whatever happens to the broker, and remember what was acknowledged."""

import random
import struct
import threading
import time

import frames

TOPICS = ("HaA", "HaB")
QUEUES = 4
# The codes of a message that is stored: all is well, and the three of those that are not where they should be in time.
OK, SLAVE_NOT_AVAILABLE, STORED = 0, 11, (0, 10, 11, 12)


class Load:
    """Sends to a master from several threads until it is stopped, which the end of its block does."""

    def __init__(self, master, seed, threads=2, size=6000, pause=0.002):
        self.master, self.size, self.pause = master, size, pause
        self.choices = [random.Random(f"{seed}/{n}") for n in range(threads)]
        self.acknowledged, self.codes = [], {}
        self.lock, self.stopped, self.threads = threading.Lock(), threading.Event(), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.stopped.clear()
        self.threads = [threading.Thread(target=self._run, args=(choice,)) for choice in self.choices]
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()
        self.threads = []

    def go_on_with(self, master):
        """Sends to another master when it is started again."""
        self.master = master
        return self

    def count(self):
        with self.lock:
            return len(self.acknowledged)

    def _run(self, choice):
        connection = None
        while not self.stopped.is_set():
            try:
                connection = connection or frames.Connection(self.master.address, timeout=5)
            except OSError:
                time.sleep(0.05)
                continue
            body = choice.randbytes(choice.randrange(1, self.size))
            answer = connection.request(code=310, fields=send_header(choice), body=body, timeout=15)
            if not isinstance(answer, dict):
                connection.close()
                connection = None
                continue
            with self.lock:
                self.codes[answer["code"]] = self.codes.get(answer["code"], 0) + 1
                if answer["code"] == OK:
                    self.acknowledged.append(place(answer["extFields"]["msgId"]))
            if answer["code"] not in STORED:
                time.sleep(0.05)
            time.sleep(self.pause)
        if connection:
            connection.close()


def send_header(choice):
    key = choice.getrandbits(64)
    properties = f"KEYS\x01k{key}\x02UNIQ_KEY\x01{key:032X}\x02TAGS\x01t{key % 5}\x02WAIT\x01true\x02"
    return {"a": "HaProducer", "b": choice.choice(TOPICS), "c": "TBW102", "d": str(QUEUES), "e": str(choice.randrange(QUEUES)),
            "f": "0", "g": str(int(time.time() * 1000)), "h": "0", "i": properties, "j": "0", "k": "false", "m": "false"}


def place(message_id):
    """The physical offset in an offset message id."""
    return struct.unpack(">q", bytes.fromhex(message_id)[-8:])[0]
