"""Servers of both implementations as processes, and what is asked of them."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "differential"))

import frames  # noqa: E402 (it lies in the other folder)
from servers import SCRIPTS, free_port  # noqa: E402

OURS = "apogee"
PATIENCE = 120
JAVA = "-Xms128m -Xmx384m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
FILE_SIZE = 1 << 20
BROKER = {
    "brokerClusterName": "HaCluster",
    "mappedFileSizeCommitLog": FILE_SIZE, "mappedFileSizeConsumeQueue": 6000, "maxMessageSize": 131072,
    "maxHashSlotNum": 1000, "maxIndexNum": 4000, "fileReservedTime": 87600, "registerNameServerPeriod": 10000,
}


class Failed(Exception):
    """What was to be shown is not so."""


class Process:
    """A server that can be started again with its files and its port; it does not outlive the block that it is made for."""

    # What runs it on another host, and the address by which the test asks it there.
    enter, asked_at = (), None

    def __init__(self, role, kind, home, settings, host="127.0.0.1"):
        self.role, self.kind, self.home = role, kind, home
        self.port = free_port()
        self.settings = {"listenPort": self.port, **settings}
        if role == "broker":
            self.settings |= {"haListenPort": self.port + 1, "storePathRootDir": home / "store"}
            self.settings |= {"brokerIP1": host, "brokerIP2": host}
        self.address = f"{host}:{self.port}"
        self.process = None
        home.mkdir(parents=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self, kind=None):
        """Starts it, as another implementation if one is named."""
        self.kind = kind or self.kind
        script = [SCRIPTS / f"mq{self.role}"] if self.kind == OURS else [SCRIPTS / "reference", self.kind, self.role]
        text = "".join(f"{key}={value}\n" for key, value in self.settings.items())
        (self.home / "server.properties").write_text(text)
        environment = {**os.environ, "ROCKETMQ_HOME": str(self.home), "REFERENCE_JAVA_OPTS": JAVA}
        environment.pop("NAMESRV_ADDR", None)
        with open(self.home / "output", "wb") as output:
            self.process = subprocess.Popen([*self.enter, *script, "-c", self.home / "server.properties"], env=environment,
                                            stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        return self

    def ready(self):
        def look():
            text = (self.home / "output").read_text(errors="replace")
            if self.process.poll() is not None:
                raise Failed(f"{self.home.name} ({self.kind}) ended:\n{text[-3000:]}")
            return "boot success" in text

        wait(look, f"{self.home.name} ({self.kind}) starts")
        return self

    def stop(self):
        """Asks it to end, and waits until it has."""
        self.end(signal.SIGTERM)

    def kill(self):
        self.end(signal.SIGKILL)

    def end(self, number):
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed(f"{self.home.name} ({self.kind}) does not end") from None
        self.process = None

    def ask(self, code, fields=None, body=b""):
        """One request over a connection of its own; None when it is not answered with a success."""
        try:
            connection = frames.Connection(f"{self.asked_at}:{self.port}" if self.asked_at else self.address)
        except OSError:
            return None
        try:
            answer = connection.request(code=code, fields=fields, body=body)
        finally:
            connection.close()
        return answer if isinstance(answer, dict) and answer["code"] == 0 else None

    def table(self, code):
        answer = self.ask(code)
        return answer and json.loads(frames.quote_keys(answer["body"].decode()))

    def log_end(self):
        """Physical offset of the end of its log; -1 when it does not say."""
        info = self.table(28)
        return int(info["table"]["commitLogMaxOffset"]) if info else -1

    def memory(self):
        """Bytes that are its own, without the files that it maps."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.split("RssAnon:")[1].split()[0])

    def is_dispatched(self):
        info = self.table(28)
        return info is not None and int(info["table"]["dispatchBehindBytes"]) == 0


def wait(is_true, what, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not is_true():
        if time.monotonic() > deadline:
            raise Failed(f"in vain waited for: {what}")
        time.sleep(0.05)
