"""Who asks: by header on this machine, by key anywhere."""

import hashlib
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphmem_api.app import create_app
from graphmem_api.clients import check_listener
from litestar import Litestar
from msgspec.structs import replace

from graphmem import config
from graphmem.client import Graphmem
from graphmem.errors import SettingError
from graphmem.runtime import Runtime

UNKNOWN = "/api/v0/memories/x"


def line(client: str, role: str, key: str) -> str:
    return f"{client} {role} {hashlib.sha256(key.encode()).hexdigest()}\n"


def bearer(key: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} | headers


@pytest.fixture
def us() -> str:
    """The client whose key is `ours`."""
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def them() -> str:
    """The client whose key is `theirs`."""
    return f"rival-{uuid.uuid4().hex}"


def lines(us: str, them: str) -> str:
    return "# who may ask\n\n" + line(us, "agent", "ours") + line(them, "operator", "theirs")


@pytest.fixture
def keys_file(tmp_path: Path, us: str, them: str) -> Path:
    path = tmp_path / "keys"
    path.write_text(lines(us, them))
    return path


def with_keys(runtime: Runtime, keys_file: Path) -> Litestar:
    return create_app(replace(runtime, settings=replace(runtime.settings, keys_file=keys_file)))


@pytest.fixture
def keyed(runtime: Runtime, keys_file: Path) -> Litestar:
    """The application, with keys on."""
    return with_keys(runtime, keys_file)


@pytest.fixture(scope="module")
def offline_keyed(offline: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Litestar:
    """The application without a database, with keys on."""
    path = tmp_path_factory.mktemp("offline") / "keys"
    path.write_text(lines("us", "them"))
    return with_keys(offline, path)


async def test_the_key_decides_whose_memory_it_is(
    keyed: Litestar, asking: Any, runtime: Runtime, us: str
) -> None:
    opened = await Graphmem(runtime, us).open_conversation()
    path = f"/api/v0/conversations/{opened.id}"
    async with asking(keyed) as http:
        assert (await http.delete(path, headers=bearer("theirs"))).status_code == 404
        assert (await http.delete(path, headers=bearer("ours"))).status_code == 200


async def test_only_operators_see_the_list_of_clients(keyed: Litestar, asking: Any) -> None:
    async with asking(keyed) as http:
        refused = await http.get("/api/v0/clients", headers=bearer("ours"))
        shown = await http.get("/api/v0/clients", headers=bearer("theirs"), params={"limit": 1})
    assert (refused.status_code, shown.status_code) == (403, 200)
    assert "operator" in refused.json()["detail"]


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
async def test_without_a_good_key_nothing_is_answered(
    headers: dict[str, str | bytes], offline_keyed: Litestar, asking: Any
) -> None:
    async with asking(offline_keyed) as http:
        for method, path in (("GET", "/api/v0/memories/x"), ("POST", "/api/v0/recall")):
            answer = await http.request(method, path, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.json()["code"] == "unauthorized"
            assert "ours" not in answer.text


async def test_beside_a_database_a_wrong_key_is_refused_too(keyed: Litestar, asking: Any) -> None:
    async with asking(keyed) as http:
        answer = await http.get(UNKNOWN, headers=bearer("wrong"))
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "unauthorized"


async def test_two_keys_at_once_are_none(offline_keyed: Litestar, asking: Any) -> None:
    async with asking(offline_keyed) as http:
        two = [("Authorization", "Bearer ours"), ("Authorization", "Bearer theirs")]
        assert (await http.get(UNKNOWN, headers=two)).status_code == 401


async def test_the_client_header_must_agree_with_the_key(
    keyed: Litestar, asking: Any, us: str, them: str
) -> None:
    async with asking(keyed) as http:
        agreeing = bearer("ours", **{"X-Client-Id": us})
        assert (await http.get(UNKNOWN, headers=agreeing)).status_code == 404
        other = bearer("ours", **{"X-Client-Id": them})
        answer = await http.get(UNKNOWN, headers=other)
        assert answer.status_code == 401
        assert "X-Client-Id" in answer.json()["detail"]


async def test_health_and_schema_need_no_key(keyed: Litestar, asking: Any) -> None:
    async with asking(keyed) as http:
        for path in ("/health/live", "/health/ready", "/schema", "/schema/openapi.json"):
            assert (await http.get(path)).status_code == 200


async def test_a_key_is_revoked_without_a_restart(
    keyed: Litestar, asking: Any, keys_file: Path
) -> None:
    async with asking(keyed) as http:
        assert (await http.get(UNKNOWN, headers=bearer("theirs"))).status_code == 404
        keys_file.write_text(keys_file.read_text().rpartition("\n")[0].rpartition("\n")[0] + "\n")
        assert (await http.get(UNKNOWN, headers=bearer("theirs"))).status_code == 401
        assert (await http.get(UNKNOWN, headers=bearer("ours"))).status_code == 404


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
async def test_a_client_id_that_cannot_be_names_the_header(
    client: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get(UNKNOWN, headers={b"X-Client-Id": client.encode("latin-1")})
    assert (answer.status_code, answer.json()["field"]) == (400, "X-Client-Id")


async def test_beside_a_database_it_names_the_header_too(http: httpx.AsyncClient) -> None:
    answer = await http.get(UNKNOWN, headers={"X-Client-Id": "a b"})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "X-Client-Id")


async def test_two_client_ids_at_once_are_none(offline_app: Litestar, asking: Any) -> None:
    async with asking(offline_app) as http:
        two = [("X-Client-Id", "a"), ("X-Client-Id", "b")]
        assert (await http.get(UNKNOWN, headers=two)).status_code == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://["])
async def test_a_page_from_elsewhere_may_not_ask_without_a_key(
    origin: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get(UNKNOWN, headers={"Origin": origin})
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("host", ["evil.example", "[", ""])
async def test_a_host_that_was_rebound_may_not_be_asked_without_a_key(
    host: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get(UNKNOWN, headers={"Host": host})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://localhost:5173"}, 404),
        ({"Origin": "http://127.0.0.1:8000"}, 404),
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "localhost:8000"}, 404),
        ({"Host": "[::1]:8000"}, 404),
        ({"Host": "evil.example"}, 403),
    ],
)
async def test_a_page_of_this_machine_may_ask_without_a_key(
    headers: dict[str, str], status: int, http: httpx.AsyncClient
) -> None:
    answer = await http.get(UNKNOWN, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
