#!/usr/bin/env python3
"""Sends the same frames to two servers and compares what comes back.

    differential.py --ours HOST:PORT --reference HOST:PORT CASES.py ...

A case file defines `steps(side)`, a list of the words in steps.py; `side` is a name that is different for the two
servers ("ours", "reference"), for values that cannot be the same. Exit status 1 when an answer differs without a reason."""

import argparse
import json
import re
import runpy
import sys
import time

from frames import Connection, quote_keys
from records import records
from steps import Answers, Close, Pushed, Raw, Request


# Seconds for what has to come, on a slow and busy machine.
LONGEST = 60


class Side:
    """One of the two servers and the connections to it."""

    def __init__(self, name, address, steps):
        self.name, self.address, self.steps = name, address, steps
        self.connections = {}

    def on(self, name):
        if name not in self.connections:
            host, port = self.address.rsplit(":", 1)
            # A broker's second port lies two below the first.
            port = int(port) - (2 if name.startswith("fast") else 0)
            self.connections[name] = Connection(f"{host}:{port}")
        return self.connections[name]

    def answer(self, step):
        body = step.body.encode() if isinstance(step.body, str) else step.body
        deadline = time.monotonic() + LONGEST
        while True:
            answer = self.on(step.on).request(LONGEST, code=step.code, fields=step.fields, body=body, version=step.version,
                                              flag=step.flag, serialize=step.serialize, language=step.language)
            # The reference on a busy machine: it has not begun with the request.
            is_busy = isinstance(answer, dict) and "TIMEOUT_CLEAN_QUEUE" in (answer.get("remark") or "")
            if not is_busy or time.monotonic() > deadline:
                return answer

    def raw(self, step, within):
        connection = Connection(self.address)
        connection.send_raw(step.data)
        closed = connection.closed_within(within)
        connection.close()
        return "closed" if closed else "open"

    def pushed(self, step, within):
        connection = self.on(step.on)

        def look():
            found = [c for c in connection.pushed if c["code"] == step.code]
            if found:
                connection.pushed.remove(found[0])
                return found[0]
            return None

        return connection.wait(look, within)

    def replies(self, step):
        body = step.body.encode() if isinstance(step.body, str) else step.body
        self.on(step.on).replies[step.code] = {"code": step.answer, "remark": step.remark, "body": body}

    def close(self, name):
        self.connections.pop(name).close()


def normal(value):
    """Lists that stand for sets, in one order."""
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list):
        # A connection's port says nothing of the order.
        return sorted((normal(item) for item in value),
                      key=lambda item: re.sub(r"127\.0\.0\.1:\d+", "", json.dumps(item, sort_keys=True)))
    return value


def body_of(answer):
    try:
        return normal(json.loads(quote_keys(answer["body"].decode())))
    except ValueError:
        return answer["body"]


def remark_start(answer):
    return re.split("[:,]", (answer.get("remark") or "")[:24])[0]


def keys_of(answer):
    """The names in a text of `name=value` lines."""
    return sorted(line.split("=", 1)[0] for line in answer["body"].decode().splitlines() if "=" in line)


def table_keys_of(answer):
    body = body_of(answer)
    return sorted(body.get("table", {})) if isinstance(body, dict) else body


PARTS = {
    "code": lambda answer: answer["code"],
    "remark": lambda answer: answer.get("remark"),
    "remark-start": remark_start,
    "fields": lambda answer: answer.get("extFields"),
    "field-names": lambda answer: sorted(answer.get("extFields") or {}),
    "keys": keys_of,
    "table-keys": table_keys_of,
    "records": lambda answer: records(answer["body"]),
    "body": body_of,
    "body-bytes": lambda answer: answer["body"],
    "serialize": lambda answer: answer["serialize"],
}


def scrubbed(value, patterns):
    text = json.dumps(value, sort_keys=True, default=repr)
    for pattern in patterns:
        text = re.sub(pattern, "*", text)
    return text


