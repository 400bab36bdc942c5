"""Frames of the remoting protocol: enough to send anything and to read what comes back."""

import json
import re
import socket
import struct
import threading

JSON, ROCKETMQ = 0, 1


def encode(code, fields=None, body=b"", opaque=0, version=513, flag=0, serialize=JSON, language="JAVA", remark=None):
    """One whole frame. `fields=None` leaves extFields out."""
    if serialize == JSON:
        header = {"code": code, "flag": flag, "language": language, "opaque": opaque,
                  "serializeTypeCurrentRPC": "JSON", "version": version}
        if fields is not None:
            header["extFields"] = {k: v for k, v in fields.items()}
        if remark is not None:
            header["remark"] = remark
        header = json.dumps(header).encode()
    else:
        ext = b"".join(struct.pack(">h", len(k.encode())) + k.encode() + struct.pack(">i", len(v.encode())) + v.encode()
                       for k, v in (fields or {}).items())
        text = (remark or "").encode()
        header = struct.pack(">hbhii", code & 0x7FFF, 0, version, opaque, flag)
        header += struct.pack(">i", len(text)) + text + struct.pack(">i", len(ext)) + ext
    content = struct.pack(">I", serialize << 24 | len(header)) + header + body
    return struct.pack(">i", len(content)) + content


def decode(content):
    """The command in a frame's content, as a dictionary."""
    word, = struct.unpack(">I", content[:4])
    length, kind = word & 0xFFFFFF, word >> 24
    header, body = content[4:4 + length], content[4 + length:]
    if kind == JSON:
        command = json.loads(header)
    else:
        code, _, version, opaque, flag, size = struct.unpack(">hbhiii", header[:17])
        remark = header[17:17 + size].decode()
        ext_size, = struct.unpack(">i", header[17 + size:21 + size])
        at, end, ext = 21 + size, 21 + size + ext_size, {}
        while at < end:
            n, = struct.unpack(">h", header[at:at + 2])
            key = header[at + 2:at + 2 + n].decode()
            at += 2 + n
            n, = struct.unpack(">i", header[at:at + 4])
            ext[key] = header[at + 4:at + 4 + n].decode()
            at += 4 + n
        command = {"code": code, "version": version, "opaque": opaque, "flag": flag}
        if size:
            command["remark"] = remark
        if ext_size:
            command["extFields"] = ext
    command["body"] = body
    command["serialize"] = "JSON" if kind == JSON else "ROCKETMQ"
    return command


def quote_keys(text):
    """The reference's dialect with its integer and object keys quoted, so that `json` reads it."""
    return re.sub(r'([{,])(-?\d+|\{[^{}]*\}):', lambda key: f"{key[1]}{json.dumps(key[2])}:", text)


class Connection:
    """One connection to one server. Answers are found by opaque; requests that the server pushes are kept apart."""

    def __init__(self, address, timeout=10):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout)
        # The time-out is that of connecting: nothing need come for longer.
        self.socket.settimeout(None)
        self.pushed, self.answers, self.open = [], {}, True
        # What to answer to pushed requests, by their code.
        self.replies = {}
        self.changed = threading.Condition()
        self.opaque = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while True:
                size, = struct.unpack(">i", self._exactly(4))
                command = decode(self._exactly(size))
                with self.changed:
                    if command["flag"] & 1:
                        self.answers[command["opaque"]] = command
                    else:
                        self.pushed.append(command)
                    self.changed.notify_all()
                self._reply(command)
        except (OSError, struct.error):
            with self.changed:
                self.open = False
                self.changed.notify_all()

    def _reply(self, command):
        if not command["flag"] & 3 and command["code"] in self.replies:
            self.send_raw(encode(opaque=command["opaque"], flag=1, **self.replies[command["code"]]))

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise OSError("closed")
            data += piece
        return data

    def send_raw(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass

    def request(self, timeout=10, **command):
        """The answer; "closed" or "silent" when there is none. A one-way request answers None at once."""
        self.opaque += 1
        opaque = self.opaque
        self.send_raw(encode(opaque=opaque, **command))
        if command.get("flag", 0) & 2:
            return None
        return self.wait(lambda: self.answers.pop(opaque, None), timeout)

    def wait(self, look, timeout):
        found = []

        def ready():
            value = look()
            if value is not None:
                found.append(value)
            return found or not self.open

        with self.changed:
            self.changed.wait_for(ready, timeout)
            return found[0] if found else ("silent" if self.open else "closed")

    def closed_within(self, timeout):
        with self.changed:
            return self.changed.wait_for(lambda: not self.open, timeout)

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
