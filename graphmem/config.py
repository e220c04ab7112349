"""The settings, read once.

Each setting is a field of `Settings`; its environment variable is `GRAPHMEM_` and the field's name
in capitals. An empty variable counts as unset.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
import platformdirs
from msgspec import Meta, Struct

from graphmem.errors import SettingError
from graphmem.model.validation import settled, told
from graphmem.model.vocabulary import MOST_READS, ClientId

PREFIX = "GRAPHMEM_"

log = logging.getLogger(__name__)

SIZE_EXAMPLES = ["512m", "2g"]

SECRETS = {"neo4j_uri": ("neo4j_user", "neo4j_password"), "llm_url": ("llm_key",)}
"""The settings that are an address, and those for the secrets that it must not hold."""

ADDRESSES = ("neo4j_uri", "llm_url", "maven_repository")

NEO4J_URI = r"^(?i:(bolt|neo4j)(\+s|\+ssc)?)://"
"""The pattern of the beginning of a Neo4j's address."""

LEAST_SIZES = {"neo4j_heap": "128m", "neo4j_page_cache": "1m"}
"""The least memory of the private Neo4j: one of a heap of 64 MiB, or a page cache of 1 KiB, ended at once."""

UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")

OFF = "off"


class Settings(Struct, frozen=True, kw_only=True):
    """All settings, with their defaults."""

    data_dir: Annotated[Path, Meta(description="where the private Neo4j keeps its store")] = (
        msgspec.field(default_factory=lambda: platformdirs.user_data_path("graphmem"))
    )
    cache_dir: Annotated[Path, Meta(description="where fetched jars and models are kept")] = (
        msgspec.field(default_factory=lambda: platformdirs.user_cache_path("graphmem"))
    )
    host: Annotated[str, Meta(description="the address the API listens on")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="the port; 0 takes a free one")] = 8000
    keys_file: Annotated[
        Path | None,
        Meta(description="the keys (`graphmem keys create`) and what each may do; turns keys on"),
    ] = None
    request_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=3600,
            description="how long a request may take, as long again for each 100 KB of its body; then 503",
        ),
    ] = 30
    slow_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=10**9,
            description="a request that takes longer is logged as slow, with its wait and size; 0 for none",
        ),
    ] = 1_000
    requests_at_once: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            description="how many requests are worked on at once; a quarter of one client",
        ),
    ] = 64
    requests_waiting: Annotated[
        int, Meta(ge=0, le=10_000, description="how many more may wait; the next ones get 503")
    ] = 512
    client_requests: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="how many requests of one client may be in progress; the next ones get 429",
        ),
    ] = 256
    client_memories: Annotated[
        int, Meta(ge=0, le=10**12, description="how many memories a client may have; 0: any number")
    ] = 0
    client_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=10**15,
            description="how long the texts of a client's memories may be together, in UTF-8; 0: any length",
        ),
    ] = 0
    client_tokens_a_day: Annotated[
        int,
        Meta(
            ge=0,
            le=10**12,
            description="how many tokens of memories a client may write on one day (UTC); 0: any number",
        ),
    ] = 0
    limits_file: Annotated[
        Path | None,
        Meta(
            description="other limits for some clients: lines like `acme memories=100000 bytes=50000000 "
            "tokens_a_day=2000000 requests=64`"
        ),
    ] = None
    connections: Annotated[
        int, Meta(ge=1, le=100_000, description="how many connections the API keeps open")
    ] = 1_000
    drain_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=3600,
            description="how long the API goes on after SIGTERM with /health/ready at 503, so that a load "
            "balancer sends elsewhere before it closes",
        ),
    ] = 0
    warm_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=3600,
            description="how long the start may prepare the first answers before /health/ready is 200; "
            "0: not at all, and these take longer",
        ),
    ] = 60
    neo4j_uri: Annotated[
        Annotated[str, Meta(pattern=NEO4J_URI)] | None,
        Meta(
            description="a Neo4j to use instead of the private one",
            examples=["bolt://127.0.0.1:7687", "neo4j+s://example.org"],
        ),
    ] = None
    neo4j_user: Annotated[str, Meta(description="its user")] = "neo4j"
    neo4j_password: Annotated[str, Meta(description="its password")] = ""
    neo4j_database: Annotated[str, Meta(description="its database")] = "neo4j"
    places_file: Annotated[
        Path | None,
        Meta(description="a file that puts clients into other Neo4js; read again when it changes"),
    ] = None
    place: Annotated[
        str | None,
        Meta(description="the place of that file to work with alone, instead of each client's"),
    ] = None
    neo4j_heap: Annotated[
        str,
        Meta(
            pattern=r"^[0-9]{1,9}[kmgKMG]$",
            description="the private Neo4j's heap",
            examples=SIZE_EXAMPLES,
        ),
    ] = "1g"
    neo4j_page_cache: Annotated[
        str,
        Meta(
            pattern=r"^[0-9]{1,9}[kmgKMG]$",
            description="the private Neo4j's page cache",
            examples=SIZE_EXAMPLES,
        ),
    ] = "512m"
    disk_margin_mb: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="MB of the private Neo4j's disk that stay free: below it nothing is written",
        ),
    ] = 256
    neo4j_start_seconds: Annotated[
        int, Meta(ge=1, le=3600, description="how long the private Neo4j may take to start")
    ] = 120
    maven_repository: Annotated[
        Annotated[str, Meta(pattern=r"^(?i:https?)://")] | None,
        Meta(
            description="a Maven mirror's URL to fetch Neo4j and the bundled model from",
            examples=["https://example.org/maven2"],
        ),
    ] = None
    embedding_model: Annotated[
        str | None,
        Meta(
            description="a fastembed model's name, a folder, or the URL of an OpenAI-compatible API up to "
            "/v1 with the model's name after #; unset: the bundled model"
        ),
    ] = None
    embedding_key: Annotated[str, Meta(description="the key that an embedding URL asks for")] = ""
    embedding_threads: Annotated[
        int, Meta(ge=1, le=64, description="threads of the embedding model")
    ] = 1
    reranker: Annotated[
        str,
        Meta(
            description="a cross-encoder that reads the first memories of a ranking: a name that fastembed "
            "knows, or a folder; `off`: none"
        ),
    ] = OFF
    llm_url: Annotated[
        Annotated[str, Meta(pattern=r"^https?://.+")] | None,
        Meta(
            description="an OpenAI-compatible API up to /v1; unset: no language model is used",
            examples=["http://127.0.0.1:11434/v1", "https://example.org/v1"],
        ),
    ] = None
    llm_model: Annotated[str | None, Meta(description="the language model's name there")] = None
    llm_key: Annotated[str, Meta(description="the key that it asks for")] = ""
    reads: Annotated[
        tuple[ClientId, ...],
        Meta(
            max_length=MOST_READS,
            description="the clients, separated by commas, that every client may read beside its own; with a "
            "keys file each key has its own (`graphmem keys create --reads`)",
            examples=["team", "team,handbook"],
        ),
    ] = ()
    jobs: Annotated[
        Literal["on", "off"], Meta(description="`off`: leave background work to other processes")
    ] = "on"
    record: Annotated[
        Literal["on", "off"],
        Meta(description="`off`: do not record questions and the memories they found"),
    ] = "on"
    cypher: Annotated[
        Literal["keys", "on", "off"],
        Meta(
            description="who may ask in Cypher over HTTP, which sees every client: operators with a key, "
            "or, with `on`, anybody on this machine while there is no keys file; or nobody"
        ),
    ] = "keys"
    cypher_at_once: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="how many statements the database may work on at once, counting those that were cut "
            "off and do not end; default: one for each processor of this machine, at most 4",
        ),
    ] = min(4, os.cpu_count() or 4)
    max_concurrent_sessions: Annotated[
        int, Meta(ge=1, le=10_000, description="how many runs of a client may be active at once")
    ] = 32
    turn_cache_mb: Annotated[
        int,
        Meta(
            ge=0,
            le=4_096,
            description="MiB for the findings of turns with hypotheses, an eighth of it for one client; "
            "0 keeps nothing",
        ),
    ] = 32
    keep_accesses_days: Annotated[
        int, Meta(ge=0, le=36_500, description="how long reads stay recorded; 0: for ever")
    ] = 90
    keep_runs_days: Annotated[
        int, Meta(ge=0, le=36_500, description="how long runs stay after their end; 0: for ever")
    ] = 90
    log_level: Annotated[
        str,
        Meta(
            pattern=r"^(?i:debug|info|warning|error)$",
            description="the least level that the log shows",
            examples=["debug", "info", "warning", "error"],
        ),
    ] = "info"
    log_format: Annotated[
        Literal["text", "json"], Meta(description="how the log's lines are written: text or json")
    ] = "text"


class ClientLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of one client; None is no limit."""

    requests: Annotated[int, Meta(ge=1, description="requests in progress at once")]
    memories: Annotated[int, Meta(ge=0, description="memories")] | None = None
    bytes: Annotated[int, Meta(ge=0, description="bytes of their texts, in UTF-8")] | None = None
    tokens_a_day: (
        Annotated[int, Meta(ge=0, description="tokens of the memories written on one day (UTC)")]
        | None
    ) = None


class SettingsGiven(TypedDict, total=False):
    """The settings as keyword arguments of `graphmem.open`; see `Settings` for their meanings."""

    data_dir: Path | str
    cache_dir: Path | str
    host: str
    port: int
    keys_file: Path | str | None
    request_seconds: int
    slow_ms: int
    requests_at_once: int
    requests_waiting: int
    client_requests: int
    client_memories: int
    client_bytes: int
    client_tokens_a_day: int
    limits_file: Path | str | None
    connections: int
    drain_seconds: int
    warm_seconds: int
    neo4j_uri: str | None
    neo4j_user: str
    neo4j_password: str
    neo4j_database: str
    places_file: Path | str | None
    place: str | None
    neo4j_heap: str
    neo4j_page_cache: str
    disk_margin_mb: int
    neo4j_start_seconds: int
    maven_repository: str | None
    embedding_model: str | None
    embedding_key: str
    embedding_threads: int
    reranker: str
    llm_url: str | None
    llm_model: str | None
    llm_key: str
    reads: Sequence[str]
    jobs: Literal["on", "off"]
    record: Literal["on", "off"]
    cypher: Literal["keys", "on", "off"]
    cypher_at_once: int
    max_concurrent_sessions: int
    turn_cache_mb: int
    keep_accesses_days: int
    keep_runs_days: int
    log_level: str
    log_format: Literal["text", "json"]


def variable(field: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + field.upper()


def load(environ: Mapping[str, str] | None = None, **given: Any) -> Settings:
    """Read the settings: the given value, else the environment, else the default.

    Raises `SettingError` that names the variable and its legal values, or a given name that is no setting's.
    """
    environ = os.environ if environ is None else environ
    _require_known(given)
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        value = given.get(field.name)
        if value is None or (value == "" and field.default is None):
            value = environ.get(variable(field.name)) or None
        if value is not None:
            values[field.name] = _converted(field, value)
    settings = Settings(**values)
    if settings.neo4j_uri is None:
        for name in LEAST_SIZES.keys() & values.keys():
            _require_size(name, values[name])
    return settings


def _require_known(given: Iterable[str]) -> None:
    """Raise `SettingError` for a name that no setting has, and name the one that is much like it."""
    for name in given:
        if name not in Settings.__struct_fields__:
            near = get_close_matches(name, Settings.__struct_fields__, n=1)
            remedy = f"perhaps {near[0]}" if near else "graphmem.config.Settings lists all"
            raise SettingError(name, f"there is no such setting: {remedy}")


def _converted(field: msgspec.structs.FieldInfo, value: Any) -> Any:
    if isinstance(value, Path):
        return value.expanduser().absolute()
    if field.name == "reads":
        value = _separated(value)
    if field.name in SECRETS and isinstance(value, str):
        _require_no_secret(field.name, value)
    try:
        converted = msgspec.convert(value, field.type, strict=False, dec_hook=_decoded)
    except msgspec.ValidationError as problem:
        sentence = f"{told(str(problem))}{_legal(field)}"
        raise SettingError(variable(field.name), sentence) from problem
    except UnicodeEncodeError as problem:
        # Python reads a byte of the environment that is no UTF-8 as half of a surrogate pair.
        sentence = f"expected a text in UTF-8{_legal(field)}"
        raise SettingError(variable(field.name), sentence) from problem
    if field.name in ADDRESSES and converted and not is_address(converted):
        sentence = f"has no host, or a port that is none{_legal(field)}"
        raise SettingError(variable(field.name), sentence)
    return converted


def _require_no_secret(name: str, address: str) -> None:
    """Raise `SettingError`, without the address, if it has a user or a password: it is shown and logged."""
    if has_secret(address):
        places = " and ".join(map(variable, SECRETS[name]))
        raise SettingError(
            variable(name),
            f"has a user or a password in the address, which is shown and logged: put them into {places}",
        )


def has_secret(address: str) -> bool:
    """Return whether an address has a user or a password: of a Neo4j anywhere, of an API before its path."""
    _, is_url, rest = address.partition("://")
    if not is_url or re.match(NEO4J_URI, address):
        # A password may have a slash.
        return "@" in address
    return "@" in re.split("[/?#]", rest)[0]


def is_address(url: str) -> bool:
    """Return whether a URL has a host, and if it has a port, one from 1 to 65535."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0 and not re.search(r"\s", url)
    except ValueError:
        return False


