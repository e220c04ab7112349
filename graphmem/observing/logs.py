"""The log: one line for each record, as text or JSON, with the id of its request.

No line contains a memory or a query. Of an exception, only classes and code positions are logged, not the
message, and libraries that would log queries are limited to warnings.
"""

import asyncio
import errno
import logging
import re
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

Form = Literal["text", "json"]

OURS = ("graphmem", "graphmem_api")
"""The loggers that follow the level of the settings; all others begin at warnings."""

TALKATIVE = ("neo4j", "neomodel", "fastembed", "httpx", "httpcore")
"""Loggers that would show texts or addresses below warnings, whatever level the root has.

At `debug` the driver logs every query with its parameters.
"""

REPEATED_SECONDS = 10.0
"""The time between two lines that say that no file may be opened, or that a connection to Neo4j broke."""

_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

_request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
_client_id: ContextVar[str | None] = ContextVar("client_id", default=None)

log = logging.getLogger(__name__)


@contextmanager
def about(request_id: str | None = None, client_id: str | None = None) -> Iterator[None]:
    """Attach a request and a client to all lines of the block."""
    request, client = _request_id.set(request_id), _client_id.set(client_id)
    try:
        yield
    finally:
        _client_id.reset(client)
        _request_id.reset(request)


def name_client(client_id: str) -> None:
    """Attach a client to the rest of the block of `about`."""
    _client_id.set(client_id)


def show_log(level: str, form: Form = "text") -> None:
    """Write the log to stderr, our own loggers from this level on."""
    root = logging.getLogger()
    for handler in root.handlers[:]:
        if isinstance(handler, Stderr):
            root.removeHandler(handler)
    handler = Stderr()
    handler.setFormatter(FORMATTERS[form]())
    handler.addFilter(BrokenConnections())
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in OURS:
        logging.getLogger(name).setLevel(level.upper())
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def shows_json() -> bool:
    """Tell whether the log is written as JSON: what a service says of itself is a line of it then."""
    shown = [one for one in logging.getLogger().handlers if isinstance(one, Stderr)]
    return any(isinstance(one.formatter, JsonFormatter) for one in shown)


class Pause:
    """The time between two lines of one kind, of which the first is logged at once."""

    def __init__(self) -> None:
        self._told_at = float("-inf")

    def is_over(self) -> bool:
        """Tell whether a line is due; if so, another pause begins."""
        now = time.monotonic()
        if now - self._told_at < REPEATED_SECONDS:
            return False
        self._told_at = now
        return True


class Failing:
    """The levels of lines that say why something fails: of the same reason again DEBUG, until it works."""

    def __init__(self) -> None:
        self._reason: object = None

    def level(self, reason: object, first: int = logging.WARNING) -> int:
        """Return the level of a failure for a reason, which is not None: `first` for a new one."""
        level = logging.DEBUG if reason == self._reason else first
        self._reason = reason
        return level

    def works(self) -> None:
        """Note that it works: the next failure is a new one."""
        self._reason = None


class BrokenConnections(logging.Filter):
    """Leaves out lines of the driver that follow another soon: an outage has one for each connection."""

    def __init__(self) -> None:
        super().__init__()
        self._pause = Pause()

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a line is shown."""
        return record.name != "neo4j.io" or self._pause.is_over()


class Stderr(logging.Handler):
    """Writes to the current `sys.stderr`."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            # The reader is gone. `handleError` would write to stderr too, and quote the record.
            return


class TextFormatter(logging.Formatter):
    """Time, level, logger and message, then the request and the client; line breaks become bars."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line."""
        fields = _fields(record)
        time, level, logger, message = (fields.pop(name) for name in FIRST)
        whose = "".join(f" {name}={value}" for name, value in fields.items())
        shown = _UNSHOWN.sub(_escaped, " | ".join(message.splitlines()))
        return f"{time} {level.upper()} {logger}: {shown}{whose}"


class JsonFormatter(logging.Formatter):
    """An object with time, level, logger, message, the ids of request and client, and the record's own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line."""
        fields = _fields(record)
        fields["message"] = fields["message"].encode(errors="backslashreplace").decode()
        return msgspec.json.encode(fields | getattr(record, FIELDS, {})).decode()


FIELDS = "fields"
"""The attribute of a record, given as `extra`, with the values of its message under their names."""

FIRST = ("time", "level", "logger", "message")
FORMATTERS: dict[Form, type[logging.Formatter]] = {"text": TextFormatter, "json": JsonFormatter}


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, then what it was raised from or during, and so on."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def traced(error: BaseException) -> str:
    """Return the classes and positions of an error in one line, without messages: they may quote texts."""
    names = [type(cause).__name__ for cause in islice(causes(error), 5)]
    places = [_place(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return " from ".join(names) + (f" at {', '.join(places)}" if places else "")


class LostErrors:
    """Logs exceptions that no task awaited; the default handler would quote their messages."""

    def __init__(self) -> None:
        self._pause = Pause()

    def log(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log one. While no more files may be opened, asyncio tells it thousands of times a second."""
        problem = context.get("exception")
        if isinstance(problem, OSError) and problem.errno in (errno.EMFILE, errno.ENFILE):
            if self._pause.is_over():
                log.error("no connection is accepted: too many files are open; raise `ulimit -n`")
            return
        said = str(context.get("message", "")).partition("\n")[0]
        log.error("%s: %s", said, traced(problem) if problem else "no exception")


def _fields(record: logging.LogRecord) -> dict[str, str]:
    message = record.getMessage()
    problem = record.exc_info[1] if record.exc_info else None
    if problem is not None:
        message = f"{message}: {traced(problem)}"
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    fields = {
        "time": moment.replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": message,
    }
    about = {"request_id": _request_id.get(), "client": _client_id.get()}
    return fields | {name: value for name, value in about.items() if value is not None}


def _place(frame: Any, line: int) -> str:
    code = frame.f_code
    return f"{'/'.join(Path(code.co_filename).parts[-2:])}:{line} in {code.co_name}"


def _escaped(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]
