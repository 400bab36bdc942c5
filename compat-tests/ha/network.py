"""Two hosts and a bad network between them: namespaces of the kernel, and packets that this process carries or does not.

Needs the rights of root, and the device /dev/net/tun."""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time

from cluster import Failed, wait

HERE, THERE = "192.0.2.1", "192.0.2.2"
# The other host's address for the test, over a link without faults.
ASIDE = "198.51.100.2"
CLONE_NEWNET, TUNSETIFF, TUN_WITHOUT_HEADER = 0x40000000, 0x400454CA, 0x1001
# As a router: it holds so many seconds of packets for a link that is too narrow, and drops what comes then.
LONGEST_QUEUE = 0.5


def is_possible():
    """Whether this thread, which has left the network, can make others."""
    return os.access("/dev/net/tun", os.R_OK | os.W_OK)


def leave_network():
    """Gives this thread, and the threads and processes that it starts, a network of their own, so that nobody else has their
    ports. Says whether that is allowed."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        return False
    ip("link set lo up")
    return True


def ip(words, enter=()):
    subprocess.run([*enter, "ip", *words.split()], check=True)


class Way:
    """One direction of the wire."""

    def __init__(self):
        self.heal()
        self.free_at = 0

    def heal(self):
        """As good as a network can be."""
        # Seconds, share of packets, bytes in a second (None for as many as come).
        self.delay, self.loss, self.rate, self.is_cut = 0, 0, None, False


class Network:
    """This thread's network, which it has for itself (see leave_network), another host, and the wire between them; host and wire
    end with the block that they are made for."""

    def __init__(self, seed):
        self.choice = random.Random(f"{seed}/wire")
        self.forth, self.back = self.ways = Way(), Way()

    def __enter__(self):
        own = os.readlink("/proc/thread-self/ns/net")
        self.host = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], start_new_session=True)
        try:
            wait(lambda: os.readlink(f"/proc/{self.host.pid}/ns/net") != own, "the other host has its network")
            self.enter = ["nsenter", "--target", str(self.host.pid), "--net"]
            ip("link set lo up", self.enter)
            ip(f"link add aside0 type veth peer name aside1 netns {self.host.pid}")
            self.ends = [tun("wire0"), tun("wire1")]
            ip(f"link set wire1 netns {self.host.pid}")
            for enter, wire, mine, other, aside in ((), 0, HERE, THERE, "198.51.100.1"), (self.enter, 1, THERE, HERE, ASIDE):
                ip(f"address add {mine} peer {other} dev wire{wire}", enter)
                ip(f"address add {aside}/30 dev aside{wire}", enter)
                ip(f"link set wire{wire} up", enter)
                ip(f"link set aside{wire} up", enter)
        except BaseException:
            self.host.kill()
            raise
        self.stopped = threading.Event()
        self.carrier = threading.Thread(target=self._carry)
        self.carrier.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.carrier.join()
        for end in self.ends:
            os.close(end)
        self.host.kill()
        self.host.wait()

    def heal(self):
        for way in self.ways:
            way.heal()

    def _carry(self):
        poll, due, count = select.poll(), [], 0
        for end in self.ends:
            poll.register(end, select.POLLIN)
        while not self.stopped.is_set():
            patience = 0.1 if not due else max(0, min(0.1, due[0][0] - time.monotonic()))
            for end, _ in poll.poll(patience * 1000):
                n = self.ends.index(end)
                packet = os.read(end, 65536)
                if (at := self._arrival(self.ways[n], len(packet))) is not None:
                    heapq.heappush(due, (at, count := count + 1, self.ends[1 - n], packet))
            while due and due[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(due)
                os.write(end, packet)

    def _arrival(self, way, size):
        """When a packet arrives; None for never."""
        if way.is_cut or self.choice.random() < way.loss:
            return None
        at = time.monotonic()
        if way.rate:
            free_at = max(way.free_at, at) + size / way.rate
            if free_at > at + LONGEST_QUEUE:
                return None
            at = way.free_at = free_at
        return at + way.delay


def tun(name):
    """A network device whose packets are read from and written to what this gives."""
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), TUN_WITHOUT_HEADER))
    return end