def _require_size(name: str, given: str) -> None:
    """Raise `SettingError` for less memory than Neo4j needs, or more than the machine has."""
    least, total = LEAST_SIZES[name], machine_memory()
    if size(given) < size(least):
        sentence = f"{given} is less than Neo4j needs: give it {least} or more"
        raise SettingError(variable(name), sentence)
    if size(given) > total:
        sentence = (
            f"{given} is more than this machine has: give it less than {total // UNITS['m']}m"
        )
        raise SettingError(variable(name), sentence)


def size(text: str) -> int:
    """Return the bytes of a size in the form of Neo4j's settings and Java's flags (1g, 512.00MiB)."""
    number = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = UNITS.get(number[-1:], 1)
    return int(float(number.rstrip("kmgt")) * unit)


def machine_memory() -> int:
    """Return the bytes of memory of the machine, or of the container if it may have less."""
    import psutil

    limits = [psutil.virtual_memory().total]
    with suppress(OSError, ValueError):
        limits.append(int(CGROUP_LIMIT.read_text()))
    return min(limits)


def _separated(value: Any) -> Any:
    """Return the items of a list, which a variable separates by commas."""
    return [one.strip() for one in value.split(",")] if isinstance(value, str) else settled(value)


def _legal(field: msgspec.structs.FieldInfo) -> str:
    """Return the legal values of a setting: a few words, a range of numbers, or examples of its form."""
    kind, meta = get_args(field.type)[:2]
    if kind is int:
        return f"; it is a whole number from {meta.ge:,} to {meta.le:,}"
    legal = get_args(kind) if get_origin(kind) is Literal else ()
    if legal:
        return f"; it is one of {', '.join(legal)}"
    return f"; it is written like {' or '.join(meta.examples)}" if meta.examples else ""


