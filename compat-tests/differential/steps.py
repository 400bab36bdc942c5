"""The words in which a case file describes what to send and how to compare the answers."""

from dataclasses import dataclass, field


@dataclass
class Request:
    """One request, sent to both servers over the connection named `on` (opened when first used).

    `compare` lists what of the answers must agree: "code", "remark" (whole), "remark-start" (up to the first of `:`, `,`
    and the end of its first 24 characters), "fields", "body" (as JSON where it is JSON, lists sorted), "body-bytes", "serialize",
    "records" (the stored messages in the body), "field-names", "keys" (of `name=value` lines), "table-keys" (of a JSON table).
    A connection whose name begins with "fast" goes to a broker's second port.
    `differs` is the reason why our answer may differ here on purpose; then nothing is compared, and `ours` must be our
    code, `theirs`, where given, the reference's.
    `within` repeats the request until the answers agree, for so many seconds or, on a slow machine, more, and until both have
    the fields in `until`: what a one-way request does comes at a time of its own.
    """

    name: str
    code: int
    fields: dict | None = None
    body: bytes | str = b""
    on: str = "main"
    version: int = 513
    flag: int = 0
    serialize: int = 0
    language: str = "JAVA"
    compare: tuple = ("code", "remark", "fields", "body", "serialize")
    differs: str | None = None
    ours: int | None = None
    theirs: int | None = None
    within: float = 0
    until: dict = field(default_factory=dict)
    scrub: list = field(default_factory=list)


@dataclass
class Raw:
    """Bytes as they are on a fresh connection; compared is whether the server closes it within a second.

    `differs` is the reason why the reference may leave it open where ours has to close it.
    """

    name: str
    data: bytes
    differs: str | None = None


@dataclass
class Close:
    """Closes the connection `on` to both servers."""

    on: str


@dataclass
class Answers:
    """From now on the connection `on` answers each request of this code that the server pushes, as a client would."""

    code: int
    on: str
    answer: int = 0
    remark: str | None = None
    body: bytes | str = b""


@dataclass
class Pushed:
    """Waits for a request from the server on a listener or connection, then compares it as [`Request`] does."""

    name: str
    code: int
    on: str = "main"
    compare: tuple = ("fields", "body")
    within: float = 5
    scrub: list = field(default_factory=list)