def differences(step, ours, reference):
    """What of the two answers does not agree, as lines."""
    if not isinstance(ours, dict) or not isinstance(reference, dict):
        return [] if ours == reference else [f"ours {ours!r}, reference {reference!r}"]
    lines = []
    for part in step.compare:
        pair = [scrubbed(PARTS[part](answer), getattr(step, "scrub", [])) for answer in (ours, reference)]
        if pair[0] != pair[1]:
            lines += [f"{part}: ours      {pair[0][:1500]}", f"{' ' * len(part)}  reference {pair[1][:1500]}"]
    return lines


def expected_codes(step, ours, reference):
    """Lines about codes that an intended difference names and that did not come."""
    lines = []
    for name, wanted, answer in (("ours", step.ours, ours), ("reference", step.theirs, reference)):
        code = answer["code"] if isinstance(answer, dict) else answer
        if wanted is not None and code != wanted:
            lines.append(f"{name} should answer {wanted}, answered {code}: {answer}")
    return lines


def awaited(step, ours, reference):
    """Lines about fields that the answers have to have and do not."""
    lines = []
    for name, answer in (("ours", ours), ("reference", reference)):
        fields = (answer.get("extFields") or {}) if isinstance(answer, dict) else {}
        lines += [f"{name} should have {key}={value}: {answer}" for key, value in step.until.items() if fields.get(key) != value]
    return lines


def compare_request(sides, step, twin):
    deadline = time.monotonic() + (step.within and max(step.within, LONGEST))
    while True:
        answers = sides[0].answer(step), sides[1].answer(twin)
        lines = expected_codes(step, *answers) if step.differs else differences(step, *answers)
        lines += awaited(step, *answers)
        if not lines or time.monotonic() >= deadline:
            return lines
        time.sleep(0.05)


def pushed(sides, step, twin):
    """What both pushed; where one has, the other has to."""
    ours, reference = sides[0].pushed(step, step.within), sides[1].pushed(twin, step.within)
    if not isinstance(ours, dict) and isinstance(reference, dict):
        ours = sides[0].pushed(step, LONGEST)
    if not isinstance(reference, dict) and isinstance(ours, dict):
        reference = sides[1].pushed(twin, LONGEST)
    return ours, reference


def run(sides):
    failed = intended = 0
    for step, twin in zip(sides[0].steps, sides[1].steps, strict=True):
        if isinstance(step, Close):
            for side in sides:
                side.close(step.on)
            continue
        if isinstance(step, Answers):
            for side in sides:
                side.replies(step)
            continue
        if isinstance(step, Request):
            lines = compare_request(sides, step, twin)
        elif isinstance(step, Raw):
            reference = sides[1].raw(twin, 1)
            wanted = "closed" if step.differs else reference
            ours = sides[0].raw(step, LONGEST if wanted == "closed" else 1)
            lines = [] if ours == wanted else [f"ours {ours}, {wanted} is wanted; reference {reference}"]
        elif isinstance(step, Pushed):
            lines = differences(step, *pushed(sides, step, twin))
        else:
            raise TypeError(step)
        reason = getattr(step, "differs", None)
        intended += reason is not None
        failed += bool(lines)
        print(f"{'DIFFERS' if lines else 'ok     '} {step.name}" + (f" (differs: {reason})" if reason else ""))
        for line in lines:
            print("        " + line)
    total = sum(not isinstance(step, (Answers, Close)) for step in sides[0].steps)
    print(f"{total} compared, {failed} differ, {intended} differ on purpose")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("cases", nargs="+")
    arguments = parser.parse_args()
    failed = 0
    for path in arguments.cases:
        steps = runpy.run_path(path)["steps"]
        print(f"== {path}")
        failed += run([Side("ours", arguments.ours, steps("ours")),
                       Side("reference", arguments.reference, steps("reference"))])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