def _decoded(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value).expanduser().absolute()
    raise NotImplementedError(kind)


SETTLED_SECONDS = 2.0
"""A file changed more recently may change again without a new timestamp: it is read once more."""

Stamp = tuple[int, int, int, int]
Content = TypeVar("Content")


class WatchedFile(Generic[Content]):
    """The content of a file that a setting names; a change of the file takes effect with the next look.

    `read` raises `SettingError` where the file cannot be used. At first that error is the caller's; later the
    last content that could be used stays, `problem` says why, and the log says it once, after `consequence`.
    """

    def __init__(self, path: Path, read: Callable[[Path], Content], consequence: str) -> None:
        self.path = path
        self._read, self._consequence = read, consequence
        self.problem: str | None = None
        """The reason for which the file as it is now cannot be used."""
        self._stamp = stamp(path)
        self._content = read(path)

    def current(self) -> Content:
        """Return the content as of now, else the last one that could be used."""
        found = stamp(self.path)
        if found is None or found != self._stamp or self.problem is not None:
            self._refresh()
            self._stamp = found
        return self._content

    def _refresh(self) -> None:
        problem = None
        try:
            self._content = self._read(self.path)
        except SettingError as error:
            problem = str(error)
        if problem is not None and problem != self.problem:
            log.error("%s: %s", self._consequence, problem)
        elif problem is None and self.problem is not None:
            log.warning("the file can be used again: %s", self.path)
        self.problem = problem


def stamp(path: Path) -> Stamp | None:
    """Return the stamp of a file's content; None if it changed too recently for a reliable one."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0, 0)
    if abs(time.time() - status.st_ctime) < SETTLED_SECONDS:
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


_PACKAGE = Path(__file__).parent
_INSTALLED = _PACKAGE / "_data"


def folder(name: str) -> Path:
    """Return the folder `cypher` or `seed`."""
    installed = _INSTALLED / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def records(name: str) -> list[dict[str, Any]]:
    """Return the records of a file of JSON Lines in `seed/`, one for each line."""
    return [msgspec.json.decode(line) for line in (folder("seed") / name).read_bytes().splitlines()]
