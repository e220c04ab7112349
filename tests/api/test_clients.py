"""Who asks: by header on this machine, by key anywhere."""

import hashlib
import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.app import create_app
from api.clients import Client, Keys, check_listener, read_keys
from graphmem import config
from graphmem.errors import SettingError
from graphmem.runtime import Runtime


def line(client: str, role: str, key: str) -> str:
    return f"{client} {role} {hashlib.sha256(key.encode()).hexdigest()}\n"


def bearer(key: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} | headers


@pytest.fixture
def keys_file(tmp_path: Path, memory, rival) -> Path:
    path = tmp_path / "keys"
    path.write_text(
        "# who may ask\n\n"
        + line(memory.client_id, "agent", "ours")
        + line(rival.client_id, "operator", "theirs")
    )
    return path


@pytest.fixture
def keyed(runtime: Runtime, keys_file: Path):
    """The application, with keys on."""
    return create_app(replace(runtime, settings=replace(runtime.settings, keys_file=keys_file)))


async def test_the_key_decides_whose_memory_it_is(keyed, asking, memory) -> None:
    opened = await memory.open_conversation()
    path = f"/api/v0/conversations/{opened.id}"
    async with asking(keyed) as http:
        assert (await http.delete(path, headers=bearer("theirs"))).status_code == 404
        assert (await http.delete(path, headers=bearer("ours"))).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "ours"},
        {"Authorization": "Basic ours"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": b"Bearer \xff\xfe"},
        {"X-Client-Id": "default"},
    ],
)
async def test_without_a_good_key_nothing_is_answered(headers, keyed, asking) -> None:
    async with asking(keyed) as http:
        for method, path in (("GET", "/api/v0/memories/x"), ("POST", "/api/v0/recall")):
            answer = await http.request(method, path, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.json()["code"] == "unauthorized"
            assert "ours" not in answer.text


async def test_two_keys_at_once_are_none(keyed, asking) -> None:
    async with asking(keyed) as http:
        two = [("Authorization", "Bearer ours"), ("Authorization", "Bearer theirs")]
        assert (await http.get("/api/v0/memories/x", headers=two)).status_code == 401


async def test_the_client_header_must_agree_with_the_key(keyed, asking, memory, rival) -> None:
    async with asking(keyed) as http:
        agreeing = bearer("ours", **{"X-Client-Id": memory.client_id})
        assert (await http.get("/api/v0/memories/x", headers=agreeing)).status_code == 404
        other = bearer("ours", **{"X-Client-Id": rival.client_id})
        answer = await http.get("/api/v0/memories/x", headers=other)
        assert answer.status_code == 401
        assert "X-Client-Id" in answer.json()["detail"]


async def test_health_and_schema_need_no_key(keyed, asking) -> None:
    async with asking(keyed) as http:
        for path in ("/health/live", "/health/ready", "/schema", "/schema/openapi.json"):
            assert (await http.get(path)).status_code == 200


async def test_a_key_is_revoked_without_a_restart(keyed, asking, keys_file: Path) -> None:
    async with asking(keyed) as http:
        assert (await http.get("/api/v0/memories/x", headers=bearer("theirs"))).status_code == 404
        keys_file.write_text(keys_file.read_text().rpartition("\n")[0].rpartition("\n")[0] + "\n")
        assert (await http.get("/api/v0/memories/x", headers=bearer("theirs"))).status_code == 401
        assert (await http.get("/api/v0/memories/x", headers=bearer("ours"))).status_code == 404


def test_a_change_within_the_same_moment_is_seen(keys_file: Path) -> None:
    keys = Keys(keys_file)
    before = keys_file.stat()
    keys_file.write_text(keys_file.read_text().replace(*_digests("ours", "mine")))
    os.utime(keys_file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert keys.client("ours") is None
    assert keys.client("mine") is not None


def _digests(*keys: str) -> list[str]:
    return [hashlib.sha256(key.encode()).hexdigest() for key in keys]


def test_a_file_that_has_settled_is_read_once(
    keys_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(keys_file, (time.time() - 60, time.time() - 60))
    keys = Keys(keys_file)
    monkeypatch.setattr("api.clients.read_keys", lambda path: pytest.fail("it was read again"))
    assert keys.client("ours") is not None


@pytest.mark.parametrize("damage", ["broken line\n", None])
def test_keys_stay_good_when_the_file_is_damaged(
    damage: str | None, keys_file: Path, memory, caplog: pytest.LogCaptureFixture
) -> None:
    keys = Keys(keys_file)
    if damage is None:
        keys_file.unlink()
    else:
        keys_file.write_text(damage)
    assert keys.client("ours") == Client(memory.client_id, "agent")
    assert "the keys stay as they were" in caplog.text


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("one\n", "line 1: expected `client role sha256-of-key`"),
        ("\n# x\na agent zz\n", "line 3: a key's SHA-256"),
        ("a boss " + "ab" * 32, "agent, analyst, operator"),
        ("a/b agent " + "ab" * 32, "a client is"),
        (f"a agent {'ab' * 32}\nb agent {'AB' * 32}", "line 2: this key stands above already"),
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


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.5", "example.org", "", "127.0.0.1.x"])
def test_without_keys_only_loopback_is_listened_on(host: str, tmp_path: Path) -> None:
    settings = config.load({}, host=host)
    with pytest.raises(SettingError, match="GRAPHMEM_KEYS_FILE"):
        check_listener(settings)
    check_listener(replace(settings, keys_file=tmp_path / "keys"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_may_always_be_listened_on(host: str) -> None:
    check_listener(config.load({}, host=host))


@pytest.mark.parametrize("client", ["", "a b", "a" * 129, "é", "a\x00b", "../x", "a,b"])
async def test_a_client_id_that_cannot_be_names_the_header(client: str, app, asking) -> None:
    async with asking(app) as http:
        answer = await http.get(
            "/api/v0/memories/x", headers={"X-Client-Id": client.encode("latin-1")}
        )
    assert (answer.status_code, answer.json()["field"]) == (400, "X-Client-Id")


async def test_two_client_ids_at_once_are_none(app, asking) -> None:
    async with asking(app) as http:
        two = [("X-Client-Id", "a"), ("X-Client-Id", "b")]
        assert (await http.get("/api/v0/memories/x", headers=two)).status_code == 400


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:5173", 404),
        ("http://127.0.0.1:8000", 404),
        ("http://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
async def test_a_page_from_elsewhere_may_not_ask_without_a_key(
    origin: str, status: int, http
) -> None:
    answer = await http.get("/api/v0/memories/x", headers={"Origin": origin})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8000", 404), ("[::1]:8000", 404), ("evil.example", 403), ("[", 403), ("", 403)],
)
async def test_a_host_that_was_rebound_may_not_be_asked_without_a_key(
    host: str, status: int, http
) -> None:
    answer = await http.get("/api/v0/memories/x", headers={"Host": host})
    assert answer.status_code == status
