"""The places file: which entry is a client's, what is refused, and a change while the service runs."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock

import pytest
from graphmem_api.clients import Guard
from graphmem_api.health import Closing, at_places, readiness
from graphmem_api.metrics import Counted, pooled, together
from neo4j.exceptions import AuthError

from graphmem import config, runtime
from graphmem.config import WatchedFile
from graphmem.doctor import server
from graphmem.errors import SettingError, Unavailable
from graphmem.graph.driver import Pool
from graphmem.graph.schema import IndexState, creations, schema_files
from graphmem.jobs.outbox import JobCount
from graphmem.model.vocabulary import FIRST
from graphmem.places import Address, at_place, places_file, read_placement
from graphmem.runtime import OpenPlace, Places, Runtime
from tests.scripted import ScriptedGraph

FILE = """
[places.archive]
uri = "bolt://db2.internal:7687"
user = "graphmem"
password_env = "ARCHIVE_PASSWORD"

[places.cluster]
uri = "neo4j+s://db3.internal"
database = "team"
password_file = "secret"

[[clients]]
id = "acme"
place = "archive"
writes = "off"

[[clients]]
prefix = "team-"
place = "cluster"

[[clients]]
prefix = "team-red-"
place = "archive"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A places file."""
    path = tmp_path / "places.toml"
    path.write_text(FILE, "utf-8")
    return path


@pytest.mark.parametrize(
    ("client_id", "place", "writes"),
    [
        ("acme", "archive", "off"),
        ("acme-2", "default", "on"),
        ("team-blue", "cluster", "on"),
        ("team-red-1", "archive", "on"),
        ("anybody", "default", "on"),
    ],
)
def test_a_client_has_the_entry_with_its_id_or_the_longest_prefix(
    path: Path, client_id: str, place: str, writes: str
) -> None:
    entry = read_placement(path).of(client_id)
    assert (entry.place, entry.writes) == (place, writes)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[places", "no TOML"),
        ("[places.a]\n", "uri"),
        ('[places.a]\nuri = "http://db"\n', "place 'a' begins neither with bolt://"),
        ('[places.a]\nuri = "bolt://me:secret@db"\n', "put them into user, and into password_env"),
        ('[places.a]\nuri = "me:secret@db"\n', "put them into user, and into password_env"),
        ('[places.a]\nuri = "bolt://db:0"\n', "has no host, or a port that is none"),
        ('[places.a]\nuri = "bolt://:99999"\n', "has no host, or a port that is none"),
        ('[places.a]\nuri = "bolt://db"\npassword = "secret"\n', "password"),
        ('[places.default]\nuri = "bolt://db"\n', "'default'"),
        ('[places."no id"]\nuri = "bolt://db"\n', "places"),
        ('[[clients]]\nplace = "a"\n', "either an id or a prefix"),
        ('[[clients]]\nid = "a"\nprefix = "b"\n', "either an id or a prefix"),
        ('[[clients]]\nid = "a"\n[[clients]]\nid = "a"\n', "repeats"),
        ('[[clients]]\nid = "a"\nwrites = "no"\n', "writes"),
        ('[[client]]\nid = "a"\n', "client"),
    ],
)
def test_a_mistake_in_the_file_is_named_and_nothing_secret_is_quoted(
    path: Path, text: str, told: str
) -> None:
    path.write_text(text, "utf-8")
    with pytest.raises(SettingError) as raised:
        read_placement(path)
    assert told in str(raised.value)
    assert str(path) in str(raised.value)
    assert "secret" not in str(raised.value)


def test_the_scheme_of_an_address_may_have_capitals(path: Path) -> None:
    path.write_text('[places.a]\nuri = "BOLT://db:7687"\n', "utf-8")
    assert read_placement(path).places["a"].uri == "BOLT://db:7687"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        places_file(tmp_path / "nowhere")


def test_a_change_takes_effect_and_a_broken_file_changes_nothing(path: Path) -> None:
    file = places_file(path)
    path.write_text(FILE.replace('id = "acme"', 'id = "other"'), "utf-8")
    assert file.current().of("other").place == "archive"
    path.write_text("[[", "utf-8")
    assert file.current().of("other").place == "archive"
    assert file.problem is not None
    path.unlink()
    assert file.current().of("other").place == "archive"
    path.write_text("", "utf-8")
    assert file.current().of("other").place == "default"
    assert file.problem is None


def test_a_file_that_has_settled_is_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(path, (1, 1))
    monkeypatch.setattr(config, "SETTLED_SECONDS", 0.0)
    file = places_file(path)
    monkeypatch.setattr(WatchedFile, "_refresh", lambda file: pytest.fail("it was read again"))
    assert file.current().of("acme").place == "archive"


def test_a_password_comes_from_the_environment_or_a_file(tmp_path: Path) -> None:
    named = Address("bolt://db", password_env="SECRET")
    assert named.password(tmp_path, {"SECRET": "s"}) == "s"
    with pytest.raises(SettingError, match="SECRET"):
        named.password(tmp_path, {})
    kept = Address("bolt://db", password_file="secret")
    with pytest.raises(SettingError, match="secret"):
        kept.password(tmp_path)
    (tmp_path / "secret").write_text("s\n", "utf-8")
    assert kept.password(tmp_path) == "s"
    assert Address("bolt://db").password(tmp_path) == ""


def test_a_command_works_with_the_place_that_it_names(path: Path) -> None:
    (path.parent / "secret").write_text("s", "utf-8")
    settings = at_place(config.load({}, places_file=path, place="cluster"))
    assert settings.neo4j_uri == "neo4j+s://db3.internal"
    assert settings.neo4j_database == "team"
    assert settings.neo4j_password == "s"
    assert settings.places_file is None
    at_home = at_place(config.load({}, places_file=path, place="default"))
    assert (at_home.neo4j_uri, at_home.places_file) == (None, None)
    assert at_place(config.load({}, places_file=path)).places_file == path


def test_a_place_that_there_is_not_is_named_with_those_that_there_are(path: Path) -> None:
    with pytest.raises(SettingError, match="default, archive, cluster"):
        at_place(config.load({}, places_file=path, place="elsewhere"))
    with pytest.raises(SettingError, match="GRAPHMEM_PLACES_FILE"):
        at_place(config.load({}, place="archive"))


async def test_doctor_finds_a_place_that_is_away_and_one_that_is_not_described(
    path: Path, unused_tcp_port: int
) -> None:
    path.write_text(
        f'[places.gone]\nuri = "bolt://127.0.0.1:{unused_tcp_port}"\n'
        '[places.locked]\nuri = "bolt://127.0.0.1"\npassword_env = "NO_SUCH_VARIABLE"\n'
        '[[clients]]\nid = "acme"\nplace = "nowhere"\n',
        "utf-8",
    )
    findings = await server.places(config.load({}, places_file=path))
    assert [one.severity for one in findings] == ["problem"] * 3
    assert "'nowhere'" in findings[0].what
    assert "'gone'" in findings[1].what
    assert "NO_SUCH_VARIABLE" in findings[2].what
    path.write_text("[[", "utf-8")
    assert [one.severity for one in await server.places(config.load({}, places_file=path))] == [
        "problem"
    ]
    assert await server.places(config.load({})) == []


class Watched:
    """The graph of a place, and whether it was told to give up."""

    def __init__(self) -> None:
        self.given_up: list[bool] = []

    def give_up(self, away: Exception | None) -> None:
        """Note whether it was told that the database is away."""
        self.given_up.append(away is not None)


async def test_a_place_is_away_after_two_misses_and_there_again_after_one_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = iter([None, "slow", None, "gone", "gone", None])
    states: list[str | None] = []
    place = OpenPlace("other")
    graph = Watched()
    place.runtime = cast(Runtime, SimpleNamespace(graph=graph))

    async def look(_: object, __: float) -> str | None:
        states.append(place.problem)
        return next(looks)

    monkeypatch.setattr(runtime, "unanswered", look)
    monkeypatch.setattr(runtime, "WATCH_SECONDS", 0.0)
    with pytest.raises(RuntimeError):
        await place.watch()
    assert states == [None, None, None, None, None, "gone", None]
    assert graph.given_up == [False, False, True, False]


async def test_work_is_done_once_with_each_place_that_is_open() -> None:
    place = OpenPlace("other")
    done: list[object] = []

    async def act(there: object) -> None:
        done.append(there)

    await place.act_once(act)
    place.runtime = cast(Runtime, "open")
    await place.act_once(act)
    await place.act_once(act)
    assert done == ["open"]


def test_a_service_with_places_is_ready_while_one_of_them_answers() -> None:
    assert at_places({"default": None, "other": "gone"}) == {
        "default": "ready",
        "other": "away",
    }
    with pytest.raises(Unavailable, match="default: gone; other: lost"):
        at_places({"default": "gone", "other": "lost"})


def with_indexes(**states: str) -> Runtime:
    """Return a runtime whose database has all indexes online but these."""
    names = {one.name: "ONLINE" for one in creations(schema_files())} | states
    rows = [IndexState(name, state) for name, state in names.items()]
    return cast(Runtime, SimpleNamespace(graph=ScriptedGraph({"graph/index_states": rows})))


NAMES = ("filling", "hanging", "refusing")


async def forever(_: object) -> None:
    await asyncio.sleep(60)


async def test_a_place_whose_indexes_are_not_online_is_not_ready(path: Path) -> None:
    path.write_text(
        "".join(f'[places.{name}]\nuri = "bolt://127.0.0.1"\n' for name in NAMES),
        "utf-8",
    )
    file = places_file(path)
    places = Places(with_indexes(), file, cast(Any, None))
    for name, address in file.current().places.items():
        there = places._opened[name, address] = OpenPlace(name)
        there.runtime = with_indexes(memory_text="POPULATING")
    asked = {
        "hanging": AsyncMock(side_effect=forever),
        "refusing": AsyncMock(side_effect=AuthError),
    }
    for name, address in file.current().places.items():
        if name in asked:
            graph = SimpleNamespace(rows=asked[name], side=FIRST)
            places._opened[name, address].runtime = cast(Runtime, SimpleNamespace(graph=graph))

    assert places.states() == dict.fromkeys(("default", *NAMES))
    assert await places.readiness(0.1) == {
        "default": None,
        "filling": "the index memory_text is still being filled: wait",
        "hanging": "its database does not answer within 0.1 s",
        "refusing": "its database does not answer (AuthError)",
    }
    service = cast(Runtime, SimpleNamespace(places=places, reranker=None))
    ready = await readiness(service, Closing(), Guard(config.load({})))
    assert ready.places == {"default": "ready"} | dict.fromkeys(NAMES, "away")


def test_the_gauges_of_all_places_add_up() -> None:
    counts = [
        Counted([JobCount("queued", 1), JobCount("done", 1)], []),
        Counted(),
        Counted([JobCount("queued", 2)], []),
    ]
    assert together(counts) == Counted([JobCount("queued", 3), JobCount("done", 1)], [])
    assert together([Counted(), Counted()]) == Counted()
    assert pooled([Pool(1, 2), None, Pool(3, 4)]) == Pool(4, 6)
    assert pooled([None]) is None
