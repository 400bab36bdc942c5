"""Server processes, ours and the reference's, each with its files in a folder of its own."""

import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"
START_TIMEOUT = 120


def command(implementation, role):
    """How to start a server: `implementation` is "ours" or a version of the reference."""
    return [SCRIPTS / f"mq{role}"] if implementation == "ours" else [SCRIPTS / "reference", implementation, role]


class Server:
    """A server on a port of its own, with `home` for its configuration, logs and output. The folder may be that of an earlier
    one. In `settings`, `{home}` stands for it, `{ha}` for a port that is free, too."""

    def __init__(self, start, home, settings):
        self.home = home
        home.mkdir(exist_ok=True)
        self.port = free_port()
        text = f"listenPort={self.port}\n" + settings.format(home=home, ha=self.port + 1)
        (home / "server.properties").write_text(text)
        environment = {**os.environ, "ROCKETMQ_HOME": str(home),
                       "REFERENCE_JAVA_OPTS": "-Xms256m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
        environment.pop("NAMESRV_ADDR", None)
        with open(home / "output", "wb") as output:
            self.process = subprocess.Popen([*start, "-c", home / "server.properties"], env=environment, stdout=output,
                                            stderr=subprocess.STDOUT)
        self.address = f"127.0.0.1:{self.port}"

    def ready(self):
        deadline = time.monotonic() + START_TIMEOUT
        while "boot success" not in (text := (self.home / "output").read_text(errors="replace")):
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{self.home.name} does not start:\n{text}")
            time.sleep(0.05)

    def stop(self, within=120):
        """Ends it cleanly, and says whether it did so in time."""
        self.process.terminate()
        try:
            return self.process.wait(within) is not None
        except subprocess.TimeoutExpired:
            self.kill()
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()


def free_port():
    """A port that is free, as are those that a broker takes beside it: two below and one above. Each call gives another one."""
    with free_port.lock:
        for port in free_port.candidates:
            try:
                for other in (port, port - 2, port + 1):
                    with socket.socket() as probe:
                        probe.bind(("127.0.0.1", other))
                return port
            except OSError:
                continue
    raise OSError("no free ports")


free_port.lock = threading.Lock()
# Below the range that the system gives to outgoing connections.
free_port.candidates = iter(range(16002 + os.getpid() % 8000, 32000, 7))
