"""The keys file: what it may say, how it is changed, and what holds while it cannot be used."""

import hashlib
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from graphmem_api import keys as module
from graphmem_api.app import create_app
from graphmem_api.keys import Keys, RequestClient, create_key, read_keys, revoke_key
from litestar import Litestar
from msgspec.structs import replace

from graphmem import config
from graphmem.config import WatchedFile
from graphmem.errors import SettingError, Unavailable
from graphmem.runtime import Runtime

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
UNKNOWN = "/api/v0/memories/x"
OURS = RequestClient("us", "agent")


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A keys file of the form without times: `ours` of an agent, `theirs` of an operator."""
    path = tmp_path / "keys"
    path.write_text(
        f"# who may ask\n\nus agent {digest('ours')}\nthem operator {digest('theirs')}\n"
    )
    return path


def test_a_new_key_opens_and_the_file_does_not_hold_it(tmp_path: Path) -> None:
    path = tmp_path / "new"
    key, entry = create_key(path, OURS, expires_in=None, now=NOW)
    assert Keys(path).client(key) == OURS
    assert key not in path.read_text()
    assert entry.id in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_is_added_beside_the_others_and_their_comments(path: Path) -> None:
    path.write_text(path.read_text().rstrip("\n"))
    before = path.read_text()
    _, entry = create_key(path, OURS, expires_in=timedelta(days=1), now=NOW)
    assert path.read_text().startswith(f"{before}\nus agent ")
    assert read_keys(path)[entry.digest] == entry
    assert Keys(path).client("ours") == OURS


def test_a_line_says_what_a_key_reads_beside_its_own_client(path: Path) -> None:
    client = RequestClient("us", "reader", ("team", "hand.book"))
    key, entry = create_key(path, client, expires_in=timedelta(days=20_000), now=NOW)
    assert path.read_text().endswith(" reads=team,hand.book\n")
    assert read_keys(path)[entry.digest] == entry
    assert Keys(path).client(key) == client
    assert Keys(path).client("ours") == OURS


def test_no_two_keys_are_alike(path: Path) -> None:
    made = {create_key(path, OURS, expires_in=None, now=NOW)[0] for _ in range(20)}
    assert len(made) == 20
    assert all(len(key) > 40 for key in made)


def test_a_key_is_good_until_it_expires(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = create_key(path, OURS, expires_in=timedelta(days=1), now=NOW)
    known, clock = Keys(path), NOW

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return clock

    monkeypatch.setattr(module, "datetime", Clock)
    clock = NOW + timedelta(hours=23)
    assert known.client(key) == OURS
    clock = NOW + timedelta(hours=24)
    assert known.client(key) is None
    assert known.client("ours") == OURS


def test_a_revoked_key_is_gone_with_the_next_question(path: Path) -> None:
    known = Keys(path)
    removed = revoke_key(path, digest("theirs")[:12])
    assert removed.client == RequestClient("them", "operator")
    assert (known.client("theirs"), known.client("ours")) == (None, OURS)
    assert path.read_text() == f"# who may ask\n\nus agent {digest('ours')}\n"


def test_the_file_is_changed_in_its_place(path: Path) -> None:
    place = path.stat().st_ino
    _, entry = create_key(path, OURS, expires_in=None, now=NOW)
    revoke_key(path, entry.id)
    assert path.stat().st_ino == place


def test_a_disk_without_room_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, write = path.read_bytes(), os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, place: write(file, data[:-9], place))
    with pytest.raises(SettingError, match="cannot be changed"):
        create_key(path, OURS, expires_in=None, now=NOW)
    assert read_keys(path).keys() >= {bytes.fromhex(digest("ours"))}
    assert path.read_bytes()[:-9] == before[:-9]


@pytest.mark.parametrize("id", ["ffffff", ""])
def test_only_a_key_that_is_named_is_revoked(id: str, path: Path) -> None:
    before = path.read_text()
    with pytest.raises(SettingError, match="graphmem keys list"):
        revoke_key(path, id)
    assert path.read_text() == before


def test_a_file_with_a_mistake_is_not_changed(path: Path) -> None:
    path.write_text(path.read_text() + "broken\n")
    for change in (
        lambda: create_key(path, OURS, expires_in=None, now=NOW),
        lambda: revoke_key(path, digest("ours")[:12]),
    ):
        with pytest.raises(SettingError, match="line 5"):
            change()
    assert path.read_text().endswith("broken\n")


def test_a_change_within_the_same_moment_is_seen(path: Path) -> None:
    keys = Keys(path)
    path.write_text(path.read_text().replace(digest("ours"), digest("mine")))
    assert keys.client("ours") is None
    assert keys.client("mine") == OURS


def test_a_file_that_has_settled_is_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "SETTLED_SECONDS", 0.0)
    keys = Keys(path)
    monkeypatch.setattr(WatchedFile, "_refresh", lambda file: pytest.fail("it was read again"))
    assert keys.client("ours") is not None


def damage(path: Path, how: str) -> None:
    if how == "removed":
        path.unlink()
    elif how == "writable":
        path.chmod(0o666)
    else:
        path.write_text(f"broken line\n{path.read_text()}")


@pytest.mark.parametrize("how", ["broken", "removed", "writable"])
def test_no_key_is_good_while_the_file_cannot_be_used(
    how: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys, good = Keys(path), path.read_text()
    damage(path, how)
    for _ in range(3):
        with pytest.raises(Unavailable):
            keys.client("ours")
    [told] = [one.getMessage() for one in caplog.records]
    assert told.startswith("no key is valid until the file can be used")
    assert str(path) in told
    path.write_text(good)
    path.chmod(0o600)
    assert keys.client("ours") == OURS
    assert "can be used again" in caplog.text


async def test_http_says_that_no_key_can_be_checked(
    path: Path, offline: Runtime, asking: Any
) -> None:
    app: Litestar = create_app(replace(offline, settings=replace(offline.settings, keys_file=path)))
    path.unlink()
    async with asking(app) as http:
        answer = await http.get(UNKNOWN, headers={"Authorization": "Bearer ours"})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert answer.headers["retry-after"]
        assert str(path) not in answer.text
        assert (await http.get(UNKNOWN)).status_code == 401
        assert (await http.get("/health/live")).status_code == 200


@pytest.mark.parametrize("harm", ["missing", "wrong", "writable"])
async def test_a_service_that_can_check_no_key_lives_and_is_not_ready(
    path: Path, runtime: Runtime, asking: Any, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    monkeypatch.setattr("graphmem_api.health.DEADLINE_SECONDS", 60.0)
    app: Litestar = create_app(replace(runtime, settings=replace(runtime.settings, keys_file=path)))
    good = path.read_text()
    async with asking(app) as http:
        assert (await http.get("/health/ready")).status_code == 200
        if harm == "missing":
            path.unlink()
        elif harm == "wrong":
            path.write_text("us agent\n")
        else:
            path.chmod(0o602)
        answer = await http.get("/health/ready")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert "the keys file cannot be used" in answer.json()["detail"]
        assert answer.headers["retry-after"]
        assert str(path) not in answer.text
        assert (await http.head("/health/ready")).status_code == 503
        assert (await http.get("/health/live")).status_code == 200
        path.write_text(good)
        path.chmod(0o600)
        assert (await http.get("/health/ready")).status_code == 200


A_DIGEST = "ab" * 32


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("one\n", "line 1: expected `client role sha256-of-key`"),
        ("\n# x\na agent zz\n", "line 3: a key's SHA-256"),
        (f"a boss {A_DIGEST}", "reader, analyst, agent, operator"),
        (f"a/b agent {A_DIGEST}", "a client is"),
        (
            f"a agent {A_DIGEST}\nb agent {A_DIGEST.upper()}",
            "line 2: this key is on an earlier line already",
        ),
        (f"a agent {A_DIGEST} expires=tomorrow", "line 1: expected"),
        (f"a agent {A_DIGEST} expires=2026-01-01T00:00:00", "a time has a zone"),
        (f"a agent {A_DIGEST} writes=b", "line 1: expected"),
        (f"a agent {A_DIGEST} reads=*", "line 1: reads= names 1–8 clients"),
        (f"a agent {A_DIGEST} reads=", "line 1: reads= names"),
        (f"a agent {A_DIGEST} reads=b,", "line 1: reads= names"),
        (f"a agent {A_DIGEST} reads=b,c/d", "line 1: reads= names"),
        (f"a agent {A_DIGEST} reads={','.join('bcdefghij')}", "line 1: reads= names"),
        (f"a agent {A_DIGEST} reads=b reads=c", "line 1: expected"),
        (f"a agent {A_DIGEST} created=2026-01-01T00:00:00Z created=2026-01-01T00:00:00Z", "line 1"),
        (b"\xff\xfe", "it is not UTF-8"),
        (None, "cannot be read"),
    ],
)
def test_a_keys_file_that_cannot_be_used_is_explained_without_its_content(
    content: str | bytes | None, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "keys"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(SettingError) as raised:
        read_keys(path)
    assert problem in str(raised.value)
    assert str(raised.value).startswith(f"GRAPHMEM_KEYS_FILE: {path}")
    assert "abab" not in str(raised.value).lower()


def test_a_file_that_everybody_may_change_is_refused(path: Path) -> None:
    path.chmod(0o602)
    with pytest.raises(SettingError, match="chmod o-w"):
        read_keys(path)
    path.chmod(0o664)
    assert len(read_keys(path)) == 2
